package python

import (
	"errors"
	"regexp"
	"strings"

	"volant/wire/pyjson"
	"volant/wire/value"
)

// Parse turns what a module's process left behind into its result, as the
// reference does: lines before the first that starts with { and after the last
// that ends with } are dropped. Warnings become a list of texts, deprecations a
// list of plain dicts; `exception` stays a dict whose "event" has msg, and
// maybe help_text, formatted_traceback and chain (with the next "event").
// interpreter is how the module was started, for the text that names it.
// `_ansible_parsed` says whether the module's own result was read.
func Parse(out Output, interpreter string) *value.Dict {
	text, junk, err := filterJSON(string(out.Stdout))
	if err == nil {
		var v any
		if v, err = pyjson.DecodeString(text); err == nil {
			d, ok := v.(*value.Dict)
			if ok {
				return finishParsed(d, junk)
			}
			err = errors.New("Module result is not a mapping.") //nolint:staticcheck // shown to users as written
		}
	}
	return unparsed(out, interpreter, err)
}

func finishParsed(d *value.Dict, junk string) *value.Dict {
	for _, k := range d.Keys() {
		d.Set(k, Plain(d.Lookup(k)))
	}
	if w, ok := d.Get("warnings"); ok {
		d.Set("warnings", warningTexts(w))
	}
	if junk != "" {
		AddWarning(d, junk)
	}
	if dep, ok := d.Lookup("deprecations").(*value.List); ok {
		for i, e := range dep.Items {
			dep.Items[i] = plainDeprecation(e)
		}
	}
	d.Set("_ansible_parsed", true)
	return d
}

// AddWarning appends a warning to a result.
func AddWarning(d *value.Dict, text string) {
	l, ok := d.Lookup("warnings").(*value.List)
	if !ok {
		l = value.ListOf()
		d.Set("warnings", l)
	}
	l.Items = append(l.Items, text)
}

// maxPlainDepth bounds Plain; deeper values are left as they are.
const maxPlainDepth = 64

// Plain removes the type marks that ansible-core's serialisation leaves in
// dicts.
func Plain(v any) any { return plainAt(v, 0) }

func plainAt(v any, depth int) any {
	if depth > maxPlainDepth {
		return v
	}
	switch v := v.(type) {
	case *value.Dict:
		if kind, ok := v.Lookup("__ansible_type").(string); ok {
			v.Delete("__ansible_type")
			if kind == "_AnsibleTaggedStr" || kind == "_AnsibleTaggedInt" || kind == "_AnsibleTaggedFloat" {
				if inner, ok := v.Get("value"); ok {
					return inner
				}
			}
		}
		for i := range v.Len() {
			_, e := v.At(i)
			switch e.(type) {
			case *value.Dict, *value.List:
				v.SetAt(i, plainAt(e, depth+1))
			}
		}
	case *value.List:
		for i, e := range v.Items {
			switch e.(type) {
			case *value.Dict, *value.List:
				v.Items[i] = plainAt(e, depth+1)
			}
		}
	}
	return v
}

// warningTexts is the warnings of a result as a list of texts.
func warningTexts(v any) any {
	l, ok := v.(*value.List)
	if !ok {
		if s, ok := v.(string); ok {
			return value.ListOf(s)
		}
		return v
	}
	for i, e := range l.Items {
		if d, ok := e.(*value.Dict); ok {
			text, help := eventText(d)
			if help != "" {
				text += " " + help
			}
			if text != "" {
				l.Items[i] = text
			}
		}
	}
	return l
}

// eventText joins the messages of a summary's event and its causes; help is
// what it says to do.
func eventText(summary *value.Dict) (msg, help string) {
	ev, _ := summary.Lookup("event").(*value.Dict)
	var parts []string
	for depth := 0; ev != nil && depth < 10; depth++ {
		msg, _ := ev.Lookup("msg").(string)
		parts = append(parts, msg)
		if h, ok := ev.Lookup("help_text").(string); ok && help == "" {
			help = h
		}
		chain, _ := ev.Lookup("chain").(*value.Dict)
		if chain == nil || !chain.Bool("follow") {
			break
		}
		ev, _ = chain.Lookup("event").(*value.Dict)
	}
	if len(parts) == 0 {
		return "", ""
	}
	msg = parts[len(parts)-1]
	for i := len(parts) - 2; i >= 0; i-- {
		if strings.HasSuffix(parts[i], msg) {
			msg = parts[i]
		} else {
			msg = strings.TrimRight(parts[i], ". ") + ": " + msg
		}
	}
	return msg, help
}

// plainDeprecation is a deprecation as a registered result shows it, and what
// it says to do.
func plainDeprecation(v any) any {
	d, ok := v.(*value.Dict)
	if !ok {
		return v
	}
	if !d.Has("event") {
		return d
	}
	out := value.NewDict(4)
	msg, help := eventText(d)
	out.Set("msg", msg)
	if help != "" {
		out.Set("help_text", help)
	}
	if dep, ok := d.Lookup("deprecator").(*value.Dict); ok {
		if kind, ok := dep.Lookup("type").(*value.Dict); ok { // a PluginType
			dep.Set("type", kind.Lookup("value"))
		}
		out.Set("deprecator", dep)
		if name, ok := dep.Lookup("resolved_name").(string); ok {
			parts := strings.Split(name, ".")
			if len(parts) >= 2 {
				out.Set("collection_name", parts[0]+"."+parts[1])
			}
		}
	}
	for _, k := range []string{"version", "date"} {
		if e, ok := d.Get(k); ok && e != nil {
			out.Set(k, e)
		}
	}
	return out
}

// filterJSON returns the part of a module's output that is its result, and the
// warning about what came behind it.
func filterJSON(s string) (text, junk string, err error) {
	lines := SplitLines(s)
	start := 0
	for start < len(lines) && !strings.HasPrefix(strings.TrimSpace(lines[start]), "{") {
		start++
	}
	if start == len(lines) {
		return "", "", errors.New("No start of json char found") //nolint:staticcheck // the reference's text
	}
	lines = lines[start:]
	end := len(lines)
	for end > 0 && !strings.HasSuffix(strings.TrimSpace(lines[end-1]), "}") {
		end--
	}
	if end == 0 {
		return "", "", errors.New("No end of json char found") //nolint:staticcheck // the reference's text
	}
	for _, l := range lines[end:] {
		if strings.TrimSpace(l) != "" {
			junk = "Module invocation had junk after the JSON data: " + strings.Join(lines[end:], "\n")
			break
		}
	}
	return strings.Join(lines[:end], "\n"), junk, nil
}

// SplitLines is Python's str.splitlines.
func SplitLines(s string) []string {
	var lines []string
	start := 0
	for i := 0; i < len(s); {
		end := i
		switch c := s[i]; {
		case c == '\r' && i+1 < len(s) && s[i+1] == '\n':
			i += 2
		case c >= '\n' && c <= '\r' || c >= 0x1c && c <= 0x1e:
			i++
		case c == 0xc2 && i+1 < len(s) && s[i+1] == 0x85: // U+0085
			i += 2
		case c == 0xe2 && i+2 < len(s) && s[i+1] == 0x80 && (s[i+2] == 0xa8 || s[i+2] == 0xa9): // U+2028, U+2029
			i += 3
		default:
			i++
			continue
		}
		lines = append(lines, s[start:end])
		start = i
	}
	if start < len(s) {
		lines = append(lines, s[start:])
	}
	return lines
}

func event1(msg, help string) *value.Dict {
	d := value.DictOf("msg", msg)
	if help != "" {
		d.Set("help_text", help)
	}
	return d
}

// Exception makes the `exception` of a failed result from messages, outermost
// first: a message and the exceptions that led to it.
func Exception(help string, msgs ...string) *value.Dict {
	return exception("The above exception was the direct cause of the following error:", help, msgs)
}

// Raised makes the `exception` of a module that ended with one, outermost first.
func Raised(msgs ...string) *value.Dict {
	return exception("The above exception was the direct cause of the following exception:", "", msgs)
}

func exception(reason, help string, msgs []string) *value.Dict {
	var ev *value.Dict
	for i := len(msgs) - 1; i >= 0; i-- {
		h := ""
		if i == 0 {
			h = help
		}
		outer := event1(msgs[i], h)
		if ev != nil {
			outer.Set("chain", value.DictOf("msg_reason", "<<< caused by >>>",
				"traceback_reason", reason, "event", ev, "follow", true))
		}
		ev = outer
	}
	return value.DictOf("event", ev)
}

// unparsed is the failed result for output that holds none.
func unparsed(out Output, interpreter string, cause error) *value.Dict {
	msg, help := "Module result deserialization failed.", ""
	brief := "Module result deserialization failed: " + cause.Error()
	msgs := []string{msg, cause.Error()}
	stdout, stderr := string(out.Stdout), string(out.Stderr)
	if interpreter != "" {
		missing := regexp.MustCompile(regexp.QuoteMeta(interpreter) + `: (?:No such file or directory|not found|command not found)`)
		if missing.MatchString(stderr) || missing.MatchString(stdout) {
			msg = "The module interpreter " + pyQuote(interpreter) + " was not found."
			help = "Consider overriding the configured interpreter path for this host. "
			brief, msgs = msg, []string{msg}
		}
	}
	return value.DictOf("failed", true, "msg", brief,
		"exception", Exception(help+"See stdout/stderr for the returned output.", msgs...),
		"_ansible_parsed", false, "module_stdout", stdout, "module_stderr", stderr, "rc", int64(out.RC))
}
