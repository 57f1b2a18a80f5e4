package compile

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"volant/controller/fault"
	"volant/controller/playbook"
	"volant/controller/yaml"
	"volant/wire/value"
)

var update = flag.Bool("update", false, "write what comes out into the golden files")

// newLoader is a loader over real files.
func newLoader(extra *value.Dict, sink fault.Sink) *playbook.Loader {
	return &playbook.Loader{
		Files:   &yaml.Files{Sink: sink},
		Render:  simple{extra},
		Plugins: names{},
		Sink:    sink,
		Config:  playbook.Config{InvalidTaskAttrFailed: true, RolesPath: []string{"/nonexistent/roles"}},
	}
}

// TestGolden compiles site.yml of every testdata/*.txtar and compares the plan
// with its `plan` file, or the error with `error`. The comment of the archive
// holds options, one `name: value` a line: tags, skip-tags, extra, force,
// walk (a script of what a host meets: see walk).
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden files: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) { golden(t, file) })
	}
}

func golden(t *testing.T, file string) {
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	want := map[string]string{}
	var kept []txtar.File
	for _, f := range archive.Files {
		switch f.Name {
		case "plan", "error", "list", "warnings":
			want[f.Name] = string(f.Data)
			continue
		}
		kept = append(kept, f)
		path := filepath.Join(dir, f.Name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, f.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got := map[string]string{}
	run(t, dir, options(string(archive.Comment)), got)
	for k, v := range got {
		got[k] = strings.ReplaceAll(v, dir, "$CASE")
	}
	if *update {
		for _, k := range []string{"plan", "list", "warnings", "error"} {
			if got[k] != "" {
				kept = append(kept, txtar.File{Name: k, Data: []byte(got[k])})
			}
		}
		archive.Files = kept
		if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	for _, k := range []string{"plan", "list", "warnings", "error"} {
		if diff := cmp.Diff(want[k], got[k]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", k, diff)
		}
	}
}

// options reads the `name: value` lines of an archive's comment.
func options(comment string) map[string]string {
	out := map[string]string{}
	for _, line := range strings.Split(comment, "\n") {
		if k, v, ok := strings.Cut(line, ": "); ok && !strings.HasPrefix(line, "#") {
			out[k] = v
		}
	}
	return out
}

func fields(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return r == ',' })
}

func run(t *testing.T, dir string, opt map[string]string, got map[string]string) {
	extra := value.NewDict(0)
	for _, kv := range fields(opt["extra"]) {
		k, v, _ := strings.Cut(kv, "=")
		extra.Set(k, v)
	}
	sink := &collect{}
	l := newLoader(extra, sink)
	defer func() { got["warnings"] = sink.text.String() }()
	choose := Options{Tags: fields(opt["tags"]), SkipTags: fields(opt["skip-tags"]), ForceHandlers: opt["force"] != ""}
	pb, err := l.Load(filepath.Join(dir, "site.yml"))
	if err != nil {
		got["error"] = fault.Verbose(err)
		return
	}
	var out strings.Builder
	for _, play := range pb.Plays {
		v, err := l.Finish(play)
		if err != nil {
			got["error"] = fault.Verbose(err)
			return
		}
		fmt.Fprintf(&out, "PLAY %s\n", v.Name)
		plan, err := Compile(l, play, choose)
		if err != nil {
			got["error"] = fault.Verbose(err)
			return
		}
		if opt["walk"] != "" {
			walk(t, &out, plan, dir, opt["walk"])
			continue
		}
		show(&out, plan)
	}
	got["plan"] = out.String()
	if opt["list"] == "" {
		return
	}
	text, err := List(l, "site.yml", pb.Plays, choose, ListOptions{Tasks: true, Tags: true, Hosts: true},
		func(*playbook.Play) ([]string, error) { return []string{"h1"}, nil })
	if err != nil {
		t.Fatal(err)
	}
	got["list"] = text
}

// show writes the steps of a plan, a line each.
func show(out *strings.Builder, plan *Plan) {
	for s := range plan.Steps() {
		out.WriteString(line(s) + "\n")
	}
	for _, h := range plan.Handlers {
		fmt.Fprintf(out, "  handler %s", h.Title(h.RawName(), true))
		if len(h.Listen) > 0 {
			fmt.Fprintf(out, " listen %s", strings.Join(h.Listen, ", "))
		}
		out.WriteString("\n")
	}
}

func line(s *Step) string {
	depth := 0
	for sp := s.Span; sp != nil; sp = sp.Parent {
		if sp.HasRescue() || sp.HasAlways() {
			depth++
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%3d %s%s", s.Number, strings.Repeat("  ", depth), [...]string{"", "rescue ", "always "}[s.Part])
	b.WriteString(s.Task.Title(s.Task.RawName(), true))
	if m := s.Task.Meta(); m != "" {
		b.WriteString(" " + m)
	}
	for _, k := range []playbook.Keyword{
		playbook.Tags, playbook.When, playbook.Become, playbook.Environment, playbook.IgnoreErrors, playbook.ModuleDefaults,
		playbook.Collections, playbook.Loop, playbook.LoopWith, playbook.DelegateTo, playbook.Notify, playbook.RunOnce,
	} {
		if v, ok := s.Keywords.Get(k); ok && v != nil && !(s.Task.Implicit && k == playbook.Tags) {
			fmt.Fprintf(&b, " %s=%s", k, strings.ReplaceAll(value.Repr(v), " ", ""))
		}
	}
	if s.Task.Args.Len() > 0 && s.Task.Meta() == "" {
		fmt.Fprintf(&b, " %s", value.Repr(s.Task.Args))
	}
	var vars []string
	for _, d := range s.Task.Chain() {
		if d.Len() > 0 {
			vars = append(vars, value.Repr(d))
		}
	}
	if len(vars) > 0 {
		b.WriteString(" vars " + strings.Join(vars, " < "))
	}
	return b.String()
}

// walk runs one host over the plan. Steps whose title is in the script (comma
// separated, in order) fail; "include" files are loaded where they are met.
func walk(t *testing.T, out *strings.Builder, plan *Plan, dir, script string) {
	fail := fields(script)
	c := plan.NewCursor("h1")
	for s := c.Take(); s != nil; s = c.Take() {
		out.WriteString(line(s) + "\n")
		title := s.Task.Title(s.Task.RawName(), true)
		switch {
		case slices.Contains(fail, title):
			fmt.Fprintf(out, "    failed, rescuing %v\n", c.Rescuing())
			c.Fail()
			fmt.Fprintf(out, "    host failed %v\n", c.Failed())
		case s.Task.Include == playbook.IncludeTasks:
			file := plan.Locate(s, value.Str(s.Task.Args.Lookup("_raw_params")), func(v any) (any, error) { return v, nil })
			sp, err := plan.Include(Inclusion{At: s, Hosts: []string{"h1"}, File: file})
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(out, "    included %s: %d steps\n", strings.TrimPrefix(file, dir+"/"), len(sp.Steps))
			if other, err := plan.Include(Inclusion{At: s, Hosts: []string{"h2"}, File: file}); err != nil || len(other.Steps) != len(sp.Steps) {
				t.Fatalf("including for another host: %v, %d steps", err, len(other.Steps))
			}
		case s.Task.Include == playbook.IncludeRole:
			if _, err := plan.Include(Inclusion{At: s, Hosts: []string{"h1"}, Role: value.Str(s.Task.RoleArgs.Name)}); err != nil {
				t.Fatal(err)
			}
		case s.Task.Meta() == "flush_handlers" && len(plan.Handlers) > 0:
			plan.Flush(s, []string{"h1"})
		}
	}
	fmt.Fprintf(out, "    end, host failed %v\n", c.Failed())
}
