package modules

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"volant/wire/argspec"
	"volant/wire/rx"
	"volant/wire/shlex"
	"volant/wire/value"
)

type pipArgs struct {
	State        string   `arg:"state,default=present,choices=present|absent|latest|forcereinstall"`
	Name         []string `arg:"name"`
	Version      *string  `arg:"version"`
	Requirements *string  `arg:"requirements"`
	Virtualenv   *string  `arg:"virtualenv,type=path"`
	SitePackages bool     `arg:"virtualenv_site_packages,default=no"`
	Command      string   `arg:"virtualenv_command,type=path,default=virtualenv"`
	VenvPython   *string  `arg:"virtualenv_python"`
	ExtraArgs    *string  `arg:"extra_args"`
	Editable     bool     `arg:"editable,default=no"`
	Chdir        *string  `arg:"chdir,type=path"`
	Executable   *string  `arg:"executable,type=path"`
	Umask        *string  `arg:"umask"`
	BreakSystem  bool     `arg:"break_system_packages,default=no"`
}

func pipRules(s *argspec.Spec) {
	s.RequiredOneOf = [][]string{{"name", "requirements"}}
	s.MutuallyExclusive = [][]string{{"name", "requirements"}, {"executable", "virtualenv"}}
}

// pipStates are the words that pip is told a state with.
var pipStates = map[string][]string{
	"present": {"install"}, "absent": {"uninstall", "-y"}, "latest": {"install", "-U"}, "forcereinstall": {"install", "-U", "--force-reinstall"},
}

// pipTask is one run of the pip module: pip does it, as for the Python module.
type pipTask struct {
	*call
	ctx      context.Context
	a        *pipArgs
	dir      string   // where pip runs
	venv     string   // empty: none
	pip      []string // how pip is run
	path     []string // where its Python looks for packages; empty: not known
	python   string   // sys.prefix of its Python
	packages []*pipPackage
}

var plainUmask = rx.Lazy(`^[0-7]{1,4}$`)

// pip is the pip module where pip, and the virtual environment, are there.
func pip(ctx context.Context, c *call, a *pipArgs) (Result, error) {
	p := &pipTask{call: c, ctx: ctx, a: a}
	own, err := c.pythonInstall(ctx, c.Python)
	if err != nil {
		return nil, err
	}
	if own.packaging == "" {
		return nil, handBack("the interpreter has no packaging library")
	}
	if u := opted(a.Umask); u != "" {
		if !plainUmask.MatchString(u) {
			return nil, handBack("an unusual umask")
		}
		n, _ := strconv.ParseInt(u, 8, 32)
		c.Umask = int(n)
	}
	if a.State == "latest" && a.Version != nil {
		return nil, fail("version is incompatible with state=latest")
	}
	if a.Chdir != nil && (!strings.HasPrefix(*a.Chdir, "/") || !isDir(*a.Chdir)) {
		return nil, handBack("an unusual directory to run in")
	}
	if p.dir = opted(a.Chdir); a.Chdir == nil {
		p.dir = c.tempDir()
	}
	if v := opted(a.Virtualenv); v != "" {
		if p.venv = pyJoin(opted(a.Chdir), v); !strings.HasPrefix(p.venv, "/") {
			return nil, handBack("a relative virtual environment")
		}
		if !exists(p.venv + "/bin/activate") {
			if c.Check {
				return value.DictOf("changed", true), nil
			}
			return nil, handBack("there is no virtual environment yet")
		}
	}
	if err := p.find(own); err != nil {
		return nil, err
	}
	if len(a.Name) > 0 {
		if err := p.want(); err != nil {
			return nil, err
		}
	}
	return p.act()
}

// find decides which pip is run.
func (p *pipTask) find(own *pythonInstall) error {
	executable := opted(p.a.Executable)
	switch {
	case p.venv != "":
		for _, n := range []string{"pip3", "pip"} {
			file := pyJoin(p.venv, "bin/"+n)
			var st syscall.Stat_t
			if syscall.Stat(file, &st) == nil && st.Mode&0o111 != 0 {
				p.pip = []string{file}
				if in, err := p.pythonInstall(p.ctx, p.venv+"/bin/python"); err == nil {
					p.path, p.python = in.path, in.prefix
				}
				return nil
			}
		}
		return handBack("there is no pip in the virtual environment")
	case p.a.Executable == nil && own.pip != "":
		p.pip, p.path, p.python = []string{own.executable, "-m", "pip"}, own.path, own.prefix
		return nil
	case strings.HasPrefix(executable, "/"):
		p.pip = []string{executable}
		return nil
	case p.a.Executable == nil:
		executable = "pip3"
	}
	file, ok := p.binPath(executable)
	if !ok || executable == "" {
		return handBack("there is no pip")
	}
	p.pip = []string{file}
	return nil
}

// want reads the names.
func (p *pipTask) want() error {
	for _, n := range pipNames(p.a.Name) {
		q, err := parsePip(n)
		if err != nil {
			return err
		}
		p.packages = append(p.packages, q)
	}
	if p.a.Version == nil {
		return nil
	}
	first := p.packages[0]
	switch version := strings.TrimLeftFunc(*p.a.Version, pySpace); {
	case len(p.packages) > 1:
		return fail("'version' argument is ambiguous when installing multiple package distributions. " +
			"Please specify version restrictions next to each package in 'name' argument.")
	case len(first.specs) > 0:
		return fail("The 'version' argument conflicts with any version specifier provided along with a package name. " +
			"Please keep the version specifier, but remove the 'version' argument.")
	case *p.a.Version == "":
		return nil
	case version == "" || first.name == "":
		return handBack("a version of what is no plain package")
	default:
		separator := " "
		if version[0] >= '0' && version[0] <= '9' {
			separator = "=="
		}
		q, err := parsePip(first.text + separator + version)
		if err != nil {
			return err
		}
		p.packages[0] = q
		return nil
	}
}

func (p *pipTask) act() (Result, error) {
	a := p.a
	extra := opted(a.ExtraArgs)
	if a.Editable {
		var words []string
		if extra != "" {
			words = strings.Split(extra, " ")
		}
		if !slices.Contains(words, "-e") {
			extra = strings.Join(append(words, "-e"), " ")
		}
	}
	cmd := append(slices.Clone(p.pip), pipStates[a.State]...)
	if extra != "" {
		words, err := shlex.Split(extra)
		if err != nil {
			return nil, handBack("extra_args that cannot be split")
		}
		cmd = append(cmd, words...)
	}
	requirements := opted(a.Requirements)
	switch {
	case len(p.packages) > 0:
		for _, q := range p.packages {
			cmd = append(cmd, q.text)
		}
	case requirements != "":
		cmd = append(cmd, "-r", requirements)
	default:
		p.Warn("No valid name or requirements file found.")
		return value.DictOf("changed", false), nil
	}
	if p.Check {
		return p.checked(extra != "" || requirements != "" || a.State == "latest")
	}
	changed, err := p.watch()
	if err != nil {
		return nil, err
	}
	var env []string
	if p.venv != "" {
		env = []string{"PATH=" + strings.TrimSuffix(pyJoin(p.venv, "bin")+":"+p.Getenv("PATH"), ":")}
	}
	r, err := p.startOnce(cmd, env, a.State == "present" && extra == "")
	if err != nil {
		return nil, err
	}
	out, text := string(r.stdout), string(r.stderr)
	if r.rc != 0 && !(r.rc == 1 && a.State == "absent" && (strings.Contains(out, "not installed") || strings.Contains(text, "not installed"))) {
		return nil, p.failed(cmd, out, text)
	}
	did := strings.Contains(out, "Successfully installed")
	switch {
	case a.State == "absent":
		did = strings.Contains(out, "Successfully uninstalled")
	case changed != nil:
		if did, err = changed(); err != nil {
			return nil, err
		}
	}
	return value.DictOf("changed", did, "cmd", stringList(cmd), "name", p.params.Lookup("name"), "version", p.params.Lookup("version"), "state", a.State,
		"requirements", p.params.Lookup("requirements"), "virtualenv", venvShown(p.venv, a), "stdout", out, "stderr", text), nil
}

// venvShown is the virtual environment as results show it.
func venvShown(venv string, a *pipArgs) any {
	if venv == "" && a.Virtualenv == nil {
		return nil
	}
	return venv
}

// start runs pip as the module does.
func (p *pipTask) start(cmd, env []string) (*ran, error) {
	if p.a.BreakSystem {
		env = append(env, "PIP_BREAK_SYSTEM_PACKAGES=1")
	}
	argv := make([]string, len(cmd))
	for i, w := range cmd {
		argv[i] = p.args().ExpandPath(w)
	}
	r, err := p.run(p.ctx, &command{argv: argv, dir: p.dir, env: env})
	if err != nil {
		return nil, commandFailed(err, cmd)
	}
	return r, nil
}

// failed is how the module tells that pip failed.
func (p *pipTask) failed(cmd []string, out, text string) error {
	msg := ""
	if out != "" {
		msg = "stdout: " + out
	}
	if text != "" {
		msg += "\n:stderr: " + text
	}
	return fail(msg, "cmd", stringList(cmd))
}

// list asks pip what is installed, in the module's two ways.
func (p *pipTask) list() (cmd []string, out, text string, err error) {
	l := p.parsable(p.ctx)
	cmd = append(slices.Clone(p.pip), "list", "--format=freeze")
	r, err := p.startOnce(cmd, []string{"LANG=" + l, "LC_ALL=" + l, "LC_MESSAGES=" + l}, true)
	if err == nil && r.rc != 0 {
		cmd = append(slices.Clone(p.pip), "freeze")
		if r, err = p.start(cmd, nil); err == nil && r.rc != 0 {
			err = p.failed(cmd, string(r.stdout), string(r.stderr))
		}
	}
	if err != nil {
		return nil, "", "", err
	}
	return cmd, string(r.stdout), string(r.stderr), nil
}

// checked tells what would be done.
func (p *pipTask) checked(sure bool) (Result, error) {
	if sure || len(p.packages) == 0 {
		return value.DictOf("changed", true), nil
	}
	cmd, out, text, err := p.list()
	if err != nil {
		return nil, err
	}
	if cmd[len(cmd)-1] == "freeze" {
		return nil, handBack("pip is too old to list packages")
	}
	changed := false
	for _, q := range p.packages {
		present := false
		for line := range strings.Lines(out) {
			name, version, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "==")
			if !ok || q.name == "" || canonicalPip(name) != q.name || strings.HasPrefix(line, "You ") {
				continue
			}
			takes, ok := q.takes(version)
			if !ok {
				return nil, handBack("versions that are more than numbers")
			}
			present = present || takes
		}
		if p.a.State == "present" && !present || p.a.State == "absent" && present {
			changed = true
			break
		}
	}
	return value.DictOf("changed", changed, "cmd", strings.Join(cmd, " "), "stdout", out, "stderr", text), nil
}

// watch notes what is installed before pip runs, where the module compares
// that with what is installed afterwards; changed is nil where it does not.
// Where the directories of packages can be read, they tell as surely as pip.
func (p *pipTask) watch() (changed func() (bool, error), err error) {
	vcs := slices.ContainsFunc(p.a.Name, pipVCS.MatchString)
	if opted(p.a.Requirements) == "" && !vcs || p.a.State == "absent" {
		return nil, nil
	}
	if !vcs && opted(p.a.ExtraArgs) == "" && !p.a.Editable && p.listable() {
		if before := pipInstalled(p.path); before != nil {
			return func() (bool, error) {
				after := pipInstalled(p.path)
				return after == nil || !maps.Equal(before, after), nil
			}, nil
		}
	}
	_, before, _, err := p.list()
	return func() (bool, error) {
		_, after, _, err := p.list()
		return before != after, err
	}, err
}
