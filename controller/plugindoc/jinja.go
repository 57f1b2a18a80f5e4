package plugindoc

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"

	"volant/wire/rx"
	"volant/wire/value"
)

// plainFunctions are what Jinja's tables have of Python itself and of
// markupsafe, with the first sentence of their documentation.
var plainFunctions = map[string]string{
	"abs": "Return the absolute value of the argument.", "len": "Return the number of items in a container.",
	"callable": "Return whether the object is callable.", "operator.eq": "Same as a == b.", "operator.ne": "Same as a .",
	"operator.gt": "Same as a > b.", "operator.ge": "Same as a >= b.", "operator.lt": "Same as a < b.", "operator.le": "Same as a <= b.",
	"escape":   "Replace the characters ``&``, ``<``, ``>``, ``'``, and ``\"`` in the string with HTML-safe sequences.",
	"soft_str": "Convert an object to a string if it isn't already.",
}

var (
	tableRow  = rx.Lazy(`^    "(\w+)": ([\w.]+),`)
	function  = rx.Lazy(`(?m)^def (\w+)\(`)
	docstring = rx.Lazy(`:\n    r?"""`)
	topLevel  = rx.Lazy(`\n[^\s)]`)
	sentence  = rx.Lazy(`\.|!|\s\(|:\s`)
)

// jinjaBuiltins are the filters or tests of the installed Jinja by name, each
// with a sentence about it; nil when there is no Jinja.
func (l *Library) jinjaBuiltins(kind string) map[string]string {
	if kind != "filter" && kind != "test" {
		return nil
	}
	src := ""
	for _, dir := range []string{filepath.Dir(l.Union.Core().Path), "/usr/lib/python3/dist-packages"} {
		if src = readText(filepath.Join(dir, "jinja2", kind+"s.py")); src != "" {
			break
		}
	}
	_, table, found := strings.Cut(src, "\n"+strings.ToUpper(kind)+"S = {\n")
	if !found {
		return nil
	}
	said := map[string]string{}
	for _, m := range function.FindAllStringSubmatchIndex(src, -1) {
		said[src[m[2]:m[3]]] = firstSentence(src[m[1]:])
	}
	out := map[string]string{}
	for _, line := range strings.Split(table, "\n") {
		m := tableRow.FindStringSubmatch(line)
		switch {
		case strings.HasPrefix(line, "}"):
			return out
		case m == nil:
		case plainFunctions[m[2]] != "":
			out[m[1]] = plainFunctions[m[2]]
		default:
			out[m[1]] = cmp.Or(said[m[2]], said["sync_"+m[2]]) // one that is a coroutine, too, takes its words from the other
		}
	}
	return out
}

// firstSentence is the first sentence of the docstring of a function whose
// parameters start here.
func firstSentence(src string) string {
	if end := topLevel.FindStringIndex(src); end != nil {
		src = src[:end[0]]
	}
	m := docstring.FindStringIndex(src)
	if m == nil {
		return ""
	}
	text, _, _ := strings.Cut(src[m[1]:], `"""`)
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	text = strings.TrimSpace(strings.Join(lines, "\n"))
	if at := sentence.FindStringIndex(text); at != nil {
		text = text[:at[0]]
	}
	if text = strings.ReplaceAll(text, "\n", " "); text != "" {
		text += "."
	}
	return text
}

// jinjaDoc is the document of a filter or test of Jinja's that ansible-core
// does not document; nil when there is none.
func (l *Library) jinjaDoc(kind, name string) *Doc {
	short := strings.TrimPrefix(name, "ansible.builtin.")
	text, ok := l.jinjaBuiltins(kind)[short]
	if !ok {
		return nil
	}
	full := "ansible.builtin." + short
	return &Doc{Name: full, Type: kind, Collection: "ansible.builtin", Doc: value.DictOf(
		"short_description", text,
		"description", &value.List{Items: []any{
			text, "", "This is the Jinja builtin " + kind + " plugin '" + short + "'.",
			"See: U(https://jinja.palletsprojects.com/en/stable/templates/#jinja-" + kind + "s." + short + ")",
		}},
	)}
}

var (
	pluginClass = rx.Lazy(`(?m)^class (?:FilterModule|TestModule)\b.*$`)
	pluginName  = rx.Lazy(`(?m)(?:^|[\s{(,])['"](\w+)['"]\s*:\s*[\w(]`)
	method      = rx.Lazy(`^    def (\w+)\(`)
	classEnd    = rx.Lazy(`(?m)^\S`)
)

// contained are the names of the filters or tests that a Python file brings,
// as its class lists them.
func contained(file string) []string {
	src := readText(file)
	at := pluginClass.FindStringIndex(src)
	if at == nil {
		return nil
	}
	body := src[at[1]:]
	if end := classEnd.FindStringIndex(body); end != nil {
		body = body[:end[0]]
	}
	var out []string
	listing := true // in the class itself, or in the method that lists them
	for _, line := range strings.Split(body, "\n") {
		if m := method.FindStringSubmatch(line); m != nil {
			listing = m[1] == "filters" || m[1] == "tests"
		}
		code, _, _ := strings.Cut(line, " #")
		if !listing {
			continue
		}
		if strings.HasPrefix(strings.TrimSpace(code), "#") {
			continue
		}
		for _, m := range pluginName.FindAllStringSubmatch(code, -1) {
			if m[1] != "" {
				out = append(out, m[1])
			}
		}
	}
	return out
}

func isLink(path string) bool {
	st, err := os.Lstat(path)
	return err == nil && st.Mode()&os.ModeSymlink != 0
}
