package actions

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/user"
	"path"
	"strconv"
	"syscall"
	"time"

	"volant/wire/value"
)

// templateOnly are the options that the copy behind template does not take.
var templateOnly = []string{
	"newline_sequence", "block_start_string", "block_end_string", "variable_start_string", "variable_end_string",
	"comment_start_string", "comment_end_string", "trim_blocks", "lstrip_blocks", "output_encoding",
}

// template renders a controller file and copies the result.
func template(ctx context.Context, r *Run) (Result, error) {
	opt, err := templateOptions(r.Args)
	if err != nil {
		return nil, err
	}
	src, hasSrc := r.Args.Str("src")
	dest, hasDest := r.Args.Str("dest")
	switch {
	case r.Args.Lookup("state") != nil:
		return nil, Fail("'state' cannot be specified on a template")
	case !hasSrc || !hasDest:
		return nil, Fail("src and dest are required")
	case opt.NewlineSequence != "\n" && opt.NewlineSequence != "\r" && opt.NewlineSequence != "\r\n":
		return nil, Fail("newline_sequence needs to be one of: \n, \r or \r\n")
	case r.Marked("src"):
		return nil, errMarkedSource
	}
	found, err := r.Controller.Find("templates", src)
	if err != nil {
		return nil, &Failure{Msg: err.Error(), During: true}
	}
	info, err := os.Stat(found)
	if err != nil {
		return nil, Fail("reading template: %v", err)
	}
	extra := templateVars(r, src, found, dest, info)
	text, err := r.Controller.TemplateFile(found, opt, extra)
	if err != nil {
		return nil, err
	}
	args := without(r.Args, templateOnly...)
	switch mode, _ := args.Str("mode"); {
	case mode == "preserve":
		args.Set("mode", octal(uint32(info.Mode().Perm())))
	case !args.Has("mode"):
		args.Set("mode", nil)
	}
	args.Set("follow", option(r.Args, "follow", false))
	source := r.Controller.Content(text)
	// The reference copies a temporary file, and shows its name.
	source.Path = LocalTmp() + "/" + path.Base(found)
	args.Set("src", source.Path)
	source.Mode = uint32(info.Mode().Perm())
	task := *r.Task
	task.Args = args
	c := &copier{Run: &Run{Task: &task, Host: r.Host, Controller: r.Controller}, args: args, dest: dest}
	return c.copySource(ctx, opened(source), path.Base(found))
}

// LocalTmp is the name a diff shows for what a task made of controller files:
// that of the temporary file or directory the reference would have made.
// Nothing is written here.
func LocalTmp() string {
	home, err := os.UserHomeDir()
	if err != nil {
		home = "/root" // no file has this name anyway
	}
	return fmt.Sprintf("%s/.ansible/tmp/ansible-local-%d%s/tmp%s", home, os.Getpid(), randomText(), randomText())
}

// randomText is eight letters as Python's tempfile chooses them.
func randomText() string {
	const letters = "abcdefghijklmnopqrstuvwxyz0123456789_"
	b := make([]byte, 8)
	for i := range b {
		b[i] = letters[rand.IntN(len(letters))]
	}
	return string(b)
}

func templateOptions(args *value.Dict) (TemplateOptions, error) {
	opt := TemplateOptions{NewlineSequence: "\n", TrimBlocks: true, OutputEncoding: "utf-8"}
	for name, field := range map[string]*string{
		"newline_sequence":   &opt.NewlineSequence,
		"block_start_string": &opt.BlockStart, "block_end_string": &opt.BlockEnd,
		"variable_start_string": &opt.VariableStart, "variable_end_string": &opt.VariableEnd,
		"comment_start_string": &opt.CommentStart, "comment_end_string": &opt.CommentEnd,
		"output_encoding": &opt.OutputEncoding,
	} {
		v, ok := args.Get(name)
		if !ok || v == nil {
			continue
		}
		text, isText := value.Text(v)
		if !isText {
			switch v.(type) {
			case bool, int64, float64:
				text = value.Str(v)
			default:
				return opt, fmt.Errorf("Invalid value provided for 'string': %s", value.Repr(v)) //nolint:staticcheck // the reference's text
			}
		}
		*field = text
	}
	switch opt.NewlineSequence {
	case `\n`:
		opt.NewlineSequence = "\n"
	case `\r`:
		opt.NewlineSequence = "\r"
	case `\r\n`:
		opt.NewlineSequence = "\r\n"
	}
	if opt.OutputEncoding == "" {
		opt.OutputEncoding = "utf-8"
	}
	opt.TrimBlocks = option(args, "trim_blocks", true)
	opt.LstripBlocks = option(args, "lstrip_blocks", false)
	return opt, nil
}

// templateVars are the variables a template file has on top of the task's.
func templateVars(r *Run, src, found, dest string, info os.FileInfo) *value.Dict {
	hostname, _ := os.Hostname()
	var owner any
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		id := strconv.FormatUint(uint64(st.Uid), 10)
		owner = int64(st.Uid)
		if u, err := user.LookupId(id); err == nil {
			owner = u.Username
		}
	}
	vars := value.DictOf(
		"template_host", hostname,
		"template_path", src,
		"template_mtime", info.ModTime(),
		"template_uid", owner,
		"template_run_date", time.Now(),
		"template_destpath", dest,
		"template_fullpath", found)
	if _, set := r.Controller.Var("ansible_managed"); !set {
		vars.Set("ansible_managed", "Ansible managed")
	}
	return vars
}
