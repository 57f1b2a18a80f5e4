package template

import (
	"strconv"
	"strings"

	"volant/wire/rx"
	"volant/wire/value"
)

// Placed is what Vars may have besides: where variables were written.
type Placed interface {
	// Place is where the value of a variable was written, zero when that is
	// not known.
	Place(name string) value.Pos
}

var (
	varPath  = rx.Lazy(`^\s*([A-Za-z_]\w*)((?:\.\w+|\[\d+\]|\['[^'\\]*'\]|\["[^"\\]*"\])*)\s*$`)
	pathStep = rx.Lazy(`\.\w+|\[\d+\]|\['[^']*'\]|\["[^"]*"\]`)
)

// written is where the value was written that an expression stands for: a
// variable, or what a path of keys and numbers finds in one. It is zero for all
// other expressions, and for data that no file says.
func (s *Scope) written(expr string, depth int) value.Pos {
	m := varPath.FindStringSubmatch(expr)
	vars, ok := s.vars.(Placed)
	if m == nil || !ok || depth > 20 {
		return value.Pos{}
	}
	v, _, _ := s.vars.Lookup(m[1])
	pos := vars.Place(m[1])
	for _, step := range pathStep.FindAllString(m[2], -1) {
		step = strings.Trim(step, `.[]'"`)
		switch c := v.(type) {
		case *value.Dict:
			v, pos = c.Lookup(step), c.EntryPos(step)
		case *value.List:
			i, err := strconv.Atoi(step)
			if err != nil || i >= c.Len() {
				return value.Pos{}
			}
			v, pos = c.Items[i], value.Pos{}
		default:
			return value.Pos{}
		}
	}
	if t, ok := v.(*value.Template); ok && possiblyTemplate(t.Text) {
		if inner, found := strings.CutPrefix(strings.TrimSpace(t.Text), "{{"); found {
			if p := s.written(strings.TrimSuffix(inner, "}}"), depth+1); !p.IsZero() {
				return p
			}
		}
		return t.Pos
	}
	if p := value.PosOf(v); !p.IsZero() {
		return p
	}
	return pos
}
