package difftest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"strings"

	"volant/controller/fault"
	"volant/controller/template"
	"volant/wire/pyjson"
	"volant/wire/rx"
	"volant/wire/value"
)

// Ours renders templates with our engine.
type Ours struct {
	engine *template.Engine
	vars   []byte
	dir    string
}

// NewOurs returns a renderer with the variables of a JSON file; dir is where
// lookups would search.
func NewOurs(vars, dir string) (*Ours, error) {
	b, err := os.ReadFile(vars)
	if err != nil {
		return nil, fmt.Errorf("reading variables: %w", err)
	}
	return &Ours{template.New(template.Options{}), b, dir}, nil
}

// dictVars are variables of a Dict.
type dictVars struct{ *value.Dict }

func (v dictVars) Lookup(name string) (any, bool, bool) {
	x, ok := v.Get(name)
	return x, false, ok
}

func (v dictVars) Names() iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, k := range v.Keys() {
			if s, ok := value.Text(k); ok && !yield(s) {
				return
			}
		}
	}
}

// written makes operator's text of all strings in v, as a loader of variables
// does.
func written(v any) any {
	switch v := v.(type) {
	case string:
		return value.NewTemplate(v, value.Pos{})
	case *value.List:
		for i, e := range v.Items {
			v.Items[i] = written(e)
		}
	case *value.Dict:
		for i := range v.Len() {
			_, e := v.At(i)
			v.SetAt(i, written(e))
		}
	}
	return v
}

// Render renders text with fresh variables.
func (o *Ours) Render(ctx context.Context, text string) (Answer, error) {
	d, err := pyjson.Decode(o.vars)
	if err != nil {
		return Answer{}, fmt.Errorf("reading variables: %w", err)
	}
	vars, ok := written(d).(*value.Dict)
	if !ok {
		return Answer{}, errors.New("the variables are no mapping")
	}
	s := o.engine.Scope(ctx, dictVars{vars}, template.ScopeOptions{SearchPath: []string{o.dir}, Basedir: o.dir})
	v, _, err := s.Render(value.NewTemplate(text, value.Pos{}))
	if err != nil {
		first, _, _ := strings.Cut(fault.Brief(err), "\n")
		return Answer{Class: class(err), Error: first}, nil
	}
	return Answer{Want: value.Repr(v)}, nil
}

func class(err error) string {
	var e *fault.Error
	if errors.As(err, &e) && e.Class != "" {
		return e.Class
	}
	return fmt.Sprintf("%T", err)
}

// internals match messages that show the insides of Python or of the
// reference, where only the beginning is compared.
var internals = rx.Lazy(`_Ansible|CapturedEx|object at 0x|<class |<built-in|<function|generator object`)

// Same reports whether the two sides agree.
func Same(reference, ours Answer) bool {
	if reference.Skip || strings.Contains(reference.Want, "object at 0x") {
		return true
	}
	if reference.Error == "" || !internals.MatchString(reference.Error) {
		return reference.Want == ours.Want && reference.Class == ours.Class && reference.Error == ours.Error
	}
	head, _, cut := strings.Cut(reference.Error, ": ")
	return ours.Error != "" && reference.Class == ours.Class && (!cut || strings.HasPrefix(ours.Error, head))
}
