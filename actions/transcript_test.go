package actions

import (
	"context"
	"crypto/sha1" //nolint:gosec // what the modules compare
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"volant/stage"
	"volant/wire/pyjson"
	"volant/wire/value"
)

// TestTranscripts runs every testdata/*.txtar: the task, the calls it must make
// of the host in order with their scripted answers, and its result.
//
//	-- task --        {"action": ..., "args": {...}, "check": true, ...}
//	-- files/NAME --  controller files, found under any search directory
//	-- calls --       lines: > module NAME ARGS [file ARG=CONTENT] / > raw CMD / > tree ARGS, then < ANSWER or ! unreachable
//	-- result --      the result, or error KIND: TEXT
func TestTranscripts(t *testing.T) {
	cases, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(cases) == 0 {
		t.Fatal("no transcripts", err)
	}
	for _, path := range cases {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(filepath.Base(path), ".txtar")
		t.Run(name, func(t *testing.T) { runTranscript(t, archive) })
	}
}

func runTranscript(t *testing.T, archive *txtar.Archive) {
	dir := t.TempDir()
	h := &scriptedHost{t: t, facts: value.NewDict(0)}
	task := &Task{Marked: func(string) bool { return false }, Hostname: "h1", RemoteUser: "deploy", AsyncDir: "~/.ansible_async", FactModules: []string{"smart"}, TaskFile: filepath.Join(dir, "site.yml")}
	c := &testController{dir: dir, vars: value.NewDict(0)}
	want := ""
	for _, f := range archive.Files {
		data := strings.TrimSpace(string(f.Data))
		switch {
		case f.Name == "task":
			d := dict(t, data)
			task.Action, _ = d.Str("action")
			task.Args, _ = d.Lookup("args").(*value.Dict)
			task.Check, task.Diff, task.Local, task.Become = d.Bool("check"), d.Bool("diff"), d.Bool("local"), d.Bool("become")
			if n, ok := d.Lookup("async").(int64); ok {
				task.Async = int(n)
			}
			if m, ok := d.Lookup("marked").(*value.List); ok {
				task.Marked = func(arg string) bool {
					for _, v := range m.Items {
						if v == arg {
							return true
						}
					}
					return false
				}
			}
			task.NetworkOS = func() string { os, _ := d.Str("network_os"); return os }
			task.NetworkFacts = value.DictOf("ios", "ansible.legacy.ios_facts")
			if m, ok := d.Str("modules"); ok {
				task.FactModules = strings.Fields(m)
			}
			if f, ok := d.Lookup("facts").(*value.Dict); ok {
				h.facts = f
			}
			if v, ok := d.Lookup("vars").(*value.Dict); ok {
				c.vars = v
			}
		case strings.HasPrefix(f.Name, "files/"):
			p := filepath.Join(dir, strings.TrimPrefix(f.Name, "files/"))
			if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(p, f.Data, 0o640); err != nil {
				t.Fatal(err)
			}
		case f.Name == "calls":
			if data != "" {
				h.script = strings.Split(data, "\n")
			}
		case f.Name == "result":
			want = data
		}
	}
	task.RawArgs = task.Args
	run := &Run{Task: task, Host: h, Controller: c}
	if strings.Contains(strings.Join(h.script, "\n"), "> tree ") {
		run.Host = &treeHost{h}
	}
	res, err := Start(context.Background(), run)
	got := ""
	var fail *Failure
	var skip *Skip
	switch {
	case errors.As(err, &fail):
		got = "error fail: " + fail.Msg
	case errors.As(err, &skip):
		got = "error skip: " + skip.Msg
	case err != nil:
		got = "error: " + err.Error()
	default:
		for _, key := range []string{"elapsed", "invocation"} {
			res.Delete(key)
		}
		got = text(t, res)
	}
	got = strings.ReplaceAll(got, dir, "$DIR")
	if !strings.HasPrefix(want, "error") {
		want = text(t, dict(t, want))
	}
	if got != want {
		t.Errorf("result\n got %s\nwant %s", got, want)
	}
	if len(h.script) > 0 {
		t.Errorf("calls not made:\n%s", strings.Join(h.script, "\n"))
	}
}

func dict(t *testing.T, s string) *value.Dict {
	t.Helper()
	v, err := pyjson.DecodeString(s)
	if err != nil {
		t.Fatalf("%v in %s", err, s)
	}
	d, ok := v.(*value.Dict)
	if !ok {
		t.Fatalf("no mapping: %s", s)
	}
	return d
}

func text(t *testing.T, v any) string {
	t.Helper()
	s, err := value.EncodeJSON(v, value.JSONStyle{Indent: -1, SortKeys: true})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// scriptedHost answers from a transcript and fails on any call that is not its
// next line.
type scriptedHost struct {
	t      *testing.T
	script []string
	facts  *value.Dict
	dir    string
}

func (h *scriptedHost) call(line string) (Result, error) {
	h.t.Helper()
	if len(h.script) == 0 || h.script[0] != "> "+line {
		next := "(end)"
		if len(h.script) > 0 {
			next = h.script[0]
		}
		h.t.Fatalf("call\n  > %s\nexpected\n  %s", line, next)
	}
	if len(h.script) < 2 {
		h.t.Fatalf("no answer to %s", line)
	}
	answer := h.script[1]
	h.script = h.script[2:]
	if rest, ok := strings.CutPrefix(answer, "! "); ok {
		return nil, &Unreachable{Err: errors.New(rest)}
	}
	return dict(h.t, strings.TrimPrefix(answer, "< ")), nil
}

func staged(t *testing.T, files []stage.File) string {
	out := ""
	for _, f := range files {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		data := make([]byte, f.Size)
		if _, err := r.Read(data); err != nil && f.Size > 0 {
			t.Fatal(err)
		}
		r.Close()
		out += fmt.Sprintf(" file %s%s=%q", f.Arg, f.Suffix, data)
	}
	return out
}

func (h *scriptedHost) Module(ctx context.Context, name string, args *value.Dict, files ...stage.File) (Result, error) {
	if _, bounded := ctx.Deadline(); bounded && len(h.script) > 1 && h.script[1] == "< never" {
		h.script[1] = "! never"
		<-ctx.Done()
	}
	return h.call("module " + name + " " + text(h.t, args) + staged(h.t, files))
}

func (h *scriptedHost) Job(_ context.Context, name string, args *value.Dict, files ...stage.File) (Result, error) {
	return h.call("job " + name + " " + text(h.t, args) + staged(h.t, files))
}

func (h *scriptedHost) Raw(_ context.Context, cmd, executable string, files ...stage.File) (Result, error) {
	if executable != "" {
		cmd = executable + " -c " + cmd
	}
	return h.call("raw " + cmd + staged(h.t, files))
}

func (h *scriptedHost) Get(_ context.Context, path string, sink stage.Sink) error {
	res, err := h.call("get " + path)
	if err != nil {
		return err
	}
	content, _ := res.Str("content")
	if _, err := sink.Write([]byte(content)); err != nil {
		return err
	}
	return sink.Close(nil)
}

func (h *scriptedHost) Reconnect(context.Context) (string, error) {
	res, err := h.call("reconnect")
	if err != nil {
		return "", err
	}
	id, _ := res.Str("boot_id")
	return id, nil
}

func (h *scriptedHost) Facts() *value.Dict { return h.facts }

// treeHost does parts of directories at once.
type treeHost struct{ *scriptedHost }

func (h *treeHost) Tree(_ context.Context, args *value.Dict, files ...stage.File) (ans TreeAnswer, err error) {
	res, err := h.call("tree " + text(h.t, args) + staged(h.t, files))
	if err != nil {
		return ans, err
	}
	if res.Bool("none") {
		return ans, ErrNoTree
	}
	done, _ := res.Lookup("done").(int64)
	ans = TreeAnswer{Done: int(done), Changed: res.Bool("changed")}
	ans.Failed, _ = res.Lookup("result").(*value.Dict)
	return ans, nil
}

// testController reads files of one directory and does not render.
type testController struct {
	dir  string
	vars *value.Dict
}

func (c *testController) Find(_, name string) (string, error) {
	p := filepath.Join(c.dir, name)
	if _, err := os.Stat(p); err != nil {
		return "", fmt.Errorf("Could not find or access '%s'", name) //nolint:staticcheck // the reference's text
	}
	return p, nil
}

func source(path string, mode uint32, data []byte) Source {
	sum := sha1.Sum(data) //nolint:gosec // see import
	return Source{
		Path: path, Mode: mode, SHA1: hex.EncodeToString(sum[:]),
		File: stage.BytesFile("", "", data),
		Data: func() ([]byte, error) { return data, nil },
	}
}

func (c *testController) Open(path string, _ bool) (Source, error) {
	data, err := os.ReadFile(path)
	return source(path, 0o640, data), err
}
func (c *testController) Content(b []byte) Source         { return source("", 0, b) }
func (c *testController) Render(v any) (any, bool, error) { return v, false, nil }
func (c *testController) Condition(v any) (bool, error)   { return v == "true", nil }
func (c *testController) Resolve(v any) (any, error)      { return v, nil }
func (c *testController) Expression(v any) (any, error)   { return v, nil }
func (c *testController) Var(name string) (any, bool)     { return c.vars.Get(name) }
func (c *testController) VarOrError(n string) (any, bool, error) {
	v, ok := c.vars.Get(n)
	return v, ok, nil
}
func (c *testController) Vars() []string {
	var names []string
	for k := range c.vars.All() {
		names = append(names, k.(string))
	}
	return names
}
func (c *testController) Basedir() string            { return c.dir }
func (c *testController) RolePath() string           { return "" }
func (c *testController) HasModule(name string) bool { return name != "nosuch" }
func (c *testController) Warn(string)                {}
func (c *testController) Display(string)             {}
func (c *testController) LoadVars(p string) (any, bool, error) {
	data, err := os.ReadFile(p)
	if err != nil {
		return nil, false, err
	}
	v, err := pyjson.Decode(data)
	return v, false, err
}

func (c *testController) TemplateFile(path string, _ TemplateOptions, _ *value.Dict) ([]byte, error) {
	data, err := os.ReadFile(path)
	return []byte(strings.ReplaceAll(string(data), "{{ x }}", "rendered")), err
}

func (c *testController) Prompt(context.Context, string, Keys) (string, bool, error) {
	return "", false, nil
}
