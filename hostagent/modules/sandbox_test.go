package modules

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"volant/wire/value"
)

// sandboxed are the directories of the machine that cases may change: in a
// mount namespace of its own, each lies under an overlay that a case throws away.
var sandboxed = []string{"/etc", "/var", "/home", "/srv", "/opt", "/usr/local"}

const sandboxMark = "VOLANT_TEST_SANDBOX"

// inSandbox reports whether the test runs in a sandbox. Where it does not, the
// test is run in one, in a process of its own, and is done.
func inSandbox(t *testing.T) bool {
	t.Helper()
	if os.Getenv(sandboxMark) != "" {
		return true
	}
	if os.Getuid() != 0 {
		t.Skip("needs root")
	}
	name := "^" + strings.ReplaceAll(regexp.QuoteMeta(t.Name()), "/", "$/^") + "$"
	args := []string{"-test.run=" + name, "-test.timeout=30m", "-test.v"}
	if part := os.Getenv("VOLANT_TEST_CASE"); part != "" { // for work on one case
		args[0] = "-test.run=" + name + "/" + part
	}
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), sandboxMark+"=1")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWUTS | syscall.CLONE_NEWIPC}
	err := cmd.Run()
	switch {
	case errors.Is(err, syscall.EPERM):
		t.Skipf("no namespaces here: %v", err)
	case err != nil:
		t.Fatalf("in the sandbox: %v\n%s", err, out.String())
	case strings.Contains(out.String(), "--- SKIP: "+t.Name()+" "):
		t.Skip(out.String())
	case testing.Verbose():
		t.Log(out.String())
	}
	return false
}

// sandbox is the throw-away state of the machine.
type sandbox struct {
	dirs   []string // that cases may change
	layers string   // a tmpfs with an upper directory each
	n      int
}

// newSandbox makes a sandbox of sandboxed and more directories, which may hold others of them.
func newSandbox(t *testing.T, more ...string) *sandbox {
	t.Helper()
	must(t, syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""))
	layers, err := os.MkdirTemp("/tmp", ".sandbox-")
	must(t, err)
	s := &sandbox{dirs: append(more, sandboxed...), layers: layers}
	must(t, syscall.Mount("tmpfs", s.layers, "tmpfs", 0, "mode=755"))
	t.Cleanup(func() {
		s.drop()
		_ = syscall.Unmount(s.layers, syscall.MNT_DETACH)
		_ = os.Remove(s.layers)
	})
	return s
}

func (s *sandbox) upper(dir string) string {
	return filepath.Join(s.layers, fmt.Sprint(s.n), strings.ReplaceAll(dir, "/", "_"))
}

func (s *sandbox) drop() {
	for _, dir := range s.dirs {
		if s.n > 0 {
			_ = syscall.Unmount(dir, syscall.MNT_DETACH)
		}
	}
	if s.n > 0 {
		_ = os.RemoveAll(filepath.Join(s.layers, fmt.Sprint(s.n)))
	}
}

// fresh gives the machine its own state back.
func (s *sandbox) fresh(t *testing.T) {
	t.Helper()
	s.drop()
	s.n++
	for _, dir := range s.dirs {
		if !isDir(dir) {
			continue
		}
		up, work := s.upper(dir), s.upper(dir)+".work"
		must(t, os.MkdirAll(up, 0o755))
		must(t, os.MkdirAll(work, 0o755))
		opt := "lowerdir=" + dir + ",upperdir=" + up + ",workdir=" + work
		if err := syscall.Mount("overlay", dir, "overlay", 0, opt); err != nil {
			t.Skipf("no overlays here: %v", err)
		}
	}
}

// settled marks what is there now as the state to compare with.
func (s *sandbox) state(t *testing.T) []string {
	t.Helper()
	var out []string
	for _, dir := range s.dirs {
		up := s.upper(dir)
		err := filepath.WalkDir(up, func(path string, e os.DirEntry, err error) error {
			if err != nil || path == up {
				if errors.Is(err, fs.ErrNotExist) {
					return nil
				}
				return err
			}
			line, err := sandboxLine(dir+strings.TrimPrefix(path, up), path)
			if line != "" {
				out = append(out, line)
			}
			return err
		})
		must(t, err)
	}
	sort.Strings(out)
	return out
}

// ignoredState are files that no two runs leave alike.
var ignoredState = regexp.MustCompile(`^/var/(log|cache|tmp)(/|$)|^/etc/\.pwd\.lock|^/etc/ld\.so\.cache`)

func sandboxLine(name, path string) (string, error) {
	if ignoredState.MatchString(name) {
		return "", nil
	}
	name = volatileText.ReplaceAllString(name, ".PID.TIME~")
	var st syscall.Stat_t
	if err := syscall.Lstat(path, &st); err != nil {
		return "", err
	}
	line := fmt.Sprintf("%s %o %d:%d", name, st.Mode, st.Uid, st.Gid)
	switch st.Mode & syscall.S_IFMT {
	case syscall.S_IFCHR:
		return name + " is gone", nil
	case syscall.S_IFDIR:
		return line, nil
	case syscall.S_IFLNK:
		to, err := os.Readlink(path)
		return line + " -> " + to, err
	}
	b, err := os.ReadFile(path)
	text := volatileDate.ReplaceAllString(string(b), "DATE")
	if name == "/etc/shadow" { // on one side of midnight or the other
		text = shadowChanged.ReplaceAllStringFunc(text, func(field string) string {
			today := time.Now().Unix() / 86400
			if n, _ := strconv.ParseInt(strings.Trim(field, ":"), 10, 64); n == today || n == today-1 {
				return ":TODAY:"
			}
			return field
		})
	}
	if strings.HasPrefix(name, "/var/spool/cron") {
		text = cronStamp.ReplaceAllString(text, "# (NAME installed on DATE)")
	}
	return line + " " + value.Repr(text), err
}

var (
	volatileDate  = regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d`)
	shadowChanged = regexp.MustCompile(`:\d{5,}:`)
	cronStamp     = regexp.MustCompile(`# \(.*installed on .*\)`)
)

// systemWide is a differ whose cases change the machine, in a sandbox.
func systemWide(t *testing.T, more ...string) *differ {
	t.Helper()
	box := newSandbox(t, more...)
	box.fresh(t)
	d := newDiffer(t)
	d.box = box
	return d
}

// shell is a setup: a script run in the case's directory.
func shell(script string) func(*testing.T, string) {
	return func(t *testing.T, dir string) {
		t.Helper()
		cmd := exec.Command("/bin/sh", "-ec", script)
		cmd.Dir = dir
		cmd.WaitDelay = 10 * time.Second
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", script, err, out)
		}
	}
}
