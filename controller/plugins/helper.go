package plugins

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"volant/controller/fault"
	"volant/controller/jinja"
	"volant/controller/template"
	"volant/wire/value"
)

// Options say what helpers are started with.
type Options struct {
	Python      string   // interpreter of ansible-core
	Path        string   // directory that holds the `ansible` package; "" when the interpreter has it
	Collections []string // collections paths, before those of the configuration
	Dir         string   // working directory
	Environ     []string // environment; nil is our own
	Stdout      io.Writer
	Sink        fault.Sink // takes the messages of action plugins; nil drops them
	// Routed says where ansible-core's routing sends a name without dots of a
	// kind (filter, test, lookup), "" for nowhere. May be nil.
	Routed func(kind, name string) string
	// CollectionDir is where a collection (namespace.name) is installed, ""
	// for nowhere. May be nil.
	CollectionDir func(name string) string
	// Handler is the action plugin that a module's collection names for it, by
	// full names, "" for none. May be nil.
	Handler func(module string) string
	// Configured are the configured plugin directories by kind.
	Configured map[string][]string
	// Vault opens what inventory plugins read encrypted. May be nil.
	Vault Decrypter
}

// Decrypter opens vault-encrypted data; controller/vault has it.
type Decrypter interface {
	Decrypt(data []byte, file string) ([]byte, error)
	DecryptString(ciphertext string, pos value.Pos) (string, error)
}

// maxHelpers bounds the helper processes. Another one is started when a call
// has waited for its patience, which doubles with each process there is: calls
// wait for one another seldom, and never for good, though a lookup that reads a
// variable made by another plugin holds two.
const (
	maxHelpers = 64
	patience   = 20 * time.Millisecond
)

// Helper finds and runs Python plugins. It starts no process before a plugin is
// asked for that may be there. It is safe for concurrent use.
type Helper struct {
	opt   Options
	slots chan struct{} // holds one for each process there is
	idle  chan *process

	mu     sync.Mutex // guards what follows
	dirs   []string
	kinds  map[string]bool // that a project's directory has plugins of
	found  map[string]*plugin
	closed bool
}

// plugin is what is known of a name.
type plugin struct {
	name    string // as errors print it; "" when there is none
	markers bool
	err     error // why it does not load
}

var _ jinja.Table = (*Helper)(nil)

// New returns a Helper; nothing is started.
func New(opt Options) *Helper {
	return &Helper{
		opt: opt, slots: make(chan struct{}, maxHelpers), idle: make(chan *process, maxHelpers),
		kinds: map[string]bool{}, found: map[string]*plugin{},
	}
}

// AddDir makes the plugins below dir (a playbook's or a role's) known.
func (h *Helper) AddDir(dir string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if slices.Contains(h.dirs, dir) {
		return
	}
	has := false
	for _, kind := range []string{"filter", "test", "lookup", "action", "inventory"} {
		if holdsPython(filepath.Join(dir, kind+"_plugins")) {
			h.kinds[kind], has = true, true
		}
	}
	// A module_utils directory counts only for modules.
	if has {
		h.dirs = append(h.dirs, dir)
		clear(h.found)
	}
}

func holdsPython(dir string) bool {
	files, _ := filepath.Glob(filepath.Join(dir, "*.py"))
	return len(files) > 0
}

// Close ends the processes. Calls made later fail.
func (h *Helper) Close() {
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	for {
		select {
		case p := <-h.idle:
			p.end()
		default:
			return
		}
	}
}

// may reports whether a plugin of that name may be there, without starting a
// process.
func (h *Helper) may(kind, name string) bool {
	if parts := strings.SplitN(name, ".", 3); len(parts) == 3 {
		return h.opt.CollectionDir != nil && h.opt.CollectionDir(parts[0]+"."+parts[1]) != ""
	}
	h.mu.Lock()
	own := h.kinds[kind]
	h.mu.Unlock()
	if own || slices.ContainsFunc(h.opt.Configured[kind], holdsPython) {
		return true
	}
	if h.opt.Routed != nil {
		if to := h.opt.Routed(kind, name); to != "" {
			return h.may(kind, to)
		}
	}
	return false
}

// find asks a helper for a plugin; nil when there is none.
func (h *Helper) find(kind, name string) *plugin {
	if !h.may(kind, name) {
		return nil
	}
	key := kind + " " + name
	h.mu.Lock()
	p, known := h.found[key]
	h.mu.Unlock()
	if !known {
		p = h.load(kind, name)
		h.mu.Lock()
		h.found[key] = p
		h.mu.Unlock()
	}
	if p.name == "" && p.err == nil {
		return nil
	}
	return p
}

func (h *Helper) load(kind, name string) *plugin {
	frame := op("find")
	frame.Set("kind", kind)
	frame.Set("name", name)
	v, err := h.call(context.Background(), frame, nil)
	if err != nil {
		return &plugin{err: err}
	}
	d, _ := v.(*value.Dict)
	if !d.Bool("found") {
		return &plugin{}
	}
	p := &plugin{markers: d.Bool("markers")}
	if p.name, _ = d.Str("name"); p.name == "" {
		p.name = name
	}
	return p
}

func op(name string) *value.Dict {
	d := value.NewDict(4)
	d.Set("op", name)
	return d
}

// call runs one frame on a helper of the pool.
func (h *Helper) call(ctx context.Context, frame *value.Dict, on serve) (any, error) {
	p, err := h.take(ctx)
	if err != nil {
		return nil, err
	}
	if err := h.introduce(ctx, p); err != nil {
		h.drop(p)
		return nil, err
	}
	v, err := p.call(ctx, frame, on)
	if _, died := err.(*errDied); died || ctx.Err() != nil { //nolint:errorlint // it is never wrapped
		h.drop(p)
		return nil, err
	}
	h.give(p)
	return v, err
}

// introduce tells a process of the directories that came since its last call.
func (h *Helper) introduce(ctx context.Context, p *process) error {
	h.mu.Lock()
	fresh := slices.Clone(h.dirs[p.dirs:])
	h.mu.Unlock()
	if len(fresh) == 0 {
		return nil
	}
	frame := op("dirs")
	frame.Set("dirs", value.Strings(fresh...))
	if _, err := p.call(ctx, frame, nil); err != nil {
		return err
	}
	p.dirs += len(fresh)
	return nil
}

// take returns a process nobody uses, starting one where none comes free soon.
func (h *Helper) take(ctx context.Context) (*process, error) {
	h.mu.Lock()
	closed := h.closed
	h.mu.Unlock()
	if closed {
		return nil, os.ErrClosed
	}
	if n := len(h.slots); n > 0 {
		wait := time.NewTimer(patience << min(n-1, 8))
		defer wait.Stop()
		select {
		case p := <-h.idle:
			return p, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-wait.C:
		}
	}
	select {
	case p := <-h.idle:
		return p, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case h.slots <- struct{}{}:
	}
	p, err := h.start(ctx)
	if err != nil {
		<-h.slots
		return nil, err
	}
	return p, nil
}

// give puts a process back.
func (h *Helper) give(p *process) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		p.end()
		return
	}
	h.idle <- p // there is room for all that may exist
}

// drop ends a process that is of no further use.
func (h *Helper) drop(p *process) {
	p.end()
	<-h.slots
}

// Filter implements jinja.Table.
func (h *Helper) Filter(name string) (*jinja.Plugin, bool) { return h.plugin("filter", name) }

// Test implements jinja.Table.
func (h *Helper) Test(name string) (*jinja.Plugin, bool) { return h.plugin("test", name) }

// Global implements jinja.Table: there are no global functions in Python.
func (h *Helper) Global(string) (any, bool) { return nil, false }

func (h *Helper) plugin(kind, name string) (*jinja.Plugin, bool) {
	found := h.find(kind, name)
	if found == nil {
		return nil, false
	}
	if found.err != nil {
		return &jinja.Plugin{Name: name, Markers: true, Call: func(*jinja.Context, jinja.Args) (any, error) {
			return nil, loadError(kind, name, found.err)
		}}, true
	}
	return &jinja.Plugin{Name: found.name, Markers: found.markers, Call: func(c *jinja.Context, a jinja.Args) (any, error) {
		return h.apply(c, kind, found.name, name, a)
	}}, true
}

// loadError is a plugin that is there and does not load.
func loadError(kind, name string, err error) error {
	return &fault.Error{Kind: fault.Template, Class: "AnsibleTemplatePluginLoadError", Msg: "The " + kind + " plugin " + value.Repr(name) + " failed to load.", Cause: err}
}

// apply runs a filter or test.
func (h *Helper) apply(c *jinja.Context, kind, full, name string, a jinja.Args) (any, error) {
	args, err := encodeItems(a.Pos, 0)
	if err != nil {
		return nil, err
	}
	kwargs := value.NewDict(len(a.Kw))
	for _, k := range a.Kw {
		e, err := encode(k.Value, 0)
		if err != nil {
			return nil, err
		}
		kwargs.Set(k.Name, e)
	}
	frame := op(kind)
	frame.Set("name", name)
	frame.Set("args", args)
	frame.Set("kwargs", kwargs)
	sink := template.SinkOf(c.Data())
	v, err := h.call(c.Ctx(), frame, notes(sink))
	if d, ok := v.(*value.Dict); ok && kind == "test" {
		class, _ := d.Str("type")
		dep := fault.Deprecation{Version: "2.23"}
		dep.Pos = c.Pos()
		dep.Msg = "The test plugin " + value.Repr(full) + " returned a non-boolean result of type " + class + ". Test plugins must have a boolean result."
		sink.Deprecated(dep)
		return d.Bool("truth"), nil
	}
	return v, err
}

// Lookup returns a lookup in Python.
func (h *Helper) Lookup(name string) (*template.Lookup, bool) {
	found := h.find("lookup", name)
	if found == nil {
		return nil, false
	}
	// Which of its terms name files nobody knows, so a managed host's must look
	// harmless.
	return &template.Lookup{Markers: found.markers, Nested: true, Reads: true, Run: func(l *template.LookupCall) ([]any, error) {
		if found.err != nil {
			return nil, loadError("lookup", name, found.err)
		}
		return h.lookup(l, name)
	}}, true
}

func (h *Helper) lookup(l *template.LookupCall, name string) ([]any, error) {
	terms, err := encodeItems(l.Terms, 0)
	if err != nil {
		return nil, err
	}
	kwargs, err := encode(l.Opts, 0)
	if err != nil {
		return nil, err
	}
	frame := op("lookup")
	frame.Set("name", name)
	frame.Set("terms", terms)
	frame.Set("kwargs", kwargs)
	frame.Set("basedir", l.Basedir())
	v, err := h.call(l.C.Ctx(), frame, questions(l))
	if err != nil {
		return nil, err
	}
	list, ok := v.(*value.List)
	if !ok {
		return nil, &fault.Error{Msg: "the lookup returned no list"}
	}
	return list.Items, nil
}
