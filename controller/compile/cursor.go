package compile

import "slices"

// Cursor is where one host stands in a plan and what failed on the way. It is
// pure state: the executor peeks at the next step, takes it when it runs it,
// and says when it failed; the cursor knows where that leads.
//
//	block --ok--> always --ok--> what follows the block
//	block --failed--> rescue --ok--> always
//	block (no rescue) or rescue --failed--> always --> the block around fails
//
// A Cursor is not safe for concurrent use.
type Cursor struct {
	plan   *Plan
	host   string
	pos    *Step // last node passed
	taken  *Step // last step taken, nil at the start
	frames []frame
	done   bool
	failed bool // what ended the play for the host was a failure
	setup  bool // the next step is Setup, wherever pos is
	forced bool // with setup: run it in any case
}

// frame is one open block.
type frame struct {
	span     *Span
	part     Part
	fail     failures
	rescued  bool // the rescue list was run to its end
	complete bool // nothing more of this block runs
}

// failures is the set of lists of a block in which something failed.
type failures uint8

func (f failures) has(p Part) bool { return f&(1<<p) != 0 }

// NewCursor returns a cursor in front of the plan's first step.
func (p *Plan) NewCursor(host string) *Cursor {
	return &Cursor{plan: p, host: host, pos: p.head}
}

// Host is the host the cursor is of.
func (c *Cursor) Host() string { return c.host }

// Taken is the step taken last, nil before the first.
func (c *Cursor) Taken() *Step { return c.taken }

// Done reports whether the host has no step left. A host that failed for good
// is done.
func (c *Cursor) Done() bool { return c.Peek() == nil }

// Clone returns an independent copy.
func (c *Cursor) Clone() *Cursor {
	n := *c
	n.frames = slices.Clone(c.frames)
	return &n
}

// Peek returns the step the host would run next, or nil, without moving.
func (c *Cursor) Peek() *Step { return c.Clone().advance() }

// Take moves to the next step and returns it, or nil at the end.
func (c *Cursor) Take() *Step { return c.advance() }

// advance walks from pos to the next step for the host.
func (c *Cursor) advance() *Step {
	if c.done {
		return nil
	}
	if c.setup {
		c.setup, c.taken = false, c.plan.Setup
		return c.plan.Setup
	}
	for {
		if n := len(c.frames); n > 0 && c.frames[n-1].complete {
			if !c.leave() {
				return nil
			}
			continue
		}
		next := c.pos.Next
		if next == nil || next.mark == bound {
			c.done = true
			return nil
		}
		if s := next.Splice.without(c.host); s != nil {
			c.pos = s.end
			continue
		}
		c.pos = next
		switch next.mark {
		case noMark:
			c.taken = next
			return next
		case spanStart:
			c.frames = append(c.frames, frame{span: next.Span})
		case rescueStart: // reached from the block list: nothing failed
			c.top().part, c.pos = InAlways, next.Span.always
		case alwaysStart: // reached from the rescue list
			c.top().fail, c.top().rescued, c.top().part = 0, true, InAlways
		case spanEnd:
			if c.top().fail != 0 {
				c.top().complete = true
				continue
			}
			c.frames = c.frames[:len(c.frames)-1]
		}
	}
}

func (c *Cursor) top() *frame { return &c.frames[len(c.frames)-1] }

// leave drops the complete innermost block; when it failed, the block around
// it fails. It reports whether there is anything left to do.
func (c *Cursor) leave() bool {
	f := *c.top()
	failed := c.frameFailed(len(c.frames) - 1)
	c.frames = c.frames[:len(c.frames)-1]
	if len(c.frames) == 0 {
		c.done, c.failed = true, failed
		return false
	}
	c.pos = f.span.end
	if failed {
		c.failTop()
	}
	return true
}

// failTop records a failure in the innermost block and moves to its rescue or
// always list.
func (c *Cursor) failTop() {
	f := c.top()
	f.fail |= 1 << f.part
	switch {
	case f.part == InBlock && f.span.HasRescue():
		f.part, c.pos = InRescue, f.span.rescue
	case f.part != InAlways && f.span.HasAlways():
		f.part, c.pos = InAlways, f.span.always
	default:
		f.complete = true
	}
}

// Fail says that the host failed at the step taken last, or that it is failed
// from outside (run_once, any_errors_fatal). It moves to the rescue or always
// steps of the block around that step, or ends the play for the host.
func (c *Cursor) Fail() {
	switch {
	case c.done:
		c.failed = true
	case c.setup || len(c.frames) == 0:
		c.done, c.failed = true, true
	case !c.top().complete:
		c.failTop()
	}
}

// Failed reports whether the host counts as failed where it stands: something
// failed that no rescue list catches or has caught.
func (c *Cursor) Failed() bool {
	if len(c.frames) == 0 {
		return c.failed
	}
	return c.frameFailed(0)
}

func (c *Cursor) frameFailed(i int) bool {
	if i >= len(c.frames) {
		return false
	}
	f := c.frames[i]
	if !f.complete && f.part != InBlock && c.frameFailed(i+1) {
		return true
	}
	if f.fail != 0 {
		if !f.complete && f.part != InBlock && !f.fail.has(f.part) {
			return false
		}
		return !f.rescued || f.fail.has(InAlways)
	}
	if !f.complete && f.part == InBlock && c.frameFailed(i+1) {
		return !f.span.HasRescue() || f.fail.has(InRescue)
	}
	return false
}

// Rescuing reports whether a failure where the host stands leads to a rescue
// list: of the block it stands in or of one around it.
func (c *Cursor) Rescuing() bool {
	for _, f := range c.frames {
		if !f.complete && f.part == InBlock && f.span.HasRescue() {
			return true
		}
	}
	return false
}

// ClearErrors forgets failures (meta: clear_host_errors). What was skipped
// because of them stays skipped.
func (c *Cursor) ClearErrors() {
	c.failed = false
	for i := range c.frames {
		c.frames[i].fail = 0
	}
}

// End ends the play for the host without failing it (meta: end_host, end_play,
// end_batch). In a rescue list the failure counts as rescued.
func (c *Cursor) End() {
	if n := len(c.frames); n > 0 {
		if c.frames[n-1].part == InRescue {
			c.frames[0].fail = 0
		}
		c.frames = c.frames[:1]
		c.frames[0].complete = true
		c.failed = c.frameFailed(0)
	}
	c.frames, c.done = nil, true
}
