package proc

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

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
	cmd := exec.Command("/bin/sh", "-c", "echo 0123456789abc; sleep 120 2>/dev/null & echo $! >&2")
	var pid bytes.Buffer
	cmd.Stdout, cmd.Stderr = w, &pid
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	go c.Read()
	_ = cmd.Wait()
	sleeper, err := strconv.Atoi(strings.TrimSpace(pid.String()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Kill(sleeper, syscall.SIGKILL) }()
	start := time.Now()
	b, truncated := c.Finish(100 * time.Millisecond)
	if string(b) != "0123456789" || !truncated || time.Since(start) > time.Minute {
		t.Errorf("%q, truncated %v, after %v", b, truncated, time.Since(start))
	}
}
