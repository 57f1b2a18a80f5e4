package actions

import (
	"context"
	"fmt"
	"math"
	"path"
	"strconv"
	"strings"

	"volant/stage"
	"volant/wire/argspec"
	"volant/wire/value"
)

// truth reads v as the reference's boolean(strict=False) does: anything that
// is no boolean word is false.
func truth(v any) bool {
	b, err := boolean(v)
	return err == nil && b
}

// boolean reads v as the reference's boolean() does.
func boolean(v any) (bool, error) {
	if s, ok := value.Text(v); ok {
		v = s
	}
	return argspec.Boolean(v)
}

// option returns the boolean argument name, or def when it is absent or None.
func option(args *value.Dict, name string, def bool) bool {
	v, ok := args.Get(name)
	if !ok {
		return def
	}
	return truth(v)
}

// integer reads v as Python's int() does.
func integer(v any) (int, error) {
	switch v := v.(type) {
	case int64:
		return int(v), nil
	case bool:
		if v {
			return 1, nil
		}
		return 0, nil
	case float64:
		if !math.IsNaN(v) && math.Abs(v) < 1<<53 {
			return int(v), nil
		}
	}
	if s, ok := value.Text(v); ok {
		n, err := strconv.Atoi(strings.ReplaceAll(strings.TrimSpace(s), "_", ""))
		if err == nil {
			return n, nil
		}
		return 0, fmt.Errorf("invalid literal for int() with base 10: '%s'", s)
	}
	return 0, fmt.Errorf("int() argument must be a string, a bytes-like object or a real number, not '%s'", typeName(v))
}

// present reports whether v is a value Python calls true.
func present(v any) bool { return value.Truth(v) }

// typeName is Python's name of v's type.
func typeName(v any) string { return value.TypeName(v) }

// stringList reads v as a list of strings; a string is split at commas.
func stringList(v any) ([]string, bool) {
	switch v := v.(type) {
	case *value.List:
		out := make([]string, 0, v.Len())
		for _, e := range v.Items {
			s, ok := value.Text(e)
			if !ok {
				return nil, false
			}
			out = append(out, s)
		}
		return out, true
	case int64:
		return []string{strconv.FormatInt(v, 10)}, true
	}
	s, ok := value.Text(v)
	if !ok {
		return nil, false
	}
	return strings.Split(s, ","), true
}

// joinPath joins host paths as posixpath.join does: an absolute second part wins.
func joinPath(a, b string) string {
	switch {
	case strings.HasPrefix(b, "/"):
		return b
	case a == "" || strings.HasSuffix(a, "/"):
		return a + b
	}
	return a + "/" + b
}

// suffix is the extension of a path as os.path.splitext has it.
func suffix(p string) string {
	base := path.Base(p)
	trimmed := strings.TrimLeft(base, ".")
	if i := strings.LastIndexByte(trimmed, '.'); i >= 0 {
		return trimmed[i:]
	}
	return ""
}

// without returns a copy of args without the named keys.
func without(args *value.Dict, names ...string) *value.Dict {
	c := args.Clone()
	for _, n := range names {
		c.Delete(n)
	}
	return c
}

// runModule runs a module, as a background job when the task is asynchronous.
func runModule(r *Run) func(context.Context, string, *value.Dict, ...stage.File) (Result, error) {
	if r.Async > 0 {
		return r.Host.Job
	}
	return r.Host.Module
}

// merge lays over's entries onto r, which may be nil.
func merge(r, over Result) Result {
	if r == nil {
		return over
	}
	r.Update(over)
	return r
}
