package union

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Action returns the full name of the action plugin in Python that a
// collection has for a name, by way of the routing of collections and of
// ansible-core. Where no collection has one the error wraps ErrNotFound.
func (u *Union) Action(name string, scope Scope) (string, error) {
	seen := []string{name}
	collections := scope.Collections
	for {
		full, redirect, err := u.actionStep(name, collections)
		if err != nil || redirect == "" {
			return full, err
		}
		if slices.Contains(seen, redirect) || len(seen) > maxRedirects {
			return "", fmt.Errorf("plugin redirect loop resolving %s (path: ['%s'])", seen[0], strings.Join(seen, "', '"))
		}
		seen = append(seen, redirect)
		name = redirect
	}
}

// actionStep looks an action's name up once: a file, or the name to go on with.
func (u *Union) actionStep(name string, collections []string) (full, redirect string, err error) {
	candidates := []string{name}
	if strings.Count(name, ".") < 2 {
		candidates = candidates[:0]
		for _, c := range append(slices.Clone(collections), "ansible.builtin") {
			candidates = append(candidates, c+"."+name)
		}
	}
	for _, c := range candidates {
		if short, ok := strings.CutPrefix(c, "ansible.legacy."); ok {
			c = "ansible.builtin." + short
		}
		full, redirect, err = u.qualifiedAction(c)
		if err == nil || !errors.Is(err, ErrNotFound) {
			return full, redirect, err
		}
	}
	return "", "", fmt.Errorf("%w: %s", ErrNotFound, name)
}

// qualifiedAction looks up NAMESPACE.COLLECTION.[SUBDIRS.]NAME. The actions of
// ansible-core are not looked for: they are our own.
func (u *Union) qualifiedAction(name string) (full, redirect string, err error) {
	parts := strings.Split(name, ".")
	if len(parts) < 3 || slices.ContainsFunc(parts, func(p string) bool { return !identifier(p) }) {
		return "", "", fmt.Errorf("%w: %s", ErrNotFound, name)
	}
	collection, rest := parts[0]+"."+parts[1], parts[2:]
	modules, runtime := u.collection(collection)
	if modules == "" {
		return "", "", fmt.Errorf("%w: %s", ErrNotFound, name)
	}
	r, err := u.cache.routing(runtime)
	if err != nil {
		return "", "", err
	}
	if to := r.Actions[strings.Join(rest, ".")]; to != nil {
		if t := to.Tombstone; t != nil {
			return "", "", &RemovedError{Msg: t.removed(name, "action plugin", collection), Version: t.Version, Date: t.Date, Collection: collection}
		}
		if to.Redirect != "" {
			return "", to.Redirect, nil
		}
	}
	if collection != "ansible.builtin" {
		file := filepath.Join(filepath.Dir(modules), "action", filepath.Join(rest...)+".py")
		if st, err := os.Stat(file); err == nil && st.Mode().IsRegular() {
			return name, "", nil
		}
	}
	return "", "", fmt.Errorf("%w: %s", ErrNotFound, name)
}

// Handler returns the full name of the action plugin that the routing of a
// module's collection names for it (action_plugin), or "". name is the module's
// canonical one.
func (u *Union) Handler(name string) string {
	parts := strings.SplitN(name, ".", 3)
	if len(parts) < 3 {
		return ""
	}
	_, runtime := u.collection(parts[0] + "." + parts[1])
	if runtime == "" {
		return ""
	}
	r, err := u.cache.routing(runtime)
	if err != nil || r.Modules[parts[2]] == nil || r.Modules[parts[2]].Action == "" {
		return ""
	}
	full, err := u.Action(r.Modules[parts[2]].Action, Scope{})
	if err != nil {
		return ""
	}
	return full
}
