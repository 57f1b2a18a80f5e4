package template

import (
	"fmt"
	"strings"

	"volant/wire/pyre"
	"volant/wire/rx"
	"volant/wire/value"
)

var iniLookups = map[string]*Lookup{"ini": {Run: iniLookup, Reads: true}}

var iniOptions = []string{"type", "file", "section", "re", "encoding", "default", "case_sensitive", "allow_no_value", "allow_none", "interpolation"}

func iniLookup(l *LookupCall) ([]any, error) {
	if v, ok := l.Opts.Get("allow_none"); ok && !l.Opts.Has("allow_no_value") {
		l.Opts.Set("allow_no_value", v)
	}
	noValue, err := l.flag("allow_no_value", false)
	if err != nil {
		return nil, err
	}
	interpolate, err := l.flag("interpolation", true)
	if err != nil {
		return nil, err
	}
	cp := &iniFile{noValue: noValue, interpolate: interpolate, keepCase: truth(l.C, l.Opts.Lookup("case_sensitive"))}
	var out []any
	for _, term := range l.Terms {
		key, ok := value.Text(term)
		if !ok {
			return nil, value.TypeErrorf("argument of type '%s' is not iterable", value.TypeName(term))
		}
		if strings.Contains(key, "=") || strings.Contains(strings.TrimSpace(key), " ") {
			if key, err = l.iniTerm(key); err != nil {
				return nil, err
			}
		}
		vals, err := l.iniValues(cp, key)
		if err != nil {
			return nil, err
		}
		out = append(out, vals...)
	}
	return out, nil
}

// iniTerm takes options out of a term such as `port section=db file=app.ini`.
func (l *LookupCall) iniTerm(term string) (string, error) {
	params := map[string]string{}
	var order []string
	this := "key"
	for i, phrase := range strings.Fields(term) {
		if strings.Contains(phrase, "=") {
			for _, k := range iniOptions {
				if strings.Contains(phrase, k+"=") {
					this = k
				}
			}
		}
		if i == 0 || params[this] == "" {
			params[this] = phrase
			order = append(order, this)
		} else {
			params[this] += " " + phrase
		}
	}
	key, found := "", false
	for _, o := range order {
		param := params[o]
		name, v, ok := strings.Cut(param, "=")
		switch {
		case ok && strings.Contains(v, "="):
			return "", failBy(value.ValueErrorf("too many values to unpack (expected 2)"), "Could not use %s from %s.", value.Repr(param), value.Str(value.ListOf()))
		case ok:
			known := false
			for _, k := range iniOptions {
				known = known || k == name
			}
			if !known {
				return "", failf("%s is not a valid option.", value.Repr(name))
			}
			l.Opts.Set(name, v)
		case !found:
			key, found = param, true
		}
	}
	if !found {
		return "", value.ValueErrorf("No key to look up was provided as first term within string inline options: %s", term)
	}
	return key, nil
}

func (l *LookupCall) iniValues(cp *iniFile, key string) ([]any, error) {
	file, err := l.text("file", "ansible.ini")
	if err != nil {
		return nil, err
	}
	section, err := l.text("section", "global")
	if err != nil {
		return nil, err
	}
	enc, err := l.text("encoding", "utf-8")
	if err != nil {
		return nil, err
	}
	kind, err := l.text("type", "ini")
	if err != nil {
		return nil, err
	}
	if kind != "ini" && kind != "properties" {
		return nil, l.badChoice("type", kind)
	}
	p, ok, err := l.find("files", file)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, failf("Invalid filename None.")
	}
	text, err := l.Scope.readText(p, enc)
	if err != nil {
		return nil, err
	}
	if kind == "properties" {
		section = "java_properties"
		text = "[java_properties]\n" + text
	}
	if err := cp.read(text); err != nil {
		if _, dup := err.(*duplicateOption); dup { //nolint:errorlint // returned by read itself
			return nil, failBy(err, "Duplicate option in %s.", value.Repr(file))
		}
		return nil, err
	}
	s := cp.section(section)
	if s == nil && section != "DEFAULT" {
		return nil, value.ValueErrorf("No section %s in %s.", value.Repr(section), value.Repr(file))
	}
	isRe, err := l.flag("re", false)
	if err != nil {
		return nil, err
	}
	if isRe {
		re, err := pyre.Compile(key, 0)
		if err != nil {
			return nil, err
		}
		var out []any
		for _, k := range cp.options(section) {
			v, _, err := cp.get(section, k) // every value is interpolated first
			if err != nil {
				return nil, err
			}
			m, err := re.Match(k)
			if err != nil {
				return nil, err
			}
			if m != nil {
				out = append(out, v)
			}
		}
		return out, nil
	}
	v, ok, err := cp.get(section, key)
	if err != nil {
		return nil, err
	}
	if !ok {
		dflt, has := l.Opts.Get("default")
		if !has {
			dflt = ""
		}
		if list, ok := dflt.(*value.List); ok {
			return list.Items, nil
		}
		v = dflt
	}
	if v == nil {
		return nil, nil
	}
	return []any{v}, nil
}

// iniFile is Python's configparser.ConfigParser as far as reading goes.
type iniFile struct {
	noValue, interpolate, keepCase bool
	sections                       []*iniSection
	defaults                       iniSection
}

type iniSection struct {
	name string
	keys []string
	vals map[string]any // string, or nil for a key without a value
}

type duplicateOption struct{ msg string }

func (e *duplicateOption) Error() string { return e.msg }

func (f *iniFile) section(name string) *iniSection {
	if name == "DEFAULT" {
		return &f.defaults
	}
	for _, s := range f.sections {
		if s.name == name {
			return s
		}
	}
	return nil
}

func (f *iniFile) xform(key string) string {
	if f.keepCase {
		return key
	}
	return strings.ToLower(key)
}

var iniKey = rx.Lazy(`^(.*?)\s*(?:([=:])\s*(.*))?$`)
var iniSectionLine = rx.Lazy(`^\[(.+)\]`)

// read adds what text says; the same file may be read again.
func (f *iniFile) read(text string) error {
	var cur *iniSection
	seenSections := map[string]bool{}
	seenKeys := map[string]bool{}
	key := ""
	indent := 0
	var bad []string
	lines := strings.Split(text, "\n")
	for n, line := range lines {
		line = strings.TrimSuffix(line, "\r")
		body := strings.TrimSpace(line)
		if strings.HasPrefix(body, "#") || strings.HasPrefix(body, ";") {
			body = ""
			if strings.TrimSpace(line) != "" {
				continue
			}
		}
		at := len(line) - len(strings.TrimLeft(line, " \t"))
		if body == "" {
			if cur != nil && key != "" {
				if s, ok := cur.vals[key].(string); ok {
					cur.vals[key] = s + "\n"
				}
			}
			continue
		}
		if cur != nil && key != "" && at > indent {
			if s, ok := cur.vals[key].(string); ok {
				cur.vals[key] = s + "\n" + body
			}
			continue
		}
		indent = at
		if m := iniSectionLine.FindStringSubmatch(body); m != nil {
			if seenSections[m[1]] {
				return value.Raise("DuplicateSectionError", "While reading from '<???>' [line %2d]: section %s already exists", n+1, value.Repr(m[1]))
			}
			seenSections[m[1]] = true
			key = ""
			if cur = f.section(m[1]); cur == nil {
				cur = &iniSection{name: m[1]}
				f.sections = append(f.sections, cur)
			}
			continue
		}
		if cur == nil {
			return value.Raise("MissingSectionHeaderError", "File contains no section headers.\nfile: '<???>', line: %d\n%s", n+1, value.Repr(line+"\n"))
		}
		m := iniKey.FindStringSubmatch(body)
		if m == nil || m[1] == "" || m[2] == "" && !f.noValue {
			bad = append(bad, fmt.Sprintf("\t[line %2d]: %s", n+1, value.Repr(line+"\n")))
			continue
		}
		key = f.xform(strings.TrimRight(m[1], " \t"))
		if id := cur.name + "\x00" + key; seenKeys[id] {
			return &duplicateOption{fmt.Sprintf("While reading from '<???>' [line %2d]: option %s in section %s already exists", n+1, value.Repr(key), value.Repr(cur.name))}
		} else {
			seenKeys[id] = true
		}
		if cur.vals == nil {
			cur.vals = map[string]any{}
		}
		if _, ok := cur.vals[key]; !ok {
			cur.keys = append(cur.keys, key)
		}
		if m[2] == "" {
			cur.vals[key] = nil
		} else {
			cur.vals[key] = strings.TrimSpace(m[3])
		}
	}
	if len(bad) > 0 {
		return value.Raise("ParsingError", "Source contains parsing errors: '<???>'\n%s", strings.Join(bad, "\n"))
	}
	for _, s := range append([]*iniSection{&f.defaults}, f.sections...) {
		for k, v := range s.vals {
			if t, ok := v.(string); ok {
				s.vals[k] = strings.TrimRight(t, "\n")
			}
		}
	}
	return nil
}

// options are the keys of a section, those of DEFAULT after its own.
func (f *iniFile) options(section string) []string {
	out := append([]string(nil), f.defaults.keys...)
	s := f.section(section)
	if s == nil || s == &f.defaults {
		return out
	}
	for _, k := range s.keys {
		if _, ok := f.defaults.vals[k]; !ok {
			out = append(out, k)
		}
	}
	return out
}

func (f *iniFile) raw(section, key string) (any, bool) {
	if s := f.section(section); s != nil {
		if v, ok := s.vals[key]; ok {
			return v, true
		}
	}
	v, ok := f.defaults.vals[key]
	return v, ok
}

func (f *iniFile) get(section, key string) (any, bool, error) {
	key = f.xform(key)
	v, ok := f.raw(section, key)
	s, isText := v.(string)
	if !ok || !isText || !f.interpolate {
		return v, ok, nil
	}
	out, err := f.expand(section, key, s, s, 1)
	return out, true, err
}

// maxInterpolation is configparser's own limit.
const maxInterpolation = 10

func (f *iniFile) expand(section, key, s, whole string, depth int) (string, error) {
	if depth > maxInterpolation {
		return "", value.Raise("InterpolationDepthError", "Recursion limit exceeded in value substitution: option %s in section %s contains an interpolation key which cannot be substituted in %d steps. Raw value: %s",
			value.Repr(key), value.Repr(section), maxInterpolation, value.Repr(whole))
	}
	var b strings.Builder
	for s != "" {
		i := strings.IndexByte(s, '%')
		if i < 0 {
			b.WriteString(s)
			break
		}
		b.WriteString(s[:i])
		s = s[i:]
		switch {
		case strings.HasPrefix(s, "%%"):
			b.WriteByte('%')
			s = s[2:]
		case strings.HasPrefix(s, "%("):
			j := strings.Index(s, ")s")
			if j < 0 {
				return "", value.Raise("InterpolationSyntaxError", "bad interpolation variable reference %s", value.Repr(s))
			}
			name := f.xform(s[2:j])
			v, ok := f.raw(section, name)
			if !ok {
				return "", value.Raise("InterpolationMissingOptionError", "Bad value substitution: option %s in section %s contains an interpolation key %s which is not a valid option name. Raw value: %s",
					value.Repr(key), value.Repr(section), value.Repr(name), value.Repr(whole))
			}
			t, _ := v.(string)
			t, err := f.expand(section, key, t, whole, depth+1)
			if err != nil {
				return "", err
			}
			b.WriteString(t)
			s = s[j+2:]
		default:
			return "", value.Raise("InterpolationSyntaxError", "'%%' must be followed by '%%' or '(', found: %s", value.Repr(s))
		}
	}
	return b.String(), nil
}
