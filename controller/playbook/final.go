package playbook

import (
	"maps"
	"slices"
	"strings"

	"volant/controller/fault"
	"volant/wire/value"
)

// Values are the keywords of a play that are rendered once, before it starts.
type Values struct {
	Name  string // as shown: the name, or the hosts joined by commas
	Hosts []string
	// GatherFacts, ForceHandlers, MaxFailPercentage and GatherTimeout are nil
	// when not given.
	GatherFacts       *bool
	ForceHandlers     *bool
	MaxFailPercentage *float64
	GatherTimeout     *int64
	GatherSubset      *value.List // nil when not given
	FactPath          any         // raw
	Serial            []any
	Strategy          string // empty: the default
	Order             string
}

// Finish renders and converts the keywords of a play that it needs as a whole.
// It is called before the play starts (and for listings), when vars_prompt has
// been answered. The result is also kept in p.Values.
func (l *Loader) Finish(p *Play) (*Values, error) {
	l.play, l.basedir, l.defaultCollection = p, p.Dir, p.Collection
	if err := l.matchHosts(p); err != nil {
		return nil, err
	}
	if err := l.gather(p); err != nil {
		return nil, err
	}
	out := &Values{FactPath: p.Keywords.Value(FactPath)}
	raw, set := p.Keywords.Get(Hosts)
	if !set || raw == nil {
		return nil, fault.New(fault.Parser, p.Pos, "The field 'hosts' is required but was not set.")
	}
	if name := p.Keywords.Value(Name); name == nil || !value.Truth(name) {
		// An unnamed play is named after its hosts, before they are rendered.
		if _, ok := raw.(*value.List); !ok {
			v, err := l.rendered(p, raw)
			if err != nil {
				return nil, KeywordError(Name, p.Keywords.PosOf(Hosts), err)
			}
			out.Name = value.Str(v)
		}
	}
	for _, k := range []Keyword{
		Name, Hosts, GatherFacts, GatherSubset, GatherTimeout, ForceHandlers, MaxFailPercentage, Serial, Strategy, Order,
	} {
		raw, set := p.Keywords.Get(k)
		if !set || raw == nil {
			continue
		}
		pos := p.Keywords.PosOf(k)
		v, err := l.rendered(p, raw)
		if err == nil {
			if v == any(value.Omit) {
				continue
			}
			v, err = Coerce(k, v, pos)
		}
		if err != nil {
			return nil, KeywordError(k, pos, err)
		}
		out.set(k, v)
	}
	if out.Name == "" {
		var names []string
		for _, h := range p.Keywords.List(Hosts) {
			names = append(names, value.Str(h))
		}
		out.Name = strings.Join(names, ",")
	}
	p.Values = out
	return out, nil
}

// rendered renders v when there is something to render in it; else it keeps
// its positions.
func (l *Loader) rendered(p *Play, v any) (any, error) {
	templated := MaybeTemplate(v)
	if list, ok := v.(*value.List); ok {
		for _, item := range list.Items {
			templated = templated || MaybeTemplate(item)
		}
	}
	if !templated {
		return v, nil
	}
	return l.Render.Render(p, nil, nil, v)
}

func (o *Values) set(k Keyword, v any) {
	list, _ := v.(*value.List)
	text, _ := value.Text(v)
	switch k {
	case Name:
		if text != "" {
			o.Name = text
		}
	case Hosts:
		for _, h := range list.Items {
			o.Hosts = append(o.Hosts, value.Str(h))
		}
	case GatherFacts:
		b, _ := v.(bool)
		o.GatherFacts = &b
	case ForceHandlers:
		b, _ := v.(bool)
		o.ForceHandlers = &b
	case GatherSubset:
		o.GatherSubset = list
	case GatherTimeout:
		n, _ := v.(int64)
		o.GatherTimeout = &n
	case MaxFailPercentage:
		f, _ := v.(float64)
		o.MaxFailPercentage = &f
	case Serial:
		o.Serial = list.Items
	case Strategy:
		o.Strategy = text
	case Order:
		o.Order = text
	}
}

// Clone returns a copy of the play for one batch of hosts: what is included
// while it runs joins the copy only.
func (p *Play) Clone() *Play {
	c := *p
	c.Roles, c.Handlers = slices.Clone(p.Roles), slices.Clone(p.Handlers)
	c.roleCache = maps.Clone(p.roleCache)
	return &c
}

// matchHosts tells Hosts of the play's patterns.
func (l *Loader) matchHosts(p *Play) error {
	if l.Hosts == nil {
		return nil
	}
	var patterns []string
	items := []any{p.Keywords.Value(Hosts)}
	if list, ok := items[0].(*value.List); ok {
		items = list.Items
	}
	for _, v := range items {
		text, ok := value.Text(v)
		if !ok || MaybeTemplate(v) {
			return nil
		}
		patterns = append(patterns, text)
	}
	return l.Hosts(patterns)
}

// gather tells Variables of a play, once.
func (l *Loader) gather(p *Play) error {
	if l.Variables == nil || p == nil || p.gathered {
		return nil
	}
	p.gathered = true
	return l.Variables(p)
}
