package playbook

import "volant/wire/value"

// Setting is one keyword as written.
type Setting struct {
	Key   Keyword
	Value any       // raw: text is *value.Template
	Pos   value.Pos // of the value
}

// Keywords are the keywords set on one object. A keyword that is absent is
// inherited or has its default; one that is present may still be nil.
type Keywords []Setting

// Get returns the raw value of k and whether it is set.
func (s Keywords) Get(k Keyword) (any, bool) {
	for i := range s {
		if s[i].Key == k {
			return s[i].Value, true
		}
	}
	return nil, false
}

// Value returns the raw value of k, or nil.
func (s Keywords) Value(k Keyword) any {
	v, _ := s.Get(k)
	return v
}

// Has reports whether k is set.
func (s Keywords) Has(k Keyword) bool {
	_, ok := s.Get(k)
	return ok
}

// List returns the value of a list keyword as its items: none for nil, the
// value itself when it is not a list.
func (s Keywords) List(k Keyword) []any {
	switch v := s.Value(k).(type) {
	case nil:
		return nil
	case *value.List:
		return v.Items
	default:
		return []any{v}
	}
}

// PosOf returns where the value of k was written, or zero.
func (s Keywords) PosOf(k Keyword) value.Pos {
	for i := range s {
		if s[i].Key == k {
			return s[i].Pos
		}
	}
	return value.Pos{}
}

// Set puts a value, replacing one that is there.
func (s *Keywords) Set(k Keyword, v any, pos value.Pos) {
	for i := range *s {
		if (*s)[i].Key == k {
			(*s)[i].Value, (*s)[i].Pos = v, pos
			return
		}
	}
	*s = append(*s, Setting{Key: k, Value: v, Pos: pos})
}

// Clone returns a copy that can be changed.
func (s Keywords) Clone() Keywords { return append(Keywords(nil), s...) }
