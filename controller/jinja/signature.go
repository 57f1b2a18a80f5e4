package jinja

import (
	"strconv"
	"strings"

	"volant/wire/value"
)

// Signature is how a function takes its arguments: names, defaults, *args and
// **kwargs, with Python's errors for calls that do not fit.
type Signature struct {
	Name     string
	params   []param
	pos      int // parameters that can be given by position
	required int // of those, how many have no default
	only     int // leading parameters that cannot be given by name
	star     int // index of *args, or -1
	starstar int // index of **kwargs, or -1
}

type param struct {
	name    string
	def     any
	has     bool
	keyword bool // keyword-only
}

// Sig parses a signature in Python's notation with literal defaults:
//
//	Sig("truncate(s, length=255, killwords=False, end='...', leeway=None)")
//	Sig("zip(*args, strict=False, **kw)")
//
// Parameters after *args or * are keyword-only, those before / positional
// only. It is meant for package-level variables and panics on text that is no
// signature.
func Sig(text string) *Signature {
	name, rest, ok := strings.Cut(text, "(")
	if !ok || !strings.HasSuffix(rest, ")") {
		panic("jinja: not a signature: " + text)
	}
	s := &Signature{Name: name, star: -1, starstar: -1}
	keyword := false
	for _, part := range splitParams(strings.TrimSuffix(rest, ")")) {
		switch {
		case part == "":
		case part == "*":
			keyword = true
		case part == "/":
			s.only = len(s.params)
		case strings.HasPrefix(part, "**"):
			s.starstar = len(s.params)
			s.params = append(s.params, param{name: part[2:]})
		case strings.HasPrefix(part, "*"):
			s.star = len(s.params)
			s.params = append(s.params, param{name: part[1:]})
			keyword = true
		default:
			n, def, has := strings.Cut(part, "=")
			p := param{name: strings.TrimSpace(n), has: has, keyword: keyword}
			if has {
				p.def = literal(strings.TrimSpace(def), text)
			}
			if !keyword {
				s.pos++
				if !has {
					s.required++
				}
			}
			s.params = append(s.params, p)
		}
	}
	return s
}

// splitParams splits at commas outside quotes.
func splitParams(s string) []string {
	var out []string
	quote, from := byte(0), 0
	for i := range len(s) {
		switch c := s[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '\'' || c == '"':
			quote = c
		case c == ',':
			out = append(out, strings.TrimSpace(s[from:i]))
			from = i + 1
		}
	}
	return append(out, strings.TrimSpace(s[from:]))
}

func literal(s, sig string) any {
	switch s {
	case "None":
		return nil
	case "True":
		return true
	case "False":
		return false
	}
	if len(s) >= 2 && (s[0] == '\'' || s[0] == '"') {
		t, msg := unescape(s[1 : len(s)-1])
		if msg == "" {
			return t
		}
	}
	if i, err := strconv.ParseInt(s, 10, 64); err == nil {
		return i
	}
	if f, err := strconv.ParseFloat(s, 64); err == nil {
		return f
	}
	panic("jinja: no literal default " + s + " in " + sig)
}

// Bind returns one value per parameter, in the order of the signature. *args
// is a value.Tuple, **kwargs a *value.Dict. The error is Python's TypeError. It
// may use the room behind a.Pos.
func (s *Signature) Bind(a Args) ([]any, error) {
	if n := len(a.Pos); len(a.Kw) == 0 && s.star < 0 && s.starstar < 0 && n >= s.required && n <= s.pos && s.pos == len(s.params) {
		// the common call: defaults go behind what was given, in place if
		// there is room
		out := a.Pos
		for k := n; k < len(s.params); k++ {
			out = append(out, s.params[k].def)
		}
		return out, nil
	}
	out := make([]any, len(s.params))
	var have uint64
	i := 0
	for k := range s.params {
		p := &s.params[k]
		if k == s.star || k == s.starstar || p.keyword {
			continue
		}
		if i < len(a.Pos) {
			out[k] = a.Pos[i]
			have |= 1 << k
			i++
		}
	}
	if s.star >= 0 {
		out[s.star] = value.Tuple(append([]any(nil), a.Pos[i:]...))
	}
	var extra *value.Dict
	if s.starstar >= 0 {
		extra = value.NewDict(0)
		out[s.starstar] = extra
	}
next:
	for _, kw := range a.Kw {
		for k := s.only; k < len(s.params); k++ {
			if k == s.star || k == s.starstar || s.params[k].name != kw.Name {
				continue
			}
			if have&(1<<k) != 0 {
				return nil, value.TypeErrorf("%s() got multiple values for argument '%s'", s.Name, kw.Name)
			}
			out[k] = kw.Value
			have |= 1 << k
			continue next
		}
		if extra == nil {
			return nil, value.TypeErrorf("%s() got an unexpected keyword argument '%s'", s.Name, kw.Name)
		}
		extra.Set(kw.Name, kw.Value)
	}
	if s.star < 0 && i < len(a.Pos) {
		return nil, s.tooMany(len(a.Pos))
	}
	var missing, missingKw []string
	for k := range s.params {
		p := &s.params[k]
		if k == s.star || k == s.starstar || have&(1<<k) != 0 {
			continue
		}
		switch {
		case p.has:
			out[k] = p.def
		case p.keyword:
			missingKw = append(missingKw, "'"+p.name+"'")
		default:
			missing = append(missing, "'"+p.name+"'")
		}
	}
	kind := "positional"
	if missing == nil {
		kind, missing = "keyword-only", missingKw
	}
	if missing != nil {
		plural := ""
		if len(missing) > 1 {
			plural = "s"
		}
		return nil, value.TypeErrorf("%s() missing %d required %s argument%s: %s", s.Name, len(missing), kind, plural, list(missing))
	}
	return out, nil
}

// list joins names as Python does: a, b, and c.
func list(names []string) string {
	switch n := len(names); n {
	case 1:
		return names[0]
	case 2:
		return names[0] + " and " + names[1]
	default:
		return strings.Join(names[:n-1], ", ") + ", and " + names[n-1]
	}
}

func (s *Signature) tooMany(got int) error {
	takes := strconv.Itoa(s.pos)
	plural := "s"
	if s.required != s.pos {
		takes = "from " + strconv.Itoa(s.required) + " to " + takes
	} else if s.pos == 1 {
		plural = ""
	}
	were := "were"
	if got == 1 {
		were = "was"
	}
	return value.TypeErrorf("%s() takes %s positional argument%s but %d %s given", s.Name, takes, plural, got, were)
}
