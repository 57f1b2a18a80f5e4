package execute

import (
	"context"

	"volant/controller/compile"
	"volant/controller/events"
	"volant/controller/playbook"
	"volant/wire/value"
)

// title are the names a handler can be notified by.
type title struct {
	usable               bool
	name, withRole, full string
}

// title renders a handler's name, once, without the variables of any host.
func (b *batch) title(t *playbook.Task) *title {
	if n := b.titles[t]; n != nil {
		return n
	}
	n := &title{}
	raw := t.Keywords.Value(playbook.Name)
	if raw == nil || !value.Truth(raw) {
		b.titles[t] = n
		return n
	}
	ctx := context.Background()
	v, err := b.vars.For(ctx, "", t, nil)
	if err == nil {
		x := b.newExec(&compile.Step{Task: t}, &host{}, nil, func(events.Event) {})
		var out any
		if out, _, err = x.scope(ctx, v).Render(raw); err == nil {
			n.usable, n.name = true, text(out)
		}
	}
	if err != nil {
		if len(t.Listen) == 0 {
			b.r.opt.Display.Note("Handler '%s' is unusable because it has no listen topics and the name could not be templated "+
				"(host-specific variables are not supported in handler names). The error: %s", t.RawName(), err)
		}
		return n // not kept: variables may come
	}
	n.withRole, n.full = t.Title(n.name, false), t.Title(n.name, true)
	b.titles[t] = n
	return n
}

// handlers are the handlers that a notification means: the one of that name
// that was loaded last, then those that listen to it.
func (b *batch) handlers(name string) []*playbook.Task {
	var all, out []*playbook.Task
	blocks := b.plan.Play.Handlers
	for i := len(blocks) - 1; i >= 0; i-- {
		for _, n := range blocks[i].Block {
			if t, ok := n.(*playbook.Task); ok {
				all = append(all, t)
			}
		}
	}
	for _, t := range all {
		n := b.title(t)
		if n.usable && (n.name == name || n.withRole == name || n.full == name) {
			out = append(out, t)
			break
		}
	}
	seen := map[string]bool{}
	for _, t := range all {
		for _, l := range t.Listen {
			if l != name {
				continue
			}
			n := b.title(t).name
			if n != "" && seen[n] {
				break
			}
			seen[n] = true
			dup := false
			for _, o := range out {
				dup = dup || o == t
			}
			if !dup {
				out = append(out, t)
			}
			break
		}
	}
	return out
}

// inFlush reports whether the step is part of a handler flush.
func inFlush(s *compile.Step) bool {
	if s == nil {
		return false
	}
	for sp := s.Splice; sp != nil; sp = sp.Parent {
		if sp.Flush {
			return true
		}
	}
	return false
}

// resolve turns the host's pending notifications into handlers to run.
func (b *batch) resolve(h *host) {
	pending := h.pending
	h.pending = nil
	for _, name := range pending {
		for _, t := range b.handlers(name) {
			b.notifyHost(t, h)
		}
	}
}

// forgetNotified takes hosts off a handler that ran for all of them at once.
func (b *batch) forgetNotified(t *playbook.Task, _ []*host) { delete(b.notified, t) }
