package template

import (
	"encoding/csv"
	"errors"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"volant/controller/jinja"
	"volant/wire/value"
)

var fileLookups = map[string]*Lookup{
	"file":    {Run: fileLookup, Reads: true},
	"unvault": {Run: unvaultLookup, Reads: true},
	"template": {Run: templateLookup, Reads: true, Options: map[string]string{
		"template_vars": "dict", "variable_start_string": "str", "variable_end_string": "str", "comment_start_string": "str", "comment_end_string": "str",
	}},
	"fileglob":    {Run: fileglobLookup, Reads: true},
	"first_found": {Run: firstFound, Markers: true, Lazy: true, Reads: true, Options: map[string]string{"files": "list", "paths": "list"}},
	"csvfile":     {Run: csvLookup, Reads: true, Options: map[string]string{"col": "int", "keycol": "int"}},
}

func fileLookup(l *LookupCall) ([]any, error) {
	rstrip, err := l.flag("rstrip", true)
	if err != nil {
		return nil, err
	}
	lstrip, err := l.flag("lstrip", false)
	if err != nil {
		return nil, err
	}
	var out []any
	for _, term := range l.Terms {
		name, ok := value.Text(term)
		if !ok && term != nil {
			return nil, value.Raise("AttributeError", "'%s' object has no attribute 'startswith'", lazyName(term))
		}
		p := ""
		if ok {
			p, _, ok = l.Scope.FindFile("files", name)
		}
		if !ok {
			return nil, failBy(failf("File not found. Use -vvvvv to see paths searched."), "Unable to access the file %s.", value.Repr(term))
		}
		text, err := l.Scope.readText(p, "")
		if err != nil {
			return nil, failBy(err, "Unable to access the file %s.", value.Repr(name))
		}
		if lstrip {
			text = strings.TrimLeftFunc(text, pySpace)
		}
		if rstrip {
			text = strings.TrimRightFunc(text, pySpace)
		}
		out = append(out, text)
	}
	return out, nil
}

// pySpace is what Python's strip takes away.
func pySpace(r rune) bool {
	switch {
	case r >= '\t' && r <= '\r', r >= 0x1c && r <= ' ', r == 0x85, r == 0xa0, r == 0x1680, r >= 0x2000 && r <= 0x200a,
		r == 0x2028, r == 0x2029, r == 0x202f, r == 0x205f, r == 0x3000:
		return true
	}
	return false
}

func unvaultLookup(l *LookupCall) ([]any, error) {
	var out []any
	for _, term := range l.Terms {
		p, ok, err := l.find("files", term)
		if err != nil {
			return nil, err
		}
		if !ok {
			return nil, failf("Unable to find file matching \"%s\" ", value.Str(term))
		}
		text, err := l.Scope.readText(p, "")
		if err != nil {
			return nil, err
		}
		out = append(out, text)
	}
	return out, nil
}

func templateLookup(l *LookupCall) ([]any, error) {
	var o FileOptions
	for name, p := range map[string]*string{
		"variable_start_string": &o.VariableStart, "variable_end_string": &o.VariableEnd,
		"comment_start_string": &o.CommentStart, "comment_end_string": &o.CommentEnd,
	} {
		v, err := l.text(name, "")
		if err != nil {
			return nil, err
		}
		*p = v
	}
	trim, err := l.flag("trim_blocks", true)
	if err != nil {
		return nil, err
	}
	o.NoTrimBlocks = !trim
	for _, name := range []string{"convert_data", "jinja2_native"} {
		if l.Opts.Has(name) {
			l.Scope.deprecate(name+" option. Reason: This option is no longer used in the Ansible Core code base.\nAlternatives: Jinja2 native mode is now the default and only option, which is mutually exclusive with this option.", nil, "", "2.23")
		}
	}
	extra, _ := l.Opts.Lookup("template_vars").(*value.Dict)
	var out []any
	for _, term := range l.Terms {
		p, ok, err := l.find("templates", term)
		if err != nil {
			return nil, err
		}
		if !ok {
			return nil, failf("the template file %s could not be found for the lookup", value.Str(term))
		}
		name, _ := value.Text(term)
		r, err := l.Scope.templateLookup(p, name, o, extra)
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, nil
}

func fileglobLookup(l *LookupCall) ([]any, error) {
	var out []any
	for _, term := range l.Terms {
		t, ok := value.Text(term)
		if !ok {
			return nil, value.TypeErrorf("expected str, bytes or os.PathLike object, not %s", lazyName(term))
		}
		dir, file := splitPath(t)
		var found []string
		if file != t {
			p, ok, err := l.find("files", dir)
			if err != nil {
				return nil, err
			}
			if ok {
				found = append(found, p)
			}
		} else {
			for _, p := range l.Scope.searchPath() {
				found = append(found, joinPath(p, "files"), p)
			}
		}
		for _, p := range found {
			if names := globFiles(joinPath(p, file)); len(names) > 0 {
				for _, n := range names {
					out = append(out, n)
				}
				break
			}
		}
	}
	return out, nil
}

// firstFoundOptions are set for all terms, or by a term that is a dict.
type firstFoundOptions struct {
	files, paths []any
	skip         bool
}

func firstFound(l *LookupCall) ([]any, error) {
	for _, v := range values(l.Opts) {
		if u, ok := v.(*value.Undefined); ok {
			return nil, u
		}
	}
	terms, err := settle(l, value.ListOf(l.Terms...))
	if err != nil {
		return nil, err
	}
	dir := ""
	if l.With {
		dir = l.Dir
	}
	opts, err := settle(l, l.Opts)
	if err != nil {
		return nil, err
	}
	o := firstFoundOptions{}
	if err := o.set(l, opts.(*value.Dict)); err != nil {
		return nil, err
	}
	list := terms.(*value.List).Items
	if len(list) == 0 {
		list = o.files
	}
	names, err := l.candidates(list, &o)
	if err != nil {
		return nil, err
	}
	for _, n := range names {
		if p, _, ok := l.Scope.FindFile(dir, n); ok {
			return []any{l.Scope.unfrack(p, "")}, nil
		}
	}
	if o.skip {
		return nil, nil
	}
	return nil, failf("No file was found when using first_found.")
}

// settle renders terms, leaving undefined ones out in a loop.
func settle(l *LookupCall, v any) (any, error) {
	v, err := l.C.Read(v)
	if err != nil {
		return nil, err
	}
	if u, ok := v.(*value.Undefined); ok {
		return nil, u
	}
	drop := func(item any) (any, bool, error) {
		item, err := l.C.Read(item)
		if err != nil {
			return nil, false, err
		}
		if u, ok := item.(*value.Undefined); ok && l.With && u.Err == nil {
			return nil, true, nil
		}
		if t, ok := item.(*value.Template); ok { // a literal that looks like a template
			if item, err = l.Scope.embedded(t); err != nil {
				return nil, false, err
			}
		}
		item, err = settle(l, item)
		return item, false, err
	}
	switch v := v.(type) {
	case *value.Dict:
		out := value.NewDict(v.Len())
		for k, item := range v.All() {
			r, skip, err := drop(item)
			if err != nil {
				return nil, err
			}
			if !skip {
				out.Set(k, r)
			}
		}
		return out, nil
	case *value.List, value.Tuple:
		items, _ := elements(v)
		out := value.ListOf()
		for _, item := range items {
			r, skip, err := drop(item)
			if err != nil {
				return nil, err
			}
			if !skip {
				out.Items = append(out.Items, r)
			}
		}
		return out, nil
	case *value.Template:
		return v.Text, nil
	}
	return v, nil
}

func (o *firstFoundOptions) set(l *LookupCall, d *value.Dict) error {
	sub := *l
	sub.Opts = d
	o.files, o.paths = sub.list("files"), sub.list("paths")
	var err error
	o.skip, err = sub.flag("skip", false)
	return err
}

func (l *LookupCall) candidates(terms []any, o *firstFoundOptions) ([]string, error) {
	var out []string
	for _, term := range terms {
		var files []any
		what := "files"
		switch t := term.(type) {
		case *value.Dict:
			if err := o.set(l, t); err != nil {
				return nil, err
			}
			files, what = o.files, "the 'files' option"
		case string:
			files = []any{t}
		case *value.List:
			more, err := l.candidates(t.Items, o)
			if err != nil {
				return nil, err
			}
			out = append(out, more...)
			continue
		default:
			return nil, failf("Invalid term supplied. A string, dict or list is required, not '%s').", value.TypeName(term))
		}
		names := l.splitOn(what, files, ",;")
		paths := l.splitOn(`the "paths" option`, o.paths, ",:;")
		if len(paths) == 0 {
			out = append(out, names...)
		}
		for _, p := range paths {
			for _, n := range names {
				out = append(out, joinPath(p, n))
			}
		}
	}
	return out, nil
}

func (l *LookupCall) splitOn(what string, items []any, seps string) []string {
	var out []string
	for _, item := range items {
		if inner, ok := elements(item); ok {
			out = append(out, l.splitOn(what, inner, seps)...)
			continue
		}
		t := value.Str(item)
		if strings.ContainsAny(t, seps) {
			l.Scope.deprecate("Automatic splitting of "+what+" on "+value.Repr(seps)+" is deprecated.", t, "Provide a list of paths for "+what+" instead.", "2.23")
		}
		for t != "" || len(out) == 0 {
			i := strings.IndexAny(t, seps)
			if i < 0 {
				out = append(out, t)
				break
			}
			out = append(out, t[:i])
			t = t[i+1:]
			if t == "" {
				out = append(out, "")
				break
			}
		}
	}
	return out
}

func csvLookup(l *LookupCall) ([]any, error) {
	if len(l.Terms) == 0 {
		return nil, failf("Search key is required but was not found")
	}
	var out []any
	for _, term := range l.Terms {
		kv, rawKey, err := parseKV(l.C, term)
		if err != nil {
			return nil, err
		}
		if rawKey == "" {
			return nil, failf("Search key is required but was not found")
		}
		for k, v := range kv.All() {
			switch k {
			case "col", "keycol", "default", "delimiter", "file", "encoding":
				l.Opts.Set(k, v)
			default:
				return nil, value.ValueErrorf("%s is not a valid option", value.Repr(k))
			}
		}
		file, err := l.text("file", "ansible.csv")
		if err != nil {
			return nil, err
		}
		p, ok, err := l.find("files", file)
		if err != nil {
			return nil, err
		}
		if !ok {
			return nil, value.TypeErrorf("expected str, bytes or os.PathLike object, not NoneType")
		}
		v, err := l.csvValue(p, rawKey)
		if err != nil {
			return nil, err
		}
		if list, ok := v.(*value.List); ok {
			out = append(out, list.Items...)
		} else if v != nil {
			out = append(out, v)
		}
	}
	return out, nil
}

func (l *LookupCall) csvValue(path, key string) (any, error) {
	delim, err := l.text("delimiter", "TAB")
	if err != nil {
		return nil, err
	}
	if delim == "TAB" {
		delim = "\t"
	}
	sep, n := utf8.DecodeRuneInString(delim)
	if n != len(delim) || n == 0 {
		return nil, value.TypeErrorf(`"delimiter" must be a 1-character string`)
	}
	col, err := l.number("col", 1)
	if err != nil {
		return nil, err
	}
	keycol, err := l.number("keycol", 0)
	if err != nil {
		return nil, err
	}
	enc, err := l.text("encoding", "utf-8")
	if err != nil {
		return nil, err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, osError(err, path)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile))
	if err != nil {
		return nil, osError(err, path)
	}
	text, err := decode(data, enc)
	if err != nil {
		return nil, err
	}
	r := csv.NewReader(strings.NewReader(text))
	r.Comma, r.FieldsPerRecord, r.LazyQuotes = sep, -1, true
	for {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			return l.Opts.Lookup("default"), nil
		}
		if err != nil {
			return nil, value.Raise("Error", "%s", err.Error())
		}
		at := func(i int64) (string, bool) {
			if i < 0 {
				i += int64(len(row))
			}
			if i < 0 || i >= int64(len(row)) {
				return "", false
			}
			return row[i], true
		}
		k, ok := at(keycol)
		if !ok {
			return nil, value.Raise("IndexError", "list index out of range")
		}
		if k == key {
			v, ok := at(col)
			if !ok {
				return nil, value.Raise("IndexError", "list index out of range")
			}
			return v, nil
		}
	}
}

// parseKV splits a term into key=value options and the rest.
func parseKV(c *jinja.Context, term any) (opts *value.Dict, rest string, err error) {
	s, err := text(c, term)
	if err != nil {
		return nil, "", err
	}
	opts = value.NewDict(0)
	words, err := shellWords(s)
	if err != nil {
		return nil, "", err
	}
	var raw []string
	for _, w := range words {
		k, v, ok := strings.Cut(w, "=")
		if !ok || k == "" {
			raw = append(raw, w)
			continue
		}
		opts.Set(strings.TrimSpace(k), unquote(strings.TrimSpace(v)))
	}
	return opts, strings.Join(raw, " "), nil
}

// unquote takes one pair of quotes off.
func unquote(s string) string {
	if len(s) > 1 && (s[0] == '"' || s[0] == '\'') && s[len(s)-1] == s[0] && s[len(s)-2] != '\\' {
		return s[1 : len(s)-1]
	}
	return s
}

// shellWords splits at blanks outside of quotes and of template delimiters.
func shellWords(s string) ([]string, error) {
	var out []string
	var cur strings.Builder
	var quote rune
	depth := 0
	started := false
	prev := rune(0)
	for _, r := range s {
		switch {
		case quote != 0:
			if r == quote && prev != '\\' {
				quote = 0
			}
		case (r == '"' || r == '\'') && prev != '\\':
			quote = r
		case r == '{' && prev == '{':
			depth++
		case r == '}' && prev == '}' && depth > 0:
			depth--
		case (r == ' ' || r == '\n') && depth == 0:
			if started {
				out = append(out, cur.String())
				cur.Reset()
				started = false
			}
			prev = r
			continue
		}
		cur.WriteRune(r)
		started = true
		prev = r
	}
	if quote != 0 || depth > 0 {
		return nil, failf("failed at splitting arguments, either an unbalanced jinja2 block or quotes: %s", s)
	}
	if started {
		out = append(out, cur.String())
	}
	return out, nil
}
