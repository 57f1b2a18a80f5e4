package vars

import (
	"errors"
	"strings"

	"volant/wire/pyjson"
	"volant/wire/value"
)

// typeKey tells what a mapping of a cached file stands for.
const typeKey = "__ansible_type"

// encodeFacts are facts as a cached file has them. What would be read as more
// than data is left out: no host may write it.
func encodeFacts(facts *value.Dict) ([]byte, error) {
	inner, err := pyjson.Append(nil, untyped(facts))
	if err != nil {
		return nil, err
	}
	return pyjson.Append(nil, value.DictOf(payload, string(inner)))
}

// untyped is a copy of v without keys that give a mapping a type.
func untyped(v any) any {
	switch v := v.(type) {
	case *value.Dict:
		out := value.NewDict(v.Len())
		for k, e := range v.All() {
			if name, ok := value.Text(k); !ok || name != typeKey {
				out.Set(k, untyped(e))
			}
		}
		return out
	case *value.List:
		out := &value.List{Items: make([]any, len(v.Items))}
		for i, e := range v.Items {
			out.Items[i] = untyped(e)
		}
		return out
	}
	return v
}

// decodeFacts reads a cached file; nil where it is of another form.
func decodeFacts(b []byte) (*value.Dict, error) {
	v, err := pyjson.Decode(b)
	if err != nil {
		return nil, err
	}
	outer, _ := v.(*value.Dict)
	inner, ok := outer.Lookup(payload).(string)
	if !ok {
		return nil, nil
	}
	if v, err = pyjson.DecodeString(inner); err != nil {
		return nil, err
	}
	facts, ok := typed(v).(*value.Dict)
	if !ok {
		return nil, errors.New("the facts are no mapping")
	}
	return facts, nil
}

// typed is v with what mappings of a type stand for in their place. Where values
// were written and whether they were trusted is forgotten: facts are data.
func typed(v any) any {
	switch v := v.(type) {
	case *value.Dict:
		kind, ok := v.Str(typeKey)
		if !ok {
			for i := range v.Len() {
				_, e := v.At(i)
				v.SetAt(i, typed(e))
			}
			return v
		}
		key := "value"
		switch kind {
		case "AnsibleSerializableDate", "AnsibleSerializableTime", "AnsibleSerializableDateTime":
			key = "iso8601"
		case "EncryptedString":
			key = "ciphertext"
		default:
			if !strings.HasPrefix(kind, "_AnsibleTagged") {
				return v
			}
		}
		if inner, ok := v.Get(key); ok {
			return typed(inner)
		}
	case *value.List:
		for i, e := range v.Items {
			v.Items[i] = typed(e)
		}
	}
	return v
}
