package plugindoc

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"volant/wire/value"
)

// Settings are the settings of the installed ansible-core as its own file has
// them, descriptions included.
func (l *Library) Settings() (*value.Dict, error) {
	path := filepath.Join(l.Union.Core().Path, "config", "base.yml")
	v, err := readYAML(path)
	if err != nil {
		return nil, err
	}
	d, _ := v.(*value.Dict)
	return d, nil
}

// Configurable are the names of the plugins of a kind that need no collection:
// ansible-core's own, as they are loaded, and those of the configured
// directories; in order. One that is deprecated starts with an underscore.
func (l *Library) Configurable(kind string) []string {
	var out []string
	for _, dir := range append(l.project(kind), filepath.Join(l.Union.Core().Path, "plugins", kind)) {
		files, _ := filepath.Glob(filepath.Join(dir, "*.py"))
		for _, f := range files {
			name := strings.TrimSuffix(filepath.Base(f), ".py")
			if name == "__init__" || name == "base" {
				continue
			}
			if st, err := os.Lstat(f); err == nil && st.Mode()&os.ModeSymlink != 0 && name[0] == '_' {
				continue // another name of one that is there
			}
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Configured is how a plugin's options are asked for: a name of Configurable, or
// one of a collection; ok is false when there is no such plugin.
func (l *Library) Configured(kind, name string) (known string, ok bool) {
	known = strings.TrimPrefix(name, "ansible.builtin.")
	if strings.Contains(known, ".") {
		_, err := l.find(kind, known)
		return known, err == nil
	}
	return known, slices.Contains(l.Configurable(kind), known)
}

// Options are the options of a plugin as it documents them, fragments included;
// nil when it has none, or there is no such plugin.
func (l *Library) Options(kind, name string) (*value.Dict, error) {
	var file string
	if p, err := l.find(kind, name); err == nil {
		file = p.file
	} else {
		file = filepath.Join(l.Union.Core().Path, "plugins", kind, name+".py")
		if _, err := os.Stat(file); err != nil {
			return nil, nil
		}
	}
	parts, err := read(file)
	if err != nil || parts.doc == nil {
		return nil, err
	}
	if err := l.extend(parts.doc, file, false); err != nil {
		return nil, err
	}
	d, _ := parts.doc.Lookup("options").(*value.Dict)
	return d, nil
}
