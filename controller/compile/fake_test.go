package compile

import (
	"regexp"
	"strings"

	"volant/controller/fault"
	"volant/controller/playbook"
	"volant/wire/value"
)

// names is a playbook.Plugins that knows some of ansible-core's names.
type names struct{}

const (
	actionNames = "add_host apt assert assemble async_status blockinfile command copy cron debug dnf fail fetch file find gather_facts get_url " +
		"git group group_by hostname include_vars lineinfile meta mount package pause ping pip raw reboot replace script service set_fact set_stats " +
		"setup shell slurp stat sysctl systemd tempfile template unarchive uri user validate_argument_spec wait_for wait_for_connection yum"
	lookupNames = "config csvfile dict env file fileglob first_found flattened indexed_items ini inventory_hostnames items lines list nested " +
		"password pipe random_choice sequence subelements template together unvault url varnames vars"
)

func (names) Action(name string, collections []string) (string, bool, error) {
	short := strings.TrimPrefix(strings.TrimPrefix(name, "ansible.builtin."), "ansible.legacy.")
	if has(strings.Fields(actionNames), short) {
		return "ansible.builtin." + short, true, nil
	}
	return "", false, nil
}

func (names) AddDir(string) {}

func (names) Lookup(name string) bool { return has(strings.Fields(lookupNames), name) }

func (names) RolePath(string, []string) (role, path, collection string, ok bool) {
	return "", "", "", false
}
func (names) PlaybookPath(string) (path, collection string, ok bool) { return "", "", false }
func (names) CollectionOf(string) string                             { return "" }

func (names) ActionGroup(group string) (actions, extends []string, ok bool) {
	if group == "ansible.builtin.files" {
		return []string{"copy", "file", "template"}, nil, true
	}
	return nil, nil, false
}

// simple is a playbook.Renderer for `{{ name }}` alone or within text.
type simple struct{ extra *value.Dict }

var reference = regexp.MustCompile(`\{\{\s*(\w+)\s*\}\}`)

func (r simple) Render(play *playbook.Play, task *playbook.Task, vars *value.Dict, v any) (any, error) {
	var layers []*value.Dict
	if play != nil {
		layers = append(layers, play.Vars)
	}
	if task != nil {
		layers = append(layers, task.Chain()...)
	}
	layers = append(layers, vars, r.extra)
	return r.render(layers, v)
}

func (r simple) RenderName(*playbook.Play, *playbook.Task, any) error { return nil }

func (r simple) render(layers []*value.Dict, v any) (any, error) {
	switch v := v.(type) {
	case *value.List:
		out := &value.List{}
		for _, item := range v.Items {
			x, err := r.render(layers, item)
			if err != nil {
				return nil, err
			}
			out.Items = append(out.Items, x)
		}
		return out, nil
	case *value.Template:
		var fail error
		look := func(name string) any {
			for i := len(layers) - 1; i >= 0; i-- {
				if x, ok := layers[i].Get(name); ok {
					x, err := r.render(layers, x)
					if err != nil {
						fail = err
					}
					return x
				}
			}
			fail = fault.New(fault.Undefined, v.Pos, "'%s' is undefined", name)
			return nil
		}
		if m := reference.FindStringSubmatch(v.Text); m != nil && m[0] == v.Text {
			x := look(m[1])
			return x, fail
		}
		text := reference.ReplaceAllStringFunc(v.Text, func(s string) string {
			return value.Str(look(reference.FindStringSubmatch(s)[1]))
		})
		return text, fail
	}
	return v, nil
}

// collect is a fault.Sink that writes everything down, each text once.
type collect struct{ text strings.Builder }

func (c *collect) add(s string) {
	if !strings.Contains(c.text.String(), s) {
		c.text.WriteString(s)
	}
}

func (c *collect) Warning(err error) { c.add("[WARNING]: " + fault.Verbose(err)) }

func (c *collect) Deprecated(d fault.Deprecation) {
	e := d.Error
	e.Msg = d.Text()
	c.add("[DEPRECATION WARNING]: " + fault.Verbose(&e))
}

func (c *collect) Verbose(int, string) {}
