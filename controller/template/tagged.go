package template

import (
	"volant/controller/jinja"
	"volant/wire/value"
)

// What ansible-core keeps for looking at its own values, under the names of its
// internal collection.
var (
	internalTests = map[string]*jinja.Plugin{
		"ansible._protomatter.tagged_with": texts(markers(lazy(def("tagged_with(value, tag_name)", taggedWith)))),
	}
	internalFilters = map[string]*jinja.Plugin{
		"ansible._protomatter.apply_trust": texts(lazy(def("apply_trust(value)", applyTrust))),
	}
)

// texts lets the operator's text through to the plugin as such.
func texts(p *jinja.Plugin) *jinja.Plugin { p.Texts = true; return p }

// taggedWith says whether a value is the operator's own text, or encrypted.
func taggedWith(_ *jinja.Context, a []any) (any, error) {
	name, _ := value.Text(a[1])
	switch name {
	case "TrustedAsTemplate":
		_, ok := a[0].(*value.Template)
		return ok, nil
	case "Origin":
		return !value.PosOf(a[0]).IsZero(), nil
	case "VaultedValue":
		_, ok := a[0].(*value.Vault)
		return ok, nil
	}
	return nil, value.ValueErrorf("Unknown tag name %s.", value.Repr(a[1]))
}

// applyTrust makes a text the operator's own, unless a managed host had a say in
// what is being rendered: that is never a template.
func applyTrust(c *jinja.Context, a []any) (any, error) {
	text, ok := a[0].(string)
	if s := of(c); !ok || s == nil || s.mark {
		return a[0], nil
	}
	return value.NewTemplate(text, value.Pos{}), nil
}
