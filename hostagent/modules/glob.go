package modules

import (
	"os"
	"path/filepath"
	"strings"
)

// globMatches reports whether Python's glob.glob(pattern) finds anything when
// the working directory is dir. Names that begin with a dot are only matched by
// a pattern that does; ** is as * without recursive=True.
func globMatches(dir, pattern string) bool {
	if !strings.ContainsAny(pattern, "*?[") {
		return lexists(join(dir, pattern))
	}
	at := dir
	if strings.HasPrefix(pattern, "/") {
		at = "/"
		pattern = strings.TrimLeft(pattern, "/")
	}
	if at == "" {
		at = "."
	}
	return globIn(at, strings.Split(pattern, "/"))
}

func join(dir, path string) string {
	if filepath.IsAbs(path) || dir == "" {
		return path
	}
	return dir + "/" + path
}

func globIn(dir string, parts []string) bool {
	for len(parts) > 1 && parts[0] == "" {
		parts = parts[1:]
	}
	part, rest := parts[0], parts[1:]
	last := len(rest) == 0
	if part == "" && last { // a trailing slash: directories only
		return isDir(dir)
	}
	if !strings.ContainsAny(part, "*?[") {
		p := dir + "/" + part
		if last {
			return lexists(p)
		}
		return isDir(p) && globIn(p, rest)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return false
	}
	for _, e := range entries {
		name := e.Name()
		if strings.HasPrefix(name, ".") && !strings.HasPrefix(part, ".") || !fnmatch(part, name) {
			continue
		}
		if last || isDir(dir+"/"+name) && globIn(dir+"/"+name, rest) {
			return true
		}
	}
	return false
}

// fnmatch is Python's fnmatch.fnmatchcase.
func fnmatch(pattern, name string) bool {
	for len(pattern) > 0 {
		switch pattern[0] {
		case '*':
			for len(pattern) > 0 && pattern[0] == '*' {
				pattern = pattern[1:]
			}
			if pattern == "" {
				return true
			}
			for i := range len(name) + 1 {
				if fnmatch(pattern, name[i:]) {
					return true
				}
			}
			return false
		case '?':
			if name == "" {
				return false
			}
			_, n := firstRune(name)
			pattern, name = pattern[1:], name[n:]
		case '[':
			ok, n, valid := class(pattern, name)
			if !valid { // no closing bracket: the bracket itself
				if name == "" || name[0] != '[' {
					return false
				}
				pattern, name = pattern[1:], name[1:]
				continue
			}
			if !ok {
				return false
			}
			_, w := firstRune(name)
			pattern, name = pattern[n:], name[w:]
		default:
			if name == "" || name[0] != pattern[0] {
				return false
			}
			pattern, name = pattern[1:], name[1:]
		}
	}
	return name == ""
}

func firstRune(s string) (rune, int) {
	for i, r := range s {
		if i == 0 {
			n := len(string(r))
			if r == 0xFFFD {
				n = 1
			}
			return r, n
		}
	}
	return 0, 0
}

// class matches the first character of name against the bracket expression
// that pattern begins with; n is the expression's length.
func class(pattern, name string) (ok bool, n int, valid bool) {
	i := 1
	negate := i < len(pattern) && pattern[i] == '!'
	if negate {
		i++
	}
	start := i
	if i < len(pattern) && pattern[i] == ']' {
		i++
	}
	for i < len(pattern) && pattern[i] != ']' {
		i++
	}
	if i >= len(pattern) {
		return false, 0, false
	}
	if name == "" {
		return false, i + 1, true
	}
	r, _ := firstRune(name)
	set := []rune(pattern[start:i])
	for j := 0; j < len(set); j++ {
		if j+2 < len(set) && set[j+1] == '-' {
			ok = ok || set[j] <= r && r <= set[j+2]
			j += 2
			continue
		}
		ok = ok || set[j] == r
	}
	return ok != negate, i + 1, true
}
