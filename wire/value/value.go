package value

import (
	"fmt"
	"sync/atomic"
)

// List is a Python list: shared by reference, so that append acts on what
// every holder sees.
type List struct {
	Items []any
	// Place is where the list was written, when a file loader made it.
	Place *Pos
}

// ListOf returns a List of the given items; it takes over the slice.
func ListOf(items ...any) *List { return &List{Items: items} }

// Strings returns a List of strings.
func Strings(items ...string) *List {
	l := &List{Items: make([]any, len(items))}
	for i, s := range items {
		l.Items[i] = s
	}
	return l
}

// Len is the number of items; a nil List has none.
func (l *List) Len() int {
	if l == nil {
		return 0
	}
	return len(l.Items)
}

// Tuple is a Python tuple. It must not be changed once made.
type Tuple []any

// Set is a Python set that keeps insertion order, so that what is printed from
// it does not change between runs.
type Set struct{ members Dict }

// SetOf returns a Set of the given members, which must be hashable.
func SetOf(items ...any) *Set {
	s := new(Set)
	for _, v := range items {
		s.Add(v)
	}
	return s
}

// Add puts v in the set; the first of equal members stays.
func (s *Set) Add(v any) {
	if !s.members.Has(v) {
		s.members.Set(v, nil)
	}
}

// Remove takes v out and reports whether it was in.
func (s *Set) Remove(v any) bool { return s.members.Delete(v) }

// Has reports whether v is a member.
func (s *Set) Has(v any) bool { return s.members.Has(v) }

// Len is the number of members.
func (s *Set) Len() int { return s.members.Len() }

// Items returns a fresh slice of the members in order.
func (s *Set) Items() []any { return s.members.Keys() }

// Pos is a place in a file the operator wrote. Line and Column count from 1;
// 0 means not known.
type Pos struct {
	File         string
	Line, Column int
}

// IsZero reports whether nothing is known.
func (p Pos) IsZero() bool { return p == Pos{} }

// String is FILE:LINE:COLUMN with the unknown parts left out.
func (p Pos) String() string {
	switch {
	case p.File == "" && p.Line == 0:
		return "<unknown>"
	case p.Line == 0:
		return p.File
	case p.Column == 0:
		return fmt.Sprintf("%s:%d", p.File, p.Line)
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
}

// Template is text the operator wrote (in a playbook, inventory, variables
// file, on the command line): the only text that may be rendered or compiled
// as an expression. It is a string to everything that does not render, see
// Text. Templates are made by loaders, never from data of a host, a lookup or
// a render.
type Template struct {
	Text string
	Pos  Pos
	// Program is where the template layer keeps what it compiled from Text,
	// so that a template is parsed once however often it is read.
	Program atomic.Value
	// Deprecated, when set, is said whenever the text is read.
	Deprecated *Deprecation
}

// Deprecation is what to say of a value that goes away.
type Deprecation struct {
	Msg, Help string
	Version   string // of ansible-core that has it no more
}

// NewTemplate returns Text as operator-written text at pos.
func NewTemplate(text string, pos Pos) *Template { return &Template{Text: text, Pos: pos} }

// String returns the text as written.
func (t *Template) String() string { return t.Text }

// Text returns the text of a string of either kind, unrendered.
func Text(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case *Template:
		return v.Text, true
	case Markup:
		return string(v), true
	}
	return "", false
}

// Undefined stands for something that has no value: a name nobody set, a
// missing key or attribute. Using it is an error that says Hint; Name is the
// name or attribute that was missing.
type Undefined struct {
	Name string
	Hint string // full text such as "'x' is undefined"
	Pos  Pos
	// Err is the failure that took the value away (a filter that failed, a
	// nested template that could not be rendered); nil when something was
	// simply not there. What catches the undefined does not catch failures.
	Err error
}

// Unwrap returns Err.
func (u *Undefined) Unwrap() error { return u.Err }

// Error makes an Undefined usable as the error that its use raises.
func (u *Undefined) Error() string {
	if u.Err != nil {
		return u.Err.Error()
	}
	return u.Hint
}

// Omitted is the type of Omit.
type Omitted struct{}

// Omit is the `omit` placeholder: an argument whose value it is is left out.
var Omit = Omitted{}

// Vault is an encrypted string. Decrypt returns its text; it is set by the
// loader that has the secrets and may be called many times (the caller caches).
type Vault struct {
	Ciphertext string
	Pos        Pos
	Decrypt    func() (string, error)
}
