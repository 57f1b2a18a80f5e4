package playbook

import (
	"strings"

	"volant/wire/value"
)

// plain strips the prefixes under which the actions of ansible-core may be
// written.
func plain(name string) string {
	for _, prefix := range []string{"ansible.builtin.", "ansible.legacy."} {
		if rest, ok := strings.CutPrefix(name, prefix); ok {
			return rest
		}
	}
	return name
}

// Is reports whether the action name is one of ansible-core's actions names,
// written plainly or with ansible.builtin or ansible.legacy in front.
func Is(name string, names ...string) bool {
	p := plain(name)
	for _, n := range names {
		if p == n {
			return true
		}
	}
	return false
}

// FreeForm reports whether the action takes free-form text with few options.
func FreeForm(name string) bool {
	switch name {
	case "ansible.windows.win_command", "ansible.windows.win_shell":
		return true
	}
	return Is(name, "command", "raw", "script", "shell", "win_command", "win_shell")
}

// RawParams reports whether the action takes a free-form argument at all.
func RawParams(name string) bool {
	return FreeForm(name) || Is(name, "include_vars", "include_tasks", "include_role", "import_tasks",
		"import_role", "add_host", "group_by", "set_fact", "meta")
}

// builtinTask reports whether the name is a statement rather than a plugin.
func builtinTask(name string) bool {
	return Is(name, "meta", "include_tasks", "include_role", "import_tasks", "import_role")
}

// importPlaybookKeys are the keys that make a playbook entry an import.
var importPlaybookKeys = []string{"ansible.builtin.import_playbook", "ansible.legacy.import_playbook", "import_playbook"}

// includeOf says what kind of include an action is.
func includeOf(action string) Include {
	switch plain(action) {
	case "include_tasks":
		return IncludeTasks
	case "import_tasks":
		return ImportTasks
	case "include_role":
		return IncludeRole
	case "import_role":
		return ImportRole
	}
	return NotInclude
}

// wholeTemplate reports whether the text starts and ends with template
// delimiters, so that it may be one template altogether.
func wholeTemplate(v any) bool {
	t, ok := v.(*value.Template)
	if !ok {
		return false
	}
	s := t.Text
	return strings.HasPrefix(s, "#jinja2:") ||
		(starts(s, "{{", "{%", "{#") && (strings.HasSuffix(s, "}}") || strings.HasSuffix(s, "%}") || strings.HasSuffix(s, "#}")))
}

// MaybeTemplate reports whether v is text that contains a template.
func MaybeTemplate(v any) bool {
	t, ok := v.(*value.Template)
	return ok && (strings.HasPrefix(t.Text, "#jinja2:") ||
		strings.Contains(t.Text, "{{") || strings.Contains(t.Text, "{%") || strings.Contains(t.Text, "{#"))
}

func starts(s string, prefixes ...string) bool {
	for _, p := range prefixes {
		if strings.HasPrefix(s, p) {
			return true
		}
	}
	return false
}
