package inventory

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"volant/controller/fault"
	"volant/wire/pyre"
	"volant/wire/rx"
	"volant/wire/value"
)

var (
	subscript = rx.Lazy(`^(.+)\[(?:(-?[0-9]+)|([0-9]+)([:-])([0-9]*))\]$`)
	colonPart = rx.Lazy(`(?:[^\s:\[\]]|\[[^\]]*\])+`)
)

// SplitPatterns splits host patterns at commas, or at colons where there are
// no commas and the whole is not an address or range.
func SplitPatterns(patterns ...string) []string {
	var out []string
	for _, p := range patterns {
		var parts []string
		if strings.Contains(p, ",") {
			parts = strings.Split(p, ",")
		} else if _, _, err := parseAddress(p, true); err == nil {
			parts = []string{p}
		} else {
			parts = colonPart.FindAllString(p, -1)
		}
		for _, s := range parts {
			if s = strings.TrimSpace(s); s != "" {
				out = append(out, s)
			}
		}
	}
	return out
}

// Limit restricts every later Select to hosts of these patterns (--limit; @FILE
// reads patterns from a file). No patterns lift it.
func (inv *Inventory) Limit(patterns ...string) error {
	var out []string
	for _, p := range SplitPatterns(patterns...) {
		name, ok := strings.CutPrefix(p, "@")
		if !ok {
			out = append(out, p)
			continue
		}
		path := name
		if !filepath.IsAbs(path) {
			path = filepath.Join(inv.opt.Dir, path)
		}
		st, err := os.Stat(path)
		switch {
		case err != nil:
			return fault.New(fault.Generic, value.Pos{}, "Unable to find limit file b'%s'", name)
		case !st.Mode().IsRegular():
			return fault.New(fault.Generic, value.Pos{}, "Limit starting with \"@\" must be a file, not a directory: b'%s'", name)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return fault.New(fault.Generic, value.Pos{}, "Unable to find limit file b'%s'", name)
		}
		for _, line := range strings.Split(string(data), "\n") {
			out = append(out, strings.TrimSpace(line))
		}
	}
	inv.limit = out
	return nil
}

// Limited reports whether Limit is in force.
func (inv *Inventory) Limited() bool { return len(inv.limit) > 0 }

// Select returns the hosts that patterns (`hosts:`, a text or list) name, in
// the reference's order, within the limit.
func (inv *Inventory) Select(patterns ...string) ([]*Host, error) {
	hosts, err := inv.Match(patterns...)
	if err != nil || len(inv.limit) == 0 {
		return hosts, err
	}
	within, err := inv.evaluate(inv.limit)
	if err != nil {
		return nil, err
	}
	keep := make(map[*Host]bool, len(within))
	for _, h := range within {
		keep[h] = true
	}
	return slices.DeleteFunc(hosts, func(h *Host) bool { return !keep[h] }), nil
}

// Match returns the hosts of patterns without regard to the limit. The slice
// is the caller's own.
func (inv *Inventory) Match(patterns ...string) ([]*Host, error) {
	return inv.evaluate(SplitPatterns(patterns...))
}

// evaluate applies patterns: plain ones first, then intersections, then
// exclusions. Each host is named once.
func (inv *Inventory) evaluate(patterns []string) ([]*Host, error) {
	var plain, and, not []string
	for _, p := range patterns {
		switch {
		case p == "":
		case p[0] == '!':
			not = append(not, p)
		case p[0] == '&':
			and = append(and, p)
		default:
			plain = append(plain, p)
		}
	}
	if len(plain) == 0 {
		plain = []string{"all"}
	}
	var hosts []*Host
	seen := map[*Host]bool{}
	add := func(list []*Host) {
		for _, h := range list {
			if !seen[h] {
				seen[h] = true
				hosts = append(hosts, h)
			}
		}
	}
	for _, p := range slices.Concat(plain, and, not) {
		if h := inv.hosts[p]; h != nil {
			add([]*Host{h})
			continue
		}
		matched, err := inv.matchOne(strings.TrimLeft(p[:1], "!&") + p[1:])
		if err != nil {
			return nil, err
		}
		if p[0] != '!' && p[0] != '&' {
			add(matched)
			continue
		}
		in := make(map[*Host]bool, len(matched))
		for _, h := range matched {
			in[h] = true
		}
		hosts = slices.DeleteFunc(hosts, func(h *Host) bool {
			drop := in[h] == (p[0] == '!')
			if drop {
				delete(seen, h)
			}
			return drop
		})
	}
	return hosts, nil
}

// matchOne resolves one pattern without its sign, from what was resolved
// before if it was.
func (inv *Inventory) matchOne(pattern string) ([]*Host, error) {
	if pattern == "" {
		return nil, fault.New(fault.Generic, value.Pos{}, "Invalid host list pattern: %s", pattern)
	}
	inv.mu.Lock()
	hosts, ok := inv.patterns[pattern]
	inv.mu.Unlock()
	if ok {
		return hosts, nil
	}
	expr, first, last, sliced := pattern, 0, 0, false
	single := false
	if m := subscript.FindStringSubmatch(pattern); m != nil && pattern[0] != '~' {
		expr, sliced = m[1], true
		var err error
		if m[2] != "" {
			first, err = strconv.Atoi(m[2])
			single = true
		} else {
			first, err = strconv.Atoi(m[3])
			last = -1
			if m[5] != "" && err == nil {
				last, err = strconv.Atoi(m[5])
			}
			if m[4] == "-" {
				fault.Warn(inv.opt.Sink, "Use [x:y] inclusive subscripts instead of [x-y] which has been removed")
			}
		}
		if err != nil {
			return nil, fault.New(fault.Generic, value.Pos{}, "No hosts matched the subscripted pattern '%s'", pattern)
		}
	}
	hosts, err := inv.enumerate(expr)
	if err != nil {
		return nil, err
	}
	if sliced && len(hosts) > 0 {
		n := len(hosts)
		if last == 0 { // also [x:0]: the reference takes an end of 0 as none
			single = true
		}
		switch {
		case single:
			if first < 0 {
				first += n
			}
			if first < 0 || first >= n {
				return nil, fault.New(fault.Generic, value.Pos{}, "No hosts matched the subscripted pattern '%s'", pattern)
			}
			hosts = hosts[first : first+1]
		default:
			if last == -1 {
				last = n - 1
			}
			last = min(last+1, n)
			hosts = hosts[min(first, last):last]
		}
	}
	inv.mu.Lock()
	defer inv.mu.Unlock()
	if inv.patterns == nil {
		inv.patterns = map[string][]*Host{}
	}
	inv.patterns[pattern] = hosts
	return hosts, nil
}

// enumerate returns the hosts of the groups and the hosts that match.
func (inv *Inventory) enumerate(pattern string) ([]*Host, error) {
	var results []*Host
	special := pattern[0] == '~' || strings.ContainsAny(pattern, "*?[")
	match := func(name string) (bool, error) { return name == pattern, nil }
	if special {
		re, err := compilePattern(pattern)
		if err != nil {
			return nil, fault.New(fault.Generic, value.Pos{}, "Invalid host list pattern: %s", pattern)
		}
		match = re
	}
	matchedGroups := false
	if !special {
		if g := inv.groups[pattern]; g != nil {
			matchedGroups = true
			results = append(results, g.AllHosts()...)
		}
		if h := inv.hosts[pattern]; h != nil && (!matchedGroups || strings.Contains(pattern, ".")) {
			results = append(results, h)
		}
	} else {
		for _, g := range inv.gorder {
			ok, err := match(g.Name)
			if err != nil {
				return nil, err
			}
			if ok {
				matchedGroups = true
				results = append(results, g.AllHosts()...)
			}
		}
		for _, h := range inv.order {
			ok, err := match(h.Name)
			if err != nil {
				return nil, err
			}
			if ok {
				results = append(results, h)
			}
		}
	}
	if len(results) == 0 && isLocal(pattern) {
		if h := inv.Host(pattern); h != nil {
			results = append(results, h)
		}
	}
	if len(results) == 0 && !matchedGroups && pattern != "all" {
		msg := "Could not match supplied host pattern, ignoring: " + pattern
		switch inv.set.mismatch {
		case "warning":
			fault.Warn(inv.opt.Sink, "%s", msg)
		case "error":
			return nil, fault.New(fault.Generic, value.Pos{}, "%s", msg)
		}
	}
	return results, nil
}

// compilePattern compiles ~REGEX, which matches at the start, or a shell glob,
// which matches all of a name.
func compilePattern(pattern string) (func(string) (bool, error), error) {
	if expr, ok := strings.CutPrefix(pattern, "~"); ok {
		re, err := pyre.Compile(expr, 0)
		if err != nil {
			return nil, err
		}
		return func(s string) (bool, error) {
			m, err := re.Match(s)
			return m != nil, err
		}, nil
	}
	re, err := regexp.Compile(`(?s)^(?:` + globExpr(pattern) + `)$`)
	if err != nil {
		return nil, err
	}
	return func(s string) (bool, error) { return re.MatchString(s), nil }, nil
}

// globExpr turns a glob into a regular expression as Python's fnmatch does: *
// and ? match every character, [!x] negates, an unclosed [ is itself.
func globExpr(glob string) string {
	var out strings.Builder
	r := []rune(glob)
	for i := 0; i < len(r); i++ {
		switch r[i] {
		case '*':
			out.WriteString(".*")
		case '?':
			out.WriteByte('.')
		case '[':
			j := i + 1
			if j < len(r) && r[j] == '!' {
				j++
			}
			if j < len(r) && r[j] == ']' {
				j++
			}
			for j < len(r) && r[j] != ']' {
				j++
			}
			if j >= len(r) {
				out.WriteString(`\[`)
				continue
			}
			set := string(r[i+1 : j])
			out.WriteByte('[')
			if rest, ok := strings.CutPrefix(set, "!"); ok {
				out.WriteByte('^')
				set = rest
			}
			out.WriteString(strings.NewReplacer(`\`, `\\`, "[", `\[`, "]", `\]`, "^", `\^`, "&", `\&`, "~", `\~`).Replace(set))
			out.WriteByte(']')
			i = j
		default:
			out.WriteString(regexp.QuoteMeta(string(r[i])))
		}
	}
	return out.String()
}
