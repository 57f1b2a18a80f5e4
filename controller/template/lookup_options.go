package template

import (
	"math/big"
	"strings"

	"volant/wire/value"
)

// fullName is how errors about options name a lookup.
func (l *LookupCall) fullName() string {
	base, qualified := short(l.Name)
	if qualified && strings.HasPrefix(l.Name, "ansible.builtin.") {
		return "ansible_collections.ansible.builtin.plugins.lookup." + base
	}
	return l.Name
}

// badOption is an option of the wrong type.
func (l *LookupCall) badOption(name, kind string, v any) error {
	return failf("Config '%s' for '%s' lookup plugin from 'Direct' has an invalid value: Invalid value provided for '%s': %s", name, l.fullName(), kind, value.Repr(v))
}

// badChoice is an option with a value that is none of its choices.
func (l *LookupCall) badChoice(name, v string) error {
	return failf("Invalid value %s for config '%s' for '%s' lookup plugin.", value.Repr(v), name, l.fullName())
}

// checkOptions refuses options of the wrong type and makes integers of what
// stands for one.
func (l *LookupCall) checkOptions(types map[string]string) error {
	for i := range l.Opts.Len() {
		k, v := l.Opts.At(i)
		name, _ := value.Text(k)
		kind := types[name]
		if kind == "" || v == nil {
			continue
		}
		if u, ok := v.(*value.Undefined); ok {
			return u
		}
		switch kind {
		case "int", "integer":
			n, ok := optionInt(v)
			if !ok {
				return l.badOption(name, kind, v)
			}
			l.Opts.SetAt(i, n)
		case "list":
			switch v.(type) {
			case *value.List, value.Tuple, string:
			default:
				return l.badOption(name, kind, v)
			}
		case "dict":
			if _, ok := v.(*value.Dict); !ok {
				return l.badOption(name, kind, v)
			}
		case "str", "string":
			switch v.(type) {
			case string, bool, int64, float64, *big.Int:
			default:
				return l.badOption(name, kind, v)
			}
		}
	}
	return nil
}

// optionInt reads an integer option: a number without a fraction, or its text.
func optionInt(v any) (int64, bool) {
	if n, ok := value.ToInt(v); ok {
		return n, true
	}
	if f, ok := v.(float64); ok && f == float64(int64(f)) {
		return int64(f), true
	}
	s, ok := v.(string)
	if !ok {
		return 0, false
	}
	i, ok := new(big.Int).SetString(strings.ReplaceAll(strings.TrimSpace(s), "_", ""), 10)
	if !ok || !i.IsInt64() {
		return 0, false
	}
	return i.Int64(), true
}
