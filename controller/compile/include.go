package compile

import (
	"volant/controller/playbook"
	"volant/wire/value"
)

// Include loads what inc names and splices its steps in behind inc.At, after
// those that other inclusions at the same step brought in. Tasks that the tags
// exclude are left out. Handlers of an included role join p.Handlers. The
// steps of an inclusion by a handler are run for all its hosts, notified or
// not.
//
// Options of inc are rendered but not converted. An error of kind fault.Parser
// ends the run; any other fails the hosts of the inclusion and is displayed.
func (p *Plan) Include(inc Inclusion) (*Splice, error) {
	t := inc.At.Task
	var loaded *playbook.Included
	var err error
	if t.Include == playbook.IncludeRole {
		var options *value.Dict
		if options, err = roleOptions(t, inc.Options); err != nil {
			return nil, err
		}
		loaded, err = p.loader.LoadRole(t, p.Play, inc.Role, inc.From, options, inc.Vars)
	} else {
		loaded, err = p.loader.LoadTasks(t, p.Play, inc.File, inc.Vars)
	}
	if err != nil {
		return nil, err
	}
	p.listHandlers()
	sp, at := p.splice(inc.At, inc.Hosts)
	for _, b := range loaded.Blocks {
		if t.Handler {
			for _, n := range b.Block {
				if h, ok := n.(*playbook.Task); ok {
					p.place(&at, &Step{Task: h, Keywords: playbook.Effective(h), Span: inc.At.Span, Part: inc.At.Part, Splice: sp})
				}
			}
			continue
		}
		if err := p.emit(&at, b, inc.At.Span, inc.At.Part, sp); err != nil {
			return nil, err
		}
	}
	return sp, nil
}

// roleOptions converts the options of include_role.
func roleOptions(t *playbook.Task, rendered *value.Dict) (*value.Dict, error) {
	out := value.NewDict(rendered.Len())
	for _, k := range []playbook.Keyword{playbook.Public, playbook.AllowDuplicates, playbook.RolespecValidate} {
		v, ok := rendered.Get(k.String())
		if !ok || v == nil {
			continue
		}
		pos := t.Args.ValuePos(k.String())
		b, err := playbook.Coerce(k, v, pos)
		if err != nil {
			return nil, playbook.KeywordError(k, pos, err)
		}
		out.Set(k.String(), b)
	}
	return out, nil
}

// splice makes an empty splice behind at's earlier ones. New steps go behind
// the returned place.
func (p *Plan) splice(at *Step, hosts []string) (*Splice, *Step) {
	sp := &Splice{Parent: at.Splice, At: at, Hosts: make(map[string]bool, len(hosts))}
	for _, h := range hosts {
		sp.Hosts[h] = true
	}
	behind := at
	if at.last != nil {
		behind = at.last
	}
	sp.end = marker(spliceEnd, at.Span, sp)
	insert(behind, sp.end)
	at.last = sp.end
	return sp, behind
}

// Locate finds the file that an include_tasks step names, the rendered target:
// relative to the including files upwards, to the role's tasks or handlers,
// and to the playbook. render renders in the scope of the host and is asked
// for the names of the including files. When nothing is found it returns the
// last place looked at.
func (p *Plan) Locate(at *Step, target string, render func(v any) (any, error)) string {
	return p.loader.LocateTasks(at.Task, p.Play, target, func(inc *playbook.Task) string {
		raw := inc.Args.Lookup("_raw_params")
		v, err := render(raw)
		if err != nil {
			return ""
		}
		return value.Str(v)
	})
}

// Flush splices the plan's handlers in behind at (a `meta: flush_handlers`)
// for the given hosts, as one step each. The executor runs a handler for the
// hosts that were notified; the others take the step without running it.
func (p *Plan) Flush(at *Step, hosts []string) *Splice {
	sp, behind := p.splice(at, hosts)
	sp.Flush = true
	for _, h := range p.Handlers {
		kw := p.handlerKeywords(h)
		p.place(&behind, &Step{Task: h, Keywords: kw, Span: at.Span, Part: at.Part, Splice: sp})
	}
	return sp
}

// handlerKeywords are the effective keywords of a handler, made once.
func (p *Plan) handlerKeywords(h *playbook.Task) playbook.Keywords {
	if kw, ok := p.handlerKw[h]; ok {
		return kw
	}
	if p.handlerKw == nil {
		p.handlerKw = map[*playbook.Task]playbook.Keywords{}
	}
	kw := playbook.Effective(h)
	p.handlerKw[h] = kw
	return kw
}
