package modules

import (
	"os"
	"path/filepath"
	"testing"

	"volant/wire/value"
)

func TestParseShow(t *testing.T) {
	got := parseShow("Id=ssh.service\nExecStart={ path=/bin/x ;\n argv }\nExecStop={ path=/bin/y }\nnoise\nEnvironment=A=1 B=2\n")
	const want = "{'Id': 'ssh.service', 'ExecStart': '{ path=/bin/x ;\\n argv }', 'ExecStop': '{ path=/bin/y }', 'Environment': 'A=1 B=2'}"
	if r := value.Repr(got); r != want {
		t.Errorf("got  %s\nwant %s", r, want)
	}
}

// fakeSystemctl puts a systemctl on the PATH that answers `show` with status
// and logs every call; it stands for hosts no lab has, not for systemd itself,
// which the end-to-end tests run.
func fakeSystemctl(t *testing.T, show string) (env []string, calls func() string) {
	t.Helper()
	dir := t.TempDir()
	log := filepath.Join(dir, "log")
	script := "#!/bin/sh\necho \"$@\" >>" + log + "\ncase \"$1\" in show) cat " + filepath.Join(dir, "show") + ";; is-enabled) echo alias;; esac\n"
	if err := os.WriteFile(filepath.Join(dir, "systemctl"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "show"), []byte(show), 0o644); err != nil {
		t.Fatal(err)
	}
	return []string{"PATH=" + dir + ":/usr/bin:/bin", "XDG_RUNTIME_DIR=/x"}, func() string {
		b, _ := os.ReadFile(log)
		return string(b)
	}
}

func TestSystemdDecides(t *testing.T) {
	const running = "Id=web.service\nLoadState=loaded\nActiveState=active\nUnitFileState=enabled\n"
	for _, c := range []struct {
		name, show string
		args       *value.Dict
		check      bool
		calls      string
		result     string
	}{
		{"as asked: one show", running, value.DictOf("name", "web", "state", "started", "enabled", true), false, "show web\n",
			"changed=False enabled=True state=started"},
		{"check mode changes nothing", running, value.DictOf("name", "web", "state", "stopped", "enabled", false), true, "show web\n",
			"changed=True enabled=False state=stopped"},
		{"stop and disable", running, value.DictOf("name", "web", "state", "stopped", "enabled", false), false, "show web\ndisable web\nstop web\n",
			"changed=True enabled=False state=stopped"},
		{"an alias is asked for", "Id=real.service\nLoadState=loaded\nActiveState=active\nUnitFileState=enabled\n",
			value.DictOf("name", "web", "enabled", true), false, "show web\nis-enabled web -l\nenable web\n", "changed=True enabled=True state=None"},
		{"restart starts what is down", "Id=web.service\nLoadState=loaded\nActiveState=inactive\nUnitFileState=disabled\n",
			value.DictOf("name", "web", "state", "restarted"), false, "show web\nstart web\n", "changed=True enabled=None state=started"},
		{"missing", "Id=web.service\nLoadState=not-found\nActiveState=inactive\n", value.DictOf("name", "web", "state", "started"), false, "show web\n",
			"Could not find the requested service web: host"},
		{"reload first", running, value.DictOf("name", "web", "state", "reloaded", "daemon_reload", true), false, "daemon-reload\nshow web\nreload web\n",
			"changed=True enabled=None state=started"},
	} {
		t.Run(c.name, func(t *testing.T) {
			env, calls := fakeSystemctl(t, c.show)
			res, err := Table["systemd"](t.Context(), &Env{Name: "systemd", Environ: env, Umask: -1, Check: c.check}, c.args)
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			if res.Bool("failed") {
				got, _ = res.Str("msg")
			} else {
				got = "changed=" + value.Str(res.Lookup("changed")) + " enabled=" + value.Str(res.Lookup("enabled")) + " state=" + value.Str(res.Lookup("state"))
			}
			if got != c.result {
				t.Errorf("result %q, want %q", got, c.result)
			}
			if calls() != c.calls {
				t.Errorf("calls\n%swant\n%s", calls(), c.calls)
			}
		})
	}
}

func TestReadDpkg(t *testing.T) {
	path := filepath.Join(t.TempDir(), "status")
	const text = `Package: dpkg
Status: install ok installed
Architecture: amd64
Description: x
 Package: not-this

Package: gone
Status: deinstall ok config-files
Architecture: all

Package: libc6
Status: install ok installed
Architecture: i386

Package: libc6
Status: hold ok installed
Architecture: amd64

Package: only32
Status: install ok installed
Architecture: i386

Package: half
Status: install ok unpacked
Architecture: all
`
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	p, err := readDpkg(path)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"dpkg": true, "gone": false, "libc6": true, "only32": false, "half": false, "not-this": false} {
		if p.native(name) != want {
			t.Errorf("%s: %v", name, !want)
		}
	}
	if p["gone"] == nil || p["not-this"] != nil {
		t.Error("a package that left its configuration is known, text of a description is not")
	}
}

// systemctlState is a systemctl over files: it stands for systemd to both
// modules, so that every argument set may change units.
const systemctlState = `mkdir -p bin units; cat >bin/systemctl <<'X'
#!/bin/sh
d=$(dirname "$(dirname "$0")")/units
while :; do case "$1" in --user|--global|--no-block|--force) shift;; *) break;; esac; done
u=$2; [ "$1" = disable ] || [ "$1" = enable ] && u=$2
f=$d/${u%.service}
case "$1" in
daemon-reload|daemon-reexec) [ -e $d/noreload ] && { echo "no bus" >&2; exit 1; }; exit 0;;
show) if [ -e $f ]; then . $f; else load=not-found active=inactive enabled=; fi
  printf 'Id=%s.service\nLoadState=%s\nActiveState=%s\nUnitFileState=%s\nExecStart={ path=/bin/x ; argv[]=/bin/x ; }\nDescription=a = b\n' "${u%.service}" $load $active $enabled;;
is-enabled) if [ -e $f ]; then . $f; echo $enabled; [ $enabled = enabled -o $enabled = static ]; exit; fi; echo "Failed to get unit file state" >&2; exit 1;;
is-active) . $f; echo $active;;
list-unit-files|"") exit 0;;
start|restart|reload) . $f; [ $load = bad ] && { echo "Job failed." >&2; exit 1; }; sed -i s/active=.*/active=active/ $f;;
stop) sed -i s/active=.*/active=inactive/ $f;;
enable) [ -e $f ] || { echo "no unit" >&2; exit 1; }; sed -i s/enabled=.*/enabled=enabled/ $f; echo "Created symlink." >&2;;
disable) sed -i s/enabled=.*/enabled=disabled/ $f;;
mask) sed -i "s/enabled=.*/enabled=masked/; s/load=.*/load=masked/" $f;;
unmask) sed -i "s/enabled=.*/enabled=disabled/; s/load=.*/load=loaded/" $f;;
esac
X
chmod 755 bin/systemctl
unit() { printf 'load=%s\nactive=%s\nenabled=%s\n' $2 $3 $4 >units/$1; }
unit up loaded active enabled; unit down loaded inactive disabled; unit odd loaded activating static; unit masked masked inactive masked
unit failing bad inactive disabled; unit ending loaded deactivating enabled; unit runtime loaded active enabled-runtime; unit ind loaded active indirect
`

func TestSystemdIsThePythonModule(t *testing.T) {
	d := newDiffer(t)
	d.env = append(d.env, "PATH="+d.dir+"/bin:/usr/bin:/bin")
	setup := shell(systemctlState)
	var cases []diffCase
	add := func(name string, kv ...any) {
		cases = append(cases, diffCase{name: name, args: value.DictOf(kv...), setup: setup})
	}
	for _, unit := range []string{"up", "down", "odd", "masked", "failing", "ending", "runtime", "ind", "none", "up.service"} {
		for _, state := range []string{"started", "stopped", "restarted", "reloaded"} {
			add(unit+" "+state, "name", unit, "state", state)
		}
		add(unit+" enabled", "name", unit, "enabled", true)
		add(unit+" disabled", "name", unit, "enabled", false)
		add(unit+" masked", "name", unit, "masked", true)
		add(unit+" unmasked", "name", unit, "masked", false)
	}
	if !everyCase { // a fifth of them
		kept := cases[:0]
		for i, c := range cases {
			if i%5 == 0 {
				kept = append(kept, c)
			}
		}
		cases = kept
	}
	add("all at once", "name", "down", "state", "started", "enabled", true, "masked", false, "daemon_reload", true)
	add("reload only", "daemon_reload", true)
	add("reexec only", "daemon_reexec", true)
	add("user's", "name", "up", "state", "started", "scope", "user")
	add("not waiting, force", "name", "down", "state", "started", "no_block", true, "force", true, "enabled", true)
	add("glob", "name", "up*", "state", "started")
	add("quotes", "name", "a'b", "state", "started")
	cases[len(cases)-1].handBack = true
	add("nothing", "name", "up")
	add("no name", "state", "started")
	add("bad state", "name", "up", "state", "running")
	cases = append(cases, diffCase{name: "reload fails", args: value.DictOf("daemon_reload", true), setup: all(setup, shell(": >units/noreload"))})
	d.test(t, "systemd_service", cases)
}
