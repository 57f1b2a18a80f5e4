package template

import (
	"strings"

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
	"csvfile":     {Run: csvLookup, Reads: true, Options: csvOptions},
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
