package execute

import (
	"time"

	"volant/controller/fault"
	"volant/controller/playbook"
	"volant/controller/template"
	"volant/wire"
	"volant/wire/value"
)

// fields are a task's keywords, rendered and converted, for one host and item.
type fields struct {
	connection, remoteUser             string
	port                               int
	become                             bool
	becomeMethod, becomeUser           string
	becomeFlags, becomeExe             *string
	environment                        []wire.EnvVar
	noLog, ignoreErrors, ignoreUnreach bool
	check, diff                        bool
	runOnce                            bool
	delegateFacts                      bool
	async, poll, retries               int
	retriesSet                         bool
	delay                              float64
	timeout                            time.Duration
	notify                             []string
	notifySet                          bool
}

// defaults are the fields of a task that sets nothing.
func (r *Runner) defaults() fields {
	f := fields{
		check: r.opt.Check, diff: r.opt.Diff,
		become: r.opt.Login.Become, becomeMethod: r.opt.Login.BecomeMethod, becomeUser: r.opt.Login.BecomeUser,
		connection: r.opt.Login.Connection, remoteUser: r.opt.Login.User,
		poll: 15, delay: 5,
	}
	if c := r.opt.Config; c != nil {
		f.poll = c.Int("DEFAULT_POLL_INTERVAL")
		f.timeout = time.Duration(c.Int("TASK_TIMEOUT")) * time.Second
		f.noLog = c.Bool("DEFAULT_NO_LOG")
	}
	return f
}

// after are keywords that are used unrendered, or elsewhere.
var after = map[playbook.Keyword]bool{
	playbook.Name: true, playbook.Vars: true, playbook.When: true, playbook.ChangedWhen: true, playbook.FailedWhen: true,
	playbook.Until: true, playbook.Loop: true, playbook.LoopWith: true, playbook.LoopControlKeyword: true,
	playbook.Register: true, playbook.Listen: true, playbook.Collections: true, playbook.ModuleDefaults: true,
	playbook.DelegateTo: true, playbook.Action: true, playbook.ArgsKeyword: true, playbook.Environment: true,
	playbook.Tags: true,
}

// fields renders the keywords of task t in scope.
func (r *Runner) fields(s *template.Scope, t *playbook.Task, kw playbook.Keywords, facts bool) (*fields, error) {
	f := r.defaults()
	for i := range kw {
		k := &kw[i]
		if after[k.Key] || k.Value == nil {
			continue
		}
		v, err := keyword(s, k)
		if err != nil {
			return nil, err
		}
		if v == value.Omit { // as if the task had not set it
			around, ok := playbook.Around(t, k.Key)
			if !ok || around.Value == nil || around.Value == k.Value {
				continue
			}
			if v, err = keyword(s, &around); err != nil {
				return nil, err
			}
			if v == nil || v == value.Omit {
				continue
			}
		}
		f.set(k.Key, v)
	}
	env, err := environment(s, kw, facts)
	if err != nil {
		return nil, err
	}
	f.environment = env
	return &f, nil
}

// keyword renders and converts one keyword; omit comes back as value.Omit.
func keyword(s *template.Scope, k *playbook.Setting) (any, error) {
	v := k.Value
	if !k.Key.Spec().Static && needsRender(v) {
		var err error
		if v, _, err = s.Render(v); err != nil {
			return nil, playbook.KeywordError(k.Key, k.Pos, err)
		}
	}
	if v == nil || v == value.Omit {
		return v, nil
	}
	out, err := playbook.Coerce(k.Key, v, k.Pos)
	if err != nil {
		return nil, playbook.KeywordError(k.Key, k.Pos, err)
	}
	return out, nil
}

// needsRender reports whether v can be anything but what it is written as.
func needsRender(v any) bool {
	switch v.(type) {
	case bool, int64, float64, nil:
		return false
	}
	return true
}

func (f *fields) set(k playbook.Keyword, v any) {
	text, _ := v.(string)
	yes, _ := v.(bool)
	n, _ := v.(int64)
	switch k {
	case playbook.Connection:
		f.connection = text
	case playbook.RemoteUser:
		f.remoteUser = text
	case playbook.Port:
		f.port = int(n)
	case playbook.Become:
		f.become = yes
	case playbook.BecomeMethod:
		f.becomeMethod = text
	case playbook.BecomeUser:
		f.becomeUser = text
	case playbook.BecomeFlags:
		f.becomeFlags = &text
	case playbook.BecomeExe:
		f.becomeExe = &text
	case playbook.NoLog:
		f.noLog = yes
	case playbook.IgnoreErrors:
		f.ignoreErrors = yes
	case playbook.IgnoreUnreachable:
		f.ignoreUnreach = yes
	case playbook.CheckMode:
		f.check = yes
	case playbook.Diff:
		f.diff = yes
	case playbook.RunOnce:
		f.runOnce = yes
	case playbook.DelegateFacts:
		f.delegateFacts = yes
	case playbook.Async:
		f.async = int(n)
	case playbook.Poll:
		f.poll = int(n)
	case playbook.Retries:
		f.retries, f.retriesSet = int(n), v != nil
	case playbook.Delay:
		if d, ok := v.(float64); ok {
			f.delay = d
		}
	case playbook.Timeout:
		f.timeout = time.Duration(n) * time.Second
	case playbook.Notify:
		f.notifySet = true
		if l, ok := v.(*value.List); ok {
			for _, it := range l.Items {
				if s, ok := value.Text(it); ok {
					f.notify = append(f.notify, s)
				} else {
					f.notify = append(f.notify, value.Str(it))
				}
			}
		}
	}
}

// environment is the task's environment: a list of dicts, or of templates of
// them, later ones over earlier ones. What is undefined because facts are still
// to be gathered is left out for gather tasks.
func environment(s *template.Scope, kw playbook.Keywords, facts bool) ([]wire.EnvVar, error) {
	k := setting(kw, playbook.Environment)
	if k == nil || k.Value == nil {
		return nil, nil
	}
	items := []any{k.Value}
	if l, ok := k.Value.(*value.List); ok {
		items = l.Items
	}
	var out []wire.EnvVar
	set := func(name string, v any) {
		text, ok := value.Text(v)
		if !ok {
			text = value.Str(v)
		}
		for i := range out {
			if out[i].Name == name {
				out[i].Value = text
				return
			}
		}
		out = append(out, wire.EnvVar{Name: name, Value: text})
	}
	for _, it := range items {
		if d, ok := it.(*value.Dict); ok {
			for name, raw := range d.All() {
				v, _, err := s.Render(raw)
				switch {
				case err != nil && facts && fault.Is(err, fault.Undefined):
					continue
				case err != nil:
					return nil, environmentError(items, err)
				case v == value.Omit:
					continue
				}
				n, ok := value.Text(name)
				if !ok {
					n = value.Str(name)
				}
				set(n, v)
			}
			continue
		}
		v, _, err := s.Render(it)
		if err != nil {
			return nil, environmentError(items, err)
		}
		d, ok := v.(*value.Dict)
		if !ok {
			continue
		}
		for name, v := range d.All() {
			n, ok := value.Text(name)
			if !ok {
				n = value.Str(name)
			}
			set(n, v)
		}
	}
	return out, nil
}

// environmentError is about the list that the environments of play, blocks and
// task make together, which was written nowhere.
func environmentError(items []any, err error) error {
	e := &fault.Error{Kind: fault.Parser, Msg: "Error processing keyword 'environment'.", Cause: err}
	e.Excerpt = value.Repr(value.ListOf(items...))
	return e
}

func setting(kw playbook.Keywords, k playbook.Keyword) *playbook.Setting {
	for i := range kw {
		if kw[i].Key == k {
			return &kw[i]
		}
	}
	return nil
}
