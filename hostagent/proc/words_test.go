package proc

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// What Python's shlex gives.
func TestSplit(t *testing.T) {
	for s, want := range map[string][]string{
		``:                      {},
		`a  b	c`:                {"a", "b", "c"},
		`a 'b c' "d e"`:         {"a", "b c", "d e"},
		`a\ b "x\"y\z" 'p\q'`:   {"a b", `x"y\z`, `p\q`},
		`'' ""`:                 {"", ""},
		`a"b"'c'd # no comment`: {"abcd", "#", "no", "comment"},
		"line1\nline2":          {"line1", "line2"},
		`é "ü"`:                 {"é", "ü"},
		`echo $HOME > f; rm *`:  {"echo", "$HOME", ">", "f;", "rm", "*"},
	} {
		got, err := Split(s)
		if err != nil {
			t.Errorf("%q: %v", s, err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%q: %s", s, d)
		}
	}
	for s, want := range map[string]error{`'a`: ErrQuotation, `"a`: ErrQuotation, `a\`: ErrEscape, `"a\`: ErrEscape} {
		if _, err := Split(s); err != want { //nolint:errorlint // the very value
			t.Errorf("%q: got %v", s, err)
		}
	}
}

func TestQuote(t *testing.T) {
	for s, want := range map[string]string{"": "''", "a-b/c": "a-b/c", "a b": "'a b'", "it's": `'it'"'"'s'`, "é": "'é'", "$x": "'$x'"} {
		if got := Quote(s); got != want {
			t.Errorf("%q: got %s, want %s", s, got, want)
		}
	}
}

func TestFind(t *testing.T) {
	dir := t.TempDir()
	for name, mode := range map[string]os.FileMode{"run": 0o755, "no": 0o644} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, mode); err != nil {
			t.Fatal(err)
		}
	}
	if p, err := Find("run", "/nonexistent:"+dir); err != nil || p != dir+"/run" {
		t.Errorf("%s, %v", p, err)
	}
	if _, err := Find("no", dir); err != syscall.EACCES { //nolint:errorlint // the very value
		t.Error(err)
	}
	if _, err := Find("nothing", dir); err != syscall.ENOENT { //nolint:errorlint // the very value
		t.Error(err)
	}
}

func TestCaptureLetsDaemonsGo(t *testing.T) {
	c, w, err := NewCapture(10, nil)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/bin/sh", "-c", "echo 0123456789abc; sleep 5 &")
	cmd.Stdout = w
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	go c.Read()
	_ = cmd.Wait()
	start := time.Now()
	b, truncated := c.Finish(100 * time.Millisecond)
	if string(b) != "0123456789" || !truncated || time.Since(start) > 3*time.Second {
		t.Errorf("%q, truncated %v, after %v", b, truncated, time.Since(start))
	}
}
