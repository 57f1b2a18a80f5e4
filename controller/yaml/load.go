package yaml

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	yamlv4 "go.yaml.in/yaml/v4"

	"volant/wire/pyjson"
	"volant/wire/value"
)

// MaxSize bounds a document; the reference has no bound.
const MaxSize = 512 << 20

// Load reads one document, as JSON if it is that, else as YAML. Mappings
// become *value.Dict with plain string keys and Places, sequences *value.List,
// strings *value.Template or string (see Options.Trusted), an empty document
// nil. Errors are *fault.Error of kind Parser with the reference's text.
func Load(data []byte, o Options) (any, error) {
	if v, err := LoadJSON(data, o); err == nil {
		return v, nil
	}
	return LoadYAML(data, o)
}

// LoadJSON reads data as JSON only. The error is pyjson's; what it says is not
// for users.
func LoadJSON(data []byte, o Options) (any, error) {
	head := bytes.TrimLeft(data, " \t\r\n")
	if len(head) == 0 || !strings.ContainsRune(`{["-0123456789tfnNI`, rune(head[0])) {
		return nil, errors.New("not JSON")
	}
	v, err := pyjson.Decode(data)
	if err != nil {
		return nil, err
	}
	return o.adopt(v), nil
}

// adopt gives the strings of a JSON document their trust and turns the
// reference's markers for unsafe and encrypted text into what they mean.
func (o *Options) adopt(v any) any {
	switch v := v.(type) {
	case string:
		if o.Trusted {
			return value.NewTemplate(v, value.Pos{File: o.File})
		}
	case *value.List:
		v.Place = &value.Pos{File: o.File}
		for i, e := range v.Items {
			v.Items[i] = o.adopt(e)
		}
	case *value.Dict:
		if v.Len() == 1 {
			if s, ok := v.Lookup("__ansible_unsafe").(string); ok {
				return s
			}
			if s, ok := v.Lookup("__ansible_vault").(string); ok {
				vault := &value.Vault{Ciphertext: s, Pos: value.Pos{File: o.File}}
				if o.Decrypt != nil {
					vault.Decrypt = func() (string, error) { return o.Decrypt(s, vault.Pos) }
				}
				return vault
			}
		}
		v.Places = &value.Places{File: o.File}
		for i := range v.Len() {
			_, e := v.At(i)
			v.SetAt(i, o.adopt(e))
		}
	}
	return v
}

// LoadYAML is Load without trying JSON first.
func LoadYAML(data []byte, o Options) (any, error) {
	docs, err := o.documents(data, false)
	if err != nil {
		return nil, o.wrap(err, data)
	}
	if len(docs) == 0 {
		return nil, nil
	}
	return docs[0], nil
}

// LoadAll reads all documents of a YAML stream.
func LoadAll(data []byte, o Options) ([]any, error) {
	docs, err := o.documents(data, true)
	if err != nil {
		return nil, o.wrap(err, data)
	}
	return docs, nil
}

// documents composes and constructs; one document is the most unless all are
// wanted.
func (o *Options) documents(data []byte, all bool) (out []any, err error) {
	if len(data) > MaxSize {
		return nil, scalarError{fmt.Sprintf("the document is larger than %d bytes", MaxSize)}
	}
	if err := checkCharacters(data); err != nil {
		return nil, err
	}
	defer func() { // go-yaml panics on what it thinks impossible
		if r := recover(); r != nil {
			err = scalarError{fmt.Sprint(r)}
		}
	}()
	loader, err := yamlv4.NewLoader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	var nodes []*yamlv4.Node
	for {
		n := new(yamlv4.Node)
		err := loader.Load(n)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if len(nodes) == 1 && !all {
			if !strings.HasPrefix(lineOf(data, n.Line), "---") && !strings.HasPrefix(lineOf(data, n.Line), "%") {
				return nil, marked(n, "", "did not find expected <document start>")
			}
			return nil, marked(n, "expected a single document in the stream", "but found another document")
		}
		nodes = append(nodes, n)
	}
	for _, n := range nodes {
		if n.Kind == yamlv4.DocumentNode {
			if len(n.Content) == 0 {
				out = append(out, nil)
				continue
			}
			n = n.Content[0]
		}
		if err := checkAnchors(n); err != nil {
			return nil, err
		}
		v, err := newConstructor(o).object(n)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}

// checkAnchors refuses an anchor defined twice, as libyaml's composer does.
func checkAnchors(root *yamlv4.Node) error {
	var seen map[string]bool
	var walk func(n *yamlv4.Node) error
	walk = func(n *yamlv4.Node) error {
		if n.Kind == yamlv4.AliasNode {
			return nil
		}
		if n.Anchor != "" {
			if seen[n.Anchor] {
				return marked(n, "found duplicate anchor; first occurrence", "second occurrence")
			}
			if seen == nil {
				seen = map[string]bool{}
			}
			seen[n.Anchor] = true
		}
		for _, child := range n.Content {
			if err := walk(child); err != nil {
				return err
			}
		}
		return nil
	}
	return walk(root)
}

// checkCharacters refuses what libyaml's reader refuses.
func checkCharacters(data []byte) error {
	for i, chars := 0, 0; i < len(data); chars++ {
		b := data[i]
		if b < utf8.RuneSelf {
			if b < 0x20 && b != '\t' && b != '\n' && b != '\r' || b == 0x7f {
				return unacceptable(rune(b), "control characters are not allowed", i)
			}
			i++
			continue
		}
		r, size := utf8.DecodeRune(data[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			return scalarError{fmt.Sprintf("'utf-8' codec can't encode character '\\udc%02x' in position %d: surrogates not allowed", b, chars)}
		case r < 0xa0 && r != 0x85, r == 0xfeff && i > 0, r == 0xfffe, r == 0xffff:
			return unacceptable(r, "control characters are not allowed", i)
		}
		i += size
	}
	return nil
}

func unacceptable(r rune, why string, at int) error {
	return scalarError{fmt.Sprintf("unacceptable character #x%04x: %s in \"<unicode string>\", position %d", r, why, at)}
}
