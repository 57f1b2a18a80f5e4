package playbook

import (
	"os"
	"path/filepath"
	"sort"
	"strings"

	"volant/controller/fault"
	"volant/wire/value"
)

// roleFile reads tasks/main and the like of a role: main with an extension or
// none, or the name given to *_from. With dirs a directory of that name is
// read in full and its mappings are joined. It returns nil when there is none.
func (l *Loader) roleFile(r *Role, sub, main string, dirs bool) (any, error) {
	dir := join(r.Path, sub)
	if st, err := os.Stat(dir); err != nil || !st.IsDir() {
		return nil, nil
	}
	name, exts := "main", []string{".yml", ".yaml", ".json", ""}
	if main != "" {
		name, exts = main, []string{"", ".yml", ".yaml", ".json"}
	}
	found := findVarsFiles(dir, name, exts, dirs)
	if len(found) == 0 && main != "" {
		return nil, fault.New(fault.Parser, value.Pos{}, "Could not find specified file in role: %s/%s", sub, main)
	}
	var data any
	for _, file := range found {
		if !below(file, dir) {
			return nil, fault.New(fault.Parser, value.Pos{}, "Failed loading '%s' for role (%s) as it is not inside the expected role path: '%s'", file, r.Name, dir)
		}
		v, _, err := l.Files.LoadFile(file)
		if err != nil {
			return nil, err
		}
		if !value.Truth(v) {
			continue
		}
		have, isDict := data.(*value.Dict)
		if more, ok := v.(*value.Dict); ok && isDict {
			data = l.Config.combine(have, more)
		} else {
			data = v
		}
		if !dirs {
			break
		}
	}
	return data, nil
}

// combine joins two mappings of variables; neither is changed.
func (c *Config) combine(a, b *value.Dict) *value.Dict {
	if c.Combine != nil {
		return c.Combine(a, b)
	}
	out := a.Clone()
	out.Update(b)
	return out
}

// below reports whether path, links resolved, is in dir.
func below(path, dir string) bool {
	p, err1 := filepath.EvalSymlinks(path)
	d, err2 := filepath.EvalSymlinks(dir)
	if err1 != nil || err2 != nil {
		return false
	}
	return p == d || strings.HasPrefix(p, strings.TrimSuffix(d, "/")+"/")
}

// findVarsFiles finds name with one of the extensions in dir, or all files of
// a directory of that name.
func findVarsFiles(dir, name string, exts []string, dirs bool) []string {
	base := join(dir, name)
	for _, ext := range exts {
		path := base
		switch {
		case strings.Contains(ext, "."):
			path += ext
		case ext != "":
			path += "." + ext
		}
		st, err := os.Stat(path)
		switch {
		case err != nil:
			continue
		case !st.IsDir():
			return []string{path}
		case !dirs:
			continue
		}
		return dirFiles(path, exts)
	}
	return nil
}

// dirFiles lists the variable files below a directory, sorted by name.
func dirFiles(dir string, exts []string) []string {
	list, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	sort.Slice(list, func(i, j int) bool { return list[i].Name() < list[j].Name() })
	var out []string
	for _, e := range list {
		name := e.Name()
		if strings.HasPrefix(name, ".") || strings.HasSuffix(name, "~") {
			continue
		}
		path := join(dir, name)
		ext := filepath.Ext(name)
		st, err := os.Stat(path)
		switch {
		case err != nil:
		case st.IsDir():
			if ext == "" {
				out = append(out, dirFiles(path, exts)...)
			}
		case ext == "" || contains(exts, ext):
			out = append(out, path)
		}
	}
	return out
}
