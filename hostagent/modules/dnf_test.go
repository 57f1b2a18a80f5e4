package modules

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"volant/wire/value"
)

func TestOnlyPackage(t *testing.T) {
	for name, want := range map[string]bool{
		"bash": true, "gcc-c++": true, "python3.11": true, "python3-dnf": true, "java-11-openjdk": true, "java-1.8.0-openjdk-devel": true,
		"compat-openssl10": true, "xorg-x11-fonts": true, "mysql8.0-server": true,
		"": false, "bash-5": false, "bash-5.1-3.el9": false, "bash-5.1-3": false, "bash.x86_64": false, "bash.noarch": false, "ba*": false, "ba?h": false,
		"[b]ash": false, "@base": false, "/bin/sh": false, "x.rpm": false, "http://x/y": false, "a b": false, "bash >= 5": false, "sh(x)": false,
		"gpg-pubkey": false, "-x": false, "perl:5": false, "naïve": false,
	} {
		if onlyPackage(name) != want {
			t.Errorf("%q: %v", name, !want)
		}
	}
}

func TestHiding(t *testing.T) {
	host := &call{Env: &Env{}}
	dir := t.TempDir()
	for name, c := range map[string]struct {
		text string
		want bool
	}{
		"dnf.conf":         {"[main]\ngpgcheck=1\n#exclude=x\nbest=True\n", false},
		"exclude.conf":     {"[main]\nexclude=kernel*\n", true},
		"excludepkgs.conf": {"[main]\n excludepkgs = a\n", true},
		"includepkgs.conf": {"[main]\nincludepkgs=a\n", true},
		"versionlock.list": {"# none\n\n", false},
		"versionlock.toml": {"version = \"1.0\"\n", true},
	} {
		file := filepath.Join(dir, name)
		must(t, os.WriteFile(file, []byte(c.text), 0o644))
		if why := host.hiding([]string{file}); (why != "") != c.want {
			t.Errorf("%s: %q", name, why)
		}
	}
	if why := host.hiding([]string{dir + "/none", dir + "/none/*.conf"}); why != "" {
		t.Error(why)
	}
}

// What dnf is asked for besides names goes to the Python module.
func TestDnfHandsBack(t *testing.T) {
	for name, kv := range map[string][]any{
		"latest": {"state", "latest"}, "cache": {"update_cache", true}, "exclude": {"exclude", "x"}, "root": {"installroot", "/mnt"},
		"autoremove": {"state", "absent", "autoremove", true}, "only updates": {"update_only", true}, "security": {"security", true},
		"configuration": {"conf_file", "/x"}, "release": {"releasever", "9"}, "plugin": {"enable_plugin", "x"}, "download": {"download_only", true},
		"deprecated": {"install_repoquery", true}, "cached": {"cacheonly", true}, "inner list": {"enablerepo", value.ListOf("a", "b,c")},
	} {
		for _, module := range []string{"dnf", "dnf5"} {
			args := value.DictOf("name", "bash")
			args.Update(value.DictOf(kv...))
			_, err := Table[module](t.Context(), &Env{Name: module, Umask: -1}, args)
			if !isHandBack(err) {
				t.Errorf("%s, %s: %v", module, name, err)
			}
		}
	}
}

// rpmHost skips a test where the packages are not as e2e/testdata/diff/host.sh
// makes them, which is not done to a machine that is no test's own.
func rpmHost(t *testing.T) *differ {
	t.Helper()
	if os.Getuid() != 0 || exec.Command("rpm", "-q", "lab-release").Run() != nil {
		t.Skip("needs root, rpm and the packages of the test hosts")
	}
	d := newDiffer(t)
	d.python = "/usr/bin/python3"
	d.noDiff = true
	return d
}

// dnfCases are what both generations answer alike.
func dnfCases() []diffCase {
	a := value.DictOf
	one := shell(`rpm -q lab-one lab-old-1.0 || rpm -U --nodeps --oldpackage --force /srv/rpm/repo/noarch/lab-one-1.0-1.noarch.rpm /srv/rpm/repo/noarch/lab-old-1.0-1.noarch.rpm
for p in lab-available lab-other; do ! rpm -q $p || rpm -e $p; done`)
	back := func(name string, args *value.Dict) diffCase {
		return diffCase{name: name, args: args, handBack: true}
	}
	cases := []diffCase{
		{name: "installed", args: a("name", "lab-one")},
		{name: "installed, several", args: a("name", value.ListOf("lab-one", " lab-release"), "state", "installed")},
		{name: "present, comma list", args: a("pkg", "lab-one,lab-release", "state", "present")},
		{name: "older than the repository's", args: a("name", "lab-old", "state", "present")},
		{name: "options without effect", args: a("name", "lab-one", "disable_gpg_check", true, "enablerepo", "none", "disablerepo", "lab*", "skip_broken", true,
			"allow_downgrade", true, "allowerasing", true, "best", true, "install_weak_deps", false, "sslverify", false, "validate_certs", false, "lock_timeout", int64(5))},
		{name: "nobest", args: a("name", "lab-one", "nobest", true)},
		{name: "absent", args: a("name", "lab-none", "state", "absent")},
		{name: "absent, in the repository", args: a("name", "lab-available", "state", "absent")},
		{name: "absent, several", args: a("name", value.ListOf("lab-none", "lab-available", "lab-other"), "state", "removed")},
		{name: "name with a dot", args: a("name", "lab.dot")},
		{name: "name like a version", args: a("name", "java-11-lab")},
		{name: "both best", args: a("name", "lab-one", "best", true, "nobest", true)},
		{name: "unknown", args: a("name", "lab-one", "x", "y")},
		{name: "bad state", args: a("name", "lab-one", "state", "there")},
		{name: "name and list", args: a("name", "lab-one", "list", "installed")},
		back("no name", a("state", "present")),
		back("provided, present", a("name", "lab-capability")),
		back("provided, absent", a("name", "lab-capability", "state", "absent")),
		back("version", a("name", "lab-one-1.0")),
		back("version and release", a("name", "lab-one-1.0-1")),
		back("architecture", a("name", "lab-one.noarch")),
		back("file", a("name", "/usr/share/lab-one")),
		back("group", a("name", "@lab")),
		back("glob", a("name", "lab-o*")),
		back("range", a("name", "lab-one >= 1")),
		back("not installed", a("name", "lab-available")),
		back("unavailable", a("name", "lab-none")),
		back("installed, to go", a("name", "lab-one", "state", "absent")),
		back("latest", a("name", "lab-old", "state", "latest")),
		back("empty", a("name", "")),
		back("spaces", a("name", "lab-one lab-old")),
	}
	for i := range cases {
		cases[i].setup = one
	}
	return cases
}

func TestDnfIsThePythonModule(t *testing.T) {
	d := rpmHost(t)
	if exec.Command(d.python, "-c", "import dnf").Run() != nil {
		t.Skip("needs python3-dnf")
	}
	d.test(t, "dnf", dnfCases())
}

// libdnf5 stands for the library that Debian does not have, so far as the
// Python module asks it for packages that are as they should be.
const libdnf5 = `import sys, types, subprocess
class Thing:
    def __init__(self, *a): pass
    def __getattr__(self, name): return Thing()
    def __call__(self, *a): return Thing()
    def __iter__(self): return iter(())
    def get_problems(self): return 0
    def has_just_name(self): return True
    def resolve(self): return Thing()
class PackageQuery(Thing):
    def resolve_pkg_spec(self, spec, settings, src):
        return subprocess.call(['rpm', '-q', spec], stdout=subprocess.DEVNULL) == 0, Thing()
base = types.SimpleNamespace(Base=Thing, ResolveSpecSettings=Thing, GoalJobSettings=Thing, Goal=type('Goal', (Thing,), {'resolve': lambda s: type('T', (Thing,), {'get_transaction_packages': lambda s: []})()}))
rpm = types.SimpleNamespace(PackageQuery=PackageQuery)
logger = types.SimpleNamespace(GlobalLogger=Thing, Logger=Thing(), create_file_logger=Thing())
repo = types.SimpleNamespace(RepoQuery=Thing, Repo=Thing())
common = Thing()
`

func TestDnf5IsThePythonModule(t *testing.T) {
	d := rpmHost(t)
	lib := t.TempDir()
	must(t, os.Mkdir(filepath.Join(lib, "libdnf5"), 0o755))
	must(t, os.WriteFile(filepath.Join(lib, "libdnf5", "__init__.py"), []byte(libdnf5), 0o644))
	d.env = append(d.env, "PYTHONPATH="+lib)
	var cases []diffCase
	for _, c := range dnfCases() {
		if !c.handBack { // the others are the library's work
			cases = append(cases, c)
		}
	}
	d.test(t, "dnf5", cases)
}

func TestPackageFactsOfRPMAreThePythonModules(t *testing.T) {
	d := rpmHost(t)
	if exec.Command(d.python, "-c", "import rpm").Run() != nil {
		t.Skip("needs python3-rpm")
	}
	d.test(t, "package_facts", []diffCase{
		{name: "rpm", args: value.DictOf("manager", "rpm")},
		{name: "by other names", args: value.DictOf("manager", value.ListOf("dnf", "Yum"))},
		{name: "all of them", args: value.DictOf("manager", "rpm", "strategy", "all"), handBack: true},
		{name: "with another", args: value.DictOf("manager", value.ListOf("rpm", "apt")), handBack: true},
	})
}
