package jinja

import (
	"context"
	"sync"

	"volant/wire/value"
)

func (l Limits) fill() Limits {
	def := func(n *int, d int) {
		if *n <= 0 {
			*n = d
		}
	}
	def(&l.Output, 64<<20)
	def(&l.Sequence, 10_000_000)
	def(&l.Text, 64<<20)
	def(&l.Depth, 200)
	def(&l.Steps, 50_000_000)
	return l
}

// running is what the contexts of one render share.
type running struct {
	limits Limits
	ctx    context.Context
	done   <-chan struct{}
	output int
	steps  int
	depth  int
	raw    map[*value.List]bool // lists made by the template itself, see List.count
	args   []any                // what is left of the piece that room hands out
	pieces int                  // how many there were
	read   map[*value.List]map[int]bool
	copies map[string]any // variables the template may change, by name
}

// grow counts n bytes of output.
func (r *running) grow(n int) error {
	if r.output += n; r.output > r.limits.Output {
		return &LimitError{"output", r.limits.Output}
	}
	return nil
}

// room is an empty slice with room for n arguments. It is cut from a larger
// piece, since most calls are many and small; no part is handed out twice.
func (r *running) room(n int) []any {
	if len(r.args) < n {
		r.args = make([]any, max(n, min(r.pieces*16, 256)))
		r.pieces++
	}
	s := r.args[:0:n]
	r.args = r.args[n:]
	return s
}

// step counts one iteration.
func (r *running) step() error {
	if r.steps++; r.steps > r.limits.Steps {
		return &LimitError{"steps", r.limits.Steps}
	}
	if r.steps&1023 == 0 {
		select {
		case <-r.done:
			return r.ctx.Err()
		default:
		}
	}
	return nil
}

// enter counts one nested macro, include, block or recursive loop.
func (r *running) enter() error {
	if r.depth++; r.depth > r.limits.Depth {
		r.depth--
		return value.Raise("RecursionError", "maximum recursion depth exceeded (limit of %d nested calls)", r.limits.Depth)
	}
	return nil
}

func (r *running) leave() { r.depth-- }

// noteRead notes that item i of l was read.
func (r *running) noteRead(l *value.List, i int) {
	if r.read == nil {
		r.read = map[*value.List]map[int]bool{}
	}
	if r.read[l] == nil {
		r.read[l] = map[int]bool{}
	}
	r.read[l][i] = true
}

func (r *running) noteRaw(l *value.List) {
	if r.raw == nil {
		r.raw = map[*value.List]bool{}
	}
	r.raw[l] = true
}

// noteSum notes the result of a + b or a * b when both are the template's own.
func (r *running) noteSum(l *value.List, a, b any) {
	own := func(v any) bool {
		x, ok := v.(*value.List)
		return !ok || r.raw[x]
	}
	if own(a) && own(b) {
		r.noteRaw(l)
	}
}

// output collects the nodes of a template, macro or captured block.
type output struct {
	nodes []any
	mute  bool // after extends: nothing is output any more
	all   bool // None counts as a node
}

// nodeSlices are for collecting nodes that concat then makes one value of.
var nodeSlices = sync.Pool{New: func() any { return new([]any) }}

// keepNodes bounds what such a slice keeps for the next.
const keepNodes = 1 << 14

// collected runs a body and joins what it outputs.
func (c *Context) collected(run exec, f *frame) (any, error) {
	s := nodeSlices.Get().(*[]any)
	out := output{nodes: (*s)[:0]}
	err := run(c, f, &out)
	var v any
	if err == nil {
		v, err = c.concat(out.nodes)
	}
	clear(out.nodes)
	if cap(out.nodes) <= keepNodes {
		*s = out.nodes
		nodeSlices.Put(s)
	}
	return v, err
}

// add appends what an expression gave.
func (o *output) add(c *Context, v any) error {
	switch x := v.(type) {
	case nil:
		if o.all {
			o.nodes = append(o.nodes, nil)
		}
		return nil
	case string: // v itself is appended: converting x again would allocate
		o.nodes = append(o.nodes, v)
		return c.run.grow(len(x))
	case *value.Template:
		o.nodes = append(o.nodes, v)
		return c.run.grow(len(x.Text))
	case value.Markup:
		o.nodes = append(o.nodes, v)
		return c.run.grow(len(x))
	case *module:
		o.nodes = append(o.nodes, x.nodes...)
		return c.run.grow(len(x.nodes) * 16)
	}
	o.nodes = append(o.nodes, v)
	return c.run.grow(16)
}
