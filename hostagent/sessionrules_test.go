package hostagent

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"testing"

	"volant/hostagent/become"
	"volant/wire"
	"volant/wire/frame"
)

// TestWorkersOfOldRules: a worker is a session of its user, and has what one is
// made from as it was when it started. A sub-task runs in a session that is made
// from what there is now, as with sudo for each task.
func TestWorkersOfOldRules(t *testing.T) {
	dir := t.TempDir()
	defs, rules := filepath.Join(dir, "login.defs"), filepath.Join(dir, "sudoers.d")
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(defs, "UMASK 022\n")
	if err := os.Mkdir(rules, 0o700); err != nil {
		t.Fatal(err)
	}
	started := 0
	a, err := New(Config{
		Runner: finding{}, CacheDir: t.TempDir(), StagingDir: t.TempDir(), Login: func() Login { return Login{} },
		Start: func(context.Context, become.Config, become.Params) (become.Worker, error) {
			started++
			h := newHostile()
			go func() { // ends with Close
				in, out := frame.NewReader(h.hears), frame.NewWriter(h.says)
				_ = out.Send(&wire.Worker{Version: wire.Version})
				for {
					if _, err := in.Read(); err != nil {
						return
					}
					body, _ := frame.Marshal(&wire.Outcome{})
					_ = out.Send(&wire.Result{Data: body})
				}
			}()
			return h, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	a.workers.rules = []string{defs, filepath.Join(dir, "environment"), rules}
	s, err := a.newSession(sessionKey{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		what   string
		do     func()
		starts bool
	}{
		{"the first", func() {}, true},
		{"the same rules", func() {}, false},
		{"another umask", func() { write(defs, "UMASK 027\n") }, true},
		{"the same rules again", func() {}, false},
		{"an environment there was not", func() { write(filepath.Join(dir, "environment"), "A=b\n") }, true},
		{"a rule of sudo's", func() { write(filepath.Join(rules, "site"), "Defaults umask=0077\n") }, true},
		{"that rule replaced", func() {
			write(filepath.Join(dir, "new"), "Defaults umask=0022\n")
			if err := os.Rename(filepath.Join(dir, "new"), filepath.Join(rules, "site")); err != nil {
				t.Fatal(err)
			}
		}, true},
		{"an old file in the place of another", func() {
			write(filepath.Join(dir, "old"), "UMASK 077\n")
			st, err := os.Stat(defs)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.Chtimes(filepath.Join(dir, "old"), st.ModTime(), st.ModTime()); err != nil {
				t.Fatal(err)
			}
			if err := os.Rename(filepath.Join(dir, "old"), defs); err != nil {
				t.Fatal(err)
			}
		}, true},
		{"nothing more", func() {}, false},
	} {
		step.do()
		before := started
		for _, b := range []*wire.Become{{User: "other"}, {User: "other"}} {
			out, _ := a.workers.execute(t.Context(), s, &talk{w: frame.NewWriter(io.Discard)},
				&wire.Task{Module: "ping", Become: b}, hooks{started: func() error { return nil }})
			if out.Fault != nil {
				t.Fatal(out.Fault)
			}
		}
		if got := started - before; got != map[bool]int{true: 1}[step.starts] {
			t.Errorf("%s: %d workers started", step.what, got)
		}
	}
	if n := a.workers.count; n != 1 {
		t.Errorf("%d workers are counted", n)
	}
}

// TestSessionRules: the files are those a session is made from on any host, and
// some of them are on this one.
func TestSessionRules(t *testing.T) {
	if rulesStamp(sessionRules) == rulesStamp(make([]string, len(sessionRules))) {
		t.Error("none of the files is there")
	}
}
