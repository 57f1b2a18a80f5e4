package execute

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"volant/actions"
	"volant/controller/events"
	"volant/controller/fault"
	"volant/wire/value"
)

// outcome is what a task, or one item of its loop, ended with on a host, and
// what the coordinator needs to act on it.
type outcome struct {
	events.Outcome
	task          *events.Task    // as it was for this item: delegation, no_log
	marked        bool            // holds what a managed host sent
	argMarks      map[string]bool // arguments that a managed host had a say in
	ignoreErrors  bool
	ignoreUnreach bool
	delegate      string // rendered delegate_to, empty when not delegated
	delegateFacts bool
	notify        []string
	runOnce       bool
	shown         bool // the callbacks have seen it
	replayed      bool // known from before the run was broken off
	include       *included
	items         []*outcome // of a loop
	loop          bool
	item          any         // of a loop's outcome: what the loop variable held, where that is not all data
	held          *value.Dict // of set_fact: what the variables hold, see template.Scope.Held
	fatal         error       // ends the run
}

// fact is what a variable that set_fact sets holds.
func (o *outcome) fact(name string, result any) any {
	if o.held != nil {
		if v, ok := o.held.Get(name); ok {
			return v
		}
	}
	return result
}

// registered is what the variable holds that a task's result is registered
// under: facts that it set, and the items of a loop, with the operator's own
// text.
func (o *outcome) registered() Dict {
	results, ok := o.Value.Lookup("results").(*value.List)
	if !o.loop || !ok || len(results.Items) != len(o.items) {
		return o.ownFacts(o.Value)
	}
	var kept *value.List
	for i, it := range o.items {
		was, ok := results.Items[i].(*value.Dict)
		if !ok {
			continue
		}
		res := it.ownFacts(was)
		if name, named := it.Value.Str("ansible_loop_var"); it.item != nil && named && res.Has(name) {
			if res == was {
				res = res.Clone()
			}
			res.Set(name, it.item)
		}
		if res == was {
			continue
		}
		if kept == nil {
			kept = &value.List{Items: slices.Clone(results.Items)}
		}
		kept.Items[i] = res
	}
	if kept == nil {
		return o.Value
	}
	d := o.Value.Clone()
	d.Set("results", kept)
	return d
}

// ownFacts is the result of a set_fact whose facts are what the variables hold.
func (o *outcome) ownFacts(res Dict) Dict {
	facts, ok := res.Lookup("ansible_facts").(*value.Dict)
	if !ok || o.held == nil {
		return res
	}
	own := facts.Clone()
	for k, v := range facts.All() {
		own.Set(k, o.fact(text(k), v))
	}
	res = res.Clone()
	res.Set("ansible_facts", own)
	return res
}

// written reports whether v holds text of the operator's.
func written(v any, depth int) bool {
	switch v := v.(type) {
	case *value.Template:
		return true
	case *value.List:
		return depth < value.MaxDepth && slices.ContainsFunc(v.Items, func(e any) bool { return written(e, depth+1) })
	case *value.Dict:
		for _, e := range v.All() {
			if depth < value.MaxDepth && written(e, depth+1) {
				return true
			}
		}
	}
	return false
}

// factPos is where such a variable's name is written.
func (o *outcome) factPos(name string) value.Pos {
	if o.held == nil {
		return value.Pos{}
	}
	return o.held.KeyPos(name)
}

// included is what an include_tasks or include_role asks for.
type included struct {
	file string
	args Dict
}

// captured is what a failed module said, kept in its result under "exception"
// so that actions that rework the result pass it on. It never leaves the
// executor.
type captured struct {
	err error
	// unread says that the module gave no result: its action found that out.
	unread bool
}

// unavailable is what playbooks see under "exception".
const unavailable = "(traceback unavailable)"

// timedOut fails an item that ran longer than its timeout.
type timedOut struct {
	after  time.Duration
	during bool // while its action handled another error
}

// Error is the reference's text.
func (t *timedOut) Error() string {
	return fmt.Sprintf("Timed out after %d second(s).", int(t.after/time.Second))
}

// cause turns an action's error into a link of the error block.
func cause(err error) error {
	var f *actions.Failure
	if errors.As(err, &f) {
		e := &fault.Error{Msg: f.Msg, During: f.During, Pos: f.Pos}
		if f.Cause != nil {
			e.Cause = cause(f.Cause)
		}
		return e
	}
	var late *timedOut
	if errors.As(err, &late) {
		return &fault.Error{Msg: late.Error(), During: late.during}
	}
	return err
}

// block is the outermost link of the task's error block.
func (x *exec) block(cause error) *fault.Error {
	excerpt := x.task.Excerpt
	if excerpt == "" {
		excerpt = x.r.opt.Excerpt
	}
	return &fault.Error{Msg: "Task failed.", Pos: x.task.Pos, Excerpt: excerpt, Cause: cause}
}

// failedDict makes the result of an item that ended in err.
func (x *exec) failedDict(err error) (Dict, error) {
	var (
		f    *actions.Failure
		skip *actions.Skip
		gone *actions.Unreachable
		late *timedOut
	)
	block := x.block(cause(err))
	res := value.NewDict(4)
	switch {
	case errors.As(err, &skip):
		res.Update(skip.Result)
		res.Set("skipped", true)
		res.Set("msg", skip.Msg)
		res.Delete("failed")
		res.Delete("exception")
		setDefault(res, "changed", false)
		return res, nil
	case errors.As(err, &gone):
		res.Set("unreachable", true)
		res.Set("exception", unavailable)
		res.Set("msg", fault.Brief(block))
		res.Set("changed", false)
		return res, block
	case errors.As(err, &f):
		res.Update(f.Result)
		res.Set("failed", true)
		res.Set("msg", fault.Brief(cause(f)))
	case errors.As(err, &late):
		const help = "Configure `DISPLAY_TRACEBACK` to see a traceback on timeout errors."
		frame := value.NewTemplate(help, value.Pos{})
		frame.Deprecated = &value.Deprecation{Msg: "The `timedout.frame` task result key is deprecated.", Help: help, Version: "2.23"}
		res.Set("timedout", value.DictOf("frame", frame, "period", int64(late.after/time.Second)))
	}
	res.Set("failed", true)
	res.Set("exception", unavailable)
	if !res.Has("msg") {
		res.Set("msg", fault.Brief(block))
	}
	setDefault(res, "changed", false)
	return res, block
}

func setDefault(d Dict, key string, v any) {
	if !d.Has(key) {
		d.Set(key, v)
	}
}

// normalize makes the error block of a failed result that says nothing else.
func (x *exec) normalize(res Dict) error {
	exc := res.Lookup("exception")
	failed := value.Truth(res.Lookup("failed"))
	if !failed && !value.Truth(exc) {
		res.Delete("exception")
		return nil
	}
	word, msg := "Action failed.", "Unknown error."
	if m, ok := res.Get("msg"); ok {
		msg = text(m)
	}
	var inner error = &fault.Error{Msg: msg, AsIs: true}
	switch c := exc.(type) {
	case *value.List: // of the results of modules that the action sums up
		sum := &fault.Error{Msg: msg}
		for _, part := range c.Items {
			if c, ok := part.(*captured); ok {
				sum.Parts = append(sum.Parts, c.err)
			} else {
				sum.Parts = append(sum.Parts, &fault.Error{Msg: text(part), AsIs: true})
			}
		}
		inner = sum
	case *captured:
		inner = c.err
		if !c.unread {
			word = "Module failed."
		}
	}
	res.Set("exception", unavailable)
	if !failed {
		return nil
	}
	block := x.block(&fault.Error{Msg: word, Cause: inner})
	if !res.Has("msg") {
		res.Set("msg", fault.Brief(block))
	}
	return block
}

func text(v any) string {
	if s, ok := value.Text(v); ok {
		return s
	}
	return value.Str(v)
}

// status of a result by its keys, as the reference reads them.
func status(res Dict) events.Status {
	switch {
	case isFailed(res):
		return events.Failed
	case any1(res, "unreachable"):
		return events.Unreachable
	case isSkipped(res):
		return events.Skipped
	}
	return events.OK
}

func results(res Dict) []any {
	if l, ok := res.Lookup("results").(*value.List); ok {
		return l.Items
	}
	return nil
}

// any1 is the key's truth, or, when absent, that of any loop result's.
func any1(res Dict, key string) bool {
	if v, ok := res.Get(key); ok {
		return value.Truth(v)
	}
	for _, it := range results(res) {
		if d, ok := it.(*value.Dict); ok && value.Truth(d.Lookup(key)) {
			return true
		}
	}
	return false
}

func isFailed(res Dict) bool {
	by := res.Has("failed_when_result")
	for _, it := range results(res) {
		if d, ok := it.(*value.Dict); ok && d.Has("failed_when_result") {
			by = true
		}
	}
	if by {
		return any1(res, "failed_when_result")
	}
	return any1(res, "failed")
}

func isSkipped(res Dict) bool {
	if rs := results(res); len(rs) > 0 {
		all := true
		for _, it := range rs {
			d, ok := it.(*value.Dict)
			if !ok || !value.Truth(d.Lookup("skipped")) {
				all = false
				break
			}
		}
		if all {
			return true
		}
	}
	return value.Truth(res.Lookup("skipped"))
}

func isChanged(res Dict) bool { return any1(res, "changed") }

// warnings takes the warnings and deprecations that a result carries out of it.
func (x *exec) takeWarnings(res Dict) {
	if l, ok := res.Lookup("warnings").(*value.List); ok {
		for _, w := range l.Items {
			x.warn(events.Warning{Msg: text(w)})
		}
	}
	if l, ok := res.Lookup("deprecations").(*value.List); ok {
		for _, it := range l.Items {
			d, ok := it.(*value.Dict)
			if !ok {
				continue
			}
			dep := events.Deprecation{}
			dep.Msg, _ = d.Str("msg")
			dep.Version, _ = d.Str("version")
			dep.Date, _ = d.Str("date")
			dep.Collection, _ = d.Str("collection_name")
			dep.Help, _ = d.Str("help_text")
			if who, ok := d.Lookup("deprecator").(*value.Dict); ok {
				name, _ := who.Str("resolved_name")
				dep.PluginType, _ = who.Str("type")
				parts := strings.Split(name, ".")
				if len(parts) >= 2 {
					dep.Collection = strings.Join(parts[:2], ".")
				}
				if len(parts) > 2 {
					dep.Plugin = parts[len(parts)-1]
				}
			}
			x.deprecate(dep)
		}
	}
	res.Delete("warnings")
	res.Delete("deprecations")
}

// putWarnings puts what was collected into the result, as playbooks see it.
func (x *exec) putWarnings(o *outcome) {
	o.Warnings, o.Deprecations = x.warnings, x.deprecations
	x.warnings, x.deprecations = nil, nil
	if len(o.Warnings) > 0 {
		l := &value.List{}
		for _, w := range o.Warnings {
			l.Items = append(l.Items, w.Msg)
		}
		o.Value.Set("warnings", l)
	}
	if len(o.Deprecations) > 0 {
		l := &value.List{}
		for _, p := range o.Deprecations {
			d := value.DictOf("msg", p.Msg, "collection_name", nil, "deprecator", nil)
			if p.Collection != "" {
				who := value.DictOf("resolved_name", p.Collection, "type", nil)
				if p.Plugin != "" {
					who.Set("resolved_name", p.Collection+"."+p.Plugin)
				}
				if p.PluginType != "" {
					who.Set("type", p.PluginType)
				}
				d.Set("collection_name", p.Collection)
				d.Set("deprecator", who)
			}
			if p.Date != "" {
				d.Set("date", p.Date)
			} else if p.Version != "" {
				d.Set("version", p.Version)
			} else {
				d.Set("version", nil)
			}
			l.Items = append(l.Items, d)
		}
		o.Value.Set("deprecations", l)
	}
}
