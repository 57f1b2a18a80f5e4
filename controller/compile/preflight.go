package compile

import (
	"fmt"
	"strings"

	"volant/controller/fault"
	"volant/controller/playbook"
	"volant/wire/value"
)

// Support says what can run here. Names are full where the reference resolves
// them, else as written. Why texts complete "X ... :".
type Support interface {
	// Action says why a resolved action or module cannot run, or "".
	Action(resolved string, collections []string) (why string)
	// Plugin says the same of a "filter", "test", "lookup", "connection",
	// "become" or "strategy". known is false when nobody has installed one of
	// that name: it fails where it is reached, as in the reference.
	Plugin(kind, name string, collections []string) (why string, known bool)
}

// Watcher is a Support that wants to know what Preflight meets: each step that
// it judges, with its keywords, and each dynamic include that does not load.
type Watcher interface {
	Step(t *playbook.Task, kw playbook.Keywords)
	Unloadable(t *playbook.Task, err error)
}

// Refusal is a statement of the project that cannot run.
type Refusal struct {
	Task *playbook.Task // nil for a play
	Kind string         // "action", "filter", ...
	Name string
	Why  string
	Pos  value.Pos
	// Unknown says that nobody has installed it: a warning, not a refusal.
	Unknown bool
	// Included says that it stands in a file or role that a dynamic include
	// names: that is loaded only when the include is reached.
	Included bool
}

// Text is the refusal on one line.
func (r Refusal) Text() string {
	if r.Unknown {
		return fmt.Sprintf("No %s plugin named '%s' is installed; the task fails if it is reached.", r.Kind, r.Name)
	}
	return fmt.Sprintf("The %s '%s' cannot run here: %s", r.Kind, r.Name, r.Why)
}

// Fault is the refusal as an error with its place.
func (r Refusal) Fault() *fault.Error { return fault.New(fault.Parser, r.Pos, "%s", r.Text()) }

// maxAhead bounds how many dynamic includes Preflight follows.
const maxAhead = 2000

// Preflight names what cannot run of plans that have hosts, before the first
// connection: of every step that tags left in and that no literal
// `when: false` keeps out, of the handlers, and of the dynamic includes whose
// names are written out. Each name is reported once, where it is first met.
func Preflight(plans []*Plan, s Support) []Refusal {
	f := &preflight{support: s, seen: map[string]bool{}, files: map[string]bool{}}
	for _, p := range plans {
		f.plan = p
		f.play(p.Play)
		for st := range p.Steps() {
			f.step(st.Task, st.Keywords)
		}
		for _, h := range p.Handlers {
			f.step(h, p.handlerKeywords(h))
		}
	}
	return f.out
}

type preflight struct {
	support Support
	plan    *Plan
	seen    map[string]bool // kind and name
	files   map[string]bool // included files and roles followed
	within  int             // dynamic includes around what is judged
	out     []Refusal
}

func (f *preflight) report(t *playbook.Task, kind, name, why string, unknown bool, pos value.Pos) {
	key := kind + " " + name
	if f.seen[key] {
		return
	}
	f.seen[key] = true
	f.out = append(f.out, Refusal{Task: t, Kind: kind, Name: name, Why: why, Pos: pos, Unknown: unknown, Included: f.within > 0})
}

func (f *preflight) play(p *playbook.Play) {
	if v := p.Values; v != nil && v.Strategy != "" {
		f.plugin(nil, "strategy", v.Strategy, nil, p.Keywords.PosOf(playbook.Strategy))
	}
	f.values(nil, p.Vars, nil)
}

func (f *preflight) plugin(t *playbook.Task, kind, name string, collections []string, pos value.Pos) {
	if f.seen[kind+" "+name] {
		return
	}
	why, known := f.support.Plugin(kind, name, collections)
	if why != "" || !known {
		f.report(t, kind, name, why, !known, pos)
	}
}

// conditions are the keywords whose texts are expressions.
var conditions = map[playbook.Keyword]bool{
	playbook.When: true, playbook.ChangedWhen: true, playbook.FailedWhen: true, playbook.Until: true,
}

func (f *preflight) step(t *playbook.Task, kw playbook.Keywords) {
	if t.Implicit || never(kw) {
		return
	}
	if w, ok := f.support.(Watcher); ok {
		w.Step(t, kw)
	}
	collections := texts(kw.List(playbook.Collections))
	if t.Resolved != "" && t.Include == playbook.NotInclude && t.Meta() == "" {
		if why := f.support.Action(t.Resolved, collections); why != "" {
			f.report(t, "action", t.ActionName(), why, false, t.Pos)
		}
	}
	for _, s := range kw {
		text, isText := value.Text(s.Value)
		switch s.Key {
		case playbook.Connection, playbook.BecomeMethod:
			if isText && !playbook.MaybeTemplate(s.Value) {
				kind := map[playbook.Keyword]string{playbook.Connection: "connection", playbook.BecomeMethod: "become"}[s.Key]
				f.plugin(t, kind, text, collections, s.Pos)
			}
		case playbook.LoopWith:
			f.plugin(t, "lookup", text, collections, t.Pos)
		case playbook.Tags, playbook.Collections, playbook.Name:
		default:
			if conditions[s.Key] {
				f.expressions(t, s.Value, collections)
			} else {
				f.values(t, s.Value, collections)
			}
		}
	}
	f.values(t, t.Args, collections)
	if playbook.Is(t.ActionName(), "assert") {
		f.expressions(t, t.Args.Lookup("that"), collections)
	}
	f.values(t, t.Vars, collections)
	f.include(t)
}

// never reports whether a literal false among the conditions keeps the task
// from ever running.
func never(kw playbook.Keywords) bool {
	for _, c := range kw.List(playbook.When) {
		if c == false {
			return true
		}
		if s, ok := value.Text(c); ok && (s == "false" || s == "False") {
			return true
		}
	}
	return false
}

func texts(list []any) []string {
	var out []string
	for _, v := range list {
		if s, ok := value.Text(v); ok {
			out = append(out, s)
		}
	}
	return out
}

// values looks at the templates anywhere in v.
func (f *preflight) values(t *playbook.Task, v any, collections []string) {
	switch v := v.(type) {
	case *value.Template:
		if strings.Contains(v.Text, "{") {
			f.names(t, scan(v.Text, false), v.Pos, collections)
		}
	case *value.List:
		if v != nil {
			for _, item := range v.Items {
				f.values(t, item, collections)
			}
		}
	case *value.Dict:
		for _, item := range v.All() {
			f.values(t, item, collections)
		}
	}
}

// expressions looks at the conditions in v.
func (f *preflight) expressions(t *playbook.Task, v any, collections []string) {
	switch v := v.(type) {
	case *value.Template:
		f.names(t, scan(v.Text, true), v.Pos, collections)
	case *value.List:
		for _, item := range v.Items {
			f.expressions(t, item, collections)
		}
	}
}

func (f *preflight) names(t *playbook.Task, list []used, pos value.Pos, collections []string) {
	for _, u := range list {
		f.plugin(t, u.kind, u.name, collections, pos)
	}
}

// include follows a dynamic include whose name is written out. What cannot be
// loaded is left for the run to find.
func (f *preflight) include(t *playbook.Task) {
	if t.Include != playbook.IncludeTasks && t.Include != playbook.IncludeRole || len(f.files) > maxAhead {
		return
	}
	scratch := f.plan.Play.Clone()
	l := f.plan.loader.Quiet()
	var loaded *playbook.Included
	var err error
	if t.Include == playbook.IncludeTasks {
		raw := t.Args.Lookup("_raw_params")
		if playbook.MaybeTemplate(raw) {
			return
		}
		file := l.LocateTasks(t, scratch, value.Str(raw), func(inc *playbook.Task) string {
			return value.Str(inc.Args.Lookup("_raw_params"))
		})
		if f.once(t, file) {
			return
		}
		loaded, err = l.LoadTasks(t, scratch, file, nil)
	} else {
		name := t.RoleArgs.Name
		from := map[string]string{}
		for k, v := range t.RoleArgs.From {
			if playbook.MaybeTemplate(v) {
				return
			}
			from[k] = value.Str(v)
		}
		if playbook.MaybeTemplate(name) || f.once(t, fmt.Sprint("role ", value.Str(name), from)) {
			return
		}
		skip := value.DictOf("rolespec_validate", false)
		loaded, err = l.LoadRole(t, scratch, value.Str(name), from, skip, nil)
	}
	if err != nil {
		if w, ok := f.support.(Watcher); ok {
			w.Unloadable(t, err)
		}
		return
	}
	f.within++
	f.blocks(loaded.Blocks)
	f.blocks(loaded.Handlers)
	f.within--
}

// once reports whether the file was followed before, and notes it.
func (f *preflight) once(t *playbook.Task, file string) bool {
	key := file
	if t.Handler {
		key = "handler " + file
	}
	seen := f.files[key]
	f.files[key] = true
	return seen
}

func (f *preflight) blocks(blocks []*playbook.Block) {
	for _, b := range blocks {
		for _, list := range [][]playbook.Node{b.Block, b.Rescue, b.Always} {
			f.nodes(list)
		}
	}
}

func (f *preflight) nodes(list []playbook.Node) {
	for _, n := range list {
		switch n := n.(type) {
		case *playbook.Block:
			f.blocks([]*playbook.Block{n})
		case *playbook.Task:
			st := &Step{Task: n, Keywords: playbook.Effective(n)}
			if run, err := f.plan.selected(st); err == nil && (run || n.Handler) {
				f.step(n, st.Keywords)
			}
		}
	}
}
