package template

import (
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"volant/controller/jinja"
	"volant/wire/value"
)

// csvOptions are the options of csvfile that are no text.
var csvOptions = map[string]string{"col": "int", "keycol": "int"}

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
		if err := l.checkOptions(csvOptions); err != nil {
			return nil, err
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
	found := l.Opts.Lookup("default")
	csvRows(text, sep, func(row []string) bool {
		at := func(i int64) (string, bool) {
			if i < 0 {
				i += int64(len(row))
			}
			if i < 0 || i >= int64(len(row)) {
				err = value.Raise("IndexError", "list index out of range")
				return "", false
			}
			return row[i], true
		}
		k, ok := at(keycol)
		if !ok || k != key {
			return ok
		}
		if v, ok := at(col); ok {
			found = v
		}
		return false
	})
	if err != nil {
		return nil, err
	}
	return found, nil
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
