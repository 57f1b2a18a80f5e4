package plugindoc

import (
	"strings"

	"volant/wire/rx"
)

// Look is how text is set off: NoColor leaves out everything a terminal would
// act on, Paint colours text by the name of a setting such as "COLOR_DOC_LINK".
type Look struct {
	NoColor bool
	Paint   func(text, setting string) string
	Columns int // of the display
	Verbose bool
	Site    string // DOCSITE_ROOT_URL
	Version string // ansible-core's
}

var (
	italicMark = rx.Lazy(`\bI\(([^)]+)\)`)
	boldMark   = rx.Lazy(`\bB\(([^)]+)\)`)
	moduleMark = rx.Lazy(`\bM\(([^)]+)\)`)
	pluginMark = rx.Lazy(`\bP\(([^#)]+)#([a-z]+)\)`)
	linkMark   = rx.Lazy(`\bL\(([^)]+), *([^)]+)\)`)
	urlMark    = rx.Lazy(`\bU\(([^)]+)\)`)
	refMark    = rx.Lazy(`\bR\(([^)]+), *([^)]+)\)`)
	constMark  = rx.Lazy(`\bC\(([^)]+)\)`)
	optionMark = rx.Lazy(`\bO\(((?:[^\\)]+|\\.)+)\)`)
	valueMark  = rx.Lazy(`\bV\(((?:[^\\)]+|\\.)+)\)`)
	envMark    = rx.Lazy(`\bE\(((?:[^\\)]+|\\.)+)\)`)
	returnMark = rx.Lazy(`\bRV\(((?:[^\\)]+|\\.)+)\)`)
	rulerMark  = rx.Lazy(`\bHORIZONTALLINE\b`)
	escaped    = rx.Lazy(`\\(.)`)
	qualified  = rx.Lazy(`^([^.]+\.[^.]+\.[^#]+)#([a-z]+):(.*)$`)
	rstNote    = rx.Lazy(`.. note::`)
	rstSeeAlso = rx.Lazy(`.. seealso::`)
	rstRoles   = rx.Lazy(":\\w+?:`")
	rstOthers  = rx.Lazy(`.. \w+?::`)
)

func (l *Look) bold(s string) string {
	if l.NoColor {
		return s
	}
	return "\x1b[1m" + s + "\x1b[0m"
}

func (l *Look) underline(s string) string {
	if l.NoColor {
		return "`" + s + "`"
	}
	return "\x1b[4m" + s + "\x1b[0m"
}

func (l *Look) paint(s, setting string) string {
	if l.NoColor || l.Paint == nil {
		return s
	}
	return l.Paint(s, setting)
}

// markup turns the marks of documentation into what a terminal shows.
func (l *Look) markup(t string) string {
	sub := func(re *rx.Pattern, f func(m []string) string) {
		t = re.ReplaceAllStringFunc(t, func(s string) string { return f(re.FindStringSubmatch(s)) })
	}
	sub(italicMark, func(m []string) string { return l.underline(m[1]) })
	sub(boldMark, func(m []string) string {
		if l.NoColor {
			return "*" + m[1] + "*"
		}
		return l.bold(m[1])
	})
	reference := func(s, setting string) string {
		if l.NoColor {
			return "[" + s + "]"
		}
		return l.paint(s, setting)
	}
	sub(moduleMark, func(m []string) string { return reference(m[1], "COLOR_DOC_MODULE") })
	sub(urlMark, func(m []string) string { return m[1] })
	sub(linkMark, func(m []string) string { return m[1] + " <" + m[2] + ">" })
	sub(pluginMark, func(m []string) string { return reference("["+m[1]+"]", "COLOR_DOC_PLUGIN") })
	sub(refMark, func(m []string) string { return l.paint(m[1], "COLOR_DOC_REFERENCE") })
	sub(constMark, func(m []string) string { return l.paint("`"+m[1]+"'", "COLOR_DOC_CONSTANT") })
	sub(optionMark, func(m []string) string { return named(m[1]) })
	sub(valueMark, func(m []string) string { return "`" + escaped.ReplaceAllString(m[1], "$1") + "'" })
	sub(envMark, func(m []string) string { return "`" + escaped.ReplaceAllString(m[1], "$1") + "'" })
	sub(returnMark, func(m []string) string { return named(m[1]) })
	t = rulerMark.ReplaceAllString(t, "\n-------------\n")
	t = rstSeeAlso.ReplaceAllString(t, "See also:")
	t = rstNote.ReplaceAllLiteralString(t, l.bold("Note:"))
	t = rstRoles.ReplaceAllString(t, "`")
	return rstOthers.ReplaceAllString(t, "")
}

// named is an option or return value, with the plugin it is of.
func named(text string) string {
	text = escaped.ReplaceAllString(text, "$1")
	text, val, hasValue := strings.Cut(text, "=")
	of, kind := "", ""
	if m := qualified.FindStringSubmatch(text); m != nil {
		of, kind, text = m[1], m[2], m[3]
	} else {
		text = strings.TrimPrefix(text, "ignore:")
	}
	entry, rest, hasEntry := strings.Cut(text, ":")
	if hasEntry {
		text = rest
	}
	if hasValue {
		text += "=" + val
	}
	if of == "" {
		return "`" + text + "'"
	}
	suffix := " plugin"
	if kind == "role" || kind == "module" || kind == "playbook" {
		suffix = ""
	}
	plugin := kind + suffix + " " + of
	if kind == "role" && hasEntry {
		plugin += ", " + entry + " entrypoint"
	}
	return "`" + text + "' (of " + plugin + ")"
}

// link is the address of a page of ansible-core's documentation.
func (l *Look) link(path string) string {
	version := strings.SplitN(l.Version, ".", 3)
	if len(version) < 2 {
		return path
	}
	return strings.TrimSuffix(l.Site, "/") + "/" + version[0] + "." + version[1] + "/" + strings.TrimPrefix(path, "/")
}
