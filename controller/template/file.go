package template

import (
	"iter"
	"os"
	"os/user"
	"strconv"
	"strings"
	"syscall"

	"volant/controller/jinja"
	"volant/wire/value"
)

// FileOptions are the options of the template module and lookup that change
// how a file is read. Zero values are Jinja's own, trim_blocks on.
type FileOptions struct {
	BlockStart, BlockEnd       string
	VariableStart, VariableEnd string
	CommentStart, CommentEnd   string
	NewlineSequence            string // \n, \r\n or \r
	NoTrimBlocks               bool
	LstripBlocks               bool
	// OutputEncoding is the encoding of the text returned; empty is utf-8.
	OutputEncoding string
}

func (o FileOptions) jinja() jinja.Options {
	return jinja.Options{
		BlockStart: o.BlockStart, BlockEnd: o.BlockEnd, VariableStart: o.VariableStart, VariableEnd: o.VariableEnd,
		CommentStart: o.CommentStart, CommentEnd: o.CommentEnd, NewlineSequence: o.NewlineSequence,
		TrimBlocks: !o.NoTrimBlocks, LstripBlocks: o.LstripBlocks,
	}
}

// layered are variables with some more on top.
type layered struct {
	Vars
	top *value.Dict
}

// Lookup implements Vars.
func (l layered) Lookup(name string) (any, bool, bool) {
	if v, ok := l.top.Get(name); ok {
		return v, false, true
	}
	return l.Vars.Lookup(name)
}

// Names implements Vars.
func (l layered) Names() iter.Seq[string] {
	return func(yield func(string) bool) {
		for name := range l.Vars.Names() {
			if !l.top.Has(name) && !yield(name) {
				return
			}
		}
		for k := range l.top.All() {
			name, _ := value.Text(k)
			if !yield(name) {
				return
			}
		}
	}
}

// with is a scope of its own with more variables; what it renders is kept
// apart from what this one renders.
func (s *Scope) with(top *value.Dict) *Scope {
	return &Scope{e: s.e, ctx: s.ctx, vars: layered{s.vars, top}, opt: s.opt, depth: s.depth}
}

// TemplateFile renders the template at path, found already, as the template
// module does, with extra on top of the scope's variables (the module sets
// template_destpath there). src is the name the playbook gave it.
func (s *Scope) TemplateFile(path, src string, opt FileOptions, extra *value.Dict) (text []byte, marked bool, err error) {
	data, err := s.readText(path, "")
	if err != nil {
		return nil, false, err
	}
	sub, err := s.fileScope(path, src, extra)
	if err != nil {
		return nil, false, err
	}
	paths := []string{}
	for _, p := range append(append([]string(nil), s.opt.SearchPath...), s.opt.Basedir, dirName(path)) {
		paths = append(paths, joinPath(p, "templates"), p)
	}
	t := value.NewTemplate(data, value.Pos{File: path})
	v, err := sub.renderText(t, opt.jinja(), paths)
	if err == nil {
		v, err = sub.finalize(v, t)
	}
	if err != nil {
		return nil, sub.mark, err
	}
	if v == value.Omit {
		return nil, sub.mark, omitted(t)
	}
	out := ""
	if v != nil {
		out = value.Str(v)
	}
	b, err := encode(out, opt.OutputEncoding)
	return b, sub.mark, err
}

// templateLookup renders a file as the template lookup does; the result is not
// final.
func (s *Scope) templateLookup(path, src string, opt FileOptions, extra *value.Dict) (any, error) {
	data, err := s.readText(path, "")
	if err != nil {
		return nil, err
	}
	vars := value.NewDict(0)
	vars.Set("template_destpath", nil)
	vars.Update(extra)
	sub, err := s.fileScope(path, src, vars)
	if err != nil {
		return nil, err
	}
	paths := []string{dirName(path)}
	for _, p := range s.opt.SearchPath {
		paths = append(paths, joinPath(p, "templates"), p)
	}
	if s.depth++; s.depth > maxNesting {
		s.depth--
		return nil, recursionError(value.NewTemplate(data, value.Pos{File: path}))
	}
	defer func() { s.depth-- }()
	sub.depth = s.depth
	t := value.NewTemplate(data, value.Pos{File: path})
	v, err := sub.renderText(t, opt.jinja(), paths)
	s.mark = s.mark || sub.mark
	if err != nil {
		return nil, err
	}
	// What is still lazy belongs to the file's own variables.
	return sub.whole(v), nil
}

// fileScope is a scope with the variables every template file sees.
func (s *Scope) fileScope(path, src string, extra *value.Dict) (*Scope, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, osError(err, path)
	}
	host, err := os.Hostname()
	if err != nil {
		host = ""
	}
	var owner any
	if sys, ok := st.Sys().(*syscall.Stat_t); ok {
		owner = int64(sys.Uid)
		if u, err := user.LookupId(strconv.Itoa(int(sys.Uid))); err == nil {
			owner = u.Username
		}
	}
	mtime := st.ModTime().Local()
	now := s.e.opt.Now().Local()
	vars := value.DictOf(
		"template_host", host,
		"template_path", src,
		"template_mtime", timeAt(mtime.Year(), int(mtime.Month()), mtime.Day(), mtime.Hour(), mtime.Minute(), mtime.Second(), mtime.Nanosecond()/1000*1000),
		"template_uid", owner,
		"template_run_date", timeAt(now.Year(), int(now.Month()), now.Day(), now.Hour(), now.Minute(), now.Second(), now.Nanosecond()/1000*1000),
		"template_destpath", nil,
		"template_fullpath", path,
	)
	if _, _, ok := s.vars.Lookup("ansible_managed"); !ok {
		managed := strings.NewReplacer("{host}", "{{ template_host }}", "{uid}", "{{ template_uid }}", "{file}", "{{ template_path }}", "{{", "{", "}}", "}").Replace(s.e.opt.ManagedString)
		zone, _ := mtime.Zone()
		vars.Set("ansible_managed", value.NewTemplate(Strftime(managed, mtime, zone), value.Pos{}))
	}
	vars.Update(extra)
	return s.with(vars), nil
}

func dirName(p string) string {
	d, _ := splitPath(p)
	return d
}

// renderText renders a file's text: backslashes are not special, and without a
// start delimiter it is copied as it is.
func (s *Scope) renderText(t *value.Template, opts jinja.Options, paths []string) (any, error) {
	text := t.Text
	starts := func(d, dflt string) bool {
		if d == "" {
			d = dflt
		}
		return strings.Contains(text, d)
	}
	if err := distinct(opts); err != nil {
		return nil, err
	}
	if !strings.HasPrefix(text, overridePrefix) && !starts(opts.BlockStart, "{%") && !starts(opts.VariableStart, "{{") && !starts(opts.CommentStart, "{#") {
		return text, nil
	}
	body, o, err := header(text, opts)
	if err != nil {
		return nil, asFault(err, t, false)
	}
	prog, err := s.e.fileProgram(body, "", o)
	if err != nil {
		return nil, asFault(err, t, false)
	}
	r := s.render(t.Pos)
	include := o
	include.EscapeBackslashes = false
	r.Load = &fileLoader{s: s, paths: paths, opts: include}
	v, err := s.settle(prog.Render(r))(t)
	if err != nil {
		return nil, err
	}
	nl := opts.NewlineSequence
	if nl == "" {
		nl = "\n"
	}
	return trailingNewlines(text, v, nl), nil
}

// distinct checks that the start delimiters differ.
func distinct(o jinja.Options) error {
	or := func(s, d string) string {
		if s == "" {
			return d
		}
		return s
	}
	b, v, c := or(o.BlockStart, "{%"), or(o.VariableStart, "{{"), or(o.CommentStart, "{#")
	if b == v || v == c || c == b {
		return value.ValueErrorf("Block, variable and comment start strings must be different.")
	}
	return nil
}

// fileKey identifies a compiled file by its text.
type fileKey struct {
	text, name string
	opts       jinja.Options
}

type fileProgram struct {
	prog *jinja.Template
	err  error
}

// fileProgram compiles the text of a file, once per text and options.
func (e *Engine) fileProgram(text, name string, o jinja.Options) (*jinja.Template, error) {
	key := fileKey{text, name, o}
	if p, ok := e.files.Load(key); ok {
		fp := p.(*fileProgram)
		return fp.prog, fp.err
	}
	fp := &fileProgram{}
	fp.prog, fp.err = jinja.Compile(text, name, e.table, o)
	e.files.Store(key, fp)
	return fp.prog, fp.err
}

// fileLoader finds what include, import and extends name: below the search
// paths, never above them.
type fileLoader struct {
	s     *Scope
	paths []string
	opts  jinja.Options
}

// loader is the one for templates in values: the playbook's directory.
func (s *Scope) loader() jinja.Loader {
	if s.include == nil {
		s.include = &fileLoader{s: s, paths: []string{s.opt.Basedir}, opts: jinja.Options{TrimBlocks: true}}
	}
	return s.include
}

// Load implements jinja.Loader.
func (l *fileLoader) Load(_ *jinja.Context, name, _ string) (*jinja.Template, error) {
	for _, part := range strings.Split(name, "/") {
		if part == ".." {
			return nil, notFound(name)
		}
	}
	rel := strings.Trim(name, "/")
	if rel != "" {
		for _, dir := range l.paths {
			p := joinPath(dir, rel)
			st, err := os.Stat(p)
			if err != nil || st.IsDir() {
				continue
			}
			text, err := l.s.readText(p, "")
			if err != nil {
				return nil, err
			}
			return l.s.e.fileProgram(text, name, l.opts)
		}
	}
	return nil, notFound(name)
}

// missing is an included file that is not there; its text is its name.
type missing struct{ name string }

func (m *missing) Error() string { return m.name }
func (m *missing) Unwrap() error { return jinja.ErrNotFound }

func notFound(name string) error { return &missing{name} }
