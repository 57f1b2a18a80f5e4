package value

import (
	"math"
	"math/big"
	"testing"
	"time"
)

func bigInt(s string) *big.Int { i, _ := new(big.Int).SetString(s, 10); return i }

func TestRepr(t *testing.T) {
	rec := ListOf(int64(1))
	rec.Items = append(rec.Items, rec)
	for want, v := range map[string]any{
		"None": nil, "True": true, "-5": int64(-5), "1180591620717411303424": bigInt("1180591620717411303424"),
		"1.0": 1.0, "1e+16": 1e16, "1e-05": 1e-5, "0.0001": 0.0001, "123456789012345.6": 123456789012345.6, "-0.0": math.Copysign(0, -1), "nan": math.NaN(), "inf": math.Inf(1),
		`'a\n\\\x00é'`: "a\n\\\x00é", `"it's"`: "it's", `'it\'s "q"'`: `it's "q"`, `'\udcff'`: "\xff", `'\u200b'`: "\u200b", `b'a\xff'`: []byte("a\xff"),
		"[1, 'a', (2,), {'k': [None]}, set()]": ListOf(int64(1), "a", Tuple{int64(2)}, DictOf("k", ListOf(nil)), SetOf()), "[1, [...]]": rec, "()": Tuple{},
		"datetime.datetime(2026, 3, 4, 5, 6)": time.Date(2026, 3, 4, 5, 6, 0, 0, Naive), "datetime.timedelta(days=-1, seconds=86399)": -time.Second,
	} {
		if got := Repr(v); got != want {
			t.Errorf("Repr = %s, want %s", got, want)
		}
	}
}

func TestArithmetic(t *testing.T) {
	type op = func(a, b any) (any, error)
	for _, c := range []struct {
		op   op
		a, b any
		want string
	}{
		{Add, int64(math.MaxInt64), int64(1), "9223372036854775808"}, {Add, true, int64(1), "2"}, {Add, "a", "b", "'ab'"}, {Add, ListOf(int64(1)), ListOf("x"), "[1, 'x']"},
		{Add, "a", int64(1), `can only concatenate str (not "int") to str`}, {Add, nil, int64(1), "unsupported operand type(s) for +: 'NoneType' and 'int'"},
		{Sub, int64(math.MinInt64), int64(1), "-9223372036854775809"}, {Mul, int64(1 << 40), int64(1 << 40), "1208925819614629174706176"}, {Mul, int64(math.MinInt64), int64(-1), "9223372036854775808"},
		{Mul, "ab", int64(3), "'ababab'"}, {Mul, int64(-1), ListOf(int64(1)), "[]"}, {Mul, int64(2), nil, "unsupported operand type(s) for *: 'int' and 'NoneType'"},
		{Div, int64(7), int64(2), "3.5"}, {Div, int64(1), int64(0), "division by zero"}, {FloorDiv, int64(-7), int64(2), "-4"}, {FloorDiv, -7.5, int64(2), "-4.0"}, {Mod, int64(-7), int64(3), "2"},
		{Mod, int64(7), int64(-3), "-2"}, {Mod, -7.5, 2.0, "0.5"}, {Mod, int64(1), int64(0), "integer modulo by zero"}, {Pow, int64(2), int64(70), "1180591620717411303424"},
		{Pow, int64(2), int64(-1), "0.5"}, {Pow, int64(27), 1.0 / 3, "3.0"}, {Pow, int64(0), int64(-1), "0.0 cannot be raised to a negative power"},
		{Mod, "%s-%05.1f-%x-%r", Tuple{"a", 2.25, int64(255), "q"}, `"a-002.2-ff-'q'"`}, {Mod, "%s", Tuple{int64(1), int64(2)}, "not all arguments converted during string formatting"},
		{Mod, "%(k)s", DictOf("k", int64(1)), "'1'"}, {Mod, "%d", "x", "%d format: a real number is required, not str"},
	} {
		v, err := c.op(c.a, c.b)
		got := Repr(v)
		if err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s, %s: got %s, want %s", Repr(c.a), Repr(c.b), got, c.want)
		}
	}
}

func TestCompare(t *testing.T) {
	if !Equal(DictOf("a", int64(1), "b", 2.0), DictOf("b", int64(2), "a", true)) {
		t.Error("dicts compare without order and by value")
	}
	if Equal(bigInt("9007199254740993"), 9007199254740992.0) || !Equal(int64(1<<53), 9007199254740992.0) {
		t.Error("ints and floats compare exactly")
	}
	for want, c := range map[string][2]any{
		"true": {ListOf(int64(1), "b"), ListOf(int64(1), "c")}, "false": {math.NaN(), 1.0},
		"'<' not supported between instances of 'int' and 'str'": {ListOf(int64(1)), ListOf("a")}, "'<' not supported between instances of 'dict' and 'dict'": {DictOf(), DictOf()},
	} {
		ok, err := Less(c[0], c[1])
		got := "false"
		if ok {
			got = "true"
		}
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s < %s: got %s, want %s", Repr(c[0]), Repr(c[1]), got, want)
		}
	}
}

func TestFormat(t *testing.T) {
	for _, c := range []struct {
		v          any
		spec, want string
	}{
		{int64(1234567), ",", "1,234,567"}, {int64(-5), "06d", "-00005"}, {int64(255), "#x", "0xff"}, {int64(5), "b", "101"}, {int64(1234), "010,", "00,001,234"}, {1.5, "", "1.5"},
		{1234.5, ",.2f", "1,234.50"}, {0.5, "%", "50.000000%"}, {1e10, "g", "1e+10"}, {1.0, ".3", "1.0"}, {"abc", "^7", "  abc  "}, {"abc", "*>6.2", "****ab"}, {true, "d", "1"},
	} {
		if got, err := Format(c.v, c.spec); err != nil || got != c.want {
			t.Errorf("format(%s, %q) = %q, %v; want %q", Repr(c.v), c.spec, got, err, c.want)
		}
	}
	if _, err := Format("a", "d"); err == nil || err.Error() != "Unknown format code 'd' for object of type 'str'" {
		t.Errorf("got %v", err)
	}
}

func TestEncodeJSON(t *testing.T) {
	v := DictOf("b", ListOf(int64(1), 1e16, nil, true), "a", "é\u2028\"\x01😀", int64(3), DictOf())
	if _, err := EncodeJSON(v, JSONStyle{Indent: -1, SortKeys: true}); err == nil {
		t.Error("keys of different types cannot be sorted")
	}
	v.Delete(int64(3))
	for want, style := range map[string]JSONStyle{
		`{"b": [1, 1e+16, null, true], "a": "\u00e9\u2028\"\u0001\ud83d\ude00"}`:                            {Indent: -1},
		"{\n  \"a\": \"é\u2028\\\"\\u0001😀\",\n  \"b\": [\n    1,\n    1e+16,\n    null,\n    true\n  ]\n}": {Indent: 2, SortKeys: true, Raw: true},
	} {
		if got, err := EncodeJSON(v, style); err != nil || got != want {
			t.Errorf("got %s, %v\nwant %s", got, err, want)
		}
	}
	l := ListOf()
	l.Items = append(l.Items, l)
	if _, err := EncodeJSON(l, JSONStyle{Indent: -1}); err == nil || err.Error() != "Circular reference detected" {
		t.Errorf("got %v", err)
	}
}

func TestCopyKeepsSharing(t *testing.T) {
	shared := ListOf(int64(1))
	c := Copy(ListOf(shared, shared)).(*List)
	if c.Items[0] != c.Items[1] || c.Items[0] == any(shared) {
		t.Error("a list met twice is copied once")
	}
}
