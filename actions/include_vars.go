package actions

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"sort"
	"strings"

	"volant/wire/pyre"
	"volant/wire/value"
)

// maxVarFiles bounds what one include_vars of a directory may load.
const maxVarFiles = 10_000

var (
	includeVarsDir  = map[any]bool{"dir": true, "depth": true, "files_matching": true, "ignore_files": true, "extensions": true, "ignore_unknown_extensions": true}
	includeVarsFile = map[any]bool{"file": true, "_raw_params": true}
	includeVarsAll  = map[any]bool{"name": true, "hash_behaviour": true}
)

// varsLoad is one include_vars task at work.
type varsLoad struct {
	*Run
	vaulted    bool
	files      []string
	extensions []string
}

// includeVars loads variables from a controller file or a directory of them.
func includeVars(_ context.Context, r *Run) (Result, error) {
	dirs, files := 0, 0
	for k := range r.Args.All() {
		switch {
		case includeVarsDir[k]:
			dirs++
		case includeVarsFile[k]:
			files++
		case includeVarsAll[k]:
		default:
			return nil, fmt.Errorf("%v is not a valid option in include_vars", k)
		}
	}
	if dirs > 0 && files > 0 {
		return nil, fmt.Errorf("You are mixing file only and dir only arguments, these are incompatible") //nolint:staticcheck // the reference's text
	}
	l := &varsLoad{Run: r, extensions: []string{"yaml", "yml", "json"}}
	if ext, ok := r.Args.Get("extensions"); ok {
		list, isList := ext.(*value.List)
		if text, isText := value.Text(ext); isText {
			l.extensions = strings.Split(text, "") // Python's list() of a string: its letters
		} else if names, ok := stringList(ext); isList && ok && list != nil {
			l.extensions = names
		} else {
			return nil, fmt.Errorf(`Invalid type for "extensions" option, it must be a list`) //nolint:staticcheck // the reference's text
		}
	}
	if err := l.texts(); err != nil {
		return nil, err
	}
	vars := value.NewDict(8)
	problem := ""
	var err error
	dir, _ := r.Args.Str("dir")
	switch {
	case dir != "":
		problem, err = l.loadDir(dir, vars)
	default:
		problem, err = l.loadNamed(vars)
	}
	if err != nil {
		return nil, err
	}
	if name, _ := r.Args.Str("name"); name != "" {
		vars = value.DictOf(name, vars)
	}
	res := value.NewDict(6)
	if problem != "" {
		res.Set("failed", true)
		res.Set("message", problem)
	} else if h, _ := r.Args.Str("hash_behaviour"); h == "merge" {
		vars = l.mergeExisting(vars)
	}
	res.Set("ansible_included_var_files", value.Strings(l.files...))
	res.Set("ansible_facts", vars)
	res.Set("_ansible_no_log", l.vaulted)
	return res, nil
}

// texts refuses arguments that are to be texts and are none, in the words of
// what the reference then does with them.
func (l *varsLoad) texts() error {
	for _, c := range []struct{ arg, before, after string }{
		{"name", "unhashable type: '", "'"},
		{"dir", "join() argument must be str, bytes, or os.PathLike object, not '", "'"},
		{"file", "'", "' object has no attribute 'startswith'"},
	} {
		v := l.Args.Lookup(c.arg)
		if _, isText := value.Text(v); isText || !value.Truth(v) {
			continue
		}
		switch v.(type) {
		case *value.List, *value.Dict:
		default:
			if c.arg == "name" { // a key like any other
				continue
			}
		}
		return &pythonError{c.before + value.TaggedName(v) + c.after}
	}
	return nil
}

func (l *varsLoad) loadNamed(vars *value.Dict) (problem string, err error) {
	name, _ := l.Args.Str("file")
	arg := "file"
	if name == "" {
		arg = "_raw_params"
		name, _ = l.Args.Str(arg)
		name = strings.TrimRight(name, "\n")
	}
	if !l.Args.Has("file") && !l.Args.Has("_raw_params") {
		l.Controller.Warn(`Invalid request to find a file that matches a "null" value`)
		return "Could not find file on the Ansible Controller.\nIf you are using a module and expect the file to exist on the remote, see the remote_src option", nil
	}
	if l.Marked(arg) && !plainRelative(name) {
		return "", Fail("the '%s' of this task was named by a managed host, and a controller file a host chose is never read", arg)
	}
	found, err := l.Controller.Find("vars", name)
	if err != nil {
		return err.Error(), nil
	}
	return l.load(found, vars, false)
}

// varsDepth is how many levels of directories are read, 0 for all. The
// reference compares the argument as it is, so a text is refused even when it
// spells a number.
func varsDepth(v any) (float64, error) {
	if !value.Truth(v) {
		return 0, nil
	}
	switch v := v.(type) {
	case bool:
		return 1, nil
	case int64:
		return float64(v), nil
	case float64:
		return v, nil
	}
	return 0, &pythonError{"'>' not supported between instances of 'int' and '" + value.TaggedName(v) + "'"}
}

// levels counts the directories down to below, which is relative to the first.
func levels(below string) float64 {
	if below == "." {
		return 1
	}
	return float64(strings.Count(below, "/") + 2)
}

// plainRelative reports whether a path a host named stays below where it is
// looked for: relative, without .. or empty components.
func plainRelative(name string) bool {
	if name == "" || strings.HasPrefix(name, "/") || strings.HasPrefix(name, "~") {
		return false
	}
	for _, part := range strings.Split(name, "/") {
		if part == "" || part == ".." {
			return false
		}
	}
	return true
}

// load reads one file into vars; problem is what the result shows as message.
func (l *varsLoad) load(file string, vars *value.Dict, check bool) (problem string, err error) {
	if check && !l.validExtension(file) {
		return fmt.Sprintf("%s does not have a valid extension: %s", file, strings.Join(l.extensions, ", ")), nil
	}
	v, vaulted, err := l.Controller.LoadVars(file)
	if err != nil {
		return err.Error(), nil
	}
	l.vaulted = l.vaulted || vaulted
	switch v := v.(type) {
	case nil:
	case *value.Dict:
		vars.Update(v)
		if len(l.files) == 0 {
			vars.Places = v.Places
		} else {
			vars.Places = nil
		}
	default:
		return file + " must be stored as a dictionary/hash", nil
	}
	l.files = append(l.files, file)
	return "", nil
}

func (l *varsLoad) validExtension(file string) bool {
	ext := strings.TrimPrefix(suffix(file), ".")
	for _, e := range l.extensions {
		if e == ext {
			return true
		}
	}
	return false
}

// loadDir loads the files below dir in order of their directories and names.
func (l *varsLoad) loadDir(dir string, vars *value.Dict) (problem string, err error) {
	if l.Marked("dir") && !plainRelative(dir) {
		return "", Fail("the 'dir' of this task was named by a managed host, and a controller file a host chose is never read")
	}
	dir = l.rootDir(dir)
	switch info, err := os.Stat(dir); {
	case err != nil:
		return dir + " directory does not exist", nil
	case !info.IsDir():
		return dir + " is not a directory", nil
	}
	filter, problem, err := l.fileFilter()
	if problem != "" || err != nil {
		return problem, err
	}
	depth, err := varsDepth(l.Args.Lookup("depth"))
	if err != nil {
		return "", err
	}
	byDir, err := varFiles(dir)
	if err != nil {
		return "", err
	}
	roots := make([]string, 0, len(byDir))
	for root := range byDir {
		roots = append(roots, root)
	}
	sort.Strings(roots)
	for _, root := range roots {
		below, _ := filepath.Rel(dir, root)
		if n := levels(below); depth != 0 && n > depth {
			continue
		}
		ofRoot := value.NewDict(8) // a directory counts as a whole
		for _, name := range byDir[root] {
			if l.RolePath() != "" && path.Join(l.RolePath(), name) == path.Join(root, "vars", "main.yml") {
				continue
			}
			if !filter(name) {
				continue
			}
			if problem, err := l.load(path.Join(root, name), ofRoot, true); problem != "" || err != nil {
				return problem, err
			}
		}
		vars.Update(ofRoot)
		vars.Places = nil
		if len(roots) == 1 {
			vars.Places = ofRoot.Places
		}
	}
	return "", nil
}

// RolePath is the role's directory, or empty.
func (l *varsLoad) RolePath() string { return l.Controller.RolePath() }

// rootDir is where a dir argument is: the role's vars, or beside the task file.
func (l *varsLoad) rootDir(dir string) string {
	if role := l.RolePath(); role != "" {
		if strings.Split(dir, "/")[0] == "vars" {
			if p := joinPath(role, dir); exists(p) {
				return p
			}
			return dir
		}
		return joinPath(path.Join(role, "vars"), dir)
	}
	if l.TaskFile != "" {
		return joinPath(path.Dir(l.TaskFile), dir)
	}
	return dir
}

func exists(p string) bool {
	_, err := os.Stat(p)
	return err == nil
}

// fileFilter decides which names of a directory are loaded.
func (l *varsLoad) fileFilter() (keep func(string) bool, problem string, err error) {
	var matching *pyre.Regexp
	if text, _ := l.Args.Str("files_matching"); text != "" {
		if matching, err = pyre.Compile(text, 0); err != nil {
			return nil, "", err
		}
	}
	var ignore []*pyre.Regexp
	var patterns []string
	switch v := l.Args.Lookup("ignore_files").(type) {
	case nil:
	case *value.Dict:
		return nil, value.Str(v) + " must be a list", nil
	case *value.List:
		patterns, _ = stringList(v)
	default:
		text, _ := value.Text(v)
		patterns = strings.Fields(text)
	}
	for _, p := range patterns {
		re, err := pyre.Compile(p+"$", 0)
		if err != nil {
			return nil, "", fmt.Errorf("Invalid regular expression: %s", p) //nolint:staticcheck // the reference's text
		}
		ignore = append(ignore, re)
	}
	lenient := option(l.Args, "ignore_unknown_extensions", false)
	return func(name string) bool {
		if matching != nil && !found(matching, name) {
			return false
		}
		for _, re := range ignore {
			if found(re, name) {
				return false
			}
		}
		return !lenient || l.validExtension(name)
	}, "", nil
}

// found reports whether re matches anywhere in name; one that gives up does not.
func found(re *pyre.Regexp, name string) bool {
	m, err := re.Search(name)
	return err == nil && m != nil
}

// varFiles lists the files of dir and the directories below it, links followed.
func varFiles(dir string) (map[string][]string, error) {
	found := map[string][]string{}
	count := 0
	seen := map[string]bool{}
	var walk func(string) error
	walk = func(d string) error {
		real, err := filepath.EvalSymlinks(d)
		if err != nil || seen[real] {
			return nil //nolint:nilerr // the reference walks on past what it cannot read
		}
		seen[real] = true
		entries, err := os.ReadDir(d)
		if err != nil {
			return nil //nolint:nilerr // likewise
		}
		found[d] = nil
		for _, e := range entries {
			p := filepath.Join(d, e.Name())
			isDir := e.IsDir()
			if e.Type()&fs.ModeSymlink != 0 {
				info, err := os.Stat(p)
				isDir = err == nil && info.IsDir()
			}
			if isDir {
				if err := walk(p); err != nil {
					return err
				}
				continue
			}
			if count++; count > maxVarFiles {
				return fmt.Errorf("%s holds more than %d files", dir, maxVarFiles)
			}
			found[d] = append(found[d], e.Name())
		}
		return nil
	}
	return found, walk(dir)
}

// mergeExisting lays vars over the host's own variables of the same names,
// mapping by mapping.
func (l *varsLoad) mergeExisting(vars *value.Dict) *value.Dict {
	out := value.NewDict(vars.Len())
	for k, v := range vars.All() {
		name, _ := value.Text(k)
		if old, ok := l.Controller.Var(name); ok {
			if a, ok := old.(*value.Dict); ok {
				if b, ok := v.(*value.Dict); ok {
					merged := a.Clone()
					mergeDicts(merged, b, 0)
					v = merged
				}
			}
		}
		out.Set(k, v)
	}
	return out
}

func mergeDicts(dst, src *value.Dict, depth int) {
	for k, v := range src.All() {
		if b, ok := v.(*value.Dict); ok && depth < 100 {
			if a, ok := dst.Lookup(k).(*value.Dict); ok {
				c := a.Clone()
				mergeDicts(c, b, depth+1)
				v = c
			}
		}
		dst.Set(k, v)
	}
}
