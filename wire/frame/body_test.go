package frame

import (
	"bytes"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"volant/wire"
	"volant/wire/value"
)

// bodies makes each of what writes its own encoding.
var bodies = []func() wire.Body{
	func() wire.Body { return new(wire.Pull) },
	func() wire.Body { return new(wire.Started) },
	func() wire.Body { return new(wire.Ack) },
	func() wire.Body { return new(wire.Result) },
	func() wire.Body { return new(wire.Task) },
	func() wire.Body { return new(wire.Outcome) },
}

var all = cmp.Exporter(func(reflect.Type) bool { return true })

// fill puts something into every field of a struct, or leaves it empty.
func fill(v reflect.Value, r *rand.Rand) {
	switch {
	case v.Type() == reflect.TypeFor[wire.Dict]():
		if r.IntN(4) > 0 {
			v.Set(reflect.ValueOf(wire.Dict{Dict: value.DictOf("a", r.Int64(), "ü", value.ListOf("x", nil, true, 1.5), "d", value.DictOf(int64(-1), ""))}))
		}
		return
	case v.Kind() != reflect.Struct && r.IntN(3) == 0:
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), r)
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), r)
	case reflect.Slice:
		s := reflect.MakeSlice(v.Type(), 1+r.IntN(3), 3)
		for i := range s.Len() {
			fill(s.Index(i), r)
		}
		v.Set(s)
	case reflect.Array:
		for i := range v.Len() {
			v.Index(i).SetUint(uint64(r.IntN(256)))
		}
	case reflect.String:
		v.SetString([]string{"a", "", "naïve text", string(make([]byte, 300))}[r.IntN(4)])
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Uint8, reflect.Uint32:
		v.SetUint(uint64(r.Uint32()) >> r.IntN(32) & (1<<v.Type().Bits() - 1))
	case reflect.Int64, reflect.Int:
		v.SetInt(int64(r.Uint64()) >> r.IntN(64))
	default:
		panic(v.Type().String() + " is not filled")
	}
}

// TestBodies holds what messages write themselves to what their tags describe.
func TestBodies(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		for _, empty := range bodies {
			m := empty()
			fill(reflect.ValueOf(m).Elem(), r)
			got, err := m.AppendBody([]byte("in front"))
			want, werr := encMode2(m)
			if err != nil || werr != nil || !bytes.Equal(got, append([]byte("in front"), want...)) {
				t.Fatalf("%#v is written as %x (%v), described as %x (%v)", m, got, err, want, werr)
			}
			own, described := empty(), empty()
			if err := own.ParseBody(want); err != nil {
				t.Fatalf("%x is not read: %v", want, err)
			}
			if err := decMode.Unmarshal(want, described); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(described, own, all); d != "" {
				t.Fatalf("%x: %s", want, d)
			}
			for cut := 0; cut < len(want); cut += 1 + len(want)/50 {
				if empty().ParseBody(want[:cut]) == nil {
					t.Fatalf("%x is read without its end, up to %d", want, cut)
				}
			}
		}
	}
}

func encMode2(m any) ([]byte, error) {
	var b bytes.Buffer
	err := encMode.MarshalToBuffer(m, &b)
	return b.Bytes(), err
}

// TestBodyTexts: environments and errors may hold what is no UTF-8.
func TestBodyTexts(t *testing.T) {
	in := &wire.Task{Module: "m", Environment: []wire.EnvVar{{Name: "A", Value: "\xff"}}}
	b, err := in.AppendBody(nil)
	out := new(wire.Task)
	if err != nil || out.ParseBody(b) != nil || out.Environment[0].Value != "\xff" {
		t.Errorf("%x: %v, %#v", b, err, out)
	}
}

func TestBodyRefuses(t *testing.T) {
	for name, in := range map[string]string{
		"keys out of order": "\xa2\x02\xf5\x01\x40", "a key twice": "\xa2\x01\x40\x01\x40", "text for a key": "\xa1\x61a\x40",
		"number for bytes": "\xa1\x01\x01", "bytes behind": "\xa0\xa0", "endless": "\xbf\xff", "more than there is": "\xbb\xff\xff\xff\xff\xff\xff\xff\xff",
		"deep": "\xa1\x18\x63" + string(bytes.Repeat([]byte{0x81}, 5000)) + "\xf6", "long bytes": "\xa1\x01\x5b\x7f\xff\xff\xff\xff\xff\xff\xff",
	} {
		if new(wire.Result).ParseBody([]byte(in)) == nil {
			t.Errorf("%s: read", name)
		}
	}
	if err := new(wire.Result).ParseBody([]byte("\xa2\x01\x41x\x18\x63\xa1\x61a\x82\x01\xf6")); err != nil {
		t.Errorf("an unknown key: %v", err)
	}
}

// FuzzBody: what is read is what the tags describe, and can be written again.
func FuzzBody(f *testing.F) {
	r := rand.New(rand.NewPCG(3, 4))
	for i, empty := range bodies {
		for range 20 {
			m := empty()
			fill(reflect.ValueOf(m).Elem(), r)
			b, err := m.AppendBody(nil)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(i, b)
		}
	}
	f.Fuzz(func(t *testing.T, i int, b []byte) {
		empty := bodies[uint(i)%uint(len(bodies))]
		own, described := empty(), empty()
		err := own.ParseBody(b)
		if decMode.Unmarshal(b, described) == nil {
			canonical, cerr := encMode2(described)
			switch {
			case cerr == nil && bytes.Equal(canonical, b) && err != nil:
				t.Fatalf("%x is not read: %v", b, err)
			case err == nil:
				// By their encodings: those of an empty list and of none are the same.
				mine, merr := own.AppendBody(nil)
				if (cerr == nil) != (merr == nil) || !bytes.Equal(canonical, mine) {
					t.Fatalf("%x: written as %x (%v), described as %x (%v): %s", b, mine, merr, canonical, cerr, cmp.Diff(described, own, all))
				}
			}
		}
		if err != nil {
			return
		}
		again, err := own.AppendBody(nil)
		if err != nil {
			t.Fatalf("%x: %v", b, err)
		}
		second := empty()
		if err := second.ParseBody(again); err != nil {
			t.Fatalf("%x is not read again: %v", again, err)
		}
	})
}
