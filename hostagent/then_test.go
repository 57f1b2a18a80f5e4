package hostagent

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"volant/stage"
	"volant/wire"
	"volant/wire/frame"
	"volant/wire/value"
)

// thenRunner stands for the natives: stat says what it is told to, and what
// follows is noted with the content it was given.
type thenRunner struct {
	stat  *value.Dict
	path  string // by which stat ran
	hand  bool   // what follows needs Python
	asked string
}

func (r *thenRunner) Run(_ context.Context, _ *Env, t *wire.Task) (*wire.Outcome, error) {
	if t.Module == "ansible.legacy.stat" {
		return &wire.Outcome{Result: wire.Dict{Dict: r.stat}, Path: r.path}, nil
	}
	name, _ := t.Options.Str("module_name")
	r.asked = strings.TrimPrefix(t.Module, "ansible.legacy.")
	if name != t.Module || t.Python != nil || t.Then != nil {
		r.asked += " (not itself)"
	}
	if src, ok := t.Args.Str("src"); ok {
		b, err := os.ReadFile(src)
		if err != nil {
			return nil, err
		}
		r.asked += " of " + string(b)
	}
	if r.hand {
		return &wire.Outcome{Fault: &wire.Fault{Code: wire.FaultInterpreter, Text: "needs Python"}}, nil
	}
	return &wire.Outcome{Result: wire.Dict{Dict: value.DictOf("did", r.asked)}, Path: "native"}, nil
}

func (r *thenRunner) Close() error { return nil }

func TestThen(t *testing.T) {
	const text, sum = "new", "c2a6b03f190dfb2b4aa91f8af8d477a9bc3401dc" // its SHA-1
	there := func(more ...any) *value.Dict {
		stat := value.DictOf("exists", true)
		for i := 0; i < len(more); i += 2 {
			stat.Set(more[i], more[i+1])
		}
		return value.DictOf("stat", stat)
	}
	missing := value.DictOf("stat", value.DictOf("exists", false))
	for name, tc := range map[string]struct {
		make   func(path string) error // what is there; nil: nothing
		args   []any                   // of stat
		runner thenRunner
		change func(*wire.Task)
		asked  string // which module follows
		sent   bool   // the content was asked for
	}{
		"missing": {runner: thenRunner{stat: missing}, asked: "copy of new", sent: true},
		"same": {make: func(p string) error { return os.WriteFile(p, []byte(text), 0o600) },
			runner: thenRunner{stat: there("checksum", sum)}, asked: "file"},
		"differs": {make: func(p string) error { return os.WriteFile(p, []byte("old"), 0o600) },
			runner: thenRunner{stat: there("checksum", "other")}, asked: "copy of new", sent: true},
		"a directory": {make: func(p string) error { return os.Mkdir(p, 0o700) }, runner: thenRunner{stat: there("isdir", true)}},
		"a link": {make: func(p string) error { return os.Symlink("/nowhere", p) },
			runner: thenRunner{stat: there("islnk", true)}, asked: "copy of new", sent: true},
		"a link to the same, followed": {args: []any{"follow", true}, make: func(p string) error {
			if err := os.WriteFile(p+"2", []byte(text), 0o600); err != nil {
				return err
			}
			return os.Symlink(filepath.Base(p)+"2", p)
		}, runner: thenRunner{stat: there("checksum", sum)}, change: func(t *wire.Task) { t.Then.Same = wire.Dict{} }},
		"became the same":  {runner: thenRunner{stat: there("checksum", sum)}, asked: "file", sent: true},
		"became different": {make: func(p string) error { return os.WriteFile(p, []byte(text), 0o600) }, runner: thenRunner{stat: missing}},
		"kept": {make: func(p string) error { return os.WriteFile(p, []byte("old"), 0o600) }, runner: thenRunner{stat: there()},
			change: func(t *wire.Task) { t.Then.Checksum, t.Then.Same = "", wire.Dict{} }},
		"kept if there": {runner: thenRunner{stat: missing}, asked: "copy of new", sent: true,
			change: func(t *wire.Task) { t.Then.Checksum, t.Then.Same = "", wire.Dict{} }},
		"check":         {runner: thenRunner{stat: missing}, change: func(t *wire.Task) { t.Check = true }},
		"nothing to do": {runner: thenRunner{stat: missing}, change: func(t *wire.Task) { *t.Then = wire.Then{} }},
		"file alone":    {runner: thenRunner{stat: missing}, change: func(t *wire.Task) { t.Then.Differs = wire.Dict{} }},
		"stat failed":   {runner: thenRunner{stat: value.DictOf("failed", true, "stat", value.DictOf("exists", false))}, sent: true},
		"no stat":       {runner: thenRunner{stat: value.DictOf("stat", "x")}, sent: true},
		"in Python":     {runner: thenRunner{stat: missing, path: "python"}, sent: true},
		"hands back":    {runner: thenRunner{stat: missing, hand: true}, asked: "copy of new", sent: true},
		"too long":      {runner: thenRunner{stat: missing}, change: func(t *wire.Task) { t.Then.File.Size = 1 << 20 }},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "dest")
			if tc.make != nil {
				if err := tc.make(path); err != nil {
					t.Fatal(err)
				}
			}
			staging := t.TempDir()
			area, err := stage.OpenArea(staging)
			if err != nil {
				t.Fatal(err)
			}
			defer area.Close()
			r := &tc.runner
			if r.path == "" {
				r.path = "native"
			}
			x := &executor{runner: r, area: area, login: func() Login { return Login{Cwd: "/"} }, maxFile: 1000}
			h := stage.HashBytes([]byte(text))
			task := &wire.Task{
				Module: "ansible.legacy.stat", Args: wire.Dict{Dict: value.DictOf("path", path)}, Python: new(wire.Python),
				Then: &wire.Then{Checksum: sum, Same: wire.Dict{Dict: value.DictOf("state", "file")}, Differs: wire.Dict{Dict: value.DictOf("dest", path)},
					File: &wire.TaskFile{Arg: "src", Suffix: ".x", Hash: h, Size: int64(len(text))}},
			}
			for i := 0; i < len(tc.args); i += 2 {
				task.Args.Set(tc.args[i], tc.args[i+1])
			}
			if tc.change != nil {
				tc.change(task)
			}
			var said bytes.Buffer
			answers := []wire.Message{&wire.Blob{Hash: h, Size: int64(len(text))}, &wire.Data{Data: []byte(text), Last: true}}
			tk := &talk{w: frame.NewWriter(&said), next: func() (wire.Message, error) {
				m := answers[0]
				answers = answers[1:]
				return m, nil
			}}
			out := x.execute(t.Context(), tk, task, hooks{started: func() error { return nil }})
			if name == "too long" {
				if out.Fault == nil || out.Fault.Started || !strings.Contains(out.Fault.Text, "max_file") {
					t.Errorf("got %+v", out)
				}
				return
			}
			if out.Fault != nil || out.Result.Dict != r.stat {
				t.Fatalf("got %+v, fault %+v", out, out.Fault)
			}
			did, _ := out.Then.Dict.Str("did")
			want := tc.asked
			if r.hand {
				want = ""
			}
			if diff := cmp.Diff([]any{tc.asked, want, tc.sent}, []any{r.asked, did, len(answers) == 0}); diff != "" {
				t.Error(diff)
			}
			left, _ := filepath.Glob(filepath.Join(staging, "*", "*", "*.x"))
			if len(left) > 0 {
				t.Errorf("left: %v", left)
			}
		})
	}
}
