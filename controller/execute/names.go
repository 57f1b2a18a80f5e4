package execute

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"volant/actions"
	"volant/controller/playbook"
	"volant/controller/template"
	"volant/controller/union"
	"volant/controller/vars"
	"volant/controller/yaml"
	"volant/wire/value"
)

// Names answers what the names of a project mean: modules, actions, lookups,
// roles and playbooks of collections, action groups.
type Names struct {
	// Union finds modules and collections; nil when there is no ansible-core.
	Union *union.Union
	Files *yaml.Files
	// Lookups reports whether a lookup plugin of that name exists.
	Lookups func(name string) bool

	mu   sync.RWMutex // guards dirs
	dirs []string     // of playbooks and roles, in the order met
}

var _ playbook.Plugins = (*Names)(nil)

// statements are handled by the executor itself.
var statements = map[string]bool{
	"meta": true, "include_tasks": true, "include_role": true, "import_tasks": true, "import_role": true, "import_playbook": true,
}

// AddDir implements playbook.Plugins.
func (n *Names) AddDir(dir string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !slices.Contains(n.dirs, dir) {
		n.dirs = append(n.dirs, dir)
	}
}

// Scope is where a name in a task with these collections is looked up.
func (n *Names) Scope(collections []string) union.Scope {
	s := union.Scope{Collections: collections}
	n.mu.RLock()
	defer n.mu.RUnlock()
	for _, d := range n.dirs {
		s.Library = append(s.Library, filepath.Join(d, "library"))
		s.ModuleUtils = append(s.ModuleUtils, filepath.Join(d, "module_utils"))
	}
	return s
}

// Action implements playbook.Plugins.
func (n *Names) Action(name string, collections []string) (string, bool, error) {
	short := actions.Short(name)
	_, plugin := actions.Lookup(name)
	if n.Union == nil {
		switch {
		case plugin || statements[short]:
			return "ansible.builtin." + short, true, nil
		case strings.Contains(short, "."):
			return name, true, nil
		}
		return "ansible.builtin." + short, true, nil
	}
	names, err := n.Union.Names(name, n.Scope(collections))
	var removed *union.RemovedError
	switch {
	case errors.As(err, &removed):
		return "", false, removed
	case err == nil:
		full := names[len(names)-1]
		// The action plugin of a name wins over a module file beside the playbook.
		if plugin && !strings.HasPrefix(full, "ansible.builtin.") && strings.HasPrefix(full, "ansible.legacy.") {
			full = "ansible.builtin." + short
		}
		return full, true, nil
	case plugin || statements[short]:
		return "ansible.builtin." + short, true, nil
	}
	return "", false, nil
}

// Lookup implements playbook.Plugins.
func (n *Names) Lookup(name string) bool { return n.Lookups == nil || n.Lookups(name) }

// RolePath implements playbook.Plugins.
func (n *Names) RolePath(name string, collections []string) (role, path, collection string, ok bool) {
	try := func(coll, role string) (string, bool) {
		if n.Union == nil {
			return "", false
		}
		dir := n.Union.CollectionDir(coll)
		if dir == "" {
			return "", false
		}
		p := filepath.Join(append([]string{dir, "roles"}, strings.Split(role, ".")...)...)
		st, err := os.Stat(p)
		return p, err == nil && st.IsDir()
	}
	if parts := strings.SplitN(name, ".", 3); len(parts) == 3 {
		coll := parts[0] + "." + parts[1]
		if p, ok := try(coll, parts[2]); ok {
			return parts[2], p, coll, true
		}
		return "", "", "", false
	}
	for _, coll := range collections {
		if p, ok := try(coll, name); ok {
			return name, p, coll, true
		}
	}
	return "", "", "", false
}

// PlaybookPath implements playbook.Plugins.
func (n *Names) PlaybookPath(name string) (path, collection string, ok bool) {
	parts := strings.SplitN(name, ".", 3)
	if len(parts) != 3 || n.Union == nil || strings.ContainsRune(name, '/') {
		return "", "", false
	}
	coll := parts[0] + "." + parts[1]
	dir := n.Union.CollectionDir(coll)
	if dir == "" {
		return "", "", false
	}
	base := filepath.Join(append([]string{dir, "playbooks"}, strings.Split(parts[2], ".")...)...)
	for _, p := range []string{base, base + ".yml", base + ".yaml"} {
		if st, err := os.Stat(p); err == nil && st.Mode().IsRegular() {
			return p, coll, true
		}
	}
	return "", "", false
}

// CollectionOf implements playbook.Plugins.
func (n *Names) CollectionOf(path string) string {
	parts := strings.Split(filepath.ToSlash(path), "/")
	for i := len(parts) - 1; i >= 0; i-- {
		if parts[i] == "ansible_collections" && i+3 < len(parts) {
			return parts[i+1] + "." + parts[i+2]
		}
	}
	return ""
}

// ActionGroup implements playbook.Plugins.
func (n *Names) ActionGroup(group string) (members, extends []string, ok bool) {
	i := strings.LastIndexByte(group, '.')
	if n.Union == nil || i < 0 {
		return nil, nil, false
	}
	coll, name := group[:i], group[i+1:]
	file := ""
	if coll == "ansible.builtin" || coll == "ansible.legacy" {
		file = filepath.Join(n.Union.Core().Path, "config", "ansible_builtin_runtime.yml")
	} else if dir := n.Union.CollectionDir(coll); dir != "" {
		file = filepath.Join(dir, "meta", "runtime.yml")
	}
	if file == "" {
		return nil, nil, false
	}
	v, _, err := n.Files.LoadFile(file)
	if err != nil {
		return nil, nil, false
	}
	d, _ := v.(*value.Dict)
	groups, _ := d.Lookup("action_groups").(*value.Dict)
	list, ok := groups.Lookup(name).(*value.List)
	if !ok {
		return nil, nil, false
	}
	for _, e := range list.Items {
		if s, ok := value.Text(e); ok {
			members = append(members, s)
			continue
		}
		if d, ok := e.(*value.Dict); ok {
			if meta, ok := d.Lookup("metadata").(*value.Dict); ok {
				extends = append(extends, texts2(meta.Lookup("extend_group"))...)
			}
		}
	}
	return members, extends, true
}

// Renderer renders what must be known while plays are loaded.
type Renderer struct {
	ctx    context.Context //nolint:containedctx // lives as long as the run
	store  *vars.Store
	engine *template.Engine
}

var _ playbook.Renderer = (*Renderer)(nil)

// NewRenderer returns a Renderer whose renders end with ctx.
func NewRenderer(ctx context.Context, store *vars.Store, engine *template.Engine) *Renderer {
	return &Renderer{ctx: ctx, store: store, engine: engine}
}

// Render implements playbook.Renderer.
func (r *Renderer) Render(p *playbook.Play, t *playbook.Task, extra *value.Dict, v any) (any, error) {
	var c *vars.Context
	var err error
	search := []string{r.store.Basedir()}
	if p == nil {
		c, err = r.store.Host("", r.store.Basedir())
	} else {
		c, err = r.store.Play(p, "", nil).For(r.ctx, "", t, nil)
		search = []string{p.Dir}
	}
	if err != nil {
		return nil, err
	}
	if t != nil {
		search = searchPath(t, search[0])
	}
	for k, e := range extra.All() {
		c.Set(text(k), e, false)
	}
	out, _, err := r.engine.Scope(r.ctx, c, r.store.ScopeOptions(c, search)).Render(v)
	return out, err
}
