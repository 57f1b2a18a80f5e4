package template

import (
	"fmt"
	"strings"

	"volant/controller/fault"
	"volant/controller/jinja"
	"volant/wire/value"
)

// call is the code of a plugin after its arguments were bound to its
// signature, one value per parameter.
type call func(c *jinja.Context, a []any) (any, error)

// def is a plugin that takes rendered arguments; sig is its signature in
// Python's notation, whose name error texts use.
func def(sig string, fn call) *jinja.Plugin {
	s := jinja.Sig(sig)
	return &jinja.Plugin{Call: func(c *jinja.Context, a jinja.Args) (any, error) {
		v, err := s.Bind(a)
		if err != nil {
			return nil, err
		}
		return fn(c, v)
	}}
}

// markers lets undefined arguments through to the plugin.
func markers(p *jinja.Plugin) *jinja.Plugin { p.Markers = true; return p }

// lazy leaves the items of containers unrendered.
func lazy(p *jinja.Plugin) *jinja.Plugin { p.Lazy = true; return p }

// keys leaves a dict given as first argument unrendered.
func keys(p *jinja.Plugin) *jinja.Plugin { p.Keys = true; return p }

// markup lets value.Markup through to the plugin.
func markup(p *jinja.Plugin) *jinja.Plugin { p.Markup = true; return p }

// iterate is what iterating over an argument of a lazy plugin yields: of a dict
// only the keys, whose values are not looked at, nor is what items contain.
func iterate(c *jinja.Context, v any) ([]any, error) {
	items, err := c.Items(v)
	if err != nil {
		return nil, err
	}
	for _, item := range items {
		if u, ok := item.(*value.Undefined); ok {
			return nil, u
		}
	}
	return items, nil
}

// raw is a plugin whose arguments Python's C code takes: no signature.
func raw(fn jinja.Func) *jinja.Plugin { return &jinja.Plugin{Call: fn} }

// raised makes the failure that a marker stands for an error again.
func raised(v any, err error) (any, error) {
	if u, ok := v.(*value.Undefined); ok && u.Err != nil && err == nil {
		return nil, u.Err
	}
	return v, err
}

// failf is an error of a plugin with the reference's text.
func failf(format string, args ...any) error {
	return &fault.Error{Msg: fmt.Sprintf(format, args...)}
}

// failBy is failf with what caused it.
func failBy(cause error, format string, args ...any) error {
	return &fault.Error{Msg: fmt.Sprintf(format, args...), Cause: cause}
}

// failWhile is the error of a plugin that gave up while it handled another
// error, which is not shown: in the text it stands apart from what it ended.
func failWhile(format string, args ...any) error {
	return &fault.Error{Msg: fmt.Sprintf(format, args...), During: true}
}

// lazyName is the name plugins see of a value's type: containers are lazy ones
// in the reference.
func lazyName(v any) string {
	switch v.(type) {
	case *value.List:
		return "_AnsibleLazyTemplateList"
	case *value.Dict:
		return "_AnsibleLazyTemplateDict"
	case value.Tuple:
		return "_AnsibleLazyAccessTuple"
	}
	return value.TypeName(v)
}

// typeRepr is Python's repr(type(v)).
func typeRepr(v any) string {
	switch v.(type) {
	case *value.List, *value.Dict, value.Tuple:
		return "<class 'ansible._internal._templating._lazy_containers." + lazyName(v) + "'>"
	}
	if v == value.Omit {
		return "<class 'ansible._internal._templating._utils._OmitType'>"
	}
	return "<class '" + value.TypeName(v) + "'>"
}

// repr is Python's repr(v).
func repr(c *jinja.Context, v any) string {
	s, err := c.Repr(v)
	if err != nil {
		return value.Repr(v)
	}
	return s
}

// text is the reference's to_text(v, nonstring='simplerepr'): text as it is,
// bytes decoded, anything else as str.
func text(c *jinja.Context, v any) (string, error) {
	switch v := v.(type) {
	case string:
		return v, nil
	case *value.Template:
		return v.Text, nil
	case []byte:
		return string(v), nil
	}
	return c.Str(v)
}

// needText is the text of an argument that has to be a string.
func needText(v any, what string) (string, error) {
	if s, ok := value.Text(v); ok {
		return s, nil
	}
	return "", value.TypeErrorf("%s, got %s", what, value.TypeName(v))
}

// isSequence is the reference's is_sequence: a list, tuple or set, no text.
func isSequence(v any) bool {
	switch v.(type) {
	case *value.List, value.Tuple:
		return true
	}
	return false
}

// truth is Python's bool of an argument.
func truth(c *jinja.Context, v any) bool {
	b, _ := c.Truth(v)
	return b
}

// toInt is Python's int(v) of an argument.
func toInt(v any) (int64, error) {
	switch v := v.(type) {
	case float64:
		return int64(v), nil
	case string:
		var n int64
		if _, err := fmt.Sscanf(strings.TrimSpace(v), "%d", &n); err != nil {
			return 0, value.ValueErrorf("invalid literal for int() with base 10: %s", value.Repr(v))
		}
		return n, nil
	}
	if n, ok := value.ToInt(v); ok {
		return n, nil
	}
	return 0, value.TypeErrorf("int() argument must be a string, a bytes-like object or a real number, not '%s'", value.TypeName(v))
}

// toBool is the reference's boolean(): what options of type bool accept.
func toBool(v any) (bool, error) {
	switch t := v.(type) {
	case bool:
		return t, nil
	case int64:
		if t == 0 || t == 1 {
			return t == 1, nil
		}
	case float64:
		if t == 0 || t == 1 {
			return t == 1, nil
		}
	}
	if s, ok := value.Text(v); ok {
		switch strings.ToLower(strings.TrimSpace(s)) {
		case "y", "yes", "on", "1", "true", "t", "1.0":
			return true, nil
		case "n", "no", "off", "0", "false", "f", "0.0":
			return false, nil
		}
	}
	return false, value.TypeErrorf("The value %s is not a valid boolean.  Valid booleans include: 0, 0.0, 1, 1.0, 'f', 'false', 'n', 'no', 'off', 'on', 't', 'true', 'y', 'yes'", value.Repr(v))
}
