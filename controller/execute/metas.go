package execute

import (
	"context"
	"errors"

	"volant/controller/inventory"
)

// metaAction is what a meta task may ask for. In its words HOST and ROLE stand
// for the task's.
type metaAction struct {
	each bool // done for every host at the step; otherwise once
	// otherwise ends the sentence that says that its condition was false; an
	// action without such words heeds none.
	otherwise string
	deaf      bool   // the operator is told so
	idle      string // its message when nothing was done; "": its name
	done      string // its message when something was
	// do does it and reports whether there was something to do.
	do func(ctx context.Context, m *metaTask) (did bool, err error)
}

// metaActions are all, by name.
var metaActions = map[string]metaAction{
	"noop":              {each: true, deaf: true, do: func(context.Context, *metaTask) (bool, error) { return false, nil }},
	"flush_handlers":    {each: true, otherwise: ", not running handlers for HOST", done: "triggered running handlers for HOST", do: flushHandlers},
	"refresh_inventory": {deaf: true, done: "inventory successfully refreshed", do: refreshInventory},
	"clear_facts":       {otherwise: ", not clearing facts and fact cache for HOST", done: "facts cleared", do: clearFacts},
	"clear_host_errors": {otherwise: ", not clearing host error state for HOST", done: "cleared host errors", do: clearHostErrors},
	"end_batch":         {otherwise: ", continuing current batch", done: "ending batch", do: endBatch},
	"end_play":          {otherwise: ", continuing play", done: "ending play", do: endPlay},
	"end_host": {each: true, otherwise: ", continuing execution for HOST", done: "ending play for HOST", do: endHost,
		idle: "end_host conditional evaluated to false, continuing execution for HOST"},
	"role_complete":    {each: true, done: "role_complete for HOST", do: roleComplete},
	"end_role":         {each: true, otherwise: "continuing role ROLE for HOST", done: "ending role ROLE for HOST", do: endRole},
	"reset_connection": {each: true, deaf: true, done: "reset connection", do: resetConnection},
}

func flushHandlers(_ context.Context, m *metaTask) (bool, error) {
	m.b.resolve(m.h)
	if inFlush(m.step) {
		return false, errors.New("flush_handlers cannot be used as a handler")
	}
	m.flush = !m.b.r.unreachable[m.h.name]
	return true, nil
}

func refreshInventory(ctx context.Context, m *metaTask) (did bool, err error) {
	m.b.r.opt.Store.Change(func(inv *inventory.Inventory) { err = inv.Refresh(ctx) })
	if err == nil {
		err = m.b.rehost()
	}
	return true, err
}

func clearFacts(_ context.Context, m *metaTask) (bool, error) {
	for _, h := range m.b.hosts {
		m.b.r.opt.Store.ClearFacts(h.name)
	}
	return true, nil
}

func clearHostErrors(_ context.Context, m *metaTask) (bool, error) {
	for _, h := range m.b.hosts {
		delete(m.b.r.failed, h.name)
		delete(m.b.r.unreachable, h.name)
		h.cur.ClearErrors()
	}
	return true, nil
}

func endBatch(_ context.Context, m *metaTask) (bool, error) {
	m.b.endAll()
	return true, nil
}

func endPlay(_ context.Context, m *metaTask) (bool, error) {
	m.b.endPlay = m.b.endAll() || m.b.endPlay
	return true, nil
}

func endHost(_ context.Context, m *metaTask) (bool, error) {
	m.b.end(m.h)
	return true, nil
}

func roleComplete(_ context.Context, m *metaTask) (bool, error) {
	t := m.step.Task
	if !t.Implicit || t.Role == nil {
		return false, nil
	}
	r := m.b.play.CachedRole(t.Role)
	if !m.b.ran[r][m.h.name] {
		return false, nil
	}
	mark(m.b.complete, r, m.h.name)
	return true, nil
}

func endRole(_ context.Context, m *metaTask) (bool, error) {
	cur := m.h.cur
	for s := cur.Peek(); s != nil && s.Task.Meta() != "role_complete"; s = cur.Peek() {
		cur.Take()
	}
	return true, nil
}

func resetConnection(ctx context.Context, m *metaTask) (bool, error) {
	return true, m.b.resetConnection(ctx, m.step, m.h)
}
