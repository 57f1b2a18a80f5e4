package template

import (
	"errors"
	"math"
	"math/big"
	"time"

	"volant/controller/fault"
	"volant/controller/jinja"
	"volant/controller/vault"
	"volant/controller/yaml"
	"volant/wire/pyjson"
	"volant/wire/value"
)

var serialFilters = map[string]*jinja.Plugin{
	"to_json":       def("to_json(a, profile=None, vault_to_text=None, preprocess_unsafe=None, **kwargs)", toJSON),
	"to_nice_json":  def("to_nice_json(a, indent=4, sort_keys=True, **kwargs)", toNiceJSON),
	"from_json":     def("from_json(a, profile=None, **kwargs)", fromJSON),
	"to_yaml":       lazy(def("to_yaml(a, *_args, default_flow_style=None, **kwargs)", toYAML)),
	"to_nice_yaml":  lazy(def("to_nice_yaml(a, indent=4, *_args, default_flow_style=False, **kwargs)", toNiceYAML)),
	"from_yaml":     def("from_yaml(data)", fromYAML),
	"from_yaml_all": def("from_yaml_all(data)", fromYAMLAll),
	"vault":         def("do_vault(data, secret, salt=None, vault_id='filter_default', wrap_object=False, vaultid=None)", vaultFilter),
	"unvault":       markers(lazy(def("do_unvault(vault, secret, vault_id='filter_default', vaultid=None)", unvaultFilter))),
}

func toJSON(c *jinja.Context, a []any) (any, error) {
	return dumpJSON(c, a[0], value.JSONStyle{Indent: -1}, a[4].(*value.Dict))
}

func toNiceJSON(c *jinja.Context, a []any) (any, error) {
	kw := a[3].(*value.Dict).Clone()
	kw.Delete("separators")
	kw.Set("indent", a[1])
	kw.Set("sort_keys", a[2])
	return dumpJSON(c, a[0], value.JSONStyle{Indent: -1, Item: ",", Key: ": "}, kw)
}

// dumpJSON is json.dumps with the reference's encoder.
func dumpJSON(c *jinja.Context, v any, style value.JSONStyle, kw *value.Dict) (any, error) {
	for k, opt := range kw.All() {
		switch k {
		case "indent":
			if s, ok := value.Text(opt); ok {
				style.IndentText = s
				style.Indent = 0
			} else if opt != nil {
				n, err := toInt(opt)
				if err != nil {
					return nil, err
				}
				style.Indent = int(max(n, 0))
			}
		case "sort_keys":
			style.SortKeys = truth(c, opt)
		case "ensure_ascii":
			style.Raw = !truth(c, opt)
		case "allow_nan":
			style.NoNaN = !truth(c, opt)
		case "skipkeys":
			style.SkipKeys = truth(c, opt)
		case "separators":
			if opt == nil {
				continue
			}
			pair, ok := elements(opt)
			if !ok || len(pair) != 2 {
				return nil, value.ValueErrorf("not enough values to unpack (expected 2, got %d)", len(pair))
			}
			style.Item, _ = value.Text(pair[0])
			style.Key, _ = value.Text(pair[1])
		case "check_circular", "default", "cls", "profile", "vault_to_text", "preprocess_unsafe":
		default:
			name, _ := value.Text(k)
			return nil, value.TypeErrorf("JSONEncoder.__init__() got an unexpected keyword argument '%s'", name)
		}
	}
	style.Default = func(v any) (any, error) {
		switch v := v.(type) {
		case time.Time:
			return value.FormatTime(v, "T"), nil
		case value.Date:
			return v.String(), nil
		case *value.Set:
			return value.ListOf(v.Items()...), nil
		case []byte:
			return string(v), nil
		case jinja.Mapping:
			return build(c, v)
		case *jinja.Range:
			items, err := v.Iterate(c)
			return value.ListOf(items...), err
		}
		return nil, value.TypeErrorf("Object of type '%s' is not JSON serializable by the 'tagless' profile.", value.TypeName(v))
	}
	if style.SortKeys {
		v = textKeys(v, 0)
	}
	return value.EncodeJSON(v, style)
}

// textKeys writes the keys of dicts as JSON does, so that they can be sorted.
func textKeys(v any, depth int) any {
	if depth > value.MaxDepth {
		return v
	}
	switch v := v.(type) {
	case *value.List:
		out := &value.List{Items: make([]any, len(v.Items))}
		for i, item := range v.Items {
			out.Items[i] = textKeys(item, depth+1)
		}
		return out
	case value.Tuple:
		out := make(value.Tuple, len(v))
		for i, item := range v {
			out[i] = textKeys(item, depth+1)
		}
		return out
	case *value.Dict:
		out := value.NewDict(v.Len())
		for k, item := range v.All() {
			switch key := k.(type) {
			case nil:
				k = "null"
			case bool:
				k = map[bool]string{true: "true", false: "false"}[key]
			case int64, float64, *big.Int:
				k = value.Str(k)
			}
			out.Set(k, textKeys(item, depth+1))
		}
		return out
	}
	return v
}

func fromJSON(_ *jinja.Context, a []any) (any, error) {
	if p, ok := value.Text(a[1]); a[1] != nil && !ok {
		return nil, value.TypeErrorf("Name is <class '%s'> instead of <class 'str'> or <class 'module'>.", value.TypeName(a[1]))
	} else if ok && p != "" && p != "tagless" && p != "inventory_legacy" && p != "legacy" {
		return nil, value.ValueErrorf("Unknown profile name '%s'.", p)
	}
	switch v := a[0].(type) {
	case string:
		return pyjson.DecodeString(v)
	case []byte:
		return pyjson.Decode(v)
	}
	return nil, value.TypeErrorf("the JSON object must be str, bytes or bytearray, not %s", lazyName(a[0]))
}

func toYAML(c *jinja.Context, a []any) (any, error) {
	return dumpYAML(c, a[0], a[2], a[3].(*value.Dict))
}

func toNiceYAML(c *jinja.Context, a []any) (any, error) {
	kw := a[4].(*value.Dict).Clone()
	kw.Set("indent", a[1])
	return dumpYAML(c, a[0], a[3], kw)
}

func dumpYAML(c *jinja.Context, v, flow any, kw *value.Dict) (any, error) {
	style := yaml.Style{AllowUnicode: true}
	if flow != nil {
		b := truth(c, flow)
		style.FlowStyle = &b
	}
	number := func(v any) int {
		n, ok := value.ToInt(v)
		if !ok {
			if f, isFloat := v.(float64); isFloat {
				n = int64(math.Min(f, 1<<30))
			}
		}
		return int(min(max(n, 0), 1<<30))
	}
	for k, opt := range kw.All() {
		switch k {
		case "indent":
			style.Indent = number(opt)
		case "width":
			style.Width = number(opt)
		case "sort_keys":
			style.UnsortedKeys = !truth(c, opt)
		case "explicit_start":
			style.ExplicitStart = truth(c, opt)
		case "explicit_end":
			style.ExplicitEnd = truth(c, opt)
		case "default_style":
			style.DefaultStyle, _ = value.Text(opt)
		case "canonical":
			style.Canonical = truth(c, opt)
		case "line_break":
			style.LineBreak, _ = value.Text(opt)
		case "version":
			if pair, ok := elements(opt); ok && len(pair) == 2 {
				style.Version = &[2]int{number(pair[0]), number(pair[1])}
			}
		case "allow_unicode":
			return nil, value.TypeErrorf("yaml.dump() got multiple values for keyword argument 'allow_unicode'")
		case "encoding", "tags":
		default:
			name, _ := value.Text(k)
			return nil, value.TypeErrorf("dump_all() got an unexpected keyword argument '%s'", name)
		}
	}
	v, err := plain(c, v, map[any]any{})
	if err != nil {
		return nil, err
	}
	return yaml.Dump(v, style)
}

// plain renders everything inside v but leaves vaulted values vaulted. Shared
// containers stay shared, since YAML writes anchors for them.
func plain(c *jinja.Context, v any, seen map[any]any) (any, error) {
	switch t := v.(type) {
	case *value.Template:
		r, err := c.Read(t)
		if err != nil {
			return nil, err
		}
		if tt, ok := r.(*value.Template); ok {
			return tt.Text, nil
		}
		return plain(c, r, seen)
	case value.Omitted, value.Markup:
		return nil, value.Raise("RepresenterError", "('cannot represent an object', %s)", value.Repr(t))
	case *value.Undefined:
		if v := vaulted(c, t); v != nil {
			return v, nil
		}
		return nil, t
	case string:
		if v := vaulted(c, t); v != nil {
			return v, nil
		}
		return t, nil
	case *value.List:
		if out, ok := seen[t]; ok {
			return out, nil
		}
		out := &value.List{Items: make([]any, len(t.Items))}
		seen[t] = out
		for i, item := range t.Items {
			r, err := plain(c, item, seen)
			if err != nil {
				return nil, err
			}
			out.Items[i] = r
		}
		return out, nil
	case value.Tuple:
		out := make(value.Tuple, len(t))
		for i, item := range t {
			r, err := plain(c, item, seen)
			if err != nil {
				return nil, err
			}
			out[i] = r
		}
		return out, nil
	case *value.Dict:
		if out, ok := seen[t]; ok {
			return out, nil
		}
		out := value.NewDict(t.Len())
		seen[t] = out
		for k, item := range t.All() {
			r, err := plain(c, item, seen)
			if err != nil {
				return nil, err
			}
			out.Set(k, r)
		}
		return out, nil
	case jinja.Mapping:
		d, err := build(c, t)
		if err != nil {
			return nil, err
		}
		return plain(c, d, seen)
	case jinja.Object:
		return nil, value.Raise("RepresenterError", "('cannot represent an object', %s)", repr(c, t))
	}
	return v, nil
}

// loadOptions are for YAML that is data: nothing in it is operator-written.
func loadOptions(c *jinja.Context) yaml.Options {
	o := yaml.Options{File: "<unicode string>", Sink: fault.Discard, NoAnsibleTags: true}
	if s := of(c); s != nil {
		o.Sink = s.sink()
	}
	return o
}

func fromYAML(c *jinja.Context, a []any) (any, error) {
	switch v := a[0].(type) {
	case nil:
		return nil, nil
	case string:
		out, err := yaml.LoadYAML([]byte(v), loadOptions(c))
		return out, yamlError(err)
	}
	if s := of(c); s != nil {
		s.deprecate("The from_yaml filter ignored non-string input of type '"+value.TypeName(a[0])+"'.", a[0], "", "2.23")
	}
	return a[0], nil
}

func fromYAMLAll(c *jinja.Context, a []any) (any, error) {
	switch v := a[0].(type) {
	case nil:
		return value.ListOf(), nil
	case string:
		out, err := yaml.LoadAll([]byte(v), loadOptions(c))
		if err != nil {
			return nil, yamlError(err)
		}
		return value.ListOf(out...), nil
	}
	if s := of(c); s != nil {
		s.deprecate("The from_yaml_all filter ignored non-string input of type '"+value.TypeName(a[0])+"'.", a[0], "", "2.23")
	}
	return a[0], nil
}

// yamlError keeps PyYAML's words of a loader's error, which says more.
func yamlError(err error) error {
	var e *fault.Error
	if errors.As(err, &e) {
		for e.Cause != nil {
			var inner *fault.Error
			if !errors.As(e.Cause, &inner) {
				return e.Cause
			}
			e = inner
		}
		return failf("%s", e.Msg)
	}
	return err
}

// secretText is the text or bytes of a vault filter's argument.
func secretText(v any) ([]byte, bool) {
	if s, ok := value.Text(v); ok {
		return []byte(s), true
	}
	b, ok := v.([]byte)
	return b, ok
}

func vaultFilter(c *jinja.Context, a []any) (any, error) {
	secret, ok := secretText(a[1])
	if !ok {
		return nil, value.TypeErrorf("Secret passed is required to be a string, instead we got %s.", typeRepr(a[1]))
	}
	data, ok := secretText(a[0])
	if !ok {
		return nil, value.TypeErrorf("Can only vault strings, instead we got %s.", typeRepr(a[0]))
	}
	var salt []byte
	if a[2] != nil && truth(c, a[2]) {
		s, err := text(c, a[2])
		if err != nil {
			return nil, err
		}
		salt = []byte(s)
	}
	id, _ := value.Text(a[3])
	if other, ok := value.Text(a[5]); ok && id == "filter_default" {
		id = other
	}
	out, err := vault.New().Encrypt(data, vault.Secret{ID: id, Key: secret}, id, salt)
	if err != nil {
		return nil, failBy(err, "Unable to encrypt.")
	}
	if truth(c, a[4]) {
		// The reference tags the secret, not the text, as what is encrypted:
		// that is what such a value reads as there.
		return &value.Vault{Ciphertext: string(out), Decrypt: func() (string, error) { return string(secret), nil }}, nil
	}
	return string(out), nil
}

func unvaultFilter(c *jinja.Context, a []any) (any, error) {
	in := a[0]
	if v := vaulted(c, in); v != nil {
		in = v.Ciphertext
	}
	for _, v := range []any{in, a[1], a[2], a[3]} {
		if u, ok := v.(*value.Undefined); ok {
			return u, nil
		}
	}
	secret, ok := secretText(a[1])
	if !ok {
		return nil, value.TypeErrorf("Secret passed is required to be as string, instead we got %s.", typeRepr(a[1]))
	}
	data, ok := secretText(in)
	if !ok {
		return nil, value.TypeErrorf("Vault should be in the form of a string, instead we got %s.", typeRepr(a[0]))
	}
	if !vault.IsEncrypted(data) {
		return string(data), nil
	}
	id, _ := value.Text(a[2])
	out, err := vault.New(vault.Secret{ID: id, Key: secret}).Decrypt(data, "")
	if err != nil {
		return nil, failBy(err, "Unable to decrypt.")
	}
	return string(out), nil
}
