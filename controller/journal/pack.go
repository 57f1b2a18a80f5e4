package journal

import (
	"errors"
	"fmt"
	"math/big"
	"time"

	"volant/wire/value"
)

// What a value is that CBOR or the wire has no form for: the first element of a
// tuple that stands for it. Marks are never reused.
const (
	markTuple     = int64(0) // the others are the tuple's
	markTemplate  = int64(1) // text, file, line, column: still the operator's
	markVault     = int64(2) // ciphertext, file, line, column
	markTime      = int64(3) // seconds, nanoseconds, zone's name, its offset; without a zone: no name
	markDate      = int64(4)
	markTimeOfDay = int64(5)
	markUndefined = int64(6) // name, hint
	markOmit      = int64(7)
	markMarkup    = int64(8)
	markNaive     = int64(9) // a time without a zone
)

// Pack makes of a value one that can be written and read back as it is, with
// templates and encrypted text as the operator wrote them. What needs no change
// is returned as it is.
func Pack(v any) (any, error) { return pack(v, 0) }

// PackDict is Pack of a mapping; nil stays nil.
func PackDict(d *value.Dict) (*value.Dict, error) {
	if d == nil {
		return nil, nil
	}
	v, err := Pack(d)
	if err != nil {
		return nil, err
	}
	return v.(*value.Dict), nil
}

func pack(v any, depth int) (any, error) {
	if depth > value.MaxDepth {
		return nil, errors.New("a value is nested too deep to be kept")
	}
	switch v := v.(type) {
	case nil, bool, int64, int, float64, string, []byte, *big.Int:
		return v, nil
	case *value.Template:
		return value.Tuple{markTemplate, v.Text, v.Pos.File, int64(v.Pos.Line), int64(v.Pos.Column)}, nil
	case *value.Vault:
		return value.Tuple{markVault, v.Ciphertext, v.Pos.File, int64(v.Pos.Line), int64(v.Pos.Column)}, nil
	case value.Markup:
		return value.Tuple{markMarkup, string(v)}, nil
	case time.Time:
		if v.Location() == value.Naive {
			return value.Tuple{markNaive, v.Unix(), int64(v.Nanosecond())}, nil
		}
		name, off := v.Zone()
		return value.Tuple{markTime, v.Unix(), int64(v.Nanosecond()), name, int64(off)}, nil
	case value.Date:
		return value.Tuple{markDate, int64(v.Year), int64(v.Month), int64(v.Day)}, nil
	case value.TimeOfDay:
		return value.Tuple{markTimeOfDay, int64(v.Hour), int64(v.Minute), int64(v.Second), int64(v.Microsecond)}, nil
	case *value.Undefined:
		return value.Tuple{markUndefined, v.Name, v.Error()}, nil
	case value.Omitted:
		return value.Tuple{markOmit}, nil
	case *value.Set: // its members are hashable: nothing in them needs a form of its own but tuples
		return v, nil
	case value.Tuple:
		out := make(value.Tuple, 1, len(v)+1)
		out[0] = markTuple
		for _, e := range v {
			p, err := pack(e, depth+1)
			if err != nil {
				return nil, err
			}
			out = append(out, p)
		}
		return out, nil
	case *value.List:
		if v == nil {
			return value.ListOf(), nil
		}
		return packList(v, depth)
	case *value.Dict:
		if v == nil {
			return nil, nil
		}
		return packDict(v, depth)
	case interface{ Value() any }:
		return pack(v.Value(), depth+1)
	}
	return nil, fmt.Errorf("a value of type %T cannot be kept", v)
}

func packList(l *value.List, depth int) (any, error) {
	var out *value.List
	for i, e := range l.Items {
		p, err := pack(e, depth+1)
		if err != nil {
			return nil, err
		}
		if out == nil && !same(p, e) {
			out = &value.List{Items: append(make([]any, 0, len(l.Items)), l.Items[:i]...)}
		}
		if out != nil {
			out.Items = append(out.Items, p)
		}
	}
	if out == nil {
		return l, nil
	}
	return out, nil
}

func packDict(d *value.Dict, depth int) (any, error) {
	var out *value.Dict
	for i := range d.Len() {
		k, e := d.At(i)
		p, err := pack(e, depth+1)
		if err != nil {
			return nil, err
		}
		pk, err := pack(k, depth+1)
		if err != nil {
			return nil, err
		}
		if out == nil && !(same(p, e) && same(pk, k)) {
			out = value.NewDict(d.Len())
			for j := range i {
				k, e := d.At(j)
				out.Set(k, e)
			}
		}
		if out != nil {
			out.Set(pk, p)
		}
	}
	if out == nil {
		return d, nil
	}
	return out, nil
}

// same reports whether packing left v as it was.
func same(packed, v any) bool {
	switch v := v.(type) {
	case nil, bool, int64, int, float64, string, []byte, *big.Int, *value.Set:
		return true
	case *value.List:
		p, ok := packed.(*value.List)
		return ok && p == v
	case *value.Dict:
		p, ok := packed.(*value.Dict)
		return ok && p == v
	}
	return false
}

// Unpacker reads packed values.
type Unpacker struct {
	// Decrypt opens encrypted strings; nil leaves them without a secret.
	Decrypt func(ciphertext string, pos value.Pos) (string, error)
}

var errPacked = errors.New("a value of the journal is not what was written")

// Value reads one.
func (u Unpacker) Value(v any) (any, error) { return u.value(v, 0) }

// Dict reads a mapping; nil stays nil.
func (u Unpacker) Dict(d *value.Dict) (*value.Dict, error) {
	if d == nil {
		return nil, nil
	}
	v, err := u.Value(d)
	if err != nil {
		return nil, err
	}
	out, ok := v.(*value.Dict)
	if !ok {
		return nil, errPacked
	}
	return out, nil
}

func (u Unpacker) value(v any, depth int) (any, error) {
	if depth > 2*value.MaxDepth {
		return nil, errPacked
	}
	switch v := v.(type) {
	case value.Tuple:
		return u.tuple(v, depth)
	case *value.List:
		for i, e := range v.Items {
			p, err := u.value(e, depth+1)
			if err != nil {
				return nil, err
			}
			v.Items[i] = p
		}
	case *value.Dict:
		for i := range v.Len() {
			k, e := v.At(i)
			p, err := u.value(e, depth+1)
			if err != nil {
				return nil, err
			}
			if _, ok := k.(value.Tuple); ok {
				return u.rebuilt(v, depth)
			}
			v.SetAt(i, p)
		}
	}
	return v, nil
}

// rebuilt is a mapping with keys that were packed.
func (u Unpacker) rebuilt(d *value.Dict, depth int) (any, error) {
	out := value.NewDict(d.Len())
	for k, e := range d.All() {
		pk, err := u.value(k, depth+1)
		if err != nil {
			return nil, err
		}
		pe, err := u.value(e, depth+1)
		if err != nil {
			return nil, err
		}
		out.Set(pk, pe)
	}
	return out, nil
}

func (u Unpacker) tuple(t value.Tuple, depth int) (any, error) {
	if len(t) == 0 {
		return nil, errPacked
	}
	mark, ok := t[0].(int64)
	if !ok {
		return nil, errPacked
	}
	if mark == markTuple {
		out := make(value.Tuple, 0, len(t)-1)
		for _, e := range t[1:] {
			p, err := u.value(e, depth+1)
			if err != nil {
				return nil, err
			}
			out = append(out, p)
		}
		return out, nil
	}
	str := func(i int) string {
		if i < len(t) {
			s, _ := t[i].(string)
			return s
		}
		return ""
	}
	num := func(i int) int64 {
		if i < len(t) {
			n, _ := t[i].(int64)
			return n
		}
		return 0
	}
	pos := func() value.Pos { return value.Pos{File: str(2), Line: int(num(3)), Column: int(num(4))} }
	switch mark {
	case markTemplate:
		return value.NewTemplate(str(1), pos()), nil
	case markVault:
		out := &value.Vault{Ciphertext: str(1), Pos: pos()}
		if u.Decrypt != nil {
			out.Decrypt = func() (string, error) { return u.Decrypt(out.Ciphertext, out.Pos) }
		}
		return out, nil
	case markMarkup:
		return value.Markup(str(1)), nil
	case markNaive:
		return time.Unix(num(1), num(2)).In(value.Naive), nil
	case markTime:
		return time.Unix(num(1), num(2)).In(time.FixedZone(str(3), int(num(4)))), nil
	case markDate:
		return value.Date{Year: int(num(1)), Month: time.Month(num(2)), Day: int(num(3))}, nil
	case markTimeOfDay:
		return value.TimeOfDay{Hour: int(num(1)), Minute: int(num(2)), Second: int(num(3)), Microsecond: int(num(4))}, nil
	case markUndefined:
		return &value.Undefined{Name: str(1), Hint: str(2)}, nil
	case markOmit:
		return value.Omit, nil
	}
	return nil, errPacked
}
