package modules

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"time"

	"volant/wire/rx"
	"volant/wire/shlex"
	"volant/wire/value"
)

type commandArgs struct {
	Raw        *string  `arg:"_raw_params"`
	Shell      bool     `arg:"_uses_shell,default=no"`
	Cmd        *string  `arg:"cmd"`
	Argv       []string `arg:"argv"`
	Chdir      *string  `arg:"chdir,type=path"`
	Executable *string  `arg:"executable"`
	Expand     bool     `arg:"expand_argument_vars,default=yes"`
	Creates    *string  `arg:"creates,type=path"`
	Removes    *string  `arg:"removes,type=path"`
	Stdin      *string  `arg:"stdin"`
	Newline    bool     `arg:"stdin_add_newline,default=yes"`
	Strip      bool     `arg:"strip_empty_ends,default=yes"`
}

// shellModule is command with the shell, which is all the shell module is.
func shellModule(ctx context.Context, env *Env, args *value.Dict) (Result, error) {
	args = args.Clone()
	args.Set("_uses_shell", true)
	return commandModule(ctx, env, args)
}

var commandModule = native(runCommand, oneOf("_raw_params", "cmd", "argv"), exclusive("_raw_params", "cmd", "argv"))

func runCommand(ctx context.Context, c *call, a *commandArgs) (Result, error) {
	line := ""
	if a.Raw != nil && *a.Raw != "" {
		line = *a.Raw
	} else if a.Cmd != nil {
		line = *a.Cmd
	}
	if a.Executable != nil && *a.Executable != "" && !a.Shell {
		c.Warn("As of Ansible 2.4, the parameter 'executable' is no longer supported with the 'command' module. Not using '%s'.", *a.Executable)
		a.Executable = nil
	}
	r := value.DictOf("changed", false, "stdout", "", "stderr", "", "rc", nil, "cmd", nil, "start", nil, "end", nil, "delta", nil, "msg", "")
	var argv []string
	switch {
	case line != "" && a.Shell:
		r.Set("cmd", line)
	case line != "":
		var err error
		if argv, err = shlex.Split(line); err != nil {
			return nil, raise(err.Error())
		}
		if len(argv) == 0 {
			argv = a.Argv
		}
		r.Set("cmd", stringList(argv))
	case a.Argv != nil:
		argv = a.Argv
		r.Set("cmd", stringList(argv))
	default:
		return nil, handBack("there is nothing to run")
	}
	if a.Chdir != nil && *a.Chdir != "" {
		dir := c.p(*a.Chdir)
		if err := enterable(dir); err != nil {
			r.Set("msg", "Unable to change directory before execution.")
			return nil, &failure{msg: "Unable to change directory before execution.", extra: r, cause: asOSError(err, *a.Chdir, true)}
		}
		c.Cwd = dir
	}
	if done := c.skip(r, a); done {
		return r, nil
	}
	r.Set("changed", true)
	if c.Check {
		r.Set("rc", int64(0))
		r.Set("msg", "Command would have run if not in check mode")
		if a.Creates == nil && a.Removes == nil {
			r.Set("skipped", true)
			r.Set("changed", false)
		}
		return r, nil
	}
	if err := c.execute(ctx, r, a, line, argv); err != nil {
		return nil, err
	}
	if r.Lookup("rc") != int64(0) {
		r.Set("msg", "non-zero return code")
		return nil, &failure{msg: "non-zero return code", extra: r}
	}
	return r, nil
}

func stringList(s []string) *value.List {
	if s == nil {
		s = []string{}
	}
	return value.Strings(s...)
}

// enterable reports why the directory cannot become the working directory.
func enterable(dir string) error {
	var st syscall.Stat_t
	if err := syscall.Stat(dir, &st); err != nil {
		return err
	}
	if st.Mode&syscall.S_IFMT != syscall.S_IFDIR {
		return syscall.ENOTDIR
	}
	return syscall.Access(dir, 1)
}

// skip ends the module when creates or removes say that nothing is to do.
func (c *call) skip(r *value.Dict, a *commandArgs) bool {
	did := "Did"
	if c.Check {
		did = "Would"
	}
	if a.Creates != nil && *a.Creates != "" && globMatches(c.Cwd, *a.Creates) {
		r.Set("msg", fmt.Sprintf("%s not run command since '%s' exists", did, *a.Creates))
		r.Set("stdout", "skipped, since "+*a.Creates+" exists")
		r.Set("rc", int64(0))
		return true
	}
	if a.Removes != nil && *a.Removes != "" && !globMatches(c.Cwd, *a.Removes) {
		r.Set("msg", fmt.Sprintf("%s not run command since '%s' does not exist", did, *a.Removes))
		r.Set("stdout", "skipped, since "+*a.Removes+" does not exist")
		r.Set("rc", int64(0))
		return true
	}
	return false
}

func (c *call) execute(ctx context.Context, r *value.Dict, a *commandArgs, line string, argv []string) error {
	shown := argv
	cmd := &command{live: true}
	if a.Shell {
		if argv != nil { // argv given to shell: the words are quoted into one line
			quoted := make([]string, len(argv))
			for i, w := range argv {
				quoted[i] = shlex.Quote(w)
			}
			line = strings.Join(quoted, " ")
		}
		sh := "/bin/sh"
		switch {
		case a.Executable != nil && *a.Executable != "":
			sh = *a.Executable
		case c.ShellExecutable != "":
			sh = c.ShellExecutable
		}
		cmd.argv = []string{sh, "-c", line}
		shown = []string{line}
		if sh != "/bin/sh" {
			shown = cmd.argv
		}
	} else {
		env := c.args()
		for _, w := range argv {
			if a.Expand {
				w = env.ExpandPath(w)
			}
			cmd.argv = append(cmd.argv, w)
		}
		shown = cmd.argv
	}
	if len(cmd.argv) == 0 {
		return handBack("there is nothing to run")
	}
	for _, w := range cmd.argv {
		if strings.IndexByte(w, 0) >= 0 {
			return handBack("an argument holds a zero byte")
		}
	}
	if a.Stdin != nil && *a.Stdin != "" {
		text := *a.Stdin
		if a.Newline {
			text += "\n"
		}
		cmd.stdin = []byte(text)
	}
	start := c.now()
	got, err := c.run(ctx, cmd)
	end := c.now()
	var oe *osError
	if errors.As(err, &oe) {
		return failBecause(oe, "Error executing command.", "rc", int64(oe.errno), "stdout", "", "stderr", "", "cmd", cleanArgs(shown))
	}
	if err != nil {
		return err
	}
	r.Set("rc", int64(got.rc))
	r.Set("start", dateTime(start))
	r.Set("end", dateTime(end))
	r.Set("delta", delta(end.Sub(start)))
	stdout, stderr := string(got.stdout), string(got.stderr)
	if a.Strip {
		stdout, stderr = strings.TrimRight(stdout, "\r\n"), strings.TrimRight(stderr, "\r\n")
	}
	r.Set("stdout", stdout)
	r.Set("stderr", stderr)
	return nil
}

// dateTime is str() of a local datetime.
func dateTime(t time.Time) string {
	if t.Nanosecond()/1000 == 0 {
		return t.Format("2006-01-02 15:04:05")
	}
	return t.Format("2006-01-02 15:04:05.000000")
}

// delta is str() of a timedelta.
func delta(d time.Duration) string {
	us := d.Microseconds()
	days, us := us/86400000000, us%86400000000
	s := fmt.Sprintf("%d:%02d:%02d", us/3600000000, us/60000000%60, us/1000000%60)
	if us%1000000 != 0 {
		s += fmt.Sprintf(".%06d", us%1000000)
	}
	switch {
	case days == 1:
		return "1 day, " + s
	case days > 1:
		return fmt.Sprintf("%d days, %s", days, s)
	}
	return s
}

var passwordArg = rx.Lazy(`^[-]{0,2}pass[-]?(word|wd)?`)

// cleanArgs is a command line to show, without what follows a password option.
func cleanArgs(argv []string) string {
	var out []string
	next := false
	for _, a := range argv {
		if next {
			next = false
			out = append(out, "'********'")
			continue
		}
		if passwordArg.MatchString(a) {
			if k, _, ok := strings.Cut(a, "="); ok {
				out = append(out, shlex.Quote(k+"=********"))
				continue
			}
			next = true
		}
		out = append(out, shlex.Quote(urlPasswords(a)))
	}
	return strings.Join(out, " ")
}

var urlPassword = rx.Lazy(`(://[^:/@\s]*:)[^@/\s]*@`)

// urlPasswords hides passwords in URLs.
func urlPasswords(s string) string { return urlPassword.ReplaceAllString(s, "${1}********@") }
