package modules

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"volant/wire/value"
)

// alone runs a native in a directory, with stand-ins for programs, each a shell script, first on its path.
func alone(t *testing.T, module, dir string, programs map[string]string, args *value.Dict) (Result, error) {
	t.Helper()
	bin := t.TempDir()
	for name, script := range programs {
		must(t, os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"+script), 0o755))
	}
	environ := append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "TMPDIR="+dir, "HOME=/nonexistent")
	env := &Env{Name: module, Version: "2.19.12", Environ: environ, Cwd: dir, Umask: -1, Tmpdir: given(dir)}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	return Table[module](ctx, env, args)
}

// TestCrontabIsNotAnybodys: while crontab reads it, nobody else can write a new table.
func TestCrontabIsNotAnybodys(t *testing.T) {
	for user, want := range map[string]string{"": "600", "nobody": "644"} {
		dir := t.TempDir()
		args := value.DictOf("name", "n", "job", "true")
		if user != "" {
			args.Set("user", user)
		}
		script := `for a; do test -f "$a" && stat -c %a "$a" >` + dir + "/mode; done; exit 0"
		res, err := alone(t, "cron", dir, map[string]string{"crontab": script}, args)
		got, _ := os.ReadFile(filepath.Join(dir, "mode"))
		if strings.TrimSpace(string(got)) != want {
			t.Errorf("user %q: mode %s, want %s; %v, %v", user, got, want, value.Repr(res), err)
		}
	}
}

// TestCronHandsBackBeforeItWrites: what is left to Python has no backup of its own yet.
func TestCronHandsBackBeforeItWrites(t *testing.T) {
	for _, where := range []string{"insertafter", "insertbefore"} {
		dir := t.TempDir()
		_, err := alone(t, "cron", dir, map[string]string{"crontab": "exit 0"}, value.DictOf("name", "X", "job", "y", "env", true, "backup", true, where, "A.B"))
		var h *HandBack
		if !errors.As(err, &h) {
			t.Errorf("%s: %v", where, err)
		}
		if left, _ := os.ReadDir(dir); len(left) > 0 {
			t.Errorf("%s leaves %v", where, left)
		}
	}
}

// TestGitHandsBackBeforeItResets: once local changes are gone, Python would find none and say that nothing changed.
func TestGitHandsBackBeforeItResets(t *testing.T) {
	dir := t.TempDir()
	must(t, os.MkdirAll(filepath.Join(dir, "w/.git"), 0o755))
	must(t, os.WriteFile(filepath.Join(dir, "w/.git/config"), nil, 0o644))
	script := `case "$1" in --version) echo git version 2.40.0;; status) echo " M f";; reset) touch ` + dir + `/reset;; ls-remote) exit 1;; esac`
	res, err := alone(t, "git", dir, map[string]string{"git": script}, value.DictOf("repo", "file:///x", "dest", dir+"/w", "force", true))
	var h *HandBack
	if reset := exists(dir + "/reset"); reset && errors.As(err, &h) || err == nil && !res.Bool("failed") {
		t.Errorf("reset %v, %v, %v", reset, value.Repr(res), err)
	}
}

// TestUserHandsBackBeforeItMakes: without shadow nothing is made that Python would then find there.
func TestUserHandsBackBeforeItMakes(t *testing.T) {
	if !inSandbox(t) {
		return
	}
	newSandbox(t).fresh(t)
	dir := t.TempDir()
	must(t, os.Remove("/etc/shadow"))
	_, err := alone(t, "user", dir, map[string]string{"useradd": "touch " + dir + "/made; echo new:x:7:7::/nonexistent:/bin/sh >>/etc/passwd"},
		value.DictOf("name", "new", "create_home", false))
	var h *HandBack
	if made := exists(dir + "/made"); err == nil || made && errors.As(err, &h) {
		t.Errorf("made %v, %v", made, err)
	}
}

// TestDownloadThatStalls: the timeout is that of each read, as the Python module has it.
func TestDownloadThatStalls(t *testing.T) {
	end := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" { // longer than the timeout in all
			for range 6 {
				fmt.Fprint(w, "part ")
				w.(http.Flusher).Flush()
				time.Sleep(600 * time.Millisecond)
			}
			return
		}
		w.Header().Set("Content-Length", "100")
		fmt.Fprint(w, "some")
		w.(http.Flusher).Flush()
		<-end
	}))
	defer s.Close()
	defer close(end)
	dir := t.TempDir()
	for path, ends := range map[string]bool{"/slow": false, "/stalls": true} {
		started := time.Now()
		res, err := alone(t, "get_url", dir, nil, value.DictOf("url", s.URL+path, "dest", dir+"/f", "timeout", int64(3)))
		var h *HandBack
		if errors.As(err, &h) != ends || !ends && err != nil || time.Since(started) > time.Minute {
			t.Errorf("%s: after %v %v, %v", path, time.Since(started), value.Repr(res), err)
		}
	}
}
