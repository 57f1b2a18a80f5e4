package argspec

import (
	"fmt"
	"os"
	"sort"
	"strings"

	"volant/wire/value"
)

// Kind classifies an error as the reference's exception classes do.
type Kind string

// The kinds of error that callers tell apart.
const (
	KindOther       Kind = ""
	KindUnsupported Kind = "unsupported"
)

// Error is one fault of the arguments, in the reference's words.
type Error struct {
	Kind Kind
	Text string
}

// Error returns the text.
func (e *Error) Error() string { return e.Text }

// Result is what became of the arguments.
type Result struct {
	// Params are the arguments with aliases resolved, types converted and
	// defaults filled in, in the order given, defaults last.
	Params      *value.Dict
	Errors      []*Error // in the reference's order
	Unsupported bool     // the first error is about unsupported parameters
	NoLog       []string // texts that must not be shown
	Warnings    []string
}

// Environment is what types expand ~ and $VAR with and fallbacks read.
type Environment struct {
	Getenv func(string) string              // nil: the process's
	Home   func(user string) (string, bool) // nil: the passwd database; user may be empty
	// Tagged names classes in errors as the reference's controller has them,
	// where values know where they were written.
	Tagged bool
}

func (e Environment) getenv(name string) (string, bool) {
	if e.Getenv == nil {
		return os.LookupEnv(name)
	}
	v := e.Getenv(name)
	return v, v != ""
}

// Validate checks args against spec in the process's own environment. args is
// not changed.
func Validate(spec *Spec, args *value.Dict) *Result {
	return ValidateIn(Environment{}, spec, args)
}

// ValidateIn is Validate in the given environment.
func ValidateIn(env Environment, spec *Spec, args *value.Dict) *Result {
	res := &Result{Params: plain(args, 0).(*value.Dict)}
	v := &validator{env: env, res: res}
	v.level(spec, res.Params, "", nil)
	v.reportUnsupported()
	res.Unsupported = len(res.Errors) > 0 && res.Errors[0].Kind == KindUnsupported
	return res
}

// maxDepth bounds nested arguments and specs.
const maxDepth = 64

// plain copies arguments, operator-written text as plain strings, so that
// nothing shared is changed.
func plain(v any, depth int) any {
	if depth > maxDepth {
		return v
	}
	switch v := v.(type) {
	case *value.Template:
		return v.Text
	case *value.Dict:
		c := value.NewDict(v.Len())
		for k, e := range v.All() {
			c.Set(plain(k, depth+1), plain(e, depth+1))
		}
		return c
	case *value.List:
		c := &value.List{Items: make([]any, v.Len())}
		for i, e := range v.Items {
			c.Items[i] = plain(e, depth+1)
		}
		return c
	}
	return v
}

type validator struct {
	env         Environment
	res         *Result
	unsupported []unsupported
}

// unsupported is one parameter nobody knows, with what is known there.
type unsupported struct {
	name    string // dotted path
	params  []string
	aliases []string
}

func (v *validator) fail(path []string, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if len(path) > 0 {
		text += " found in " + strings.Join(path, " -> ")
	}
	v.res.Errors = append(v.res.Errors, &Error{Text: text})
}

// level validates the parameters of one spec, then those below it.
func (v *validator) level(spec *Spec, params *value.Dict, prefix string, path []string) {
	for i := range spec.Options {
		v.fallback(&spec.Options[i], params)
	}
	aliases := v.aliases(spec, params, prefix)
	v.collectNoLog(spec, params)
	v.unknown(spec, params, aliases, path)
	v.mutuallyExclusive(spec.MutuallyExclusive, params, path)
	v.defaults(spec, params, false)
	v.required(spec, params, path)
	for i := range spec.Options {
		v.convert(&spec.Options[i], params, prefix, path)
	}
	for i := range spec.Options {
		v.choices(&spec.Options[i], params, path)
	}
	v.rules(spec, params, path)
	v.defaults(spec, params, true)
	if len(path) < maxDepth {
		for i := range spec.Options {
			v.below(&spec.Options[i], params, prefix, path)
		}
	}
}

func (v *validator) fallback(o *Option, params *value.Dict) {
	if len(o.Fallback) == 0 || params.Has(o.Name) {
		return
	}
	for _, name := range o.Fallback {
		if text, ok := v.env.getenv(name); ok {
			params.Set(o.Name, text)
			return
		}
	}
}

// aliases gives every option the value of its alias and returns alias -> option.
func (v *validator) aliases(spec *Spec, params *value.Dict, prefix string) map[string]string {
	names := map[string]string{}
	for _, o := range spec.Options {
		if o.Required && o.HasDef && o.Default != nil {
			v.res.Errors = append(v.res.Errors, &Error{Text: "internal error: required and default are mutually exclusive for " + o.Name})
			return names
		}
		for _, alias := range o.Aliases {
			names[alias] = o.Name
			given, ok := params.Get(alias)
			if !ok {
				continue
			}
			if params.Has(o.Name) {
				v.res.Warnings = append(v.res.Warnings, fmt.Sprintf("Both option %s%s and its alias %s%s are set.", prefix, o.Name, prefix, alias))
			}
			params.Set(o.Name, given)
		}
	}
	return names
}

func (v *validator) collectNoLog(spec *Spec, params *value.Dict) {
	if err := v.noLogValues(spec, params, 0); err != nil {
		v.res.Errors = append(v.res.Errors, &Error{Text: err.Error()})
	}
}

// noLogValues also looks below, where text must be readable as a mapping: the
// reference reports that here already.
func (v *validator) noLogValues(spec *Spec, params *value.Dict, depth int) error {
	for _, o := range spec.Options {
		given := params.Lookup(o.Name)
		if o.NoLog && value.Truth(given) {
			v.res.NoLog = appendTexts(v.res.NoLog, given, 0)
		}
		if o.Options == nil || given == nil || depth > maxDepth || o.Type != "dict" && (o.Type != "list" || o.Elements != "dict") {
			continue
		}
		items := []any{given}
		if list, ok := given.(*value.List); ok {
			items = list.Items
		}
		for _, item := range items {
			if s, ok := item.(string); ok {
				var err error
				if item, err = toDict(s); err != nil {
					return err
				}
			}
			sub, ok := item.(*value.Dict)
			if !ok {
				return fmt.Errorf("Value '%s' in the sub parameter field '%s' must be a %s, not '%s'", value.Str(item), o.Name, o.Type, value.TypeName(item)) //nolint:staticcheck // the reference's text
			}
			if err := v.noLogValues(o.Options, sub, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// appendTexts collects the scalars in v as text.
func appendTexts(out []string, v any, depth int) []string {
	if depth > maxDepth {
		return out
	}
	switch v := v.(type) {
	case nil, bool:
	case *value.Dict:
		for _, e := range v.All() {
			out = appendTexts(out, e, depth+1)
		}
	case *value.List:
		for _, e := range v.Items {
			out = appendTexts(out, e, depth+1)
		}
	default:
		if s := value.Str(v); s != "" {
			out = append(out, s)
		}
	}
	return out
}

func (v *validator) unknown(spec *Spec, params *value.Dict, aliases map[string]string, path []string) {
	known := map[any]bool{}
	for _, o := range spec.Options {
		known[o.Name] = true
	}
	for a := range aliases {
		known[a] = true
	}
	for k := range params.All() {
		if known[k] {
			continue
		}
		u := unsupported{name: strings.Join(append(path[:len(path):len(path)], value.Str(k)), ".")}
		for _, o := range spec.Options {
			u.params = append(u.params, o.Name)
		}
		for a := range aliases {
			u.aliases = append(u.aliases, a)
		}
		v.unsupported = append(v.unsupported, u)
	}
}

// reportUnsupported makes the one error about all unsupported parameters; what
// is supported is said of the last one's place, as the reference does.
func (v *validator) reportUnsupported() {
	if len(v.unsupported) == 0 {
		return
	}
	var names []string
	for _, u := range v.unsupported {
		names = append(names, u.name)
	}
	last := v.unsupported[len(v.unsupported)-1]
	sort.Strings(names)
	sort.Strings(last.params)
	sort.Strings(last.aliases)
	supported := strings.Join(last.params, ", ")
	if len(last.aliases) > 0 {
		supported += " (" + strings.Join(last.aliases, ", ") + ")"
	}
	v.res.Errors = append(v.res.Errors, &Error{
		Kind: KindUnsupported,
		Text: strings.Join(names, ", ") + ". Supported parameters include: " + supported + ".",
	})
}

// defaults fills in what is missing: defaults other than None first, and with
// all set every other option as None.
func (v *validator) defaults(spec *Spec, params *value.Dict, all bool) {
	for _, o := range spec.Options {
		if params.Has(o.Name) {
			continue
		}
		if o.Default != nil {
			params.Set(o.Name, plain(o.Default, 0))
			if o.NoLog && value.Truth(o.Default) {
				v.res.NoLog = appendTexts(v.res.NoLog, o.Default, 0)
			}
		} else if all {
			params.Set(o.Name, nil)
		}
	}
}

func (v *validator) convert(o *Option, params *value.Dict, prefix string, path []string) {
	given, ok := params.Get(o.Name)
	if !ok || given == nil && !o.Required && o.Default == nil {
		return
	}
	wanted := o.Type
	if wanted == "" {
		wanted = "str"
	}
	got, err := v.env.Convert(wanted, given)
	if err != nil {
		text := fmt.Sprintf("argument '%s' is of type %s", o.Name, value.TypeName(given))
		if len(path) > 0 {
			text += " found in '" + strings.Join(path, " -> ") + "'."
		}
		text += fmt.Sprintf(" and we were unable to convert to %s: %s", wanted, err)
		v.res.Errors = append(v.res.Errors, &Error{Text: text})
		return
	}
	if o.Elements != "" {
		list, isList := got.(*value.List)
		if !isList {
			return
		}
		got = v.elements(o, list, path)
	}
	params.Set(o.Name, got)
}

func (v *validator) elements(o *Option, list *value.List, path []string) *value.List {
	out := &value.List{Items: make([]any, 0, list.Len())}
	for _, e := range list.Items {
		got, err := v.env.Convert(o.Elements, e)
		if err != nil {
			text := "Elements value for option '" + o.Name + "'"
			if len(path) > 0 {
				text += " found in '" + strings.Join(path, " -> ") + "'"
			}
			text += fmt.Sprintf(" is of type %s and we were unable to convert to %s: %s", value.TypeName(e), o.Elements, err)
			v.res.Errors = append(v.res.Errors, &Error{Text: text})
			continue
		}
		out.Items = append(out.Items, got)
	}
	return out
}

func (v *validator) choices(o *Option, params *value.Dict, path []string) {
	given, ok := params.Get(o.Name)
	if !ok || o.Choices == nil {
		return
	}
	if list, isList := given.(*value.List); isList {
		var odd []string
		for _, e := range list.Items {
			if !among(o.Choices, e) {
				odd = append(odd, value.Str(e))
			}
		}
		if len(odd) > 0 {
			v.fail(path, "value of %s must be one or more of: %s. Got no match for: %s", o.Name, texts(o.Choices), strings.Join(odd, ", "))
		}
		return
	}
	if among(o.Choices, given) {
		return
	}
	// YAML may have made a bool of a choice such as "no".
	if s, _ := value.Text(given); s == "True" || s == "False" {
		if only, ok := onlyBoolean(o.Choices, s == "True"); ok {
			params.Set(o.Name, only)
			return
		}
	}
	v.fail(path, "value of %s must be one of: %s, got: %s", o.Name, texts(o.Choices), value.Str(given))
}

func among(choices []any, v any) bool {
	for _, c := range choices {
		if value.Equal(c, v) {
			return true
		}
	}
	return false
}

// onlyBoolean is the single choice that is a word for b.
func onlyBoolean(choices []any, b bool) (any, bool) {
	var found any
	n := 0
	for _, c := range choices {
		if got, err := Boolean(c); err == nil && got == b {
			found = c
			n++
		}
	}
	return found, n == 1
}

func texts(vs []any) string {
	out := make([]string, len(vs))
	for i, v := range vs {
		out[i] = value.Str(v)
	}
	return strings.Join(out, ", ")
}

// below validates the sub-options of a dict or of a list of dicts.
func (v *validator) below(o *Option, params *value.Dict, prefix string, path []string) {
	isList := o.Type == "list" && o.Elements == "dict"
	if o.Options == nil || o.Type != "dict" && !isList {
		return
	}
	given := params.Lookup(o.Name)
	if given == nil {
		if !o.ApplyDefaults {
			return
		}
		given = value.NewDict(0)
		params.Set(o.Name, given)
	}
	items := []any{given}
	if list, ok := given.(*value.List); ok {
		items = list.Items
	}
	path = append(path[:len(path):len(path)], o.Name)
	for i, item := range items {
		sub, ok := item.(*value.Dict)
		if !ok {
			v.res.Errors = append(v.res.Errors, &Error{Text: fmt.Sprintf("value of '%s' must be of type dict or list of dicts", o.Name)})
			continue
		}
		under := prefix + o.Name
		if isList {
			under += fmt.Sprintf("[%d]", i)
		}
		v.level(o.Options, sub, under+".", path)
	}
}
