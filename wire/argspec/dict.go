package argspec

import (
	"errors"
	"fmt"
	"strings"

	"volant/wire/pyjson"
	"volant/wire/value"
)

// toDict reads a mapping, JSON text of one, or key=value text.
func toDict(v any) (any, error) {
	switch x := v.(type) {
	case *value.Dict:
		return x, nil
	case string:
		switch {
		case strings.HasPrefix(x, "{"):
			got, err := pyjson.DecodeString(x)
			if err == nil {
				return got, nil
			}
			if d, err := literalDict(x); err == nil {
				return d, nil
			}
			return nil, errors.New("unable to evaluate string as dictionary")
		case strings.Contains(x, "="):
			return keyValues(x)
		}
		return nil, errors.New("dictionary requested, could not parse JSON or key=value")
	}
	return nil, &classError{of: v, kind: "a dict"}
}

// keyValues reads "a=1, b='two words'".
func keyValues(s string) (any, error) {
	out := value.NewDict(4)
	var field strings.Builder
	quote := rune(0)
	escaped := false
	flush := func() error {
		text := field.String()
		field.Reset()
		if text == "" {
			return nil
		}
		k, v, ok := strings.Cut(text, "=")
		if !ok {
			return errors.New(`unable to evaluate string in the "key=value" format as dictionary`)
		}
		out.Set(k, v)
		return nil
	}
	for _, c := range strings.TrimSpace(s) {
		switch {
		case escaped:
			field.WriteRune(c)
			escaped = false
		case c == '\\':
			escaped = true
		case quote == 0 && (c == '\'' || c == '"'):
			quote = c
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == ',' || c == ' '):
			if err := flush(); err != nil {
				return nil, err
			}
		default:
			field.WriteRune(c)
		}
	}
	return out, flush()
}

// FromDict reads a spec as roles write it in meta/argument_specs.yml and
// modules in their argument_spec: option name -> attributes.
func FromDict(d *value.Dict) (*Spec, error) { return fromDict(d, 0) }

func fromDict(d *value.Dict, depth int) (*Spec, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("argument spec is nested deeper than %d", maxDepth)
	}
	spec := &Spec{}
	for k, v := range d.All() {
		name, _ := value.Text(k)
		attrs, ok := v.(*value.Dict)
		if !ok {
			if v != nil {
				return nil, fmt.Errorf("argument spec of '%s' must be a dictionary, got %s", name, value.TypeName(v))
			}
			attrs = value.NewDict(0)
		}
		o := Option{Name: name, Required: isTrue(attrs.Lookup("required")), NoLog: isTrue(attrs.Lookup("no_log")), ApplyDefaults: isTrue(attrs.Lookup("apply_defaults"))}
		o.Type, _ = attrs.Str("type")
		o.Elements, _ = attrs.Str("elements")
		if def, ok := attrs.Get("default"); ok {
			o.Default, o.HasDef = plain(def, depth), true
		}
		if c, ok := attrs.Lookup("choices").(*value.List); ok {
			o.Choices = plain(c, depth).(*value.List).Items
		}
		o.Aliases = names(attrs.Lookup("aliases"))
		if sub, ok := attrs.Lookup("options").(*value.Dict); ok {
			below, err := fromDict(sub, depth+1)
			if err != nil {
				return nil, err
			}
			below.readRules(attrs)
			o.Options = below
		}
		spec.Options = append(spec.Options, o)
	}
	return spec, nil
}

func isTrue(v any) bool {
	b, err := Boolean(plain(v, 0))
	return err == nil && b
}

func names(v any) (out []string) {
	l, ok := v.(*value.List)
	if !ok {
		if s, ok := value.Text(v); ok {
			return []string{s}
		}
		return nil
	}
	for _, e := range l.Items {
		if s, ok := value.Text(e); ok {
			out = append(out, s)
		}
	}
	return out
}

func groups(v any) (out [][]string) {
	if l, ok := v.(*value.List); ok {
		for _, e := range l.Items {
			out = append(out, names(e))
		}
	}
	return out
}

// readRules takes the dependencies between sub-options from their option.
func (s *Spec) readRules(attrs *value.Dict) {
	s.MutuallyExclusive = groups(attrs.Lookup("mutually_exclusive"))
	s.RequiredTogether = groups(attrs.Lookup("required_together"))
	s.RequiredOneOf = groups(attrs.Lookup("required_one_of"))
	if l, ok := attrs.Lookup("required_if").(*value.List); ok {
		for _, e := range l.Items {
			r, ok := e.(*value.List)
			if !ok || r.Len() < 3 {
				continue
			}
			key, _ := value.Text(r.Items[0])
			s.RequiredIf = append(s.RequiredIf, RequiredIf{
				Key: key, Value: plain(r.Items[1], 0), Need: names(r.Items[2]), Any: r.Len() > 3 && isTrue(r.Items[3]),
			})
		}
	}
	if d, ok := attrs.Lookup("required_by").(*value.Dict); ok {
		for k, v := range d.All() {
			key, _ := value.Text(k)
			s.RequiredBy = append(s.RequiredBy, RequiredBy{Key: key, Need: names(v)})
		}
	}
}
