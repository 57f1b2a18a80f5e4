package plugins

import (
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strings"
	"time"

	"volant/wire/value"
)

// maxDepth bounds how deep values are nested.
const maxDepth = 200

// tag is the key of an object that stands for a value that JSON lacks.
const tag = "~"

var errDeep = errors.New("the value is nested too deep for a Python plugin")

func tagged(kind string, v any) *value.Dict {
	d := value.NewDict(2)
	d.Set(tag, kind)
	d.Set("v", v)
	return d
}

// codec says how values travel. Text of templates is plain text, and what comes
// back is data, but where variables are carried as they were written (raw).
type codec struct {
	raw   bool
	vault Decrypter // opens the encrypted strings that come back; may be nil
}

// encode is codec.encode of rendered values.
func encode(v any, depth int) (any, error) { return codec{}.encode(v, depth) }

// encodeItems is codec.encodeItems of rendered values.
func encodeItems(items []any, depth int) (*value.List, error) {
	return codec{}.encodeItems(items, depth)
}

// decode is codec.decode of data: its text is never a template.
func decode(v any, depth int) (any, error) { return codec{}.decode(v, depth) }

// encode makes of a value what the helper's decode reads. Undefined values
// become what Python plugins see of them.
func (c codec) encode(v any, depth int) (any, error) {
	if depth > maxDepth {
		return nil, errDeep
	}
	switch v := v.(type) {
	case *value.Template:
		if c.raw {
			return tagged("template", v.Text), nil
		}
		return v.Text, nil
	case *value.Vault:
		if c.raw {
			return tagged("vault", v.Ciphertext), nil
		}
		return nil, errors.New("an encrypted value cannot be given to a Python plugin")
	case value.Markup:
		return string(v), nil
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return tagged("float", value.Str(v)), nil
		}
	case []byte:
		return tagged("bytes", base64.StdEncoding.EncodeToString(v)), nil
	case time.Time:
		return tagged("datetime", value.FormatTime(v, "T")), nil
	case value.Date:
		return tagged("date", v.String()), nil
	case *value.Undefined:
		return tagged("undefined", v.Hint), nil
	case *value.List:
		return encodeItems(v.Items, depth)
	case value.Tuple:
		items, err := c.encodeItems(v, depth)
		return tagged("tuple", items), err
	case *value.Set:
		items, err := c.encodeItems(v.Items(), depth)
		return tagged("set", items), err
	case *value.Dict:
		return c.encodeDict(v, depth)
	case nil, bool, int64, *big.Int, string:
	default:
		return nil, fmt.Errorf("a value of type %s cannot be given to a Python plugin", value.TypeName(v))
	}
	return v, nil
}

func (c codec) encodeItems(items []any, depth int) (*value.List, error) {
	out := &value.List{Items: make([]any, len(items))}
	for i, v := range items {
		e, err := c.encode(v, depth+1)
		if err != nil {
			return nil, err
		}
		out.Items[i] = e
	}
	return out, nil
}

func (c codec) encodeDict(d *value.Dict, depth int) (any, error) {
	plain := !d.Has(tag)
	for k := range d.All() {
		_, isText := value.Text(k)
		plain = plain && isText
	}
	out, pairs := value.NewDict(d.Len()), &value.List{}
	for k, v := range d.All() {
		e, err := c.encode(v, depth+1)
		if err != nil {
			return nil, err
		}
		key, err := c.encode(k, depth+1)
		if err != nil {
			return nil, err
		}
		if plain {
			out.Set(key, e)
		} else {
			pairs.Items = append(pairs.Items, value.ListOf(key, e))
		}
	}
	if plain {
		return out, nil
	}
	return tagged("dict", pairs), nil
}

// decode makes a value of what the helper sent.
func (c codec) decode(v any, depth int) (any, error) {
	if depth > maxDepth {
		return nil, errDeep
	}
	switch v := v.(type) {
	case *value.List:
		items, err := c.decodeItems(v.Items, depth)
		return &value.List{Items: items}, err
	case *value.Dict:
		kind, isTagged := v.Get(tag)
		if !isTagged {
			out := value.NewDict(v.Len())
			for k, e := range v.All() {
				d, err := c.decode(e, depth+1)
				if err != nil {
					return nil, err
				}
				out.Set(k, d)
			}
			return out, nil
		}
		name, _ := value.Text(kind)
		return c.decodeTagged(name, v.Lookup("v"), depth)
	}
	return v, nil
}

func (c codec) decodeItems(items []any, depth int) ([]any, error) {
	out := make([]any, len(items))
	for i, v := range items {
		d, err := c.decode(v, depth+1)
		if err != nil {
			return nil, err
		}
		out[i] = d
	}
	return out, nil
}

func (c codec) decodeTagged(kind string, v any, depth int) (any, error) {
	if c.raw && (kind == "template" || kind == "vault") {
		return c.written(kind, v)
	}
	if list, ok := v.(*value.List); ok {
		if kind == "dict" {
			return c.decodePairs(list, depth)
		}
		items, err := c.decodeItems(list.Items, depth)
		switch {
		case err != nil:
			return nil, err
		case kind == "tuple":
			return value.Tuple(items), nil
		case kind == "set":
			return value.SetOf(items...), nil
		}
	}
	text, _ := value.Text(v)
	switch kind {
	case "bytes":
		return base64.StdEncoding.DecodeString(text)
	case "undefined":
		return &value.Undefined{Hint: text}, nil
	case "datetime":
		return parseTime(text)
	case "date":
		t, err := time.Parse(time.DateOnly, text)
		if err != nil {
			return nil, err
		}
		return value.NewDate(t.Year(), int(t.Month()), t.Day()), nil
	}
	return nil, fmt.Errorf("the helper sent a value of unknown kind %q", kind)
}

func (c codec) decodePairs(list *value.List, depth int) (any, error) {
	out := value.NewDict(list.Len())
	for _, p := range list.Items {
		pair, ok := p.(*value.List)
		if !ok || pair.Len() != 2 {
			return nil, errors.New("the helper sent a dict with something else than pairs")
		}
		items, err := c.decodeItems(pair.Items, depth)
		if err != nil {
			return nil, err
		}
		if key, ok := items[0].(*value.Template); ok {
			items[0] = key.Text
		}
		if !value.Hashable(items[0]) {
			return nil, errors.New("the helper sent a dict with a key that is none")
		}
		out.Set(items[0], items[1])
	}
	return out, nil
}

// parseTime reads datetime.isoformat's text; one without a zone is naive.
func parseTime(text string) (any, error) {
	layout := "2006-01-02T15:04:05.999999"
	if i := strings.LastIndexAny(text, "+-Z"); i > len("2006-01-02") {
		return time.Parse(layout+"Z07:00", text)
	}
	return time.ParseInLocation(layout, text, value.Naive)
}

// written makes a template or an encrypted string of what the helper sent.
func (c codec) written(kind string, v any) (any, error) {
	if kind == "vault" {
		text, ok := value.Text(v)
		if !ok {
			return nil, errors.New("the helper sent an encrypted value without text")
		}
		out := &value.Vault{Ciphertext: text}
		if c.vault != nil {
			out.Decrypt = func() (string, error) { return c.vault.DecryptString(text, value.Pos{}) }
		}
		return out, nil
	}
	list, ok := v.(*value.List)
	if !ok || list.Len() != 4 {
		return nil, errors.New("the helper sent a template that is none")
	}
	text, _ := value.Text(list.Items[0])
	file, _ := value.Text(list.Items[1])
	line, _ := value.ToInt(list.Items[2])
	column, _ := value.ToInt(list.Items[3])
	return value.NewTemplate(text, value.Pos{File: file, Line: int(line), Column: int(column)}), nil
}
