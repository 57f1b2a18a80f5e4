package execute

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"volant/actions"
	"volant/controller/events"
	"volant/controller/inventory"
	"volant/controller/playbook"
	"volant/wire/value"
)

// process does what follows from a task's outcome on a host: counts, states,
// variables, notifications, and the events that show it.
func (b *batch) process(j *running, o *outcome) error {
	h := j.h
	h.busy = false
	if o.fatal != nil {
		return o.fatal
	}
	n := b.r.stats.Host(h.name)
	t := j.step.Task
	ran := false
	result := events.Result{Host: h.name, Task: o.task, Outcome: &o.Outcome}
	show := func() {
		if !o.shown {
			b.r.opt.Bus.Event(result)
		}
	}
	switch o.Status {
	case events.Failed:
		ran = true
		result.IgnoreErrors = o.ignoreErrors
		if o.ignoreErrors {
			n.OK++
			n.Ignored++
			if isChanged(o.Value) {
				n.Changed++
			}
		} else {
			b.fail(j, o, n)
		}
		show()
	case events.Unreachable:
		if o.ignoreUnreach {
			n.OK++
			n.Ignored++
		} else {
			b.r.unreachable[h.name] = true
			b.remove(h.name)
			n.Unreachable++
		}
		show()
	case events.Skipped:
		n.Skipped++
		show()
	default:
		ran = true
		if err := b.good(j, o); err != nil {
			return err
		}
		if _, ok := o.Value.Get("diff"); (ok || o.loop) && (b.r.opt.Diff || o.task.Diff) && o.Value.Has("diff") {
			b.r.opt.Bus.Event(events.FileDiff{Host: h.name, Task: o.task, Outcome: &o.Outcome})
		}
		if t.Include == playbook.NotInclude {
			n.OK++
			if isChanged(o.Value) {
				n.Changed++
			}
		}
		show()
	}
	b.register(j, o)
	if t.Role != nil && ran {
		mark(b.ran, b.play.CachedRole(t.Role), h.name)
	}
	return nil
}

func mark(m map[*playbook.Role]map[string]bool, r *playbook.Role, host string) {
	if m[r] == nil {
		m[r] = map[string]bool{}
	}
	m[r][host] = true
}

// fail is what a failure that is not ignored does.
func (b *batch) fail(j *running, o *outcome, n *events.Counts) {
	h := j.h
	rescuing := h.cur.Rescuing()
	if o.runOnce {
		for _, x := range b.hosts {
			if !b.r.unreachable[x.name] {
				b.markFailed(x)
			}
		}
	} else {
		b.markFailed(h)
	}
	if h.cur.Failed() && b.peek(h) == nil {
		b.r.failed[h.name] = true
	}
	if !rescuing {
		n.Failed++
		return
	}
	n.Rescued++
	b.removed[h.name]--
	b.dirty = true
	b.r.opt.Store.SetFact(h.name, "ansible_failed_task", b.failedTask(j, o), false)
	b.r.opt.Store.SetFact(h.name, "ansible_failed_result", strip(o.Value), o.marked)
}

// failedTask is the variable that describes a rescued task.
func (b *batch) failedTask(j *running, o *outcome) Dict {
	t := j.step.Task
	d := value.NewDict(24)
	for _, s := range j.step.Keywords {
		switch s.Key {
		case playbook.Action, playbook.ArgsKeyword, playbook.LoopControlKeyword:
		default:
			d.Set(s.Key.String(), plainDeep(s.Value))
		}
	}
	d.Set("name", o.task.Bare)
	if t.RawName() == "" {
		d.Set("name", "")
	}
	d.Set("action", o.task.Action)
	args := value.NewDict(t.Args.Len())
	for k, v := range t.Args.All() {
		args.Set(k, plainDeep(v))
	}
	d.Set("args", args)
	d.Set("vars", plainDeep(t.Vars))
	d.Set("ignore_errors", o.ignoreErrors)
	d.Set("delegate_to", nil)
	if o.delegate != "" {
		d.Set("delegate_to", o.delegate)
	}
	return d
}

// plainDeep is an operator's value as data.
func plainDeep(v any) any {
	switch v := v.(type) {
	case *value.Template:
		return v.Text
	case *value.List:
		out := &value.List{Items: make([]any, 0, v.Len())}
		for _, e := range v.Items {
			out.Items = append(out.Items, plainDeep(e))
		}
		return out
	case *value.Dict:
		out := value.NewDict(v.Len())
		for k, e := range v.All() {
			out.Set(k, plainDeep(e))
		}
		return out
	}
	return v
}

func strip(d Dict) Dict {
	out, _ := events.StripInternal(d).(*value.Dict)
	return out
}

// targets are the hosts that what a task said applies to.
func (b *batch) targets(j *running, o *outcome) []string {
	if !o.runOnce {
		return []string{j.h.name}
	}
	var out []string
	for _, h := range b.hosts {
		if !b.r.unreachable[h.name] {
			out = append(out, h.name)
		}
	}
	return out
}

// register stores the result under the task's register name.
func (b *batch) register(j *running, o *outcome) {
	name := text0(j.step.Task.Keywords.Value(playbook.Register))
	if name == "" {
		return
	}
	from := o.registered()
	d := strip(from)
	if d.Has("invocation") {
		if d == from {
			d = d.Clone()
		}
		d.Delete("invocation")
	}
	b.r.opt.Store.WarnReserved(name, value.Pos{})
	b.filed(j, o)
	for _, h := range b.targets(j, o) {
		b.r.opt.Store.SetFact(h, name, d, o.marked)
	}
}

// filed notes where fetch put what it brought.
func (b *batch) filed(j *running, o *outcome) {
	if o.task.Action == "" || actions.Short(o.task.Action) != "fetch" || j.step.Task.Include != playbook.NotInclude {
		return
	}
	items := o.items
	if !o.loop {
		items = []*outcome{o}
	}
	for _, it := range items {
		path, ok := it.Value.Str("dest")
		if !ok || it.delegate != "" || it.Status != events.OK {
			continue
		}
		for _, h := range b.targets(j, it) {
			b.r.opt.Store.SetFetched(h, path)
		}
	}
}

// good acts on an outcome that did not fail: each item of a loop, or the one.
func (b *batch) good(j *running, o *outcome) error {
	items := []*outcome{o}
	if o.loop && len(o.items) > 0 {
		items = o.items
	}
	changed := isChanged(o.Value)
	for _, it := range items {
		if len(it.notify) > 0 && changed {
			if err := b.notify(j.h, it.notify); err != nil {
				return err
			}
		}
		if err := b.inventory(j, o, it); err != nil {
			return err
		}
		if facts, ok := it.Value.Lookup("ansible_facts").(*value.Dict); ok && actions.Short(it.task.Action) != "debug" {
			b.facts(j, it, facts)
		}
		if st, ok := it.Value.Lookup("ansible_stats").(*value.Dict); ok {
			b.customStats(j, it, st)
		}
	}
	return nil
}

// notify notes which handlers are to run on h.
func (b *batch) notify(h *host, names []string) error {
	flushing := inFlush(h.cur.Taken())
	for _, name := range names {
		found := b.handlers(name)
		if len(found) == 0 {
			msg := fmt.Sprintf("The requested handler '%s' was not found in either the main handlers list nor in the listening handlers list", name)
			if b.r.opt.Config.Bool("ERROR_ON_MISSING_HANDLER") {
				return errors.New(msg)
			}
			b.r.opt.Display.Note("%s", msg)
			continue
		}
		if flushing {
			for _, t := range found {
				b.notifyHost(t, h)
			}
			continue
		}
		known := false
		for _, p := range h.pending {
			known = known || p == name
		}
		if !known {
			h.pending = append(h.pending, name)
		}
		b.r.opt.Display.Verbose(2, fmt.Sprintf("Notification for handler %s has been saved.", name))
	}
	return nil
}

func (b *batch) notifyHost(t *playbook.Task, h *host) {
	if b.notified[t] == nil {
		b.notified[t] = map[string]bool{}
	}
	if b.notified[t][h.name] {
		return
	}
	b.notified[t][h.name] = true
	b.r.opt.Bus.Event(events.Notify{Host: h.name, Handler: b.title(t).full})
}

// inventory acts on add_host and group_by.
func (b *batch) inventory(j *running, o, it *outcome) error {
	add, isHost := it.Value.Lookup("add_host").(*value.Dict)
	_, isGroup := it.Value.Get("add_group")
	if !isHost && !isGroup {
		return nil
	}
	var err error
	changed := false
	b.r.opt.Store.Change(func(inv *inventory.Inventory) {
		if isHost {
			name, _ := add.Str("host_name")
			vars, _ := add.Lookup("host_vars").(*value.Dict)
			changed, err = inv.AddHost(name, texts2(add.Lookup("groups")), vars)
			return
		}
		group := text(it.Value.Lookup("add_group"))
		changed, err = inv.AddToGroup(j.h.name, group, texts2(it.Value.Lookup("parent_groups")))
	})
	if err != nil {
		return err
	}
	b.markInventory(j.h.name, it, add)
	it.Value.Set("changed", changed)
	if isHost && changed {
		name, _ := add.Str("host_name")
		known := false
		for _, h := range b.all {
			known = known || h == name
		}
		if !known {
			b.all = append(b.all, name)
			b.dirty = true
		}
	}
	if err := b.judgeAgain(j, o, it); err != nil {
		return err
	}
	if o != it {
		it.Status = status(it.Value)
		b.r.opt.Bus.Event(events.Item{Host: j.h.name, Task: it.task, Outcome: &it.Outcome})
		if value.Truth(it.Value.Lookup("changed")) {
			o.Value.Set("changed", true)
		}
		if value.Truth(it.Value.Lookup("failed")) {
			o.Value.Set("failed", true)
		}
	}
	return nil
}

// markInventory keeps the mark of what a managed host sent on what add_host and
// group_by made of it: variables, the host's name, its groups.
func (b *batch) markInventory(host string, it *outcome, add *value.Dict) {
	if len(it.argMarks) == 0 {
		return
	}
	store := b.r.opt.Store
	if add == nil { // group_by
		store.MarkInventory(host, "group_names")
		return
	}
	host, _ = add.Str("host_name")
	vars, _ := add.Lookup("host_vars").(*value.Dict)
	all := it.argMarks["_raw_params"]
	for k := range vars.All() {
		if name := text(k); all || it.argMarks[name] {
			store.MarkInventory(host, name)
		}
	}
	for _, k := range []string{"name", "hostname", "host"} {
		if all || it.argMarks[k] {
			// The port may be part of the name.
			store.MarkInventory(host, "inventory_hostname", "inventory_hostname_short", "ansible_ssh_port")
		}
	}
	for _, k := range []string{"groupname", "groups", "group"} {
		if all || it.argMarks[k] {
			store.MarkInventory(host, "group_names")
		}
	}
}

// judgeAgain applies changed_when and failed_when once the inventory has said
// whether anything changed.
func (b *batch) judgeAgain(j *running, o, it *outcome) error {
	kw := j.step.Task.Keywords
	changedWhen, failedWhen := kw.List(playbook.ChangedWhen), kw.List(playbook.FailedWhen)
	if len(changedWhen)+len(failedWhen) == 0 {
		return nil
	}
	ctx := context.Background()
	x := b.newExec(j.step, j.h, it.task, func(events.Event) {})
	v, err := b.vars.For(ctx, j.h.name, j.step.Task, nil)
	if err != nil {
		return err
	}
	if loopVar, ok := it.Value.Str("ansible_loop_var"); ok && o != it {
		v.Set(loopVar, it.Value.Lookup(loopVar), false)
	}
	if name := text0(kw.Value(playbook.Register)); name != "" {
		v.Set(name, it.Value, it.marked)
	}
	if len(changedWhen) > 0 {
		ok, err := x.conditions(ctx, v, changedWhen)
		if err != nil {
			return err
		}
		it.Value.Set("changed", ok)
	}
	if len(failedWhen) > 0 {
		ok, err := x.conditions(ctx, v, failedWhen)
		if err != nil {
			return err
		}
		it.Value.Set("failed_when_result", ok)
		it.Value.Set("failed", ok)
	}
	return nil
}

func texts2(v any) []string {
	if v == nil {
		return nil
	}
	return texts(v)
}

// facts stores what a result says of the host, or of the delegate.
func (b *batch) facts(j *running, it *outcome, facts *value.Dict) {
	store := b.r.opt.Store
	short := actions.Short(it.task.Action)
	var targets []string
	if it.delegate != "" && it.delegateFacts {
		targets = []string{b.r.hostNamed(it.delegate)}
	} else {
		if it.delegate != "" {
			facts = b.alwaysDelegated(it, facts)
		}
		targets = b.targets(j, it)
	}
	if short == "include_vars" {
		for k, v := range facts.All() {
			store.WarnReserved(text(k), facts.KeyPos(text(k)))
			for _, h := range targets {
				store.Include(h, text(k), v, it.marked)
			}
		}
		return
	}
	cacheable := value.Truth(it.Value.Lookup("_ansible_facts_cacheable"))
	it.Value.Delete("_ansible_facts_cacheable")
	isSet := short == "set_fact"
	if isSet {
		for k := range facts.All() {
			store.WarnReserved(text(k), it.factPos(text(k)))
		}
	}
	for _, h := range targets {
		if !isSet || cacheable {
			store.SetFacts(h, facts, it.marked)
		}
		if isSet {
			for k, v := range facts.All() {
				store.SetFact(h, text(k), it.fact(text(k), v), it.argMarks[text(k)])
			}
		}
	}
}

// alwaysDelegated gives facts about the interpreter to the delegate, whatever
// delegate_facts says, and returns the others.
func (b *batch) alwaysDelegated(it *outcome, facts *value.Dict) *value.Dict {
	var theirs *value.Dict
	for k, v := range facts.All() {
		if s, _ := value.Text(k); strings.HasPrefix(s, "discovered_interpreter_") {
			if theirs == nil {
				theirs = value.NewDict(1)
			}
			theirs.Set(k, v)
		}
	}
	if theirs == nil {
		return facts
	}
	b.r.opt.Store.SetFacts(b.r.hostNamed(it.delegate), theirs, it.marked)
	out := facts.Clone()
	for k := range theirs.All() {
		out.Delete(k)
	}
	return out
}

func (b *batch) customStats(j *running, it *outcome, st *value.Dict) {
	data, ok := st.Lookup("data").(*value.Dict)
	if !ok {
		return
	}
	hosts := []string{""}
	if per, ok := st.Get("per_host"); !ok || value.Truth(per) {
		hosts = b.targets(j, it)
	}
	for _, h := range hosts {
		for k, v := range data.All() {
			if value.Truth(st.Lookup("aggregate")) {
				b.r.stats.UpdateCustom(h, text(k), v)
			} else {
				b.r.stats.SetCustom(h, text(k), v)
			}
		}
	}
}
