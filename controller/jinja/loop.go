package jinja

import (
	"volant/wire/value"
)

// loopCode is a compiled for loop.
type loopCode struct {
	store     assign
	test      eval // nil: none
	run, els  exec
	from, to  int // slots of the body
	loop      int // slot of the loop variable; -1: not used
	extended  bool
	recursive bool
}

// each runs the loop over v, depth recursive loops deep.
func (l *loopCode) each(c *Context, f *frame, out *output, v any, depth int) error {
	if u, ok := v.(*value.Undefined); ok {
		return u
	}
	items, err := c.Items(v)
	if err != nil {
		return err
	}
	var lp *loop
	if l.extended {
		if l.test != nil {
			if items, err = l.filtered(c, f, items); err != nil {
				return err
			}
		}
		lp = &loop{code: l, items: items, depth: depth, f: f}
	}
	ran := false
	for i, item := range items {
		if err := c.run.step(); err != nil {
			return err
		}
		f.clear(l.from, l.to)
		if err := l.store(c, f, item); err != nil {
			return err
		}
		if lp != nil {
			lp.index = i
			f.slots[l.loop] = slot{lp, true}
		} else if l.test != nil {
			ok, err := l.passes(c, f)
			if err != nil {
				return err
			}
			if !ok {
				continue
			}
		}
		ran = true
		if err := l.run(c, f, out); err != nil {
			return err
		}
	}
	if !ran {
		return l.els(c, f, out)
	}
	return nil
}

func (l *loopCode) passes(c *Context, f *frame) (bool, error) {
	v, err := l.test(c, f)
	if err != nil {
		return false, err
	}
	return c.Truth(v)
}

func (l *loopCode) filtered(c *Context, f *frame, items []any) ([]any, error) {
	var out []any
	for _, item := range items {
		if err := c.run.step(); err != nil {
			return nil, err
		}
		f.clear(l.from, l.to)
		if err := l.store(c, f, item); err != nil {
			return nil, err
		}
		ok, err := l.passes(c, f)
		if err != nil {
			return nil, err
		}
		if ok {
			out = append(out, item)
		}
	}
	return out, nil
}

// render runs a recursive loop and returns its output. The slots of the
// enclosing run are put back, since they share a frame.
func (l *loopCode) render(c *Context, f *frame, v any, depth int) (any, error) {
	if err := c.run.enter(); err != nil {
		return nil, err
	}
	defer c.run.leave()
	saved := append([]slot(nil), f.slots[l.from:l.to]...)
	defer copy(f.slots[l.from:l.to], saved)
	var out output
	if err := l.each(c, f, &out, v, depth); err != nil {
		return nil, err
	}
	return c.concat(out.nodes)
}

// loop is the loop variable.
type loop struct {
	code    *loopCode
	items   []any
	index   int
	depth   int
	f       *frame
	changed []any
	called  bool
}

func (*loop) TypeName() string { return "LoopContext" }

func (l *loop) Len() int { return len(l.items) }

func (l *loop) Attr(c *Context, name string) (any, bool, error) {
	i, n := int64(l.index), int64(len(l.items))
	switch name {
	case "index":
		return i + 1, true, nil
	case "index0":
		return i, true, nil
	case "revindex":
		return n - i, true, nil
	case "revindex0":
		return n - i - 1, true, nil
	case "first":
		return i == 0, true, nil
	case "last":
		return i == n-1, true, nil
	case "length":
		return n, true, nil
	case "depth":
		return int64(l.depth) + 1, true, nil
	case "depth0":
		return int64(l.depth), true, nil
	case "previtem":
		if i == 0 {
			return c.undefined("", "there is no previous item"), true, nil
		}
		return l.items[i-1], true, nil
	case "nextitem":
		if i == n-1 {
			return c.undefined("", "there is no next item"), true, nil
		}
		return l.items[i+1], true, nil
	case "cycle":
		return native("cycle", func(c *Context, a Args) (any, error) {
			if len(a.Pos) == 0 {
				return nil, value.TypeErrorf("no items for cycling given")
			}
			return a.Pos[l.index%len(a.Pos)], nil
		}), true, nil
	case "changed":
		return native("changed", func(c *Context, a Args) (any, error) {
			if l.called && len(l.changed) == len(a.Pos) {
				same := true
				for i := range a.Pos {
					eq, err := c.Equal(l.changed[i], a.Pos[i])
					if err != nil {
						return nil, err
					}
					same = same && eq
				}
				if same {
					return false, nil
				}
			}
			l.called, l.changed = true, a.Pos
			return true, nil
		}), true, nil
	}
	return nil, false, nil
}

// Call is loop(items) in a recursive loop.
func (l *loop) Call(c *Context, a Args) (any, error) {
	if !l.code.recursive {
		return nil, value.TypeErrorf("The loop must have the 'recursive' marker to be called recursively.")
	}
	if len(a.Pos) != 1 || len(a.Kw) > 0 {
		return nil, value.TypeErrorf("loop() takes exactly one argument")
	}
	return l.code.render(c, l.f, a.Pos[0], l.depth+1)
}
