package modules

import (
	"archive/zip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"volant/wire/value"
)

// wheels are the packages that cases install: name, version, and more of the metadata.
var wheels = [][3]string{
	{"vtpip-a", "1.0", ""}, {"vtpip-a", "1.1", ""}, {"vtpip-a", "2.0", ""}, {"vtpip-a", "2.1rc1", ""},
	{"Vtpip.B", "1.0", "Requires-Dist: vtpip-a\n"},
	{"vtpip-c", "3.0", "Provides-Extra: more\nRequires-Dist: vtpip.b ; extra == 'more'\n"},
}

// makeWheels writes the packages into a directory.
func makeWheels(t *testing.T, dir string) {
	t.Helper()
	for _, w := range wheels {
		base := strings.NewReplacer("-", "_", ".", "_").Replace(w[0]) + "-" + w[1]
		f, err := os.Create(filepath.Join(dir, base+"-py3-none-any.whl"))
		must(t, err)
		z := zip.NewWriter(f)
		info, record := base+".dist-info/", ""
		for _, part := range [][2]string{
			{strings.ToLower(base[:7]) + ".py", "x = 1\n"},
			{info + "METADATA", "Metadata-Version: 2.1\nName: " + w[0] + "\nVersion: " + w[1] + "\n" + w[2]},
			{info + "WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"},
			{info + "RECORD", ""},
		} {
			record += part[0] + ",,\n"
			if part[1] == "" {
				part[1] = record
			}
			out, err := z.Create(part[0])
			must(t, err)
			_, err = out.Write([]byte(part[1]))
			must(t, err)
		}
		must(t, z.Close())
		must(t, f.Close())
	}
}

// TestPipIsThePythonModule installs into virtual environments, which takes
// half a second for each time pip starts: a tenth of the cases runs where not
// all are asked for.
func TestPipIsThePythonModule(t *testing.T) {
	d := newDiffer(t)
	links := t.TempDir()
	makeWheels(t, links)
	for _, kv := range []string{"PIP_NO_INDEX=1", "PIP_FIND_LINKS=" + links, "PIP_DISABLE_PIP_VERSION_CHECK=1", "PIP_NO_INPUT=1",
		"PYTHONDONTWRITEBYTECODE=1", "HOME=" + links, "PIP_CACHE_DIR=" + links} {
		d.env = append(d.env, kv)
	}
	must(t, os.MkdirAll(d.dir, 0o755))
	if out, err := exec.Command(d.core.Python, "-m", "venv", d.dir+"/venv").CombinedOutput(); err != nil {
		t.Skipf("no virtual environments here: %v: %s", err, out)
	}
	// Its own pip lies elsewhere, so that a case has little to copy and compare.
	shell("mkdir lib && cd "+d.dir+"/venv/lib/python3*/site-packages && mv * "+links+"/lib && echo "+links+"/lib >own.pth")(t, links)
	kept := filepath.Join(links, "venv")
	must(t, os.Rename(d.dir+"/venv", kept))
	d.volatile = func(s string) string { return pipTemporary.ReplaceAllString(s, "some file$2") }

	with := func(script string) func(*testing.T, string) {
		return shell("cp -a " + kept + " venv; export PIP_NO_INDEX=1 PIP_FIND_LINKS=" + links + " PYTHONDONTWRITEBYTECODE=1 PIP_DISABLE_PIP_VERSION_CHECK=1\n" + script)
	}
	l := func(items ...any) *value.List { return value.ListOf(items...) }
	venv := func(kv ...any) *value.Dict { return value.DictOf(append([]any{"virtualenv", "@D/venv"}, kv...)...) }
	name := func(n any, kv ...any) *value.Dict { return venv(append([]any{"name", n}, kv...)...) }
	get := "venv/bin/pip -q install "
	lines := func(s string) func(*testing.T, string) { return all(with(""), mkfile("r.txt", s, 0o644)) }
	cases := []diffCase{
		{name: "install", args: name("vtpip-a")},
		{name: "is", args: name("vtpip-a"), setup: with(get + "vtpip-a")},
		{name: "version", args: name("vtpip-a", "version", "1.1")},
		{name: "version, another", args: name("Vtpip_A", "version", "1.0"), setup: with(get + "vtpip-a")},
		{name: "version, number", args: name("vtpip-a", "version", 1.0), setup: with(get + "vtpip-a==1.0")},
		{name: "version, condition", args: name("vtpip-a", "version", ">=1.1"), setup: with(get + "vtpip-a==1.0")},
		{name: "conditions", args: name("vtpip-a <2, >= 1.0")},
		{name: "conditions, is", args: name(l("vtpip-a>1", "<2", "vtpip.b"), "state", "present"), setup: with(get + "vtpip-a==1.1 vtpip-b")},
		{name: "conditions, is not", args: name("vtpip-a!=1.1,~=1.0"), setup: with(get + "vtpip-a==1.1")},
		{name: "any of a version", args: name("vtpip-a==1.*"), setup: with(get + "vtpip-a==1.1")},
		{name: "not any of a version", args: name("vtpip-a!=1.*"), setup: with(get + "vtpip-a==1.1")},
		{name: "several", args: name(l("vtpip-a", "vtpip-c[more]"))},
		{name: "comma", args: name("vtpip-a,vtpip-c[ more ] >=2")},
		{name: "release candidate", args: name("vtpip-a==2.1rc1"), handBackCheck: true},
		{name: "candidate is there", args: name("vtpip-a>=1"), setup: with(get + "vtpip-a==2.1rc1"), handBackCheck: true},
		{name: "latest", args: name("vtpip-a", "state", "latest"), setup: with(get + "vtpip-a==1.0")},
		{name: "latest, is", args: name("vtpip-a", "state", "latest"), setup: with(get + "vtpip-a")},
		{name: "again", args: name("vtpip-a", "state", "forcereinstall"), setup: with(get + "vtpip-a")},
		{name: "absent", args: name("vtpip-a", "state", "absent"), setup: with(get + "vtpip-a")},
		{name: "absent, version", args: name("vtpip-a", "state", "absent", "version", "1.0"), setup: with(get + "vtpip-a")},
		{name: "absent is", args: name(l("vtpip-a", "vtpip-b"), "state", "absent")},
		{name: "unknown", args: name("vtpip-nothing")},
		{name: "unknown version", args: name("vtpip-a==7")},
		{name: "a file", args: name(links + "/vtpip_a-1.1-py3-none-any.whl")},
		{name: "a URL that fails", args: name("http://127.0.0.1:9/x.whl"), setup: with(""), once: true},
		{name: "a repository that fails", args: name("git+file:///nowhere/x"), once: true},

		{name: "requirements", args: venv("requirements", "@D/r.txt"), setup: lines("# these\nvtpip-a==1.0\n\nvtpip-c[more] >=2 # and more\n")},
		{name: "requirements are", args: venv("requirements", "r.txt", "chdir", "@D"), setup: all(lines("vtpip-a\n"), shell("export PIP_NO_INDEX=1 PIP_FIND_LINKS="+links+"; "+get+"--no-compile vtpip-a"))},
		{name: "requirements, latest", args: venv("requirements", "@D/r.txt", "state", "latest"), setup: all(lines("vtpip-a\n"), shell("export PIP_NO_INDEX=1 PIP_FIND_LINKS="+links+"; "+get+"--no-compile vtpip-a==1.0"))},
		{name: "requirements again", args: venv("requirements", "@D/r.txt", "state", "forcereinstall"), setup: all(lines("vtpip-a\n"), shell("export PIP_NO_INDEX=1 PIP_FIND_LINKS="+links+"; "+get+"--no-compile vtpip-a"))},
		{name: "requirements, absent", args: venv("requirements", "@D/r.txt", "state", "absent"), setup: all(lines("vtpip-a\n"), shell("export PIP_NO_INDEX=1 PIP_FIND_LINKS="+links+"; "+get+"--no-compile vtpip-a"))},
		{name: "requirements with options", args: venv("requirements", "@D/r.txt"), setup: lines("--no-index\nvtpip-a\n")},
		{name: "requirements, nothing there", args: venv("requirements", "@D/none.txt")},
		{name: "requirements, unknown", args: venv("requirements", "@D/r.txt"), setup: lines("vtpip-nothing\n")},
		{name: "requirements, quiet", args: venv("requirements", "@D/r.txt", "extra_args", "-q"), setup: lines("vtpip-a\n")},

		{name: "extra arguments", args: name("vtpip-a", "extra_args", "--no-deps --pre")},
		{name: "extra arguments, quoted", args: name("vtpip-a", "extra_args", "--target '@D/a b'")},
		{name: "editable", args: name("@D/nowhere", "editable", true)},
		{name: "umask", args: name("vtpip-a", "umask", "0077")},
		{name: "break system", args: name("vtpip-a", "break_system_packages", true)},
		{name: "relative environment", args: value.DictOf("name", "vtpip-a", "chdir", "@D", "virtualenv", "venv")},
		{name: "another pip", args: value.DictOf("name", "vtpip-a", "executable", "@D/venv/bin/pip3")},
		{name: "another pip, requirements", args: value.DictOf("requirements", "@D/r.txt", "executable", "@D/venv/bin/pip3"), setup: lines("vtpip-a\n")},
		{name: "the interpreter's", args: value.DictOf("name", "packaging")},
		{name: "the interpreter's, elsewhere", args: value.DictOf("name", "vtpip-a", "extra_args", "--target @D/there")},
		{name: "the interpreter's, absent", args: value.DictOf("name", "vtpip-a", "state", "absent")},

		{name: "no environment", args: value.DictOf("name", "vtpip-a", "virtualenv", "@D/none", "virtualenv_command", "false"), handBack: true},
		{name: "no name", args: name(l())},
		{name: "empty name", args: name(""), handBack: true},
		{name: "marker", args: name("vtpip-a; python_version > '3'"), handBack: true},
		{name: "both", args: name("a", "requirements", "b")},
		{name: "neither", args: venv()},
		{name: "two places", args: name("a", "executable", "pip")},
		{name: "version of several", args: name("a,b", "version", "1")},
		{name: "version twice", args: name("a>1", "version", "1")},
		{name: "latest version", args: name("a", "state", "latest", "version", "1")},
		{name: "odd umask", args: name("vtpip-a", "umask", "x"), handBack: true},
		{name: "no such pip", args: value.DictOf("name", "vtpip-a", "executable", "no-such-pip"), handBack: true},
	}
	for i := range cases {
		if cases[i].setup == nil {
			cases[i].setup = with("")
		}
	}
	for i, c := range cases {
		if everyCase || i%10 == 0 {
			d.test(t, "pip", []diffCase{c})
		}
	}
}

var pipTemporary = regexp.MustCompile(`pip-req-build-\w+|/tmp/pip-[\w-]+(/[\w.-]+)*|\d+:\d+:\d+\.\d+|(/__pycache__/vtpip\S+\.pyc \S+ \S+).*`)

// TestPipIsRunOnce has pip, which has nothing to do, run again only once something has changed.
func TestPipIsRunOnce(t *testing.T) {
	d := newDiffer(t)
	dir := t.TempDir()
	shell(`mkdir -p v/bin; touch v/bin/activate
cat >v/bin/pip3 <<'X'
#!/bin/sh
echo "$*" >>"${0%pip3}calls"
case "$*" in *list*) echo x==1;; *nothing*) echo Successfully installed nothing;; *) echo "Requirement already satisfied: x in y (1)";; esac
X
chmod +x v/bin/pip3
ln -s `+d.core.Python+` v/bin/python
printf 'home = /usr/bin\ninclude-system-site-packages = false\n' >v/pyvenv.cfg
site=$(v/bin/python -c 'import sys; print("v/lib/python%d.%d/site-packages" % sys.version_info[:2])')
mkdir -p $site/x-1.dist-info; ln -s $PWD/$site v/site
printf 'Name: x\nVersion: 1\n' >$site/x-1.dist-info/METADATA`)(t, dir)
	run := func(check bool, environ []string, kv ...any) {
		t.Helper()
		env := &Env{Name: "pip", Environ: append([]string{"PATH=/usr/bin:/bin", "HOME=" + dir}, environ...), Umask: -1, Python: d.core.Python, Check: check}
		res, err := Table["pip"](t.Context(), env, value.DictOf(append([]any{"virtualenv", dir + "/v"}, kv...)...))
		if err != nil || res.Bool("failed") || res.Lookup("stdout") == "" {
			t.Fatalf("%v %v", res, err)
		}
	}
	none := []string{"PIP_NO_INDEX=1"}
	calls := 0
	expect := func(n int, what string) {
		t.Helper()
		b, err := os.ReadFile(dir + "/v/bin/calls")
		must(t, err)
		if got := strings.Count(string(b), "\n") - calls; got != n {
			t.Errorf("%s: pip ran %d times, want %d", what, got, n)
		}
		calls = strings.Count(string(b), "\n")
	}
	for range 2 {
		run(false, none, "name", "x")
	}
	expect(1, "nothing to do")
	for range 2 {
		run(true, none, "name", "x")
	}
	expect(1, "check mode")
	for range 2 {
		run(false, none, "name", "nothing")
	}
	expect(2, "something done")
	for range 2 {
		run(false, nil, "name", "x")
	}
	expect(2, "newer versions are looked for")
	for range 2 {
		run(false, none, "name", "x", "state", "latest")
	}
	expect(2, "latest")
	must(t, os.WriteFile(dir+"/v/site/x-1.dist-info/METADATA", []byte("Name: x\nVersion: 1.1\n"), 0o644))
	run(false, none, "name", "x")
	expect(1, "another version")
	must(t, os.WriteFile(dir+"/r.txt", []byte("x\n"), 0o644))
	for range 2 {
		run(false, none, "requirements", dir+"/r.txt")
	}
	expect(1, "requirements")
	must(t, os.WriteFile(dir+"/r.txt", []byte("x\ny\n"), 0o644))
	run(false, none, "requirements", dir+"/r.txt")
	expect(1, "other requirements")
	sum := sha256.Sum224([]byte(dir + "/v"))
	state := dir + "/.cache/pip/selfcheck/" + hex.EncodeToString(sum[:])
	must(t, os.MkdirAll(filepath.Dir(state), 0o755))
	for days, want := range []int{1, 1, 1, 1, 1, 1, 1, 2} {
		last := time.Now().UTC().Add(-time.Duration(days) * 24 * time.Hour).Format("2006-01-02T15:04:05.000000")
		must(t, os.WriteFile(state, []byte(`{"key":"`+dir+`/v","last_check":"`+last+`+00:00","pypi_version":"1"}`), 0o644))
		for range 2 {
			run(false, nil, "name", "x")
		}
		expect(want, fmt.Sprintf("looked for %d days ago", days))
	}
}

func TestParsePip(t *testing.T) {
	for in, want := range map[string]string{
		"a": "a", " A.b_c ": "A.b_c", "a>=1": "a>=1", "a >= 1 , <2": "a<2,>=1", "a[y, x]==1.*": "a[x,y]==1.*", "a~=1.2rc1": "a~=1.2rc1",
		"/x/y": "/x/y", "git+https://e.org/x@v1": "git+https://e.org/x@v1",
		"a==*": "back", "a~=1": "back", "a>1.*": "back", "a;x": "back", "a @ http://x": "back", "": "back", "a b": "back", "a==1,==1": "back", "a===1": "back", "a==1+x": "back",
		"distribute": "back", "a[x,x]": "back", "a[]": "back",
	} {
		p, err := parsePip(in)
		got := "back"
		if err == nil {
			got = p.text
		}
		if got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestPipNames(t *testing.T) {
	for in, want := range map[string]string{
		"django>1.11.1|<1.11.3|ipaddress|x>1|<2": "django>1.11.1,<1.11.3|ipaddress|x>1,<2",
		"a>1,<2,b":                               "a>1,<2|b",
		"a[x,y]>1,c":                             "a[x,y]>1|c",
		"a[x|y]|c":                               "a[x,y]|c",
		"":                                       "",
	} {
		if got := strings.Join(pipNames(strings.Split(in, "|")), "|"); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestPipTakes(t *testing.T) {
	for in, want := range map[string]string{
		"a 1": "yes", "a==1 1.0": "yes", "a==1.0.0 1": "yes", "a==1.1 1": "no", "a==1.* 1.5.2": "yes", "a==1.* 10": "no", "a!=1.* 1": "no", "a>=1.9 1.10": "yes", "a<2,>1 1.5": "yes",
		"a<2,>1 1.0": "no", "a~=1.4.2 1.4.9": "yes", "a~=1.4.2 1.5": "no", "a~=1.4 1.9": "yes", "a~=1.4 2.0": "no", "a>=1 1.0rc1": "unsure", "a==1rc1 1": "unsure", "a x": "yes",
	} {
		words := strings.Fields(in)
		p, err := parsePip(words[0])
		must(t, err)
		takes, ok := p.takes(words[1])
		got := map[bool]string{true: "yes", false: "no"}[takes]
		if !ok {
			got = "unsure"
		}
		if got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

// TestPipTextIsPackagings has the packaging library write what parsePip writes.
func TestPipTextIsPackagings(t *testing.T) {
	d := newDiffer(t)
	const script = "import sys\nfrom packaging.requirements import Requirement\nfor l in sys.argv[1:]:\n    r = Requirement(l)\n    print(str(r), r.specifier.contains('1.10.0', prereleases=True))"
	in := []string{"a", "A.b_c", "a>=1", "a >= 1 , <2,!=1.5", "a[y, x]==1.*", "a~=1.2", "a [z] <3, >1.9, ~=1.10", "a==1.10", "a!=1.1.*", "a<1.9", "a>1.10"}
	out, err := exec.Command(d.core.Python, append([]string{"-c", script}, in...)...).CombinedOutput()
	if err != nil {
		t.Skipf("no packaging library: %v: %s", err, out)
	}
	for i, line := range strings.Split(strings.TrimSpace(string(out)), "\n") {
		p, err := parsePip(in[i])
		must(t, err)
		takes, ok := p.takes("1.10.0")
		if got := fmt.Sprint(p.text, " ", map[bool]string{true: "True", false: "False"}[takes && ok]); got != line {
			t.Errorf("%s: %s, want %s", in[i], got, line)
		}
	}
}

func FuzzParsePip(f *testing.F) {
	f.Add("a[x,y]>=1.0,<2", "1.5")
	f.Fuzz(func(t *testing.T, s, version string) {
		pipNames([]string{s, version})
		p, err := parsePip(s)
		if err != nil {
			return
		}
		_, _ = p.takes(version)
		again, err := parsePip(p.text)
		if err != nil || again.text != p.text || again.name != p.name {
			t.Errorf("%q is written %q, which is not read so", s, p.text)
		}
	})
}
