// Package plugindoc reads the documentation of modules and plugins from their
// files and writes it as ansible-doc does.
package plugindoc

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"volant/controller/yaml"
	"volant/wire/rx"
	"volant/wire/value"
)

// maxFile bounds a file that documentation is read from.
const maxFile = 4 << 20

// assignment is a text given to a name at the start of a line, or, within a
// class, indented.
var assignment = rx.Lazy(`(?m)^([ \t]*)([A-Z_][A-Z0-9_]*)[ \t]*=[ \t]*([rRuU]*)("""|'''|"|')`)

// texts are the string literals that a Python file gives to names in capitals:
// those of the module, or with class those of its classes.
func texts(src string, class bool) map[string]string {
	out := map[string]string{}
	for pos := 0; pos < len(src); {
		m := assignment.FindStringSubmatchIndex(src[pos:])
		if m == nil {
			break
		}
		part := func(i int) string { return src[pos+m[2*i] : pos+m[2*i+1]] }
		indent, name, prefix, quote := part(1), part(2), part(3), part(4)
		body, n := literal(src[pos+m[1]:], quote, strings.ContainsAny(prefix, "rR"))
		if (indent != "") == class {
			if _, taken := out[name]; !taken || !class {
				out[name] = body
			}
		}
		pos += m[1] + n
	}
	return out
}

// literal reads a string literal whose opening quote was read, and returns how
// far it goes.
func literal(s, quote string, raw bool) (string, int) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch {
		case strings.HasPrefix(s[i:], quote):
			return b.String(), i + len(quote)
		case s[i] == '\\' && i+1 < len(s):
			if raw {
				b.WriteString(s[i : i+2])
				i++
				continue
			}
			i += escape(&b, s[i:]) - 1
		default:
			b.WriteByte(s[i])
		}
	}
	return b.String(), len(s)
}

var escapes = map[byte]string{
	'n': "\n", 't': "\t", 'r': "\r", '\\': `\`, '\'': "'", '"': `"`, '\n': "", 'a': "\a", 'b': "\b", 'f': "\f", 'v': "\v",
}

// escape writes what an escape stands for and returns its length.
func escape(b *strings.Builder, s string) int {
	if text, ok := escapes[s[1]]; ok {
		b.WriteString(text)
		return 2
	}
	if n := map[byte]int{'x': 2, 'u': 4, 'U': 8}[s[1]]; n > 0 && len(s) >= 2+n {
		if code, err := strconv.ParseUint(s[2:2+n], 16, 32); err == nil {
			b.WriteRune(rune(code)) //nolint:gosec // at most 32 bits were read
			return 2 + n
		}
	}
	b.WriteString(s[:2])
	return 2
}

// parts are the documents of one file.
type parts struct {
	doc      *value.Dict
	examples any // string, or what a YAML file has
	returns  *value.Dict
}

// readFile reads a file that is not too large for documentation.
func readFile(path string) ([]byte, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if st.Size() > maxFile {
		return nil, fmt.Errorf("%s has more than %d bytes", path, maxFile)
	}
	return os.ReadFile(path)
}

// readYAML reads what a YAML file holds.
func readYAML(path string) (any, error) {
	b, err := readFile(path)
	if err != nil {
		return nil, err
	}
	return yaml.LoadYAML(b, yaml.Options{File: path, Duplicates: yaml.DuplicatesIgnore})
}

// read reads the documents of a Python file or of the YAML file beside one.
func read(path string) (*parts, error) {
	b, err := readFile(path)
	if err != nil {
		return nil, err
	}
	p := &parts{}
	if ext := filepath.Ext(path); ext == ".yml" || ext == ".yaml" {
		d, err := mapping(string(b), path)
		if err != nil || d == nil {
			return p, err
		}
		p.doc, _ = d.Lookup("DOCUMENTATION").(*value.Dict)
		p.returns, _ = d.Lookup("RETURN").(*value.Dict)
		p.examples = d.Lookup("EXAMPLES")
		return p, nil
	}
	found := texts(string(b), false)
	if p.doc, err = mapping(found["DOCUMENTATION"], path); err != nil {
		return nil, err
	}
	if p.returns, err = mapping(found["RETURN"], path); err != nil {
		return nil, err
	}
	if text, ok := found["EXAMPLES"]; ok {
		p.examples = text
	}
	return p, nil
}

// mapping reads a YAML mapping; other documents give nil.
func mapping(text, path string) (*value.Dict, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	v, err := yaml.LoadYAML([]byte(text), yaml.Options{File: path, Duplicates: yaml.DuplicatesIgnore})
	if err != nil {
		return nil, err
	}
	d, _ := v.(*value.Dict)
	return d, nil
}
