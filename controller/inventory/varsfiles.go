package inventory

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"volant/controller/fault"
	"volant/controller/yaml"
	"volant/wire/value"
)

// VarsDirs reads the group_vars and host_vars beside the inventory sources and
// beside the playbook, lazily and each once. It is safe for concurrent use.
type VarsDirs struct {
	off   bool // there are none, whatever is there
	files *yaml.Files
	exts  []string
	sink  fault.Sink
	merge bool

	mu      sync.Mutex                 // guards the maps
	dirs    map[string]map[string]bool // names in a vars directory; nil: there is none
	results map[string]varsResult
}

type varsResult struct {
	vars *value.Dict
	err  error
}

// NewVarsDirs returns a reader of files.
func NewVarsDirs(opt Options) *VarsDirs {
	set := settingsOf(opt.Config)
	d := &VarsDirs{off: set.noVarsFiles, files: opt.Files, exts: set.varsExts, sink: opt.Sink, merge: set.merge,
		dirs: map[string]map[string]bool{}, results: map[string]varsResult{}}
	if d.sink == nil {
		d.sink = fault.Discard
	}
	if d.files == nil {
		d.files = &yaml.Files{Sink: d.sink}
	}
	return d
}

// GroupVars returns the variables of group files below base (base/group_vars/NAME,
// .yml, .yaml, .json, or a directory of them), later ones over earlier ones;
// nil when there are none. The result is shared and must not be changed.
func (d *VarsDirs) GroupVars(base, group string) (*value.Dict, error) {
	return d.load(base, "group_vars", group)
}

// HostVars is GroupVars for base/host_vars.
func (d *VarsDirs) HostVars(base, host string) (*value.Dict, error) {
	return d.load(base, "host_vars", host)
}

func (d *VarsDirs) load(base, kind, name string) (*value.Dict, error) {
	if name == "" || name[0] == '/' || d.off {
		return nil, nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	dir := filepath.Join(base, kind)
	names, ok := d.dirs[dir]
	if !ok {
		names = d.list(dir, kind)
		d.dirs[dir] = names
	}
	if names == nil {
		return nil, nil
	}
	key := dir + "\x00" + name
	if r, ok := d.results[key]; ok {
		return r.vars, r.err
	}
	var r varsResult
	if real, err := filepath.EvalSymlinks(base); err == nil {
		dir = filepath.Join(real, kind)
	}
	for _, file := range d.find(dir, name, names) {
		v, _, err := d.files.LoadFile(file)
		if err == nil && value.Truth(v) {
			vars, ok := v.(*value.Dict)
			if !ok {
				err = fault.New(fault.Parser, value.Pos{},
					"Could not process %s: failed to combine variables, expected dicts but got a 'dict' and a '%s'.",
					value.Repr(file), value.TaggedName(v))
			} else {
				r.vars = CombineVars(r.vars, vars, d.merge)
			}
		}
		if err != nil {
			r.vars, r.err = nil, fault.New(fault.Parser, value.Pos{}, "%s", err)
			break
		}
	}
	d.results[key] = r
	return r.vars, r.err
}

// list reads a vars directory's names, so that thousands of hosts without a
// file cost one look.
func (d *VarsDirs) list(dir, kind string) map[string]bool {
	st, err := os.Stat(dir)
	if err != nil {
		return nil
	}
	if !st.IsDir() {
		fault.Warn(d.sink, "Found %s that is not a directory, skipping: %s", kind, dir)
		return nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	names := make(map[string]bool, len(entries))
	for _, e := range entries {
		names[e.Name()] = true
	}
	return names
}

// find returns the files of a name: what has exactly that name, else what has
// it with a known extension; a directory stands for the files in it.
func (d *VarsDirs) find(dir, name string, names map[string]bool) []string {
	for _, ext := range append([]string{""}, d.exts...) {
		if !strings.Contains(name, "/") && !names[name+ext] {
			continue
		}
		path := filepath.Join(dir, name+ext)
		if st, err := os.Stat(path); err == nil {
			if st.IsDir() {
				return d.walk(path, 0)
			}
			return []string{path}
		}
	}
	return nil
}

// walk returns the variable files below a directory in order.
func (d *VarsDirs) walk(dir string, depth int) []string {
	if depth > maxDirDepth {
		return nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var out []string
	for _, e := range entries {
		name := e.Name()
		if strings.HasPrefix(name, ".") || strings.HasSuffix(name, "~") {
			continue
		}
		path := filepath.Join(dir, name)
		st, err := os.Stat(path)
		if err != nil {
			continue
		}
		switch ext := filepath.Ext(name); {
		case st.IsDir() && ext == "":
			out = append(out, d.walk(path, depth+1)...)
		case !st.IsDir() && (ext == "" || slices.Contains(d.exts, ext)):
			out = append(out, path)
		}
	}
	return out
}
