package events

import (
	"strings"

	"volant/wire/value"
)

// Format are the options callbacks share.
type Format struct {
	YAML   bool  // result_format: yaml
	Pretty *bool // pretty_results, nil when not set
	// DumpYAML writes v as the reference's dumper does, indent spaces a level;
	// lossy prefers block text over exactness. Needed for YAML only.
	DumpYAML    func(v any, indent int, lossy bool) string
	DiffContext int // lines, normally 3
	// Sections shows what a task wrote below the result, unquoted, each under a
	// heading of its own, as ansible.posix.debug.
	Sections bool
}

// sections are what is set apart then; those without a heading are left out.
var sections = []struct {
	key   string
	shown bool
}{
	{"stdout", true}, {"stdout_lines", false}, {"stderr", true}, {"stderr_lines", false}, {"msg", true}, {"module_stdout", true}, {"module_stderr", true},
}

// sectioned dumps a result with its sections.
func (f *Format) sectioned(d *Display, shown *value.Dict, indent int) string {
	plain := *f
	plain.Sections = false
	rest := shown.Clone()
	rest.Set("_ansible_verbose_always", true)
	var b strings.Builder
	for _, s := range sections {
		v := rest.Lookup(s.key)
		rest.Delete(s.key)
		if s.shown && value.Truth(v) {
			b.WriteString("\n\n" + strings.ToUpper(s.key) + ":\n\n" + value.Str(v) + "\n")
		}
	}
	return plain.result(d, rest, indent) + b.String()
}

// unset leaves the indentation of a dump to its format.
const unset = -1

// result dumps a shown result, indent spaces a level (0 breaks lines only).
func (f *Format) result(d *Display, shown *value.Dict, indent int) string {
	if f.Sections {
		return f.sectioned(d, shown, indent)
	}
	always := value.Truth(shown.Lookup("_ansible_verbose_always"))
	if indent <= 0 && (always || (f.Pretty == nil && f.YAML) || (f.Pretty != nil && *f.Pretty) || d.Verbosity > 2) {
		indent = 4
	}
	if f.Pretty != nil && !*f.Pretty {
		indent = unset
	}
	out, _ := stripInternal(shown.Clone(), nil).(*value.Dict)
	if d.Verbosity < 3 {
		out.Delete("invocation")
		out.Delete("diff")
	}
	for _, k := range []string{"exception", "warnings", "deprecations"} {
		out.Delete(k)
	}
	if !f.YAML || f.DumpYAML == nil {
		return Dump(out, indent, true)
	}
	lossy := f.Pretty == nil || *f.Pretty
	if lossy {
		for _, k := range []string{"stdout", "stderr"} {
			if out.Has(k) && out.Has(k+"_lines") {
				out.Set(k+"_lines", "<omitted>")
			}
		}
	}
	pad := indent
	if pad <= 0 {
		pad, indent = 4, 0
	}
	return "\n" + indentText(f.DumpYAML(out, indent, lossy), strings.Repeat(" ", pad))
}

// indentText puts prefix before every line that is not blank.
func indentText(s, prefix string) string {
	lines := strings.SplitAfter(s, "\n")
	for i, l := range lines {
		if strings.TrimSpace(l) != "" {
			lines[i] = prefix + l
		}
	}
	return strings.Join(lines, "")
}

// diff is the text of a result's diff value, one or a list.
func (f *Format) diff(d *Display, v any) string {
	items := []any{v}
	if l, ok := v.(*value.List); ok {
		items = l.Items
	}
	var b strings.Builder
	for _, it := range items {
		if e, ok := it.(*value.Dict); ok {
			f.oneDiff(d, &b, e)
		}
	}
	return b.String()
}

func (f *Format) oneDiff(d *Display, b *strings.Builder, e *value.Dict) {
	if e.Has("dst_binary") {
		b.WriteString("diff skipped: destination file appears to be binary\n")
	}
	if e.Has("src_binary") {
		b.WriteString("diff skipped: source file appears to be binary\n")
	}
	if v, ok := e.Get("dst_larger"); ok {
		b.WriteString("diff skipped: destination file size is greater than " + keyText(v) + "\n")
	}
	if v, ok := e.Get("src_larger"); ok {
		b.WriteString("diff skipped: source file size is greater than " + keyText(v) + "\n")
	}
	before, ok1 := e.Get("before")
	after, ok2 := e.Get("after")
	if ok1 && ok2 {
		header := func(side string) string {
			if h, ok := e.Get(side + "_header"); ok {
				return side + ": " + keyText(h)
			}
			return side
		}
		lines := unifiedDiff(f.side(before), f.side(after), header("before"), header("after"), f.DiffContext)
		for _, l := range lines {
			switch l[0] {
			case '+':
				l = d.Paint(l, "diff_add")
			case '-':
				l = d.Paint(l, "diff_remove")
			case '@':
				l = d.Paint(l, "diff_lines")
			}
			b.WriteString(l)
		}
		if len(lines) > 0 {
			b.WriteByte('\n')
		}
	}
	if p, ok := e.Str("prepared"); ok {
		b.WriteString(p)
	}
}

// side is one side of a diff as lines.
func (f *Format) side(v any) []string {
	text := ""
	switch v := v.(type) {
	case nil:
	case *value.Dict:
		if f.YAML && f.DumpYAML != nil {
			text = indentText(f.DumpYAML(v, 4, f.Pretty == nil || *f.Pretty), "    ") + "\n"
		} else {
			text = Dump(v, 4, true) + "\n"
		}
	default:
		text, _ = value.Text(v)
	}
	lines := splitLines(text)
	if n := len(lines); n > 0 && !strings.HasSuffix(lines[n-1], "\n") {
		lines[n-1] += "\n\\ No newline at end of file\n"
	}
	return lines
}
