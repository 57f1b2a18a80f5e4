package template

import (
	"strings"

	"volant/wire/value"
)

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
