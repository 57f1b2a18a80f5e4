package bootstrap

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestEnsureAgent(t *testing.T) {
	l := newLab(t, "process", 2)
	first, err := ensure(t, l.options("h1"))
	if err != nil {
		t.Fatal(err)
	}
	if !first.Installed || !first.Started || first.PID == 0 || !first.HostKeyOK {
		t.Errorf("first: %+v", first)
	}
	second, err := ensure(t, l.options("h1"))
	if err != nil {
		t.Fatal(err)
	}
	if second.Installed || second.Started || second.PID != first.PID {
		t.Errorf("second did not find the first: %+v", second)
	}
	// The agent outlives every SSH server and is found again.
	l.run("sshd", "restart", "--dir", l.dir)
	if err := syscall.Kill(first.PID, 0); err != nil {
		t.Errorf("the agent ended with its SSH server: %v", err)
	}
	third, err := ensure(t, l.options("h1"))
	if err != nil {
		t.Fatal(err)
	}
	if third.PID != first.PID {
		t.Errorf("another agent after the restart: %+v", third)
	}
	// Another host has its own.
	other, err := ensure(t, l.options("h2"))
	if err != nil {
		t.Fatal(err)
	}
	if other.PID == first.PID || !other.Installed {
		t.Errorf("h2: %+v", other)
	}
}

// A binary on the host that does not run is replaced.
func TestEnsureAgentRepairs(t *testing.T) {
	l := newLab(t, "process", 1)
	if _, err := ensure(t, l.options("h1")); err != nil {
		t.Fatal(err)
	}
	found, err := filepath.Glob(l.path("hosts/h1/home/.local/share/volant-agent/bin/volant-agent-*"))
	if err != nil || len(found) != 1 {
		t.Fatalf("installed: %v, %v", found, err)
	}
	if err := os.Remove(found[0]); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(found[0], []byte("garbage"), 0o755); err != nil {
		t.Fatal(err)
	}
	info, err := ensure(t, l.options("h1"))
	if err != nil {
		t.Fatal(err)
	}
	if !info.Installed || info.Started {
		t.Errorf("%+v", info)
	}
}

func TestEnsureAgentWithoutGzip(t *testing.T) {
	l := newLab(t, "process", 1)
	// A host that has only what it needs.
	bin := l.path("hosts/h1/home/bin")
	if err := os.MkdirAll(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"gzip", "sha256sum"} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\nexit 127\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	p := &probed{goarch: "amd64", home: l.path("hosts/h1/home/agent"), freeKiB: -1}
	o := l.options("h1")
	bins := selfBinaries()
	b, err := bins.Open("amd64")
	if err != nil {
		t.Skip(err)
	}
	out, err := dial(t, o).upload(t.Context(), b, p, []byte(`{"controller":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="}`), uploadEnrols)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(out.Stdout), "VOLANT-ENROL") {
		t.Errorf("no reply: %s %s", out.Stdout, out.Stderr)
	}
	b.SHA256 = strings.Repeat("0", 64)
	var e *Error
	if _, err = dial(t, o).upload(t.Context(), b, p, []byte("{}"), uploadEnrols); !errors.As(err, &e) || e.Kind != KindUpload {
		t.Errorf("a wrong digest gives %v", err)
	}
}

func TestUnfitHosts(t *testing.T) {
	l := newLab(t, "process", 1)
	bin, agent := l.path("hosts/h1/home/bin"), l.path("hosts/h1/home/.local/share/volant-agent")
	if err := os.MkdirAll(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	uname := func(system, machine string) func(*testing.T) {
		return func(t *testing.T) {
			script := "#!/bin/sh\n[ \"$1\" = -s ] && echo " + system + " || echo " + machine + "\n"
			if err := os.WriteFile(filepath.Join(bin, "uname"), []byte(script), 0o755); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { os.Remove(filepath.Join(bin, "uname")) })
		}
	}
	tmpfs := func(options string, flags uintptr, fill bool) func(*testing.T) {
		return func(t *testing.T) {
			if os.Geteuid() != 0 {
				t.Skip("mounts a file system: needs root")
			}
			if err := os.MkdirAll(agent, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := syscall.Mount("tmpfs", agent, "tmpfs", 0, options); err != nil {
				t.Skipf("cannot mount: %v", err)
			}
			t.Cleanup(func() { _ = syscall.Unmount(agent, syscall.MNT_DETACH) })
			if fill { // to the last byte
				_ = os.WriteFile(filepath.Join(agent, "filler"), make([]byte, 2<<20), 0o600)
			}
			if flags != 0 {
				if err := syscall.Mount("tmpfs", agent, "tmpfs", flags|syscall.MS_REMOUNT, options); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	for name, tc := range map[string]struct {
		prepare func(*testing.T)
		kind    Kind
		text    string
	}{
		"architecture": {uname("Linux", "s390x"), KindArch, "it is Linux on s390x, agents exist for Linux on amd64 and arm64"},
		"system":       {uname("FreeBSD", "amd64"), KindArch, "it is FreeBSD on amd64"},
		"not carried":  {uname("Linux", "aarch64"), KindArch, "this volant carries none for arm64"},
		"little room":  {tmpfs("size=1m", 0, false), KindDiskFull, "There is no room for the agent"},
		"full":         {tmpfs("size=64k", 0, true), KindDiskFull, "No space left on device"},
		"read-only":    {tmpfs("size=64m", syscall.MS_RDONLY, false), KindHome, "Read-only file system"},
		"noexec":       {tmpfs("size=64m", syscall.MS_NOEXEC, false), KindHome, "programs do not run there"},
	} {
		t.Run(name, func(t *testing.T) {
			tc.prepare(t)
			_, err := ensure(t, l.options("h1"))
			var e *Error
			if !errors.As(err, &e) {
				t.Fatalf("error is %v", err)
			}
			if e.Kind != tc.kind || !strings.Contains(e.Msg, tc.text) {
				t.Errorf("kind %s, message %q", e.Kind, e.Msg)
			}
			entries, _ := os.ReadDir(agent)
			for _, d := range entries {
				if d.Name() != "filler" && d.Name() != "bin" {
					t.Errorf("left behind: %s", d.Name())
				}
			}
		})
	}
}

func TestScriptInTime(t *testing.T) {
	l := newLab(t, "process", 1)
	c := dial(t, l.options("h1"))
	for within := 200 * time.Millisecond; ; within *= 5 { // until the machine gets half way in it
		_, err := c.script(t.Context(), within, "echo half way; sleep 120", strings.NewReader(""))
		var e *Error
		if !errors.As(err, &e) || e.Kind != KindTimeout || !strings.Contains(e.Msg, "within "+within.String()) {
			t.Fatalf("%v", err)
		}
		if strings.HasSuffix(strings.TrimSpace(e.Msg), "within "+within.String()+": half way") {
			break
		}
		if within > 20*time.Second {
			t.Fatalf("%v", err)
		}
	}
}

func TestParseProbe(t *testing.T) {
	noise := "Welcome!\nhome /evil\n\nVOLANT-PROBE-BEGIN\nsystem Linux\nmachine x86_64\nuid 0\nhome /h\nfree 12\nVOLANT-PROBE-END\nhome /evil2\n"
	p, err := parseProbe(noise)
	if err != nil || p.home != "/h" || p.goarch != "amd64" || p.freeKiB != 12 {
		t.Errorf("%+v, %v", p, err)
	}
	for _, text := range []string{"", "This account is currently not available.\n", "VOLANT-PROBE-BEGIN\nhome /h\n"} {
		if _, err := parseProbe(text); err == nil {
			t.Errorf("%q is taken for a probe", text)
		}
	}
}
