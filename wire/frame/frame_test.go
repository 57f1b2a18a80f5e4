package frame

import (
	"bytes"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"volant/wire"
	"volant/wire/value"
)

var update = flag.Bool("update", false, "rewrite the golden frames")

// samples has one full message of every kind.
func samples() []wire.Message {
	id := wire.TaskID{Host: "web1", Step: 7, Item: 2, Attempt: 1, N: 3}
	h := wire.Hash{1, 2, 3}
	flags := "-H -S"
	return []wire.Message{
		&wire.Hello{Version: 1, MinVersion: 1, Agent: "1.2.3", BootID: "b", JournalID: "j", Clock: 5, Hostname: "h", User: "u", UID: 1000, System: "linux", Arch: "amd64", PID: 42, Slots: 256, Memory: 9},
		&wire.Welcome{Version: 1, Controller: "me", Run: wire.RunID{9}, SessionKey: bytes.Repeat([]byte{7}, 32), Clock: 6, MaxResult: 1, MaxFile: 2},
		&wire.Ping{N: 1}, &wire.Pong{N: 1}, &wire.Ended{ID: id}, &wire.Drain{Reason: "r"}, &wire.Goodbye{},
		&wire.Refused{Code: wire.RefusedVersion, Text: "t"},
		&wire.Pull{},
		&wire.Task{
			ID: id, Module: "ansible.builtin.copy", Args: wire.Dict{Dict: value.DictOf("dest", "/x", "mode", int64(420))},
			Options: wire.Dict{Dict: value.DictOf("verbosity", int64(0))},
			Python: &wire.Python{Base: h, Extra: h, FQN: "ansible.modules.copy", File: "ansible/modules/copy.py", Style: 1, Shebang: "/usr/bin/python", Core: "2.19.12", Interpreter: "auto",
				Fallback: []string{"python3"}, Overrides: []wire.EnvVar{{Name: "ruby", Value: "/usr/bin/ruby"}}},
			Native: true, Become: &wire.Become{Method: "sudo", User: "root", Exe: "sudo", Flags: &flags, Password: "p", Chdir: "/", Prompts: []string{"Password"}},
			Environment: []wire.EnvVar{{Name: "A", Value: "1"}}, Check: true, Diff: true, Timeout: 5,
			Files: []wire.TaskFile{{Arg: "src", Suffix: ".conf", Hash: h, Size: 12}}, Async: 3, JobID: "j1.2",
		},
		&wire.Collect{ID: id}, &wire.State{ID: id, State: wire.StateDone},
		&wire.Want{Hashes: []wire.Hash{h, {4}}}, &wire.Blob{Hash: h, Size: 3, Encoding: wire.EncodingZstd}, &wire.Data{Data: []byte("abc"), Last: true},
		&wire.Started{Group: 77}, &wire.Output{Stream: 2, Data: []byte("err")}, &wire.Result{Data: []byte{0xa0}, More: true},
		&wire.Ack{ID: id}, &wire.Cancel{ID: id}, &wire.Worker{Version: 1, UID: 0, User: "root", PID: 8},
		&wire.NoBlob{Hash: h, Text: "gone", Lost: true}, &wire.FileDone{Size: 3, Hash: h, Text: "t"},
		&wire.Reset{},
	}
}

// TestGolden holds today's frames to the recorded bytes: an old agent's frames
// stay readable and a new agent's stay the same.
func TestGolden(t *testing.T) {
	seen := map[wire.Kind]bool{}
	for _, m := range samples() {
		seen[m.Kind()] = true
		var b bytes.Buffer
		if err := NewWriter(&b).Send(m); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join("..", "testdata", strings.ToLower(m.Kind().String())+".hex")
		if *update {
			if err := os.WriteFile(file, []byte(hex.EncodeToString(b.Bytes())+"\n"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		want, err := hex.DecodeString(strings.TrimSpace(string(text)))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(b.Bytes(), want) {
			t.Errorf("%s: encoded %x, want %x", m.Kind(), b.Bytes(), want)
		}
		got, err := NewReader(bytes.NewReader(want)).Read()
		if err != nil {
			t.Errorf("%s: %v", m.Kind(), err)
		}
		if d := cmp.Diff(m, got, cmp.Exporter(func(reflect.Type) bool { return true })); d != "" {
			t.Errorf("%s: %s", m.Kind(), d)
		}
	}
	for k := range 256 {
		if kind := wire.Kind(k); wire.New(kind) != nil && !seen[kind] {
			t.Errorf("%s has no golden frame", kind)
		}
	}
}

// TestThen: what goes on after a stat, and its result, come across; without it
// both are the frames they were before there was any.
func TestThen(t *testing.T) {
	all := cmp.Exporter(func(reflect.Type) bool { return true })
	for _, then := range []*wire.Then{
		{Checksum: "da39", Same: wire.Dict{Dict: value.DictOf("state", "file")}, Differs: wire.Dict{Dict: value.DictOf("dest", "/x")},
			File: &wire.TaskFile{Arg: "src", Suffix: ".conf", Hash: wire.Hash{1}, Size: 12}},
		{Differs: wire.Dict{Dict: value.DictOf("dest", "/x")}},
		{},
	} {
		task := &wire.Task{ID: wire.TaskID{Host: "h"}, Module: "m", Args: wire.Dict{Dict: value.NewDict(0)}, Options: wire.Dict{Dict: value.NewDict(0)}, Then: then}
		var b bytes.Buffer
		if err := NewWriter(&b).Send(task); err != nil {
			t.Fatal(err)
		}
		got, err := NewReader(&b).Read()
		if d := cmp.Diff(wire.Message(task), got, all); err != nil || d != "" {
			t.Errorf("%v, %s", err, d)
		}
	}
	out := &wire.Outcome{Result: wire.Dict{Dict: value.DictOf("changed", false)}, Path: "native", Then: wire.Dict{Dict: value.DictOf("changed", true)}}
	b, err := Marshal(out)
	if err != nil {
		t.Fatal(err)
	}
	got := new(wire.Outcome)
	if err := Unmarshal(b, got); err != nil || !cmp.Equal(out, got, all) {
		t.Errorf("%v, %s", err, cmp.Diff(out, got, all))
	}
	head := new(wire.Outcome)
	if err := head.ParseHead(b); err != nil || head.Path != "native" || head.Then.Dict != nil {
		t.Errorf("%v, %+v", err, head)
	}
}

func TestReadRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		in   string
		want error
	}{
		"nothing":       {"", io.EOF},
		"cut head":      {"000000", io.ErrUnexpectedEOF},
		"cut body":      {"0000000310", io.ErrUnexpectedEOF},
		"too long":      {fmt.Sprintf("%08x10", wire.MaxFrame+1), ErrTooLong},
		"longest claim": {"ffffffff10", ErrTooLong},
	} {
		b, err := hex.DecodeString(c.in)
		if err != nil {
			t.Fatal(err)
		}
		if m, err := NewReader(bytes.NewReader(b)).Read(); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, %v", name, m, err)
		}
	}
	for name, in := range map[string]string{
		"no kind": "0000000000", "not CBOR": "0000000210ff", "array for a map": "00000002111a", "bytes behind": "0000000310a0a0",
		"key twice": "00000006" + "03" + "a201010101", "indefinite": "0000000303bfff",
	} {
		b, err := hex.DecodeString(in)
		if err != nil {
			t.Fatal(err)
		}
		if m, err := NewReader(bytes.NewReader(b)).Read(); err == nil {
			t.Errorf("%s: read %#v", name, m)
		}
	}
}

func TestUnknown(t *testing.T) {
	in, _ := hex.DecodeString("00000002" + "f0" + "a0" + "0000000b" + "03" + "a2" + "0109" + "1903e763616263")
	r := NewReader(bytes.NewReader(in))
	var unknown *UnknownError
	if m, err := r.Read(); !errors.As(err, &unknown) || unknown.Kind != 0xf0 {
		t.Errorf("unknown kind: %v, %v", m, err)
	}
	if m, err := r.Read(); err != nil || m.(*wire.Ping).N != 9 {
		t.Errorf("unknown key: %v, %v", m, err)
	}
}

func TestWriteTooLong(t *testing.T) {
	var b bytes.Buffer
	w := NewWriter(&b)
	if err := w.Put(&wire.Data{Data: make([]byte, wire.MaxFrame)}); !errors.Is(err, ErrTooLong) {
		t.Errorf("got %v", err)
	}
	if err := w.Send(&wire.Pull{}); err != nil || b.Len() != 6 {
		t.Errorf("%d bytes, %v", b.Len(), err)
	}
}

// TestClaimAllocates holds the reader to allocating as bytes arrive, not as
// they are announced.
func TestClaimAllocates(t *testing.T) {
	in := append([]byte{0, 0xff, 0xff, 0xff, 22}, make([]byte, 1000)...)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 20 {
		if _, err := NewReader(bytes.NewReader(in)).Read(); err == nil {
			t.Fatal("a cut frame was read")
		}
	}
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 20*256<<10 {
		t.Errorf("%d bytes allocated for 1000 that came", n/20)
	}
}

func FuzzDecode(f *testing.F) {
	for _, m := range samples() {
		var b bytes.Buffer
		if err := NewWriter(&b).Send(m); err != nil {
			f.Fatal(err)
		}
		f.Add(b.Bytes())
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		r := NewReader(bytes.NewReader(in))
		for {
			m, err := r.Read()
			var unknown *UnknownError
			if errors.As(err, &unknown) {
				continue
			}
			if err != nil {
				return
			}
			if err := NewWriter(io.Discard).Send(m); err != nil {
				t.Fatalf("%#v does not encode: %v", m, err)
			}
		}
	})
}

// FuzzOutcome: what a sub-task ended with, put together from the pieces of Result.
func FuzzOutcome(f *testing.F) {
	for _, o := range []*wire.Outcome{
		{Result: wire.Dict{Dict: value.DictOf("changed", true, "list", value.ListOf("a", int64(1)))}, Path: "native"},
		{Fault: &wire.Fault{Code: wire.FaultLost, Started: true, Text: "lost"}},
		{Result: wire.Dict{Dict: value.DictOf("stat", value.DictOf("exists", true))}, Then: wire.Dict{Dict: value.DictOf("changed", true)}},
	} {
		b, err := Marshal(o)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var o wire.Outcome
		if Unmarshal(b, &o) != nil {
			return
		}
		again, err := Marshal(&o)
		if err != nil {
			t.Fatalf("%#v does not encode: %v", o, err)
		}
		if err := Unmarshal(again, new(wire.Outcome)); err != nil {
			t.Fatalf("%x does not decode again: %v", again, err)
		}
	})
}
