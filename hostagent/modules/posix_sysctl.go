package modules

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"volant/wire/argspec"
	"volant/wire/rx"
	"volant/wire/value"
)

type sysctlArgs struct {
	Name   string  `arg:"name,required,alias=key"`
	Value  *string `arg:"value,alias=val"`
	State  string  `arg:"state,default=present,choices=present|absent"`
	Reload bool    `arg:"reload,default=yes"`
	Set    bool    `arg:"sysctl_set,default=no"`
	Ignore bool    `arg:"ignoreerrors,default=no"`
	File   string  `arg:"sysctl_file,type=path,default=/etc/sysctl.conf"`
}

func sysctlRules(s *argspec.Spec) {
	s.RequiredIf = []argspec.RequiredIf{{Key: "state", Value: "present", Need: []string{"value"}}}
}

// sysctlRun is one setting of the kernel.
type sysctlRun struct {
	*call
	ctx   context.Context
	a     *sysctlArgs
	bin   string
	value string
	now   *string // in the kernel, nil: not to be had
	lines []string
	file  map[string]string
}

// sysctlC are the changes to the environment that the module reads sysctl's words under.
var sysctlC = []string{"LANG=C", "LC_ALL=C", "LC_MESSAGES=C"}

// posixSysctl is ansible.posix.sysctl.
func posixSysctl(ctx context.Context, c *call, a *sysctlArgs) (Result, error) {
	switch {
	case a.Name == "":
		return nil, fail("name cannot be blank")
	case a.State == "present" && a.Value != nil && *a.Value == "":
		return nil, fail("value cannot be blank")
	}
	s := &sysctlRun{call: c, ctx: ctx, a: a, file: map[string]string{}}
	var err error
	if s.bin, err = c.needBin("sysctl"); err != nil {
		return nil, err
	}
	a.Name = strings.TrimFunc(a.Name, pySpace)
	s.value = sysctlValue(a.Value)
	if strings.ContainsAny(a.Name, "'\"\\ \t\n$~") || strings.ContainsAny(s.value, "'\"\\$~") {
		return nil, handBack("a setting that needs quoting")
	}
	if err := s.current(); err != nil {
		return nil, err
	}
	if err := s.read(); err != nil {
		return nil, err
	}
	c.params.Set("name", a.Name)
	c.params.Set("value", s.value)
	changed, write, set := s.decide()
	if !c.Check {
		if err := s.act(changed, write, set); err != nil {
			return nil, err
		}
	}
	return value.DictOf("changed", changed), nil
}

// sysctlValue is what of a value is written: truth words are numbers.
func sysctlValue(v *string) string {
	if v == nil {
		return ""
	}
	if b, err := argspec.Boolean(*v); err == nil && *v == strings.TrimSpace(*v) {
		if b {
			return "1"
		}
		return "0"
	}
	return strings.TrimFunc(*v, pySpace)
}

var plainSysctl = rx.Lazy(`^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$`)

// current reads the kernel's value; where /proc does not answer plainly,
// sysctl is asked.
func (s *sysctlRun) current() error {
	if plainSysctl.MatchString(s.a.Name) {
		if b, err := os.ReadFile("/proc/sys/" + strings.ReplaceAll(s.a.Name, ".", "/")); err == nil {
			text := string(b)
			s.now = &text
			return nil
		}
	}
	r, err := s.run(s.ctx, &command{argv: []string{s.bin, "-e", "-n", s.a.Name}, env: sysctlC})
	if err != nil {
		return commandFailed(err, []string{s.bin})
	}
	if r.rc == 0 {
		text := string(r.stdout)
		s.now = &text
	}
	return nil
}

func (s *sysctlRun) read() error {
	if !isFile(s.p(s.a.File)) {
		return nil
	}
	text, err := s.readPlain(s.a.File)
	switch {
	case isHandBack(err):
		return err
	case err != nil:
		return fail("Failed to open " + s.a.File + ": " + asOSError(err, s.a.File, false).Error())
	}
	for line := range strings.Lines(text) {
		line = strings.TrimFunc(line, pySpace)
		s.lines = append(s.lines, line)
		if k, v, ok := sysctlLine(line); ok {
			s.file[k] = v
		}
	}
	return nil
}

// sysctlLine splits a setting's line.
func sysctlLine(line string) (k, v string, ok bool) {
	if line == "" || line[0] == '#' || line[0] == ';' {
		return "", "", false
	}
	k, v, ok = strings.Cut(line, "=")
	return strings.TrimFunc(k, pySpace), strings.TrimFunc(v, pySpace), ok
}

// decide says whether anything changes, and whether the file and the kernel are to.
func (s *sysctlRun) decide() (changed, write, set bool) {
	have, there := s.file[s.a.Name]
	present := s.a.State == "present"
	same := s.now != nil && strings.Join(strings.FieldsFunc(*s.now, pySpace), " ") == strings.Join(strings.FieldsFunc(s.value, pySpace), " ")
	switch {
	case !there && present, there && have != "" && !present:
		changed, write = true, true
	case !there:
	case have != s.value:
		changed, write = true, true
	case s.a.Reload && !same:
		changed = true
	}
	if s.a.Set && present && !same {
		changed, set = true, s.now != nil
	}
	return changed, write, set
}

func (s *sysctlRun) act(changed, write, set bool) error {
	if set {
		v := s.value
		words := []string{s.bin}
		if s.a.Ignore {
			words = append(words, "-e")
		}
		r, err := s.run(s.ctx, &command{argv: append(words, "-w", s.a.Name+"="+v), env: sysctlC})
		if err != nil {
			return commandFailed(err, words)
		}
		if r.rc != 0 || sysctlError.Match(r.stderr) {
			return fail("setting " + s.a.Name + " failed: " + string(r.stdout) + string(r.stderr))
		}
	}
	if write {
		if err := s.write(); err != nil {
			return err
		}
	}
	if !changed || !s.a.Reload {
		return nil
	}
	words := []string{s.bin, "-p", s.a.File}
	if s.a.Ignore {
		words = []string{s.bin, "-e", "-p", s.a.File}
	}
	r, err := s.run(s.ctx, &command{argv: words, env: sysctlC})
	if err != nil {
		return commandFailed(err, words)
	}
	if r.rc != 0 || sysctlError.Match(r.stderr) {
		return fail("Failed to reload sysctl: " + string(r.stdout) + string(r.stderr))
	}
	return nil
}

var sysctlError = rx.Lazy(`(?m)^sysctl: setting key "[^"]+": (Invalid argument|Read-only file system)$`)

// write puts the settings, each once, in the place of the file.
func (s *sysctlRun) write() error {
	var out strings.Builder
	seen := map[string]bool{}
	for _, line := range s.lines {
		k, v, ok := sysctlLine(line)
		if !ok {
			out.WriteString(line + "\n")
			continue
		}
		if seen[k] {
			continue
		}
		seen[k] = true
		if k == s.a.Name {
			if s.a.State != "present" {
				continue
			}
			v = s.value
		}
		out.WriteString(strings.TrimFunc(k+"="+v, pySpace) + "\n")
	}
	if !seen[s.a.Name] && s.a.State == "present" {
		out.WriteString(s.a.Name + "=" + s.value + "\n")
	}
	real := realpath(s.p(s.a.File))
	return s.put(&placement{
		content: []byte(out.String()), dest: real,
		temp: func() (*os.File, error) {
			f, err := tempFileIn(filepath.Dir(real), ".ansible_m_sysctl_", ".conf")
			if err != nil {
				return nil, raise(asOSError(err, filepath.Dir(real)+"/.ansible_m_sysctl_"+randomName()+".conf", false).Error())
			}
			return f, nil
		},
		failed: failedWrite,
	})
}

// failedWrite is how modules of ansible.posix end whose temporary file cannot be written.
func failedWrite(err error, tmp string) error {
	return fail("Failed to write to file " + tmp + ": " + asOSError(err, "", false).Error())
}
