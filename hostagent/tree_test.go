package hostagent

import (
	"bytes"
	"context"
	"crypto/sha1" //nolint:gosec // what the modules compare
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"volant/stage"
	"volant/wire"
	"volant/wire/value"
)

// treeRunner stands for the natives: it writes what copy is given, notes what
// it was asked, and fails or hands back the names it is told to.
type treeRunner struct {
	asked      []string
	fail, hand string
}

func (r *treeRunner) Run(_ context.Context, _ *Env, t *wire.Task) (*wire.Outcome, error) {
	name, _ := t.Args.Str("_original_basename")
	if name == "" {
		name, _ = t.Args.Str("path")
	}
	module := strings.TrimPrefix(t.Module, "ansible.legacy.")
	mode, _ := t.Args.Str("mode")
	r.asked = append(r.asked, strings.TrimSpace(module+" "+filepath.Base(name)+" "+mode))
	switch {
	case r.hand != "" && strings.HasSuffix(name, r.hand):
		return &wire.Outcome{Fault: &wire.Fault{Code: wire.FaultInterpreter, Text: "needs Python"}}, nil
	case r.fail != "" && strings.HasSuffix(name, r.fail):
		return &wire.Outcome{Result: wire.Dict{Dict: value.DictOf("failed", true, "msg", "no")}}, nil
	case module == "copy":
		src, _ := t.Args.Str("src")
		dest, _ := t.Args.Str("dest")
		b, err := os.ReadFile(src)
		if err == nil {
			err = os.WriteFile(dest+name, b, 0o600)
		}
		return &wire.Outcome{Result: wire.Dict{Dict: value.DictOf("changed", true)}}, err
	}
	return &wire.Outcome{Result: wire.Dict{Dict: value.DictOf("changed", false)}}, nil
}

func (r *treeRunner) Close() error { return nil }

func TestTree(t *testing.T) {
	contents := map[string]string{"new": "new\n", "same": "same\n", "other": "other\n", "size": "size\n"}
	for name, tc := range map[string]struct {
		runner treeRunner
		set    []any // arguments
		check  bool
		want   string // result
		asked  string
		wanted string // contents asked for
	}{
		"first": {want: `{'changed': True, 'done': 5}`, wanted: "new other size",
			asked: "copy new|file same|copy other|copy size|file dir"},
		"no force": {set: []any{"force", false}, want: `{'changed': True, 'done': 5}`, wanted: "new", asked: "copy new|file dir"},
		"check":    {check: true, want: `{'changed': True, 'done': 5}`, asked: "file same|file dir"},
		"preserve": {set: []any{"preserve", true}, want: `{'changed': True, 'done': 5}`, wanted: "new other size",
			asked: "copy new 0640|file same 0640|copy other 0640|copy size 0640|file dir"},
		"fails": {runner: treeRunner{fail: "other"}, wanted: "new other size", asked: "copy new|file same|copy other",
			want: `{'changed': True, 'done': 2, 'result': {'failed': True, 'msg': 'no'}}`},
		"hands back": {runner: treeRunner{hand: "same"}, wanted: "new other size", asked: "copy new|file same",
			want: `{'changed': True, 'done': 1, 'left': 'needs Python'}`},
	} {
		t.Run(name, func(t *testing.T) {
			dest := t.TempDir() + "/"
			for file, text := range map[string]string{"same": "same\n", "other": "OTHER\n", "size": "longer than that\n"} {
				if err := os.WriteFile(dest+file, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			blobs := map[stage.Hash]string{}
			task := &wire.Task{Module: wire.TreeModule, Check: tc.check}
			entries := &value.List{}
			for _, file := range []string{"new", "same", "other", "size"} {
				text := contents[file]
				h := stage.HashBytes([]byte(text))
				blobs[h] = text
				sum := sha1.Sum([]byte(text)) //nolint:gosec // see import
				task.Files = append(task.Files, wire.TaskFile{Hash: h, Size: int64(len(text))})
				entries.Items = append(entries.Items, value.ListOf(file, hex.EncodeToString(sum[:]), "0640"))
			}
			entries.Items = append(entries.Items, value.DictOf("path", dest+"dir", "state", "directory"))
			args := value.DictOf("dest", dest, "force", true, "preserve", false, "copy", value.NewDict(0), "file", value.NewDict(0), "entries", entries)
			for i := 0; i < len(tc.set); i += 2 {
				args.Set(tc.set[i], tc.set[i+1])
			}
			task.Args = wire.Dict{Dict: args}
			tr, err := readTree(task, "/")
			if err != nil {
				t.Fatal(err)
			}
			area, err := stage.OpenArea(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			defer area.Close()
			dir, err := area.Get()
			if err != nil {
				t.Fatal(err)
			}
			var wanted []string
			fetch := func(_ context.Context, want []stage.Hash, each func(int, io.Reader) error) error {
				for i, h := range want {
					wanted = append(wanted, strings.TrimSpace(blobs[h]))
					if err := each(i, strings.NewReader(blobs[h])); err != nil {
						return err
					}
				}
				return nil
			}
			if err := tr.stage(t.Context(), fetch, task, dir); err != nil {
				t.Fatal(err)
			}
			out, err := tr.run(t.Context(), &tc.runner, &Env{}, task)
			if err != nil {
				t.Fatal(err)
			}
			got := []string{value.Repr(out.Result.Dict), strings.Join(tc.runner.asked, "|"), strings.Join(wanted, " ")}
			if diff := cmp.Diff([]string{tc.want, tc.asked, tc.wanted}, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestTreeRefuses: what is malformed is an error, and content that is not what
// its hash says is not staged.
func TestTreeRefuses(t *testing.T) {
	file := value.ListOf("a", "x", "0644")
	for name, args := range map[string]*value.Dict{
		"nothing":    value.NewDict(0),
		"no entries": value.DictOf("dest", "/x/", "copy", value.NewDict(0), "file", value.NewDict(0)),
		"number":     value.DictOf("dest", "/x/", "copy", value.NewDict(0), "file", value.NewDict(0), "entries", value.ListOf(int64(1))),
		"two words":  value.DictOf("dest", "/x/", "copy", value.NewDict(0), "file", value.NewDict(0), "entries", value.ListOf(value.ListOf("a", "b"))),
		"no text":    value.DictOf("dest", "/x/", "copy", value.NewDict(0), "file", value.NewDict(0), "entries", value.ListOf(value.ListOf("a", "b", nil))),
		"too many":   value.DictOf("dest", "/x/", "copy", value.NewDict(0), "file", value.NewDict(0), "entries", value.ListOf(file, file)),
		"too few":    value.DictOf("dest", "/x/", "copy", value.NewDict(0), "file", value.NewDict(0), "entries", value.ListOf()),
	} {
		task := &wire.Task{Args: wire.Dict{Dict: args}, Files: make([]wire.TaskFile, 1)}
		if _, err := readTree(task, "/"); !errors.Is(err, errTree) {
			t.Errorf("%s: %v", name, err)
		}
	}
	dest := t.TempDir() + "/"
	task := &wire.Task{Files: []wire.TaskFile{{Hash: stage.HashBytes([]byte("right")), Size: 5}}, Args: wire.Dict{Dict: value.DictOf(
		"dest", dest, "copy", value.NewDict(0), "file", value.NewDict(0), "entries", value.ListOf(file))}}
	tr, err := readTree(task, "/")
	if err != nil {
		t.Fatal(err)
	}
	area, err := stage.OpenArea(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer area.Close()
	dir, err := area.Get()
	if err != nil {
		t.Fatal(err)
	}
	err = tr.stage(t.Context(), func(_ context.Context, _ []stage.Hash, each func(int, io.Reader) error) error {
		return each(0, bytes.NewReader([]byte("wrong")))
	}, task, dir)
	if !errors.Is(err, stage.ErrHash) {
		t.Errorf("staged: %v", err)
	}
}
