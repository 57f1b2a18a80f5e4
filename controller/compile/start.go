package compile

import (
	"strings"

	"volant/controller/playbook"
)

// StartAt moves the cursor in front of the first step whose name matches
// pattern (--start-at-task: the name, or a shell pattern of it, with or
// without the role in front) and reports whether there is one. The Setup step
// still comes first; when the match is the first step of the play it must be
// run whatever gather_facts says, see ForcedSetup. Without a match the cursor is
// at its end: the play does nothing on the host.
func (c *Cursor) StartAt(pattern string) bool {
	try := c.Clone()
	steps := 0
	for {
		at := try.Clone()
		s := try.Take()
		if s == nil {
			*c = *try
			return false
		}
		if !s.Task.Implicit && startMatches(s.Task, pattern) {
			*c = *at
			if p := c.plan; p.Setup != nil && s != p.Setup {
				c.setup, c.forced = true, steps <= 1
			}
			return true
		}
		if !s.Task.Implicit || s.Task.Meta() != "flush_handlers" {
			steps++
		}
	}
}

// ForcedSetup reports whether the Setup step, which comes next, is to be run
// even if the play gathers no facts.
func (c *Cursor) ForcedSetup() bool { return c.setup && c.forced }

func startMatches(t *playbook.Task, pattern string) bool {
	name := t.RawName()
	title := t.Title(name, true)
	return name == pattern || name != "" && fnmatch(pattern, name) || title == pattern || fnmatch(pattern, title)
}

// fnmatch matches a shell pattern: *, ?, [seq] and [!seq], over everything.
func fnmatch(pattern, s string) bool {
	for pattern != "" {
		switch pattern[0] {
		case '*':
			for pattern != "" && pattern[0] == '*' {
				pattern = pattern[1:]
			}
			for i := 0; i <= len(s); i++ {
				if fnmatch(pattern, s[i:]) {
					return true
				}
			}
			return false
		case '?':
			if s == "" {
				return false
			}
			r := []rune(s)
			s, pattern = string(r[1:]), pattern[1:]
		case '[':
			end := strings.IndexByte(pattern[1:], ']')
			if end == 0 || end == 1 && pattern[1] == '!' {
				if more := strings.IndexByte(pattern[2+end:], ']'); more >= 0 {
					end += 1 + more
				} else {
					end = -1
				}
			}
			if end < 0 {
				if s == "" || s[0] != '[' {
					return false
				}
				s, pattern = s[1:], pattern[1:]
				continue
			}
			if s == "" {
				return false
			}
			r := []rune(s)
			if !inSet(pattern[1:1+end], r[0]) {
				return false
			}
			s, pattern = string(r[1:]), pattern[end+2:]
		default:
			if s == "" || s[0] != pattern[0] {
				return false
			}
			s, pattern = s[1:], pattern[1:]
		}
	}
	return s == ""
}

// inSet reports whether r is in a bracket expression.
func inSet(set string, r rune) bool {
	rest, negated := strings.CutPrefix(set, "!")
	rs := []rune(rest)
	in := false
	for i := 0; i < len(rs); i++ {
		if i+2 < len(rs) && rs[i+1] == '-' {
			in = in || rs[i] <= r && r <= rs[i+2]
			i += 2
			continue
		}
		in = in || rs[i] == r
	}
	return in != negated
}
