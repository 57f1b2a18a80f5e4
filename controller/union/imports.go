package union

import "strings"

// imported is one name an import statement asks for.
type imported struct {
	name     string // dotted, absolute
	optional bool   // not at the top level of the file: may be missing
}

// scanImports returns the module_utils and collection names that Python source
// imports, wherever the statement stands. fqn is the file's dotted name, isPkg
// says that it is a package's __init__.py. `from x import y` gives x.y: whether
// y is a module is for the caller to find out.
func scanImports(src []byte, fqn string, isPkg bool) []imported {
	s := scanner{src: src}
	var out []imported
	for s.next() {
		if s.tok != "import" && s.tok != "from" || !s.first {
			continue
		}
		optional := !s.top
		if s.tok == "import" {
			for _, name := range s.names(true) {
				if strings.HasPrefix(name, "ansible.module_utils.") || strings.HasPrefix(name, "ansible_collections.") {
					out = append(out, imported{name, optional})
				}
			}
			continue
		}
		from, names := s.from()
		base, ok := absolute(from, fqn, isPkg)
		if !ok {
			continue
		}
		switch {
		case strings.HasPrefix(base, "ansible.module_utils"):
		case strings.HasPrefix(base, "ansible_collections.") &&
			(strings.HasSuffix(base, "plugins.module_utils") || strings.Contains(base, ".plugins.module_utils.")):
		default:
			continue
		}
		for _, n := range names {
			out = append(out, imported{base + "." + n, optional})
		}
	}
	return out
}

// absolute resolves the dots of a relative import.
func absolute(from, fqn string, isPkg bool) (string, bool) {
	level := 0
	for level < len(from) && from[level] == '.' {
		level++
	}
	rest := from[level:]
	if level == 0 {
		return rest, rest != ""
	}
	parts := strings.Split(fqn, ".")
	if isPkg {
		level--
	}
	if level > len(parts) {
		return "", false
	}
	base := strings.Join(parts[:len(parts)-level], ".")
	if rest != "" {
		if base != "" {
			base += "."
		}
		base += rest
	}
	return base, base != ""
}

// scanner splits Python source into names and operators, skipping strings and
// comments: enough to find import statements.
type scanner struct {
	src   []byte
	i     int
	depth int // of brackets

	tok   string // current token: a name, or one operator byte, or "\n"
	first bool   // tok is the first of a statement
	top   bool   // the statement stands at the top level of the file

	fresh    bool // the next token begins a statement
	freshTop bool // and that one is at the top level
	started  bool
}

func (s *scanner) next() bool {
	if !s.started {
		s.started, s.fresh, s.freshTop = true, true, true
	}
	for s.i < len(s.src) {
		c := s.src[s.i]
		switch {
		case c == '\n':
			s.i++
			if s.depth > 0 {
				continue
			}
			s.fresh = true
			s.freshTop = s.i < len(s.src) && s.src[s.i] != ' ' && s.src[s.i] != '\t'
			s.tok, s.first = "\n", false
			return true
		case c == ' ' || c == '\t' || c == '\r' || c == '\f':
			s.i++
		case c == '\\' && s.i+1 < len(s.src) && (s.src[s.i+1] == '\n' || s.src[s.i+1] == '\r'):
			s.i += 2
			if s.src[s.i-1] == '\r' && s.i < len(s.src) && s.src[s.i] == '\n' {
				s.i++
			}
		case c == '#':
			for s.i < len(s.src) && s.src[s.i] != '\n' {
				s.i++
			}
		case c == '"' || c == '\'':
			s.str()
			s.fresh = false
		case nameByte(c):
			start := s.i
			for s.i < len(s.src) && nameByte(s.src[s.i]) {
				s.i++
			}
			word := string(s.src[start:s.i])
			if s.i < len(s.src) && (s.src[s.i] == '"' || s.src[s.i] == '\'') && stringPrefix(word) {
				s.str()
				s.fresh = false
				continue
			}
			s.token(word)
			return true
		default:
			s.i++
			switch c {
			case '(', '[', '{':
				s.depth++
			case ')', ']', '}':
				if s.depth > 0 {
					s.depth--
				}
			}
			s.token(string(c))
			if s.depth == 0 && c == ';' {
				s.fresh, s.freshTop = true, s.top
			} else if s.depth == 0 && c == ':' {
				s.fresh, s.freshTop = true, false // `try: import x`: in a block, if a statement at all
			}
			return true
		}
	}
	return false
}

func (s *scanner) token(tok string) {
	s.tok, s.first = tok, s.fresh
	if s.fresh {
		s.top = s.freshTop
	}
	s.fresh = false
}

func nameByte(c byte) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c >= 0x80
}

func stringPrefix(word string) bool {
	if len(word) > 2 {
		return false
	}
	return strings.Trim(strings.ToLower(word), "rbuft") == ""
}

// str skips a string literal; in a raw one a backslash also keeps the quote
// behind it from ending the string, so both are skipped alike.
func (s *scanner) str() {
	q := s.src[s.i]
	triple := s.i+2 < len(s.src) && s.src[s.i+1] == q && s.src[s.i+2] == q
	if triple {
		s.i += 3
	} else {
		s.i++
	}
	for s.i < len(s.src) {
		switch c := s.src[s.i]; {
		case c == '\\':
			s.i += 2
			continue
		case c == q && !triple:
			s.i++
			return
		case c == q && s.i+2 < len(s.src) && s.src[s.i+1] == q && s.src[s.i+2] == q:
			s.i += 3
			return
		case c == '\n' && !triple:
			return // not closed: not Python; go on with the next line
		}
		s.i++
	}
	s.i = min(s.i, len(s.src))
}

// peek returns the next token without taking it.
func (s *scanner) peek() string {
	saved := *s
	tok := ""
	if s.next() {
		tok = s.tok
	}
	*s = saved
	return tok
}

// dotted reads a dotted name with leading dots.
func (s *scanner) dotted() string {
	var b strings.Builder
	for {
		p := s.peek()
		if p != "." && (p == "" || !nameByte(p[0]) || p == "import" && b.Len() > 0 && strings.HasSuffix(b.String(), ".") && strings.Trim(b.String(), ".") == "") {
			break
		}
		if p != "." && b.Len() > 0 && !strings.HasSuffix(b.String(), ".") {
			break // two names in a row: `as`, `import`
		}
		s.next()
		b.WriteString(p)
	}
	return b.String()
}

// names reads the comma-separated names of an import, without what they are
// renamed to.
func (s *scanner) names(dotted bool) []string {
	var out []string
	for {
		var name string
		if dotted {
			name = s.dotted()
		} else if p := s.peek(); p != "" && (nameByte(p[0]) || p == "*") {
			s.next()
			name = p
		}
		if name != "" {
			out = append(out, name)
		}
		if s.peek() == "as" {
			s.next()
			s.next()
		}
		if s.peek() != "," {
			return out
		}
		s.next()
	}
}

// from reads the rest of a from statement.
func (s *scanner) from() (string, []string) {
	module := s.dotted()
	if s.peek() != "import" {
		return "", nil
	}
	s.next()
	if s.peek() == "(" {
		s.next()
	}
	return module, s.names(false)
}
