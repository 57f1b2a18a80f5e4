package main

import (
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strings"
	"time"
	"unicode/utf8"

	"volant/controller/fault"
	"volant/controller/vault"
	"volant/wire/value"
)

// tagged turns recorded values into variables and back.
type tagged struct{ vault *vault.Vault }

// trusted makes variables of decoded JSON: text is operator-written unless a
// tag says otherwise.
func (t tagged) trusted(v any) any {
	switch v := v.(type) {
	case string:
		return value.NewTemplate(v, value.Pos{})
	case *value.List:
		out := value.ListOf()
		for _, x := range v.Items {
			out.Items = append(out.Items, t.trusted(x))
		}
		return out
	case *value.Dict:
		if x, ok := t.tag(v, t.trusted); ok {
			return x
		}
		out := value.NewDict(v.Len())
		for k, x := range v.All() {
			out.Set(k, t.trusted(x))
		}
		return out
	}
	return v
}

// data makes variables that came from a module.
func (t tagged) data(v any) any {
	switch v := v.(type) {
	case *value.List:
		out := value.ListOf()
		for _, x := range v.Items {
			out.Items = append(out.Items, t.data(x))
		}
		return out
	case *value.Dict:
		if x, ok := t.tag(v, t.data); ok {
			return x
		}
		out := value.NewDict(v.Len())
		for k, x := range v.All() {
			out.Set(k, t.data(x))
		}
		return out
	}
	return v
}

func (t tagged) tag(d *value.Dict, inner func(any) any) (any, bool) {
	if d.Len() != 1 {
		return nil, false
	}
	k, x := d.At(0)
	name, _ := value.Text(k)
	text, _ := value.Text(x)
	items := func() []any {
		l, _ := x.(*value.List)
		if l == nil {
			return nil
		}
		out := make([]any, len(l.Items))
		for i, e := range l.Items {
			out[i] = inner(e)
		}
		return out
	}
	switch name {
	case "$untrusted":
		return t.data(x), true
	case "$tuple":
		return value.Tuple(items()), true
	case "$set":
		return value.SetOf(items()...), true
	case "$dict":
		out := value.NewDict(0)
		l, _ := x.(*value.List)
		for _, pair := range l.Items {
			kv := pair.(*value.List).Items
			key := inner(kv[0])
			if tt, ok := key.(*value.Template); ok {
				key = tt.Text
			}
			out.Set(key, inner(kv[1]))
		}
		return out, true
	case "$float":
		return map[string]float64{"nan": math.NaN(), "inf": math.Inf(1), "-inf": math.Inf(-1)}[text], true
	case "$bytes":
		b, _ := hex.DecodeString(text)
		return b, true
	case "$rawstr":
		b, _ := hex.DecodeString(text)
		return string(b), true
	case "$datetime":
		for _, layout := range []string{"2006-01-02T15:04:05.999999", "2006-01-02T15:04:05.999999Z07:00"} {
			if d, err := time.ParseInLocation(layout, text, value.Naive); err == nil {
				return d, true
			}
		}
	case "$date":
		if d, err := time.Parse(time.DateOnly, text); err == nil {
			return value.NewDate(d.Year(), int(d.Month()), d.Day()), true
		}
	case "$vault":
		return &value.Vault{Ciphertext: text, Decrypt: func() (string, error) { return t.vault.DecryptString(text, value.Pos{}) }}, true
	case "$omit":
		return value.Omit, true
	}
	return nil, false
}

// record writes a result the way the corpus does.
func record(v any) any {
	switch v := v.(type) {
	case string:
		if !utf8.ValidString(v) {
			return value.DictOf("$rawstr", hex.EncodeToString([]byte(v)))
		}
		return v
	case *value.Template:
		return value.DictOf("$leaked_template", v.Text)
	case *value.List:
		out := value.ListOf()
		for _, x := range v.Items {
			out.Items = append(out.Items, record(x))
		}
		return out
	case value.Tuple:
		return value.DictOf("$tuple", record(value.ListOf(v...)))
	case *value.Set:
		return value.DictOf("$set", record(value.ListOf(v.Items()...)))
	case *value.Dict:
		plain := true
		for k := range v.All() {
			if _, ok := k.(string); !ok {
				plain = false
			}
		}
		if !plain {
			pairs := value.ListOf()
			for k, x := range v.All() {
				pairs.Items = append(pairs.Items, value.ListOf(record(k), record(x)))
			}
			return value.DictOf("$dict", pairs)
		}
		out := value.NewDict(v.Len())
		for k, x := range v.All() {
			out.Set(k, record(x))
		}
		return out
	case float64:
		switch {
		case math.IsNaN(v):
			return value.DictOf("$float", "nan")
		case math.IsInf(v, 1):
			return value.DictOf("$float", "inf")
		case math.IsInf(v, -1):
			return value.DictOf("$float", "-inf")
		}
		return v
	case []byte:
		return value.DictOf("$bytes", hex.EncodeToString(v))
	case time.Time:
		return value.DictOf("$datetime", value.FormatTime(v, "T"))
	case value.Date:
		return value.DictOf("$date", v.String())
	case value.Omitted:
		return value.DictOf("$omit", true)
	case nil, bool, int64, *big.Int:
		return v
	}
	return value.DictOf("$unexpected", fmt.Sprintf("%T", v))
}

// same compares recorded values: types and the order of keys count.
func same(a, b any) bool {
	switch a := a.(type) {
	case *value.List:
		bl, ok := b.(*value.List)
		if !ok || len(a.Items) != len(bl.Items) {
			return false
		}
		for i := range a.Items {
			if !same(a.Items[i], bl.Items[i]) {
				return false
			}
		}
		return true
	case *value.Dict:
		bd, ok := b.(*value.Dict)
		if !ok || a.Len() != bd.Len() {
			return false
		}
		for i := range a.Len() {
			ak, av := a.At(i)
			bk, bv := bd.At(i)
			if !same(ak, bk) || !same(av, bv) {
				return false
			}
		}
		return true
	case *big.Int:
		bi, ok := b.(*big.Int)
		return ok && a.Cmp(bi) == 0
	case float64:
		bf, ok := b.(float64)
		return ok && a == bf && math.Signbit(a) == math.Signbit(bf)
	}
	return a == b
}

func class(err error) string {
	var e *fault.Error
	if errors.As(err, &e) && e.Class != "" {
		return e.Class
	}
	var x *value.Exception
	if errors.As(err, &x) {
		return x.Class
	}
	return fmt.Sprintf("%T", err)
}

func show(v any) string {
	s, err := value.EncodeJSON(v, value.JSONStyle{Indent: -1, Raw: true})
	if err != nil {
		return value.Repr(v)
	}
	return s
}

// compare returns what differs from the recording, or "".
func (c *testCase) compare(got any, err error) string {
	tmpl := "  template " + show(c.d.Lookup("template"))
	if we, ok := c.d.Lookup("error").(*value.Dict); ok {
		kind, _ := we.Str("type")
		msg, _ := we.Str("message_first_line")
		if err == nil {
			return fmt.Sprintf("%s\n  want error %s: %s\n  got  %s", tmpl, kind, msg, show(record(got)))
		}
		first, _, _ := strings.Cut(strings.ReplaceAll(fault.Brief(err), c.dir, "$CASE_DIR"), "\n")
		if we.Bool("python_detail") {
			head, _, ok := strings.Cut(msg, ": ")
			if ok && strings.HasPrefix(first, head) || !ok && first != "" {
				msg = first
			}
		}
		if first == msg && class(err) == kind {
			return c.messagesDiffer(tmpl)
		}
		return fmt.Sprintf("%s\n  want error %s: %s\n  got  error %s: %s", tmpl, kind, msg, class(err), first)
	}
	want := c.d.Lookup("want")
	if err != nil {
		return fmt.Sprintf("%s\n  want %s\n  got  error %s: %s", tmpl, show(want), class(err), fault.Brief(err))
	}
	if h, ok := got.(hexText); ok {
		if h.got == h.want {
			return ""
		}
		return fmt.Sprintf("%s\n  want %s\n  got  %s", tmpl, h.want, h.got)
	}
	rec := c.restore(record(got))
	if same(rec, want) {
		return c.messagesDiffer(tmpl)
	}
	return fmt.Sprintf("%s\n  want %s\n  got  %s", tmpl, show(want), show(rec))
}

// messagesDiffer compares what the operator was told.
func (c *testCase) messagesDiffer(tmpl string) string {
	if !c.warn {
		return ""
	}
	var want []string
	for _, key := range []string{"warnings", "deprecations"} {
		if l, ok := c.d.Lookup(key).(*value.List); ok {
			for _, x := range l.Items {
				want = append(want, value.Str(x))
			}
		}
	}
	got := strings.ReplaceAll(strings.Join(c.messages, "\n"), c.dir, "$CASE_DIR")
	if got == strings.Join(want, "\n") {
		return ""
	}
	return fmt.Sprintf("%s\n  want messages %q\n  got  messages %q", tmpl, want, c.messages)
}

// restore puts $CASE_DIR back.
func (c *testCase) restore(v any) any {
	switch v := v.(type) {
	case string:
		return strings.ReplaceAll(v, c.dir, "$CASE_DIR")
	case *value.List:
		out := value.ListOf()
		for _, x := range v.Items {
			out.Items = append(out.Items, c.restore(x))
		}
		return out
	case *value.Dict:
		out := value.NewDict(v.Len())
		for k, x := range v.All() {
			out.Set(c.restore(k), c.restore(x))
		}
		return out
	}
	return v
}
