package actions

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"strings"
	"sync"

	"volant/stage"
	"volant/wire/value"
)

// fileArgs are the arguments of copy that the file module takes too.
var fileArgs = map[any]bool{
	"mode": true, "owner": true, "group": true, "seuser": true, "serole": true, "selevel": true, "setype": true,
	"attributes": true, "unsafe_writes": true, "state": true, "path": true, "_original_basename": true,
	"recurse": true, "force": true, "_diff_peek": true, "src": true,
}

// copyAction brings a controller file, a tree of them, or content to the host,
// and sends bytes only where the host's differ.
func copyAction(ctx context.Context, r *Run) (Result, error) {
	for _, internal := range []string{"_original_basename", "_diff_peek"} {
		if r.Args.Lookup(internal) != nil {
			return nil, Fail(`Invalid parameter specified: "%s"`, internal)
		}
	}
	content := r.Args.Lookup("content")
	src, _ := r.Args.Str("src")
	dest, _ := r.Args.Str("dest")
	msg := ""
	switch {
	case src == "" && content == nil:
		msg = "src (or content) is required"
	case dest == "":
		msg = "dest is required"
	case src != "" && content != nil:
		msg = "src and content are mutually exclusive"
	case content != nil && strings.HasSuffix(dest, "/"):
		msg = "can not use content with a dir as dest"
	}
	if msg != "" {
		return invocation(r, value.DictOf("failed", true, "msg", msg)), nil
	}
	if content == nil && option(r.Args, "remote_src", false) {
		res, err := r.Host.Module(ctx, "ansible.legacy.copy", r.Args)
		if err != nil {
			return nil, err
		}
		return invocation(r, res), nil
	}
	c := &copier{Run: r, args: r.Args, dest: dest}
	if content != nil {
		data, err := contentBytes(content)
		if err != nil {
			return nil, err
		}
		c.content = true
		// The reference writes a temporary file, and shows its name and mode.
		source := r.Controller.Content(data)
		name := "." + randomText()
		source.Path, source.Mode = path.Join(path.Dir(LocalTmp()), name), 0o600
		return c.copySource(ctx, opened(source), name)
	}
	if r.markedFile("src") {
		return nil, errMarkedSource
	}
	found, err := r.Controller.Find("files", src)
	if err != nil {
		return nil, &Failure{Msg: "Unexpected AnsibleActionFail error: " + err.Error(), Result: invocation(r, value.NewDict(1))}
	}
	open := func() (Source, error) { return r.Controller.Open(found, option(r.Args, "decrypt", true)) }
	info, err := os.Stat(found)
	switch {
	case err == nil && info.IsDir():
		return c.copyTree(ctx, strings.TrimSuffix(found, "/"), strings.HasSuffix(src, "/"))
	case err == nil && info.Size() >= longToHash:
		return c.copySource(ctx, ahead(ctx, open), path.Base(found))
	}
	source, err := open()
	if err != nil {
		return nil, err
	}
	return c.copySource(ctx, opened(source), path.Base(found))
}

// longToHash is the size from which a file is hashed here while the host
// hashes what it has: below, starting both costs more than waiting.
const longToHash = 4 << 20

// opener has a file's source, or returns it once it is hashed.
type opener struct {
	now   *Source
	later func() (Source, error)
}

func opened(s Source) opener { return opener{now: &s} }

func (o opener) open() (Source, error) {
	if o.now != nil {
		return *o.now, nil
	}
	return o.later()
}

// ahead begins to open now; what it returns waits for that, but no longer than
// the task has time. The reading itself ends with the file.
func ahead(ctx context.Context, open func() (Source, error)) opener {
	type result struct {
		src Source
		err error
	}
	done := make(chan result, 1)
	go func() {
		src, err := open()
		done <- result{src, err}
	}()
	return opener{later: sync.OnceValues(func() (Source, error) {
		select {
		case r := <-done:
			return r.src, r.err
		case <-ctx.Done():
			return Source{}, ctx.Err()
		}
	})}
}

// markedFile reports whether an argument names a controller file by what a
// managed host sent, unless it is a file that came from the host itself.
func (r *Run) markedFile(arg string) bool {
	if !r.Marked(arg) {
		return false
	}
	path, _ := r.Args.Str(arg)
	return r.Fetched == nil || !r.Fetched(path)
}

// errMarkedSource refuses a controller path that a managed host named, before
// it is looked up: whether it exists is already an answer.
var errMarkedSource error = &Failure{Msg: "the 'src' of this task was named by a managed host, and a controller file a host chose is\nnever sent"}

// contentBytes is the text a content argument writes: mappings and lists as JSON.
func contentBytes(content any) ([]byte, error) {
	switch content.(type) {
	case *value.Dict, *value.List:
		text, err := value.EncodeJSON(content, value.JSONStyle{Indent: -1})
		if err != nil {
			return nil, Fail("could not write content temp file: %v", err)
		}
		return []byte(text), nil
	}
	return []byte(value.Str(content)), nil
}

// copier is one copy task: copying a file at a time to dest.
type copier struct {
	*Run
	args    *value.Dict // the task's arguments
	dest    string
	content bool // the source is content, not a file
	follow  bool
}

// copySource copies a single file or content and shapes the task's result.
func (c *copier) copySource(ctx context.Context, source opener, name string) (Result, error) {
	dest, err := expandUser(ctx, c.Run, c.dest)
	if err != nil {
		return nil, err
	}
	c.dest = dest
	c.follow = option(c.args, "follow", false)
	res, err := c.copyFile(ctx, source, name)
	if err != nil {
		return nil, err
	}
	if res == nil { // there already, and we may not replace it
		src, err := source.open()
		if err != nil {
			return nil, err
		}
		return invocation(c.Run, value.DictOf("dest", dest, "src", src.Path, "changed", false)), nil
	}
	if p, ok := res.Get("path"); ok && !res.Has("dest") && !res.Bool("failed") {
		res.Set("dest", p)
	}
	return invocation(c.Run, res), nil
}

// copyFile brings one file to c.dest, or below it when that is a directory. A
// nil result means nothing was to be done.
func (c *copier) copyFile(ctx context.Context, source opener, name string) (Result, error) {
	force := option(c.args, "force", true)
	destFile := c.dest
	if strings.HasSuffix(destFile, "/") {
		destFile = joinPath(destFile, name)
	}
	have, done, err := c.look(ctx, source, name, destFile, force)
	if err != nil {
		return nil, err
	}
	if have.exists && have.isDir {
		if c.content {
			return value.DictOf("diff", value.ListOf(), "failed", true, "msg", "can not use content with a dir as dest"), nil
		}
		destFile = joinPath(c.dest, name)
		if have, done, err = c.look(ctx, source, name, destFile, force); err != nil {
			return nil, err
		}
	}
	if have.exists && !force {
		return nil, nil
	}
	src, err := source.open()
	if err != nil {
		return nil, err
	}
	res := value.DictOf("diff", value.ListOf())
	switch {
	case done != nil:
		res.Update(done)
	case have.checksum == src.SHA1:
		err = c.attributes(ctx, res, src, name, destFile)
	default:
		err = c.install(ctx, res, src, name, destFile)
	}
	if err != nil {
		return nil, err
	}
	if !present(res.Lookup("checksum")) && !(c.Check && have.checksum != src.SHA1) {
		res.Set("checksum", src.SHA1)
	}
	return res, nil
}

// longThen is the size up to which a file goes along with the stat before it:
// the host reads a file twice then.
const longThen = 256 << 10

// look asks the host about destFile, and has it do what follows from that at
// once where it can: done is the result of that, else nil.
func (c *copier) look(ctx context.Context, source opener, name, destFile string, force bool) (have fileInfo, done Result, err error) {
	host, ok := c.Host.(StatHost)
	if !ok || source.now == nil {
		have, err = remoteStat(ctx, c.Run, destFile, c.follow, force)
		return have, nil, err
	}
	src := *source.now
	var next Then
	if force {
		next.Checksum = src.SHA1
	}
	if force && !c.follow { // else it may be a link, to be asked about
		next.Same = c.sameArgs(src, name, c.dest)
	}
	if !c.Check && !c.Diff && src.Size <= longThen {
		file := contentOf(src, destFile)
		next.Differs, next.File = c.installArgs(src, name), &file
	}
	stat, done, err := host.StatThen(ctx, statArgs(destFile, c.follow, force), next)
	if err != nil {
		return have, nil, err
	}
	have, err = readStat(destFile, stat)
	return have, done, err
}

// install sends the file and has the copy module put it in place.
func (c *copier) install(ctx context.Context, res Result, src Source, name, destFile string) error {
	if c.Diff {
		after := path.Clean(src.Path)
		if c.content && src.Size > 0 {
			after = destFile
		}
		diff, err := fileDiff(ctx, c.Run, destFile, src, after)
		if err != nil {
			return err
		}
		res.Set("diff", value.ListOf(diff))
	}
	if c.Check {
		res.Set("changed", true)
		return nil
	}
	got, err := c.Host.Module(ctx, "ansible.legacy.copy", c.installArgs(src, name), contentOf(src, destFile))
	if err != nil {
		return err
	}
	res.Update(got)
	return nil
}

// contentOf is the content on its way to be the copy module's src.
func contentOf(src Source, destFile string) stage.File {
	file := src.File
	file.Arg, file.Suffix = "src", suffix(destFile)
	return file
}

// installArgs are the copy module's for a file that is missing or differs.
func (c *copier) installArgs(src Source, name string) *value.Dict {
	args := without(c.args, "content", "decrypt")
	args.Set("src", "")
	args.Set("dest", c.dest)
	args.Set("_original_basename", name)
	args.Set("follow", c.follow)
	if !present(args.Lookup("checksum")) {
		args.Set("checksum", src.SHA1)
	}
	c.localMode(args, src)
	return args
}

// attributes has the file module set owner, group and mode of a file whose
// bytes are right.
func (c *copier) attributes(ctx context.Context, res Result, src Source, name, destFile string) error {
	dest := c.dest
	if c.follow {
		link, err := remoteStat(ctx, c.Run, destFile, false, true)
		if err != nil {
			return err
		}
		if link.isLink && link.linkSource != "" {
			dest = link.linkSource
		}
	}
	got, err := c.Host.Module(ctx, "ansible.legacy.file", c.sameArgs(src, name, dest))
	if err != nil {
		return err
	}
	res.Update(got)
	return nil
}

// sameArgs are the file module's for one whose bytes are right.
func (c *copier) sameArgs(src Source, name, dest string) *value.Dict {
	args := c.fileModuleArgs()
	args.Delete("src") // goes as _original_basename
	args.Set("dest", dest)
	args.Set("_original_basename", name)
	args.Set("recurse", false)
	args.Set("state", "file")
	c.localMode(args, src)
	return args
}

// localMode turns mode=preserve into the controller file's own mode.
func (c *copier) localMode(args *value.Dict, src Source) {
	if m, _ := c.args.Str("mode"); m == "preserve" {
		args.Set("mode", octal(src.Mode))
	}
}

func octal(mode uint32) string { return fmt.Sprintf("0%03o", mode) }

func (c *copier) fileModuleArgs() *value.Dict {
	args := value.NewDict(8)
	for k, v := range c.args.All() {
		if fileArgs[k] {
			args.Set(k, v)
		}
	}
	return args
}

// invocation adds the task's arguments where no module reported its own, as
// the reference does: content is never shown.
func invocation(r *Run, res Result) Result {
	if !res.Has("invocation") {
		if r.NoLog {
			res.Set("invocation", "CENSORED: no_log is set")
		} else {
			inv := r.Args.Clone()
			inv.Set("module_args", r.Args.Clone())
			res.Set("invocation", inv)
		}
	}
	inv, ok := res.Lookup("invocation").(*value.Dict)
	if !ok {
		return res
	}
	if inv.Has("content") {
		inv.Set("content", "CENSORED: content is a no_log parameter")
	}
	if args, ok := inv.Lookup("module_args").(*value.Dict); ok && args.Lookup("content") != nil {
		args.Set("content", "VALUE_SPECIFIED_IN_NO_LOG_PARAMETER")
	}
	return res
}

// isNotReached reports whether err means that the host did not answer, as
// against a module or action that failed.
func isNotReached(err error) bool {
	var u *Unreachable
	return errors.As(err, &u)
}
