package argspec

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"volant/wire/value"
)

// Reflect makes a spec of a struct whose fields have an `arg` tag: the name,
// then, separated by commas,
//
//	required, nolog         flags
//	type=path               type, when the field's own does not say it
//	elements=str            type of a list's elements
//	default=no              default, read as the option's type
//	alias=a|b, choices=x|y  lists
//
// Field types say the type: string str, bool bool, int64 int, float64 float,
// []string a list of str, *value.Dict dict, *value.List list, any raw. A
// pointer to a scalar is nil where Python has None. Options of embedded structs
// stand where they are embedded. It panics on a tag it cannot read: a fault of
// the program, which the test that builds every module finds.
func Reflect(v any) *Spec {
	s := new(Spec)
	reflectInto(s, reflect.TypeOf(v))
	return s
}

func reflectInto(s *Spec, t reflect.Type) {
	for i := range t.NumField() {
		f := t.Field(i)
		tag, ok := f.Tag.Lookup("arg")
		if !ok {
			if f.Anonymous {
				reflectInto(s, f.Type)
			}
			continue
		}
		o, err := option(tag, f.Type)
		if err != nil {
			panic(fmt.Sprintf("argspec: %s.%s: %v", t, f.Name, err))
		}
		s.Options = append(s.Options, o)
	}
}

func option(tag string, t reflect.Type) (Option, error) {
	parts := strings.Split(tag, ",")
	o := Option{Name: parts[0]}
	if t.Kind() == reflect.Pointer && t != reflect.TypeFor[*value.Dict]() && t != reflect.TypeFor[*value.List]() {
		t = t.Elem()
	}
	switch t {
	case reflect.TypeFor[string]():
		o.Type = "str"
	case reflect.TypeFor[bool]():
		o.Type = "bool"
	case reflect.TypeFor[int64]():
		o.Type = "int"
	case reflect.TypeFor[float64]():
		o.Type = "float"
	case reflect.TypeFor[[]string]():
		o.Type, o.Elements = "list", "str"
	case reflect.TypeFor[*value.Dict]():
		o.Type = "dict"
	case reflect.TypeFor[*value.List]():
		o.Type = "list"
	case reflect.TypeFor[any]():
		o.Type = "raw"
	default:
		return o, fmt.Errorf("field type %s", t)
	}
	var def *string
	for _, p := range parts[1:] {
		k, v, _ := strings.Cut(p, "=")
		switch k {
		case "required":
			o.Required = true
		case "nolog":
			o.NoLog = true
		case "type":
			o.Type = v
		case "elements":
			o.Elements = v
		case "alias":
			o.Aliases = strings.Split(v, "|")
		case "choices":
			for _, c := range strings.Split(v, "|") {
				o.Choices = append(o.Choices, c)
			}
		case "default":
			def = &v
		default:
			return o, fmt.Errorf("tag %q", p)
		}
	}
	if def != nil {
		d, err := Environment{}.Convert(o.Type, *def)
		if err != nil {
			return o, err
		}
		if l, ok := d.(*value.List); ok && *def == "" {
			l.Items = nil
		}
		o.Default, o.HasDef = d, true
	}
	return o, nil
}

// Fill sets the fields of the struct that into points to from validated
// arguments.
func Fill(params *value.Dict, into any) error {
	return fill(params, reflect.ValueOf(into).Elem())
}

func fill(params *value.Dict, s reflect.Value) error {
	t := s.Type()
	for i := range t.NumField() {
		f := t.Field(i)
		tag, ok := f.Tag.Lookup("arg")
		if !ok {
			if f.Anonymous {
				if err := fill(params, s.Field(i)); err != nil {
					return err
				}
			}
			continue
		}
		name, _, _ := strings.Cut(tag, ",")
		if err := set(s.Field(i), params.Lookup(name)); err != nil {
			return fmt.Errorf("argument %s: %w", name, err)
		}
	}
	return nil
}

func set(f reflect.Value, v any) error {
	if v == nil {
		f.SetZero()
		return nil
	}
	if f.Kind() == reflect.Pointer && f.Type() != reflect.TypeFor[*value.Dict]() && f.Type() != reflect.TypeFor[*value.List]() {
		p := reflect.New(f.Type().Elem())
		if err := set(p.Elem(), v); err != nil {
			return err
		}
		f.Set(p)
		return nil
	}
	switch f.Kind() {
	case reflect.Interface:
		f.Set(reflect.ValueOf(v))
		return nil
	case reflect.String:
		if s, ok := value.Text(v); ok {
			f.SetString(s)
			return nil
		}
	case reflect.Bool:
		if b, ok := v.(bool); ok {
			f.SetBool(b)
			return nil
		}
	case reflect.Int64:
		switch n := v.(type) {
		case int64:
			f.SetInt(n)
			return nil
		case bool: // Python's bool is an int
			f.SetInt(map[bool]int64{true: 1}[n])
			return nil
		}
	case reflect.Float64:
		if n, ok := v.(float64); ok {
			f.SetFloat(n)
			return nil
		}
	case reflect.Slice:
		if l, ok := v.(*value.List); ok {
			texts := make([]string, len(l.Items))
			for i, e := range l.Items {
				texts[i] = value.Str(e)
			}
			f.Set(reflect.ValueOf(texts))
			return nil
		}
	case reflect.Pointer:
		if reflect.TypeOf(v) == f.Type() {
			f.Set(reflect.ValueOf(v))
			return nil
		}
	}
	return fmt.Errorf("a %s does not fit: %s", value.TypeName(v), strconv.Quote(f.Type().String()))
}
