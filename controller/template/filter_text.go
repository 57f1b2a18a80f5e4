package template

import (
	"encoding/base64"
	"fmt"
	"strings"

	"volant/controller/fault"
	"volant/controller/jinja"
	"volant/wire/pyre"
	"volant/wire/shlex"
	"volant/wire/value"
)

var textFilters = map[string]*jinja.Plugin{
	"b64decode":     def("b64decode(string, encoding='utf-8', urlsafe=False)", b64decode),
	"b64encode":     def("b64encode(string, encoding='utf-8', urlsafe=False)", b64encode),
	"comment":       def("comment(text, style='plain', **kw)", comment),
	"quote":         markup(def("quote(a)", quote)),
	"regex_escape":  def("regex_escape(string, re_type='python')", regexEscape),
	"regex_findall": def("regex_findall(value, regex, multiline=False, ignorecase=False)", regexFindall),
	"regex_replace": def("regex_replace(value='', pattern='', replacement='', ignorecase=False, multiline=False, count=0, mandatory_count=0)", regexReplace),
	"regex_search":  def("regex_search(value, regex, *args, **kwargs)", regexSearch),
	"split":         raw(split),
}

func split(c *jinja.Context, a jinja.Args) (any, error) {
	if _, ok := value.Text(a.Pos[0]); !ok {
		return nil, value.TypeErrorf("descriptor 'split' for 'str' objects doesn't apply to a '%s' object", value.TypeName(a.Pos[0]))
	}
	fn, err := c.GetAttr(a.Pos[0], "split")
	if err != nil {
		return nil, err
	}
	return raised(c.Call(fn, jinja.Args{Pos: a.Pos[1:], Kw: a.Kw}))
}

func quote(c *jinja.Context, a []any) (any, error) {
	if a[0] == nil {
		return "''", nil
	}
	s, err := text(c, a[0])
	if err != nil {
		return nil, err
	}
	if m, ok := a[0].(value.Markup); ok && m != "" {
		if shlex.Quote(s) == s {
			return m, nil
		}
		inner := strings.ReplaceAll(s, "'", value.Escape(`'"'"'`))
		return value.ToMarkup("'") + value.Markup(inner) + value.ToMarkup("'"), nil
	}
	return shlex.Quote(s), nil
}

// flags are the flags of the options every regex plugin has.
func flags(c *jinja.Context, ignorecase, multiline any) pyre.Flags {
	var f pyre.Flags
	if truth(c, ignorecase) {
		f |= pyre.IgnoreCase
	}
	if truth(c, multiline) {
		f |= pyre.MultiLine
	}
	return f
}

// pattern compiles a regex argument.
func pattern(v any, f pyre.Flags) (*pyre.Regexp, error) {
	s, ok := value.Text(v)
	if !ok {
		if _, bytes := v.([]byte); !bytes && !value.Hashable(v) {
			return nil, value.TypeErrorf("unhashable type: '%s'", lazyName(v))
		}
		return nil, value.TypeErrorf("first argument must be string or compiled pattern")
	}
	return pyre.Compile(s, f)
}

func regexReplace(c *jinja.Context, a []any) (any, error) {
	in, err := text(c, a[0])
	if err != nil {
		return nil, err
	}
	re, err := pattern(a[1], flags(c, a[3], a[4]))
	if err != nil {
		return nil, err
	}
	repl, ok := value.Text(a[2])
	if !ok {
		return nil, value.TypeErrorf("decoding to str: need a bytes-like object, %s found", value.TypeName(a[2]))
	}
	count, err := toInt(a[5])
	if err != nil {
		return nil, err
	}
	out, n, err := re.Subn(repl, in, int(max(count, 0)))
	if err != nil {
		return nil, err
	}
	if truth(c, a[6]) && !value.Equal(a[6], int64(n)) {
		return nil, failf("'%s' should match %s times, but matches %d times in '%s'", value.Str(a[1]), value.Str(a[6]), count, in)
	}
	return out, nil
}

func regexFindall(c *jinja.Context, a []any) (any, error) {
	in, err := text(c, a[0])
	if err != nil {
		return nil, err
	}
	re, err := pattern(a[1], flags(c, a[3], a[2]))
	if err != nil {
		return nil, err
	}
	ms, err := re.All(in, 0)
	if err != nil {
		return nil, err
	}
	out := &value.List{Items: make([]any, len(ms))}
	for i, m := range ms {
		out.Items[i] = found(re, m)
	}
	return out, nil
}

// found is what findall gives for one match: the group, or the groups.
func found(re *pyre.Regexp, m *pyre.Match) any {
	switch re.Groups {
	case 0, 1:
		s, _ := m.Group(re.Groups)
		return s
	}
	t := make(value.Tuple, re.Groups)
	for g := range t {
		s, _ := m.Group(g + 1)
		t[g] = s
	}
	return t
}

var groupArg, _ = pyre.Compile(`\\g<(\S+)>`, 0)
var numberArg, _ = pyre.Compile(`\\(\d+)`, 0)

func regexSearch(c *jinja.Context, a []any) (any, error) {
	in, err := text(c, a[0])
	if err != nil {
		return nil, err
	}
	noGroup := value.Raise("AttributeError", "'NoneType' object has no attribute 'group'")
	var groups []any
	for _, arg := range a[2].(value.Tuple) {
		s, ok := value.Text(arg)
		if !ok {
			return nil, value.Raise("AttributeError", "'%s' object has no attribute 'startswith'", lazyName(arg))
		}
		re := numberArg
		switch {
		case strings.HasPrefix(s, `\g`):
			re = groupArg
		case !strings.HasPrefix(s, `\`):
			return nil, failf("Unknown argument")
		}
		m, _ := re.Match(s)
		if m == nil {
			return nil, noGroup
		}
		g, _ := m.Group(1)
		if re == groupArg {
			groups = append(groups, g)
			continue
		}
		n, err := toInt(g)
		if err != nil {
			return nil, err
		}
		groups = append(groups, n)
	}
	kw := a[3].(*value.Dict)
	re, err := pattern(a[1], flags(c, kw.Lookup("ignorecase"), kw.Lookup("multiline")))
	if err != nil {
		return nil, err
	}
	m, err := re.Search(in)
	if err != nil || m == nil {
		return nil, err
	}
	if len(groups) == 0 {
		s, _ := m.Group(0)
		return s, nil
	}
	out := value.ListOf()
	for _, g := range groups {
		n := -1
		switch g := g.(type) {
		case int64:
			if g <= int64(re.Groups) {
				n = int(g)
			}
		case string:
			if i, ok := re.GroupIndex(g); ok {
				n = i
			}
		}
		if n < 0 {
			return nil, value.Raise("IndexError", "no such group")
		}
		if s, ok := m.Group(n); ok {
			out.Items = append(out.Items, s)
		} else {
			out.Items = append(out.Items, nil)
		}
	}
	return out, nil
}

func regexEscape(c *jinja.Context, a []any) (any, error) {
	in, err := text(c, a[0])
	if err != nil {
		return nil, err
	}
	switch kind, _ := value.Text(a[1]); kind {
	case "python":
		return pyre.Escape(in), nil
	case "posix_basic":
		re, err := pyre.Compile(`([].[^$*\\])`, 0)
		if err != nil {
			return nil, err
		}
		out, _, err := re.Subn(`\\\1`, in, 0)
		return out, err
	case "posix_extended":
		return nil, failf("Regex type (%s) not yet implemented", kind)
	default:
		return nil, failf("Invalid regex type (%s)", value.Str(a[1]))
	}
}

func b64encode(c *jinja.Context, a []any) (any, error) {
	in, err := text(c, a[0])
	if err != nil {
		return nil, err
	}
	enc, _ := value.Text(a[1])
	data, err := encode(in, enc)
	if err != nil {
		return nil, err
	}
	if truth(c, a[2]) {
		return base64.URLEncoding.EncodeToString(data), nil
	}
	return base64.StdEncoding.EncodeToString(data), nil
}

func b64decode(c *jinja.Context, a []any) (any, error) {
	in, err := text(c, a[0])
	if err != nil {
		return nil, err
	}
	if truth(c, a[2]) {
		in = strings.NewReplacer("-", "+", "_", "/").Replace(in)
	}
	data, err := pythonB64(in)
	if err != nil {
		return nil, err
	}
	enc, _ := value.Text(a[1])
	return decode(data, enc)
}

// pythonB64 decodes as binascii.a2b_base64 does: characters outside the
// alphabet are skipped, data after complete padding is ignored.
func pythonB64(s string) ([]byte, error) {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	var out []byte
	var acc uint32
	quad, pads, chars := 0, 0, 0
	for i := 0; i < len(s); i++ {
		if s[i] == '=' {
			if quad >= 2 {
				if pads++; quad+pads >= 4 {
					return out, nil
				}
			}
			continue
		}
		v := strings.IndexByte(alphabet, s[i])
		if v < 0 {
			continue
		}
		pads = 0
		chars++
		switch quad {
		case 0:
			acc = uint32(v)
		case 1:
			out = append(out, byte(acc<<2|uint32(v)>>4))
			acc = uint32(v) & 0xf
		case 2:
			out = append(out, byte(acc<<4|uint32(v)>>2))
			acc = uint32(v) & 0x3
		case 3:
			out = append(out, byte(acc<<6|uint32(v)))
		}
		quad = (quad + 1) % 4
	}
	switch quad {
	case 0:
		return out, nil
	case 1:
		return nil, value.ValueErrorf("Invalid base64-encoded string: number of data characters (%d) cannot be 1 more than a multiple of 4", chars)
	}
	return nil, value.ValueErrorf("Incorrect padding")
}

// commentStyles are the reference's; order is that of its error text.
var commentStyles = []struct{ name, beginning, decoration, end string }{
	{"plain", "", "# ", ""},
	{"erlang", "", "% ", ""},
	{"c", "", "// ", ""},
	{"cblock", "/*", " * ", " */"},
	{"xml", "<!--", " - ", "-->"},
}

func comment(c *jinja.Context, a []any) (any, error) {
	p := map[string]string{"newline": "\n"}
	counts := map[string]int64{"prefix_count": 1, "postfix_count": 1}
	style, _ := value.Text(a[1])
	known := false
	names := make([]string, len(commentStyles))
	for i, s := range commentStyles {
		names[i] = s.name
		if s.name == style {
			p["beginning"], p["decoration"], p["end"], known = s.beginning, s.decoration, s.end, true
		}
	}
	if !known {
		return nil, &fault.Error{Msg: fmt.Sprintf("Invalid style %s.", value.Repr(a[1])), Help: "Available styles: " + strings.Join(names, ", ")}
	}
	in, ok := value.Text(a[0])
	if !ok {
		return nil, value.Raise("AttributeError", "'%s' object has no attribute 'replace'", lazyName(a[0]))
	}
	kw := a[2].(*value.Dict)
	if d, ok := kw.Str("decoration"); ok {
		p["decoration"] = d
	}
	p["prefix"] = strings.TrimRight(p["decoration"], " \t\n\r\v\f")
	p["postfix"] = p["prefix"]
	for k, v := range kw.All() {
		name, _ := value.Text(k)
		if _, isCount := counts[name]; isCount {
			n, err := toInt(v)
			if err != nil {
				return nil, err
			}
			counts[name] = min(n, 10000)
			continue
		}
		s, err := text(c, v)
		if err != nil {
			return nil, err
		}
		p[name] = s
	}
	nl, deco := p["newline"], p["decoration"]
	begin, end := "", ""
	if p["beginning"] != "" {
		begin = p["beginning"] + nl
	}
	if p["end"] != "" {
		end = nl + p["end"]
	}
	prefix := ""
	if p["prefix"] != "" {
		unit := p["prefix"] + nl
		if p["prefix"] == nl {
			unit = nl
		}
		prefix = strings.Repeat(unit, int(max(counts["prefix_count"], 0)))
	}
	body := deco + strings.ReplaceAll(in, nl, nl+deco)
	if deco+nl != "" {
		body = strings.ReplaceAll(body, deco+nl, strings.TrimRight(deco, " \t\n\r\v\f")+nl)
	}
	postfix := strings.Repeat(nl+p["postfix"], int(max(counts["postfix_count"], 0)))
	return begin + prefix + body + postfix + end, nil
}
