package plugindoc

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"volant/controller/yaml"
)

// Entry is one plugin of a list.
type Entry struct{ Name, File, Summary string }

// List lists the plugins of a kind by name, with their summaries when asked
// for. filter is a collection or a namespace; "" lists everything.
func (l *Library) List(kind, filter string, summaries bool) []Entry {
	found := map[string]string{}
	within := func(collection string) bool {
		return filter == "" || collection == filter || strings.HasPrefix(collection, filter+".")
	}
	if within("ansible.builtin") {
		dir := filepath.Join(l.Union.Core().Path, "plugins", kind)
		if kind == "module" {
			dir = filepath.Join(l.Union.Core().Path, "modules")
		}
		l.dir(found, dir, "ansible.builtin.", kind)
	}
	if filter == "" {
		dirs := l.library()
		if kind != "module" {
			dirs = nil
			for _, d := range l.Dirs {
				dirs = append(dirs, filepath.Join(d, kind+"_plugins"))
			}
		}
		for _, d := range dirs {
			l.dir(found, d, "", kind)
		}
	}
	for _, root := range l.collections() {
		if collection := filepath.Base(filepath.Dir(root)) + "." + filepath.Base(root); within(collection) {
			sub := kind
			if kind == "module" {
				sub = "modules"
			}
			l.dir(found, filepath.Join(root, "plugins", sub), collection+".", kind)
		}
	}
	var out []Entry
	for name, file := range found {
		e := Entry{Name: name, File: file}
		if summaries {
			e.Summary = summary(file, last(name))
		}
		out = append(out, e)
	}
	slices.SortFunc(out, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// collections are the directories of installed collections.
func (l *Library) collections() []string {
	var out []string
	seen := map[string]bool{}
	for _, p := range append(slices.Clone(l.Collections), filepath.Dir(l.Union.Core().Path)) {
		if filepath.Base(p) != "ansible_collections" {
			p = filepath.Join(p, "ansible_collections")
		}
		dirs, _ := filepath.Glob(filepath.Join(p, "*", "*"))
		for _, d := range dirs {
			name := filepath.Base(filepath.Dir(d)) + "." + filepath.Base(d)
			if st, err := os.Stat(d); err == nil && st.IsDir() && !seen[name] {
				seen[name] = true
				out = append(out, d)
			}
		}
	}
	return out
}

// notPlugins are files among plugins that are none.
var notPlugins = map[string]bool{"module async_wrapper": true, "cache base": true}

func (l *Library) dir(found map[string]string, dir, prefix, kind string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		ext := filepath.Ext(e.Name())
		name := strings.TrimSuffix(e.Name(), ext)
		documented := kind == "filter" || kind == "test" // each has a file of documentation of its own
		yml := ext == ".yml" || ext == ".yaml"
		if name == "__init__" || notPlugins[kind+" "+name] || e.IsDir() || ext != ".py" && !yml {
			continue
		}
		if documented != yml {
			if !documented || !strings.Contains(readText(filepath.Join(dir, e.Name())), "\nDOCUMENTATION") {
				continue
			}
		}
		if _, taken := found[prefix+name]; !taken {
			found[prefix+name] = filepath.Join(dir, e.Name())
		}
	}
}

func readText(path string) string {
	if st, err := os.Stat(path); err != nil || st.Size() > maxFile {
		return ""
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return string(b)
}

// summary reads short_description without reading the rest.
func summary(file, name string) string {
	for _, f := range []string{file, beside(file, name)} {
		if f == "" {
			continue
		}
		if s, ok := stub(readText(f)); ok {
			v, err := yaml.LoadYAML([]byte(s), yaml.Options{File: f})
			if err != nil {
				continue
			}
			if d, ok := v.(interface{ Str(string) (string, bool) }); ok {
				if text, ok := d.Str("short_description"); ok {
					return strings.TrimSpace(text)
				}
			}
			return "INVALID SHORT DESCRIPTION"
		}
	}
	return "UNDOCUMENTED"
}

// stub is the line of short_description with those that go on with it.
func stub(text string) (string, bool) {
	var out []string
	inside := false
	indent := ""
	for _, line := range strings.SplitAfter(text, "\n") {
		trimmed := strings.TrimLeft(line, " ")
		switch {
		case !inside:
			inside = strings.HasPrefix(line, "DOCUMENTATION") && strings.ContainsAny(line, "=:")
		case indent != "" && !strings.HasPrefix(line, indent):
			return strings.TrimRight(strings.TrimSpace(strings.Join(out, "")), "."), true
		case indent != "":
			out = append(out, line)
		case strings.HasPrefix(trimmed, "short_description:"):
			indent = strings.Repeat(" ", len(line)-len(trimmed)+1)
			out = append(out, line)
		}
	}
	return strings.TrimRight(strings.TrimSpace(strings.Join(out, "")), "."), len(out) > 0
}
