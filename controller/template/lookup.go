package template

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"volant/controller/fault"
	"volant/controller/jinja"
	"volant/wire/value"
)

// Lookup is one lookup plugin.
type Lookup struct {
	// Run returns the results. Terms and options are rendered, unless Lazy.
	Run func(l *LookupCall) ([]any, error)
	// Markers says that terms and options may be *value.Undefined; Lazy that
	// containers among them are not rendered.
	Markers, Lazy bool
	// Nested says that containers among the terms may hold what is undefined.
	Nested bool
	// Reads says that the terms name files of the controller, and Runs that
	// they are commands; what a managed host chose is refused.
	Reads, Runs bool
	// Options are the types of its options, as the reference names them in
	// errors; an option that is not named may be anything.
	Options map[string]string
}

// LookupCall is one call of a lookup.
type LookupCall struct {
	Scope *Scope
	C     *jinja.Context
	Name  string
	Terms []any
	Opts  *value.Dict
	// With says that the lookup is a loop (with_NAME); Dir is then the
	// subdirectory its task's action reads from ("files", "templates").
	With bool
	Dir  string
	// Marked says that a term or option was made from what a managed host sent.
	Marked bool
}

// builtinGlobals are the functions and values the reference adds.
var builtinGlobals = map[string]any{
	"lookup": &jinja.Plugin{Name: "lookup", Call: lookupGlobal, Markers: true, Lazy: true, Embedded: true, Direct: true, Enter: enter},
	"query":  &jinja.Plugin{Name: "query", Call: queryGlobal, Markers: true, Lazy: true, Embedded: true, Direct: true, Enter: enter},
	"q":      &jinja.Plugin{Name: "q", Call: queryGlobal, Markers: true, Lazy: true, Embedded: true, Direct: true, Enter: enter},
	"now":    &jinja.Plugin{Name: "now", Call: nowGlobal},
	"undef":  &jinja.Plugin{Name: "undef", Call: undefGlobal, Markers: true, Direct: true},
	"omit":   value.Omit,
}

var nowSig = jinja.Sig("_now(utc=False, fmt=None)")
var undefSig = jinja.Sig("_undef(hint=None)")

func nowGlobal(c *jinja.Context, a jinja.Args) (any, error) {
	v, err := nowSig.Bind(a)
	if err != nil {
		return nil, err
	}
	s := of(c)
	if s == nil {
		return nil, errNoScope
	}
	t := s.e.opt.Now().Local()
	if truth(c, v[0]) {
		t = t.UTC()
	}
	if v[1] != nil && truth(c, v[1]) {
		layout, ok := value.Text(v[1])
		if !ok {
			return nil, value.TypeErrorf("strftime() argument 1 must be str, not %s", value.TypeName(v[1]))
		}
		layout = strings.ReplaceAll(layout, "%f", fmt.Sprintf("%06d", t.Nanosecond()/1000)) // datetime's own
		return Strftime(layout, t, ""), nil
	}
	y, mo, d := t.Date()
	return timeAt(y, int(mo), d, t.Hour(), t.Minute(), t.Second(), t.Nanosecond()/1000*1000), nil
}

func undefGlobal(_ *jinja.Context, a jinja.Args) (any, error) {
	v, err := undefSig.Bind(a)
	if err != nil {
		return nil, err
	}
	if u, ok := v[0].(*value.Undefined); ok {
		return nil, failBy(u, "The 'hint' argument must be of type 'str' or 'NoneType'.")
	}
	hint, ok := value.Text(v[0])
	if !ok && v[0] != nil {
		return nil, failf("The 'hint' argument must be of type 'str' or 'NoneType', not '%s'.", value.TypeName(v[0]))
	}
	if hint == "" {
		return &value.Undefined{Hint: defaultUndef}, nil
	}
	return &value.Undefined{Hint: hint}, nil
}

// defaultUndef is what undef() without a hint says.
const defaultUndef = "Mandatory variable has not been overridden"

func queryGlobal(c *jinja.Context, a jinja.Args) (any, error) {
	kw := make([]jinja.Kwarg, 0, len(a.Kw)+1)
	for _, k := range a.Kw {
		if k.Name != "wantlist" {
			kw = append(kw, k)
		}
	}
	return lookupNamed(c, jinja.Args{Pos: a.Pos, Kw: append(kw, jinja.Kwarg{Name: "wantlist", Value: true}), Entered: a.Entered}, "_query")
}

// enter watches the evaluation of a lookup's arguments: what it returns says
// whether a managed host had a say in them. A variable read before comes from
// the render's own memory, so the names are looked at as well.
func enter(c *jinja.Context, names []string, local bool) func() any {
	s := of(c)
	if s == nil {
		return func() any { return true }
	}
	outer := s.mark
	s.mark = false
	return func() any {
		marked := s.mark || local && outer
		s.mark = s.mark || outer
		for _, n := range names {
			v, m, ok := s.vars.Lookup(n)
			if t, isTemplate := v.(*value.Template); ok && isTemplate && !m {
				r := s.done[t]
				m = r != nil && r.marked
			}
			marked = marked || m
		}
		return marked
	}
}

func lookupGlobal(c *jinja.Context, a jinja.Args) (any, error) { return lookupNamed(c, a, "_lookup") }

func lookupNamed(c *jinja.Context, a jinja.Args, fn string) (any, error) {
	if len(a.Pos) == 0 {
		return nil, value.TypeErrorf("%s() missing 1 required positional argument: 'plugin_name'", fn)
	}
	s := of(c)
	if s == nil {
		return nil, errNoScope
	}
	if u, ok := a.Pos[0].(*value.Undefined); ok {
		return u, nil
	}
	name, err := text(c, a.Pos[0])
	if err != nil {
		return nil, err
	}
	marked, known := a.Entered.(bool)
	if !known { // called by another name: everything this render read counts
		marked = s.mark
	}
	l := &LookupCall{Scope: s, C: c, Name: name, Terms: append([]any(nil), a.Pos[1:]...), Opts: value.NewDict(len(a.Kw)), Marked: marked}
	for _, kw := range a.Kw {
		l.Opts.Set(kw.Name, kw.Value)
	}
	return s.lookup(l)
}

// Lookup runs a lookup as `with_NAME` does: it returns the list of items.
// terms are rendered already; marked says that they were made from what a
// managed host sent, dir is the subdirectory the task's action reads from.
func (s *Scope) Lookup(name string, terms []any, opts *value.Dict, marked bool, dir string) (items []any, err error) {
	if opts == nil {
		opts = value.NewDict(0)
	}
	opts = opts.Clone()
	opts.Set("wantlist", true)
	l := &LookupCall{Scope: s, C: s.context(value.Pos{}), Name: name, Terms: terms, Opts: opts, With: true, Dir: dir, Marked: marked}
	outer := s.mark
	defer func() { s.mark = outer }()
	v, err := s.lookup(l)
	if err == nil {
		if v, err = l.C.Finalize(v); err == nil {
			list, ok := v.(*value.List)
			if !ok {
				return []any{v}, nil
			}
			return list.Items, nil
		}
	}
	if s.ctx.Err() != nil {
		return nil, s.ctx.Err()
	}
	return nil, asFault(err, nil, false)
}

// find returns the lookup called name.
func (e *Engine) lookup(name string) (*Lookup, bool) {
	base, qualified := short(name)
	if l, ok := builtinLookups[base]; ok {
		return l, true
	}
	if e.opt.Lookups != nil && !qualified {
		return e.opt.Lookups(name)
	}
	return nil, false
}

// HasLookup reports whether a lookup of that name can run, for checks before a
// run.
func (e *Engine) HasLookup(name string) bool {
	_, ok := e.lookup(name)
	return ok
}

// HasFilter reports whether a filter of that name can run.
func (e *Engine) HasFilter(name string) bool {
	_, ok := e.table.Filter(name)
	return ok
}

// HasTest reports whether a test of that name can run.
func (e *Engine) HasTest(name string) bool {
	_, ok := e.table.Test(name)
	return ok
}

func (s *Scope) lookup(l *LookupCall) (any, error) {
	p, ok := s.e.lookup(l.Name)
	if !ok {
		return nil, newFault(fault.Template, classNotFound, "The lookup plugin '"+l.Name+"' was not found.", l.C.Pos(), nil)
	}
	if !p.Markers {
		for _, v := range append(append([]any(nil), l.Terms...), values(l.Opts)...) {
			if u, ok := v.(*value.Undefined); ok {
				return u, nil
			}
		}
	}
	wantlist := truth(l.C, l.Opts.Lookup("wantlist"))
	onError, _ := value.Text(l.Opts.Lookup("errors"))
	l.Opts.Delete("wantlist")
	l.Opts.Delete("errors")

	results, err := s.runLookup(p, l)
	if err != nil {
		var u *value.Undefined
		switch {
		case errors.As(err, &u):
			return u, nil
		case s.ctx.Err() != nil:
			return nil, s.ctx.Err()
		case onError == "warn":
			s.warnOf("An error occurred while running the lookup plugin '"+l.Name+"'.", err)
		case onError == "ignore":
			s.sink().Verbose(1, fmt.Sprintf("An error occurred while running the lookup plugin '%s': %s", l.Name, err))
		default:
			return nil, newFault(fault.Template, classRuntime, "The lookup plugin '"+l.Name+"' failed.", l.C.Pos(), err)
		}
		if wantlist {
			return value.ListOf(), nil
		}
		return nil, nil
	}
	if wantlist || len(results) == 0 {
		return value.ListOf(results...), nil
	}
	if len(results) == 1 {
		return results[0], nil
	}
	return joined(l.C, results)
}

func values(d *value.Dict) []any {
	var out []any
	for _, v := range d.All() {
		out = append(out, v)
	}
	return out
}

// joined puts commas between results that are all text.
func joined(c *jinja.Context, results []any) (any, error) {
	parts := make([]string, len(results))
	for i, r := range results {
		r, err := c.Read(r)
		if err != nil {
			return nil, err
		}
		text, ok := value.Text(r)
		if !ok { // undefined ones are for whoever reads them
			return value.ListOf(results...), nil
		}
		parts[i] = text
	}
	return strings.Join(parts, ","), nil
}

// runLookup renders what the lookup wants rendered and runs it.
func (s *Scope) runLookup(p *Lookup, l *LookupCall) ([]any, error) {
	for i, v := range l.Terms {
		r, err := s.embedded(v)
		if err != nil {
			return nil, err
		}
		if u, ok := r.(*value.Undefined); ok && !p.Markers {
			return nil, u
		}
		if p.Nested {
			if r, err = l.loose(r, 0); err != nil {
				return nil, err
			}
		} else if !p.Lazy {
			if _, ok := r.(*value.Undefined); !ok {
				if r, err = l.C.Realize(r); err != nil {
					return nil, err
				}
			}
		}
		if t, ok := r.(*value.Template); ok {
			r = t.Text
		}
		l.Terms[i] = r
	}
	if !p.Lazy {
		for k, v := range l.Opts.All() {
			if _, ok := v.(*value.Undefined); ok {
				continue
			}
			r, err := l.C.Realize(v)
			if err != nil {
				return nil, err
			}
			l.Opts.Set(k, r)
		}
	}
	if l.Marked && (p.Reads || p.Runs) {
		if err := l.refuse(p); err != nil {
			return nil, err
		}
	}
	if err := l.checkOptions(p.Options); err != nil {
		return nil, err
	}
	return p.Run(l)
}

// loose renders a term, and leaves in containers what is undefined.
func (l *LookupCall) loose(v any, depth int) (any, error) {
	v, err := l.C.Read(v)
	if err != nil {
		return nil, err
	}
	if _, ok := v.(*value.Undefined); ok || depth > value.MaxDepth {
		return v, nil
	}
	switch c := v.(type) {
	case *value.Dict:
		out := value.NewDict(c.Len())
		for k, e := range c.All() {
			if e, err = l.loose(e, depth+1); err != nil {
				return nil, err
			}
			out.Set(k, e)
		}
		return out, nil
	case *value.List:
		items := make([]any, len(c.Items))
		for i, e := range c.Items {
			if items[i], err = l.loose(e, depth+1); err != nil {
				return nil, err
			}
		}
		return &value.List{Items: items}, nil
	case value.Tuple:
		out := make(value.Tuple, len(c))
		for i, e := range c {
			if out[i], err = l.loose(e, depth+1); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	return l.C.Realize(v)
}

// contentLookups give the content of a file as data.
var contentLookups = map[string]bool{"file": true, "unvault": true}

// refuse keeps a managed host from choosing a controller file or command.
func (l *LookupCall) refuse(p *Lookup) error {
	if p.Runs {
		return failf("the command of this '%s' lookup was named by a managed host, and a command a host chose is never run on the controller", l.Name)
	}
	var bad func(v any) bool
	bad = func(v any) bool {
		if t, ok := value.Text(v); ok {
			return !safeName(t) && !(contentLookups[l.Name] && l.Scope.opt.Fetched != nil && l.Scope.opt.Fetched(t))
		}
		switch v := v.(type) {
		case *value.List:
			for _, item := range v.Items {
				if bad(item) {
					return true
				}
			}
		case value.Tuple:
			return bad(value.ListOf(v...))
		case *value.Dict:
			return bad(value.ListOf(values(v)...))
		}
		return false
	}
	if bad(value.ListOf(l.Terms...)) || bad(l.Opts.Lookup("file")) || bad(l.Opts.Lookup("files")) || bad(l.Opts.Lookup("paths")) {
		return failf("the file of this '%s' lookup was named by a managed host, and a controller file a host chose is never read", l.Name)
	}
	return nil
}

// safeName reports whether a name a host had a say in stays below the
// directories files are looked for in.
func safeName(name string) bool {
	name, _, _ = strings.Cut(name, " ") // options of a term follow it
	if name == "" || strings.HasPrefix(name, "/") || strings.HasPrefix(name, "~") || strings.ContainsAny(name, "$\x00") {
		return false
	}
	for _, part := range strings.Split(name, "/") {
		if part == "" || part == "." || part == ".." {
			return false
		}
	}
	return path.Clean(name) == name
}

// embedded renders string literals that look like templates, which positional
// arguments of lookups may be, also inside lists and dicts written there.
func (s *Scope) embedded(v any) (any, error) {
	switch v := v.(type) {
	case *value.Template:
		if !possiblyTemplate(v.Text) || s.e.opt.NoEmbeddedTemplates {
			return v.Text, nil
		}
		s.warn(constTemplates, v, "Use inline expressions, for example: `msg: \"{{ lookup('env', '{{ a_var }}') }}\"` becomes `msg: \"{{ lookup('env', a_var) }}\"`")
		return s.Template(v)
	}
	return v, nil
}

// Text returns an option that is text, or the default.
func (l *LookupCall) text(name, dflt string) (string, error) {
	v, ok := l.Opts.Get(name)
	if !ok || v == nil {
		return dflt, nil
	}
	return text(l.C, v)
}

// flag returns an option that is a bool, or the default.
func (l *LookupCall) flag(name string, dflt bool) (bool, error) {
	v, ok := l.Opts.Get(name)
	if !ok || v == nil {
		return dflt, nil
	}
	b, _ := toBool(v) // what is no boolean counts as false, as in the reference
	return b, nil
}

// number returns an option that is an int, or the default.
func (l *LookupCall) number(name string, dflt int64) (int64, error) {
	v, ok := l.Opts.Get(name)
	if !ok || v == nil {
		return dflt, nil
	}
	return toInt(v)
}

// list returns an option that is a list; text is split at commas.
func (l *LookupCall) list(name string) []any {
	switch v := l.Opts.Lookup(name).(type) {
	case *value.List:
		return v.Items
	case value.Tuple:
		return v
	case string:
		return commaList(v)
	}
	return nil
}

func commaList(s string) []any {
	var out []any
	for _, part := range strings.Split(s, ",") {
		out = append(out, strings.TrimSpace(part))
	}
	return out
}
