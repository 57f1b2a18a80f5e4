package jinja

import (
	"volant/wire/value"
)

// method is a method of one of Python's types.
type method struct {
	name string
	lazy bool // takes containers with unrendered items
	sig  *Signature
	call func(c *Context, recv any, a Args) (any, error)
}

// methods makes a table of methods that take bound arguments. A key is the
// method's signature.
func methods(fns map[string]func(c *Context, recv any, a []any) (any, error)) map[string]*method {
	out := make(map[string]*method, len(fns))
	for text, fn := range fns {
		sig := Sig(text)
		out[sig.Name] = &method{name: sig.Name, sig: sig, call: func(c *Context, recv any, a Args) (any, error) {
			bound, err := sig.Bind(a)
			if err != nil {
				return nil, err
			}
			return fn(c, recv, bound)
		}}
	}
	return out
}

// lazily marks methods whose arguments are stored or compared as they are.
func lazily(t map[string]*method, names ...string) map[string]*method {
	for _, n := range names {
		t[n].lazy = true
	}
	return t
}

// methodSets finds methods through an interface, since methods reach the
// tables they are in.
var methodSets interface {
	of(v any, name string) *method
} = methodTables{}

type methodTables struct{}

// methodOf finds the method name of a plain value; nil if there is none.
func methodOf(v any, name string) *method { return methodSets.of(v, name) }

func (methodTables) of(v any, name string) *method {
	switch v.(type) {
	case string, *value.Template:
		return strMethods[name]
	case value.Markup:
		return markupMethods[name]
	case *value.List:
		return listMethods[name]
	case *value.Dict:
		return dictMethods[name]
	case value.Tuple:
		return tupleMethods[name]
	case int64, bool:
		return intMethods[name]
	case float64:
		return floatMethods[name]
	case *value.Set:
		return setMethods[name]
	case []byte:
		return bytesMethods[name]
	}
	return otherMethod(v, name)
}

func wantInt(v any) (int, error) {
	if !value.IsInt(v) {
		return 0, value.TypeErrorf("'%s' object cannot be interpreted as an integer", typeName(v))
	}
	n, ok := value.ToInt(v)
	if !ok {
		return 0, value.Raise("OverflowError", "Python int too large to convert to C ssize_t")
	}
	return int(n), nil
}

func wantText(v any, fn string) (string, error) {
	s, ok := value.Text(v)
	if !ok {
		return "", value.TypeErrorf("%s must be str, not %s", fn, typeName(v))
	}
	return s, nil
}
