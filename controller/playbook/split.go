package playbook

import (
	"strconv"
	"strings"

	"volant/controller/fault"
	"volant/wire/value"
)

// SplitArgs splits a line of arguments on white space, keeping quoted text and
// template blocks together (the reference's parsing/splitter.py). Newlines and
// runs of blanks stay in the pieces, so that joining them gives the text back.
func SplitArgs(text string) ([]string, error) {
	if text == "" {
		return nil, nil
	}
	var (
		params               []string
		quote                byte
		print, block, remark int // depth of {{ }}, {% %} and {# #}
	)
	add := func(s string) {
		if len(params) == 0 {
			params = append(params, "")
		}
		params[len(params)-1] += s
	}
	items := strings.Split(text, "\n")
	for n, item := range items {
		continued := false
		for i, token := range strings.Split(item, " ") {
			if token == "" && i != 0 {
				add(" ")
				continue
			}
			if token == `\` && quote == 0 {
				continued = true
				continue
			}
			wasQuoted := quote != 0
			quote = quoteState(token, quote)
			quoted := quote != 0
			inside := print > 0 || block > 0 || remark > 0
			appended := false
			switch {
			case quoted && !wasQuoted && !inside:
				params = append(params, token)
				appended = true
			case inside || quoted || wasQuoted:
				if i > 0 {
					add(" ")
				}
				add(token)
				appended = true
			}
			for _, d := range []struct {
				depth       *int
				open, close string
			}{{&print, "{{", "}}"}, {&block, "{%", "%}"}, {&remark, "{#", "#}"}} {
				before := *d.depth
				*d.depth = max(0, before+strings.Count(token, d.open)-strings.Count(token, d.close))
				if *d.depth != before && !appended {
					params = append(params, token)
					appended = true
				}
			}
			if print == 0 && block == 0 && remark == 0 && !quoted && !appended && token != "" {
				params = append(params, token)
			}
		}
		if len(items) > 1 && n != len(items)-1 && !continued {
			add("\n")
		}
	}
	if print > 0 || block > 0 || remark > 0 || quote != 0 {
		return nil, fault.New(fault.Parser, value.Pos{}, "failed at splitting arguments, either an unbalanced jinja2 block or quotes: %s", text)
	}
	return params, nil
}

// quoteState is the quote that is open behind token, given the one open in
// front of it; 0 is none.
func quoteState(token string, quote byte) byte {
	for i := range len(token) {
		c := token[i]
		if (c != '"' && c != '\'') || (i > 0 && token[i-1] == '\\') {
			continue
		}
		switch quote {
		case 0:
			quote = c
		case c:
			quote = 0
		}
	}
	return quote
}

// joinArgs undoes SplitArgs.
func joinArgs(parts []string) string {
	var b []byte
	for _, p := range parts {
		if n := len(b); n > 0 && b[n-1] != '\n' {
			b = append(b, ' ')
		}
		b = append(b, p...)
	}
	return string(b)
}

// commandOptions are the k=v options that free-form actions take.
var commandOptions = map[string]bool{
	"creates": true, "removes": true, "chdir": true, "executable": true, "warn": true,
	"stdin": true, "stdin_add_newline": true, "strip_empty_ends": true,
}

// ParseKV reads k=v arguments. What is not k=v, and for free-form actions
// every k=v but commandOptions, is joined under _raw_params. The values are
// templates at pos.
func ParseKV(text string, freeForm bool, pos value.Pos) (*value.Dict, error) {
	parts, err := SplitArgs(text)
	if err != nil {
		return nil, err
	}
	options := value.NewDict(len(parts))
	var raw []string
	for _, part := range parts {
		x := decodeEscapes(part)
		if !strings.Contains(x, "=") {
			raw = append(raw, part)
			continue
		}
		at := -1
		for i := 1; i < len(x); i++ {
			if x[i] == '=' && x[i-1] != '\\' {
				at = i
				break
			}
		}
		if at < 0 {
			raw = append(raw, strings.ReplaceAll(x, `\=`, "="))
			continue
		}
		key, val := x[:at], x[at+1:]
		if freeForm && !commandOptions[key] {
			raw = append(raw, part)
			continue
		}
		options.Set(strings.TrimSpace(key), value.NewTemplate(unquote(strings.TrimSpace(val)), pos))
	}
	if len(raw) > 0 {
		options.Set("_raw_params", value.NewTemplate(joinArgs(raw), pos))
	}
	return options, nil
}

// unquote takes away a pair of quotes around s.
func unquote(s string) string {
	n := len(s)
	if n > 1 && (s[0] == '"' || s[0] == '\'') && s[n-1] == s[0] && s[n-2] != '\\' {
		return s[1 : n-1]
	}
	return s
}

// escapes are the one-letter escapes of Python strings.
var escapes = map[byte]string{
	'\\': `\`, '\'': "'", '"': `"`, 'a': "\a", 'b': "\b", 'f': "\f", 'n': "\n", 'r': "\r", 't': "\t", 'v': "\v",
}

// decodeEscapes replaces the escapes of Python string literals.
func decodeEscapes(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		c := s[i+1]
		if r, ok := escapes[c]; ok {
			b.WriteString(r)
			i++
			continue
		}
		digits := map[byte]int{'x': 2, 'u': 4, 'U': 8}[c]
		if digits > 0 && i+2+digits <= len(s) {
			if n, err := strconv.ParseUint(s[i+2:i+2+digits], 16, 32); err == nil && n <= 0x10ffff {
				b.WriteRune(rune(n))
				i += 1 + digits
				continue
			}
		}
		b.WriteByte('\\')
	}
	return b.String()
}
