package playbook

import (
	"math"
	"math/big"
	"strconv"
	"strings"

	"volant/controller/fault"
	"volant/wire/value"
)

// Coerce converts a rendered value to the type of keyword k: string, int64,
// float64, bool, *value.List, *value.Dict, or nil for nil where that is kept.
// pos is where the value was written. Errors are the reference's; the caller
// puts `Error processing keyword` in front (see KeywordError).
func Coerce(k Keyword, v any, pos value.Pos) (any, error) {
	spec := k.Spec()
	bad := func(kind string) error {
		e := fault.New(fault.Generic, orPos(v, pos), "The value %s could not be converted to '%s'.", value.Repr(v), kind)
		e.During = true
		return e
	}
	switch spec.Kind {
	case String:
		if s, ok := value.Text(v); ok {
			return s, nil
		}
		return value.Str(v), nil
	case Int:
		n, ok := toInt(v)
		if !ok {
			return nil, bad("int")
		}
		return n, nil
	case Float:
		f, ok := toFloat(v)
		if !ok {
			return nil, bad("float")
		}
		return f, nil
	case Percent:
		if s, ok := value.Text(v); ok {
			v = strings.ReplaceAll(s, "%", "")
		}
		f, ok := toFloat(v)
		if !ok {
			return nil, bad("percent")
		}
		return f, nil
	case Bool:
		b, ok := ToBool(v)
		if !ok {
			return nil, bad("bool")
		}
		return b, nil
	case List:
		return coerceList(k, v, pos)
	case Mapping:
		switch v := v.(type) {
		case nil:
			return value.NewDict(0), nil
		case *value.Dict:
			return v, nil
		}
		return nil, fault.New(fault.Generic, value.Pos{}, "%s is not a dictionary", value.Repr(v))
	}
	return v, nil
}

// KeywordError is what a keyword that cannot be used is reported with. pos is
// where its value was written.
func KeywordError(k Keyword, pos value.Pos, cause error) error {
	return fault.New(fault.Parser, pos, "Error processing keyword '%s'.", k).Because(cause)
}

func orPos(v any, pos value.Pos) value.Pos {
	if p := value.PosOf(v); !p.IsZero() {
		return p
	}
	return pos
}

func coerceList(k Keyword, v any, pos value.Pos) (any, error) {
	spec := k.Spec()
	var list *value.List
	switch v := v.(type) {
	case nil:
		list = &value.List{}
	case *value.List:
		list = v
	default:
		list = value.ListOf(v)
	}
	for _, item := range list.Items {
		_, isText := value.Text(item)
		_, isInt := item.(int64)
		_, isBool := item.(bool)
		switch spec.Items {
		case "":
			continue
		case "str":
			if !isText {
				return nil, fault.New(fault.Parser, orPos(item, orPos(v, pos)),
					"Keyword '%s' items must be of type 'str', not '%s'.", k, value.TypeName(item))
			}
		default:
			if !isText && !isInt && !isBool {
				return nil, fault.New(fault.Parser, orPos(item, orPos(v, pos)),
					"Keyword '%s' items must be of type 'str' or 'int', not '%s'.", k, value.TypeName(item))
			}
		}
		if s, _ := value.Text(item); spec.Required && strings.TrimSpace(s) == "" {
			return nil, fault.New(fault.Parser, orPos(item, orPos(v, pos)),
				"Keyword '%s' is required, and cannot have empty values.", k)
		}
	}
	return list, nil
}

// boolWords are the texts that stand for a bool.
var boolWords = map[string]bool{
	"y": true, "yes": true, "on": true, "1": true, "true": true, "t": true,
	"n": false, "no": false, "off": false, "0": false, "false": false, "f": false,
}

// ToBool is the reference's strict conversion to bool.
func ToBool(v any) (b, ok bool) {
	switch v := v.(type) {
	case bool:
		return v, true
	case int64:
		return v == 1, v == 0 || v == 1
	case float64:
		return v == 1, v == 0 || v == 1
	}
	s, isText := value.Text(v)
	if !isText {
		return false, false
	}
	s = strings.ToLower(strings.TrimSpace(s))
	b, ok = boolWords[s]
	return b, ok
}

// toInt converts as Python's Decimal does, refusing what is not whole.
func toInt(v any) (int64, bool) {
	switch v := v.(type) {
	case bool:
		if v {
			return 1, true
		}
		return 0, true
	case int64:
		return v, true
	case float64:
		return int64(v), v == math.Trunc(v) && math.Abs(v) < 1<<62
	}
	s, ok := value.Text(v)
	if !ok {
		return 0, false
	}
	s = strings.ReplaceAll(strings.TrimSpace(s), "_", "")
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return n, true
	}
	if strings.ContainsAny(s, "xXpPbBoO/") || len(s) > 64 {
		return 0, false
	}
	r, ok := new(big.Rat).SetString(s)
	if !ok || !r.IsInt() || !r.Num().IsInt64() {
		return 0, false
	}
	return r.Num().Int64(), true
}

func toFloat(v any) (float64, bool) {
	switch v := v.(type) {
	case bool:
		if v {
			return 1, true
		}
		return 0, true
	case int64:
		return float64(v), true
	case float64:
		return v, true
	}
	s, ok := value.Text(v)
	if !ok {
		return 0, false
	}
	s = strings.TrimSpace(s)
	if strings.ContainsAny(s, "xXpP") {
		return 0, false
	}
	f, err := strconv.ParseFloat(strings.ReplaceAll(s, "_", ""), 64)
	return f, err == nil
}
