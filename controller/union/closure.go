package union

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"volant/stage"
	"volant/wire/rx"
)

// ImportError is a module_utils file that is imported and nowhere; the text is
// the reference's.
type ImportError struct {
	Module string
	Looked []string
}

// Error is the reference's text.
func (e *ImportError) Error() string {
	return fmt.Sprintf("Could not find imported module support code for %s. Looked for (['%s'])", e.Module, strings.Join(e.Looked, "', '"))
}

var collectionFQN = rx.Lazy(`/(ansible_collections/[^/]+/[^/]+/plugins/modules/.*)\.(py|ps1)$`)

// fqnOf is the dotted name a module file runs under.
func (u *Union) fqnOf(f *found) string {
	if rel, err := filepath.Rel(u.opt.Core.Path, f.path); err == nil && strings.HasPrefix(rel, "modules/") && strings.HasSuffix(rel, ".py") {
		return "ansible." + strings.ReplaceAll(strings.TrimSuffix(filepath.ToSlash(rel), ".py"), "/", ".")
	}
	if m := collectionFQN.FindStringSubmatch(filepath.ToSlash(f.path)); m != nil && !strings.Contains(m[1], ".") {
		return strings.ReplaceAll(m[1], "/", ".")
	}
	base := filepath.Base(f.path)
	return "ansible.legacy." + strings.TrimSuffix(base, filepath.Ext(base))
}

// build completes a found file to a Module, once per file and search path.
func (u *Union) build(f *found, scope Scope) (*Module, error) {
	utils := append(slices.Clone(u.opt.ModuleUtilsPath), scope.ModuleUtils...)
	k := buildKey{f.path, u.fqnOf(f), strings.Join(utils, "\x00")}
	u.mu.Lock()
	b := u.built[k]
	if b == nil {
		b = new(built)
		u.built[k] = b
	}
	u.mu.Unlock()
	b.once.Do(func() {
		b.err = u.buildModule(&b.mod, f, k.fqn, utils)
		b.native = u.nativeMayStandIn(f)
	})
	if b.err != nil {
		return nil, b.err
	}
	m := b.mod
	m.Builtin = (f.builtin || b.native) && (u.opt.Python == nil || !u.opt.Python(m.Short))
	return &m, nil
}

func (u *Union) buildModule(m *Module, f *found, fqn string, utils []string) error {
	_, baseHash, err := u.Base()
	if err != nil {
		return err
	}
	info, err := u.cache.file(f.path)
	if err != nil {
		return err
	}
	m.Path, m.FQN, m.Style, m.Shebang, m.Hash = f.path, fqn, info.Style, info.Shebang, info.Hash
	w := &walk{u: u, utils: utils, module: fqn, extra: make(map[string]stage.ManifestFile), done: make(map[string]bool)}
	switch m.Style {
	case StylePython:
		m.File = strings.ReplaceAll(fqn, ".", "/") + ".py"
		if err := w.moduleFile(f.path, fqn); err != nil {
			return err
		}
		if err := u.replaced(w, m, f.path); err != nil {
			return err
		}
	default:
		m.File = filepath.Base(f.path)
		w.extra[m.File] = stage.ManifestFile{Path: m.File, Hash: info.Hash, Size: info.Size}
	}
	// What is laid out on the host refers to the base beside it: the same files
	// with another base are another manifest.
	w.add(".base", []byte(baseHash.String()+"\n"))
	m.Extra = new(stage.Manifest)
	for _, e := range w.extra {
		m.Extra.Files = append(m.Extra.Files, e)
	}
	m.Extra.Sort()
	m.ExtraHash = u.cache.generated(m.Extra.Encode()).Hash
	return nil
}

// replaced puts the import in where a module still has the mark of old times.
func (u *Union) replaced(w *walk, m *Module, path string) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("reading %s: %w", path, err)
	}
	text := string(b)
	if !strings.Contains(text, string(replacer)) {
		return nil
	}
	w.add(m.File, []byte(strings.ReplaceAll(text, string(replacer), "from ansible.module_utils.basic import *")))
	return nil
}

// walk collects the files a module needs beyond the base.
type walk struct {
	u      *Union
	utils  []string
	module string
	extra  map[string]stage.ManifestFile
	done   map[string]bool // names looked at
}

func (w *walk) add(path string, b []byte) {
	f := w.u.cache.generated(b)
	f.Path = path
	w.extra[path] = f
}

func (w *walk) addFile(path, file string) error {
	f, err := w.u.cache.file(file)
	if err != nil {
		return err
	}
	w.extra[path] = stage.ManifestFile{Path: path, Hash: f.Hash, Size: f.Size}
	return nil
}

// moduleFile adds the module's own file, the packages above it, and what it imports.
func (w *walk) moduleFile(path, fqn string) error {
	parts := strings.Split(fqn, ".")
	if err := w.addFile(strings.Join(parts, "/")+".py", path); err != nil {
		return err
	}
	start := 1
	if parts[0] == "ansible" {
		start = 2 // the base has the package itself
	}
	for i := start; i < len(parts); i++ {
		w.add(strings.Join(parts[:i], "/")+"/__init__.py", nil)
	}
	return w.scan(path, fqn, false)
}

func (w *walk) scan(path, fqn string, isPkg bool) error {
	ims, err := w.u.cache.imports(path, fqn, isPkg)
	if err != nil {
		return err
	}
	// A name that is optional anywhere in the file is optional, as in the reference.
	optional := make(map[string]bool)
	for _, im := range ims {
		if im.optional {
			optional[im.name] = true
		}
	}
	names := make([]string, 0, len(ims))
	for _, im := range ims {
		names = append(names, im.name)
	}
	sort.Strings(names)
	for _, name := range slices.Compact(names) {
		if err := w.name(name, true, optional[name]); err != nil {
			return err
		}
	}
	return nil
}

// name adds what a dotted name stands for. An ambiguous one may be an
// attribute of the module before its last dot.
func (w *walk) name(name string, ambiguous, optional bool) error {
	if w.done[name] {
		return nil
	}
	w.done[name] = true
	parts := strings.Split(name, ".")
	switch {
	case len(parts) > 2 && parts[0] == "ansible" && parts[1] == "module_utils":
		if parts[2] == "six" {
			parts = parts[:3] // six makes its submodules when it runs
		}
		return w.coreName(parts, ambiguous, optional)
	case parts[0] == "ansible_collections":
		return w.collectionName(parts, ambiguous, optional)
	}
	return nil // `import ansible.module_utils` itself: the base has it
}

func candidates(parts []string, ambiguous bool, prefix int) [][]string {
	if ambiguous && len(parts)-prefix > 1 {
		return [][]string{parts, parts[:len(parts)-1]}
	}
	return [][]string{parts}
}

func (w *walk) coreName(parts []string, ambiguous, optional bool) error {
	for _, c := range candidates(parts, ambiguous, 2) {
		if c[len(c)-1] == "*" {
			continue
		}
		rel := strings.Join(c[2:], "/")
		for _, dir := range w.utils {
			for _, tail := range []string{"/__init__.py", ".py"} {
				file := filepath.Join(dir, rel+tail)
				if st, err := os.Stat(file); err == nil && st.Mode().IsRegular() {
					return w.ours("ansible/module_utils/"+rel+tail, file, c, tail == "/__init__.py")
				}
			}
		}
		if w.u.baseHas["ansible/module_utils/"+rel+".py"] || w.u.baseHas["ansible/module_utils/"+rel+"/__init__.py"] {
			return nil
		}
		if done, err := w.redirect("ansible.builtin", c, c[2:], optional); done || err != nil {
			return err
		}
	}
	if optional {
		return nil
	}
	return w.missing(parts, ambiguous, 2)
}

func (w *walk) missing(parts []string, ambiguous bool, prefix int) error {
	e := &ImportError{Module: w.module}
	for _, c := range candidates(parts, ambiguous, prefix) {
		e.Looked = append(e.Looked, strings.Join(c, "."))
	}
	return e
}

// ours adds a file of the project's module_utils and goes on from there.
func (w *walk) ours(path, file string, parts []string, isPkg bool) error {
	if _, have := w.extra[path]; have {
		return nil
	}
	if err := w.addFile(path, file); err != nil {
		return err
	}
	// The packages between: the core's own stay where they are.
	for i := 3; i < len(parts); i++ {
		if err := w.name(strings.Join(parts[:i], "."), false, true); err != nil {
			return err
		}
	}
	return w.scan(file, strings.Join(parts, "."), isPkg)
}

func (w *walk) collectionName(parts []string, ambiguous, optional bool) error {
	if len(parts) < 6 || parts[3] != "plugins" || parts[4] != "module_utils" {
		if len(parts) >= 6 {
			return nil // another part of a collection: not for the host
		}
		w.packages(parts)
		return nil
	}
	collection := parts[1] + "." + parts[2]
	root := w.u.CollectionDir(collection)
	for _, c := range candidates(parts, ambiguous, 5) {
		if c[len(c)-1] == "*" {
			continue
		}
		if root == "" {
			break
		}
		if done, err := w.redirect(collection, c, c[5:], optional); done || err != nil {
			return err
		}
		rel := strings.Join(c[3:], "/")
		for _, tail := range []string{"/__init__.py", ".py"} {
			file := filepath.Join(root, filepath.FromSlash(rel+tail))
			st, err := os.Stat(file)
			there := err == nil && st.Mode().IsRegular()
			if !there && !(tail == "/__init__.py" && isDir(filepath.Dir(file))) {
				continue // a directory is a package, with __init__.py or without
			}
			path := strings.Join(c, "/") + tail
			if _, have := w.extra[path]; have {
				return nil
			}
			if !there {
				w.add(path, nil)
			} else if err := w.addFile(path, file); err != nil {
				return err
			}
			for i := 6; i < len(c); i++ {
				if err := w.name(strings.Join(c[:i], "."), false, optional); err != nil {
					return err
				}
			}
			w.packages(c[:5])
			if !there {
				return nil
			}
			return w.scan(file, strings.Join(c, "."), tail == "/__init__.py")
		}
		if len(c) == 5 { // `from ...plugins.module_utils import x` where x is no file
			w.packages(c)
		}
	}
	if optional {
		return nil
	}
	return w.missing(parts, ambiguous, 5)
}

func isDir(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.IsDir()
}

// packages makes the empty packages down to a collection's module_utils.
func (w *walk) packages(parts []string) {
	for i := 1; i <= len(parts); i++ {
		path := strings.Join(parts[:i], "/") + "/__init__.py"
		if _, have := w.extra[path]; !have {
			w.add(path, nil)
		}
	}
}

// redirect follows a collection's routing of module_utils: a stand-in module
// that puts the target in its own place.
func (w *walk) redirect(collection string, parts, rest []string, optional bool) (bool, error) {
	_, runtime := w.u.collection(collection)
	if runtime == "" {
		return false, nil
	}
	r, err := w.u.cache.routing(runtime)
	if err != nil {
		return false, err
	}
	to := r.ModuleUtils[strings.Join(rest, ".")]
	if to == nil || to.Redirect == "" {
		return false, nil
	}
	target := to.Redirect
	if !strings.HasPrefix(target, "ansible_collections") {
		split := strings.Split(target, ".")
		if len(split) < 3 {
			return false, fmt.Errorf("invalid redirect for %s: %s", strings.Join(parts, "."), target)
		}
		target = "ansible_collections." + split[0] + "." + split[1] + ".plugins.module_utils." + strings.Join(split[2:], ".")
	}
	name := strings.Join(parts, ".")
	w.add(strings.Join(parts, "/")+"/__init__.py", []byte("import sys\nimport "+target+" as mod\n\nsys.modules['"+name+"'] = mod\n"))
	for i := 1; i < len(parts); i++ {
		path := strings.Join(parts[:i], "/") + "/__init__.py"
		if _, have := w.extra[path]; !have && !w.u.baseHas[path] {
			w.add(path, nil)
		}
	}
	err = w.name(target, false, optional)
	var missing *ImportError
	if optional && errors.As(err, &missing) {
		return true, nil
	}
	return true, err
}
