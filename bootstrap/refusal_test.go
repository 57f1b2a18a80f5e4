package bootstrap

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestSSHRefusal: what ssh says may speak of several things, and one of them is
// the reason.
func TestSSHRefusal(t *testing.T) {
	changed := "@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @\r\n"
	denied := "x@h: Permission denied (publickey,password).\r\n"
	for text, want := range map[string]Kind{
		changed + "Host key verification failed.\r\n":                                                    KindHostKey,
		changed + "Password authentication is disabled to avoid man-in-the-middle attacks.\r\n" + denied: KindAuth,
		changed + "ssh: connect to host h port 22: Connection timed out\r\n":                             KindHostKey,
		"@       WARNING: REVOKED HOST KEY DETECTED!               @\r\n" + denied:                       KindHostKey,
		"Received disconnect from h: 2: Too many authentication failures\r\n":                            KindAuth,
		"ssh: Could not resolve hostname h: Name or service not known\r\n":                               KindResolve,
		"ssh: Could not resolve hostname h: Connection timed out\r\n":                                    KindResolve,
		"ssh: connect to host h port 22: Connection timed out\r\n":                                       KindTimeout,
		"command-line: line 0: Bad configuration option: nosuch\r\n":                                     KindConfig,
		"ssh: connect to host h port 22: Connection refused\r\n":                                         KindConnect,
		"debug1: Host key verification failed\r\nssh: connect to host h port 22: Connection refused\r\n": KindConnect,
	} {
		for range 20 { // the same each time
			var e *Error
			if err := sshRefusal(255, text); !errors.As(err, &e) || e.Kind != want {
				t.Errorf("%q: %v, want %s", text, e.Kind, want)
				break
			}
		}
	}
	if err := sshRefusal(1, denied); err != nil {
		t.Errorf("a command's own status: %v", err)
	}
}

// TestHangingConfiguration: an ssh that ponders over its configuration, as a
// Match exec can make it, ends with the patience of the user or of the
// timeout, and what it started ends with it.
func TestHangingConfiguration(t *testing.T) {
	dir := t.TempDir()
	program, pid := filepath.Join(dir, "ssh"), filepath.Join(dir, "pid")
	script := "#!/bin/sh\nsleep 300 & echo $! >" + pid + ".new; mv " + pid + ".new " + pid + "; wait\n"
	if err := os.WriteFile(program, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	o := open(Options{Host: "h", Executable: program, HomeDir: dir, LocalUser: "x", Timeout: 10 * time.Minute})
	gone := func(t *testing.T) {
		t.Helper()
		b, err := os.ReadFile(pid)
		if err != nil {
			t.Fatal(err)
		}
		if ended := filepath.Join("/proc", string(b[:len(b)-1])); stillThere(ended) {
			t.Errorf("%s still runs", ended)
		}
		if err := os.Remove(pid); err != nil {
			t.Fatal(err)
		}
	}
	t.Run("interrupted", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
		defer cancel()
		go func() { // ends with ctx at the latest
			for ctx.Err() == nil {
				if _, err := os.Stat(pid); err == nil {
					cancel() // once it ponders
				}
				time.Sleep(10 * time.Millisecond)
			}
		}()
		begin := time.Now()
		if _, err := Dial(ctx, o); err == nil || time.Since(begin) > time.Minute {
			t.Errorf("%v after %v", err, time.Since(begin))
		}
		gone(t)
	})
	t.Run("timeout", func(t *testing.T) {
		o := o
		o.Timeout = 3 * time.Second
		begin := time.Now()
		_, err := Dial(t.Context(), o)
		var e *Error
		if !errors.As(err, &e) || e.Kind != KindTimeout || time.Since(begin) > time.Minute {
			t.Errorf("%v after %v", err, time.Since(begin))
		}
		gone(t)
	})
}

// stillThere waits a while for a process to go; one that nobody has reaped
// yet is gone.
func stillThere(path string) bool {
	for range 600 {
		b, err := os.ReadFile(filepath.Join(path, "stat"))
		if err != nil || bytes.Contains(b, []byte(") Z ")) {
			return false
		}
		time.Sleep(50 * time.Millisecond)
	}
	return true
}

// TestRefusedPasswordsAreNotTriedAgain: a wrong password given again and again
// locks accounts, whatever else ssh warns of; other refusals are tried again.
func TestRefusedPasswordsAreNotTriedAgain(t *testing.T) {
	for name, tc := range map[string]struct {
		says, password string
		tries          int
	}{
		"password":                  {"x@h: Permission denied (publickey,password).", "wrong", 1},
		"password, changed key":     {"@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @\nx@h: Permission denied (publickey,password).", "wrong", 1},
		"keys, as in the reference": {"x@h: Permission denied (publickey).", "", 2},
		"refused":                   {"ssh: connect to host h port 22: Connection refused", "wrong", 2},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			program, tries := filepath.Join(dir, "ssh"), filepath.Join(dir, "tries")
			script := "#!/bin/sh\ncase $1 in -G|-O) exit 0;; esac\necho >>" + tries + "\ncat >&2 <<E\n" + tc.says + "\nE\nexit 255\n"
			if err := os.WriteFile(program, []byte(script), 0o700); err != nil {
				t.Fatal(err)
			}
			_, err := Dial(t.Context(), open(Options{Host: "h", Executable: program, HomeDir: dir, LocalUser: "x", Password: tc.password, Retries: 1}))
			if err == nil {
				t.Fatal("no error")
			}
			if b, _ := os.ReadFile(tries); len(b) != tc.tries {
				t.Errorf("%d tries, want %d: %v", len(b), tc.tries, err)
			}
		})
	}
}
