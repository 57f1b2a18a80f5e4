package playbook

import (
	"os"
	"path/filepath"
	"strings"

	"volant/wire/rx"
)

// join is os.path.join: a later absolute part starts over; nothing is cleaned.
func join(parts ...string) string {
	out := ""
	for _, p := range parts {
		switch {
		case strings.HasPrefix(p, "/"):
			out = p
		case out == "" || strings.HasSuffix(out, "/"):
			out += p
		default:
			out += "/" + p
		}
	}
	return out
}

// dirname is os.path.dirname.
func dirname(path string) string {
	i := strings.LastIndexByte(path, '/') + 1
	head := path[:i]
	if trimmed := strings.TrimRight(head, "/"); trimmed != "" {
		return trimmed
	}
	return head
}

var envName = rx.Lazy(`\$(?:\w+|\{[^}]*\})`)

// unfrack makes a path absolute and clean: ~ and $VAR are expanded, links are
// kept.
func unfrack(path string) string {
	if path == "~" || strings.HasPrefix(path, "~/") {
		if home, err := os.UserHomeDir(); err == nil {
			path = home + path[1:]
		}
	}
	path = envName.ReplaceAllStringFunc(path, func(ref string) string {
		if v, ok := os.LookupEnv(strings.Trim(ref, "${}")); ok {
			return v
		}
		return ref
	})
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}

// real is path with its links followed; as it is when that cannot be done.
func real(path string) string {
	if followed, err := filepath.EvalSymlinks(path); err == nil {
		return followed
	}
	return path
}

// dwim resolves a path that a user wrote against the directory of the playbook.
func (l *Loader) dwim(given string) string {
	given = unquote(given)
	if !strings.HasPrefix(given, "/") && !strings.HasPrefix(given, "~") {
		given = join(l.basedir, given)
	}
	return unfrack(given)
}

var tasksDir = rx.Lazy(`(?:^|/)tasks/?$`)

var mainNames = []string{"main.yml", "main.yaml", "main"}

// looksLikeRole guesses whether path is in a role.
func looksLikeRole(path string) bool {
	any := func(dir string) bool {
		for _, n := range mainNames {
			if exists(join(dir, n)) {
				return true
			}
		}
		return false
	}
	if tasksDir.MatchString(path) && any(path) {
		return true
	}
	for _, base := range []string{unfrack(path), dirname(path)} {
		if any(join(base, "tasks")) || any(join(base, "meta")) {
			return true
		}
	}
	return false
}

// dwimRelative looks a file up in a role or playbook directory, with dir below
// it and without. When nothing is there it returns the last place tried.
func (l *Loader) dwimRelative(path, dir, source string, role bool) string {
	if strings.HasPrefix(source, "/") || strings.HasPrefix(source, "~") {
		return unfrack(source)
	}
	search := []string{join(path, dir, source)}
	base := unfrack(path)
	if !role {
		role = looksLikeRole(path)
	}
	if role && tasksDir.MatchString(path) {
		base = unfrack(dirname(path))
	}
	search = append(search, unfrack(join(base, dir, source)))
	if role && !strings.HasSuffix(source, dir) {
		search = append(search, unfrack(join(base, "tasks", source)))
	}
	search = append(search,
		unfrack(join(dir, source)), unfrack(join(base, source)),
		l.dwim(join(dir, source)), l.dwim(source))
	for _, c := range search {
		if exists(c) {
			return c
		}
	}
	return search[len(search)-1]
}
