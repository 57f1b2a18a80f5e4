package journal

import (
	"bytes"
	"crypto/ed25519"
	"errors"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"volant/stage/disktest"
	"volant/wire"
	"volant/wire/value"
)

func newKey(t *testing.T) ed25519.PrivateKey {
	t.Helper()
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

const secret = "sesame-open-42"

// written makes a journal of n tasks with a frame each.
func written(t *testing.T, key ed25519.PrivateKey, n int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "one"+Suffix)
	w, err := Create(path, key, &Header{BootID: "b1", Args: []string{"-e", "password=" + secret}, SessionKey: []byte(secret)})
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		w.Put(&Sent{ID: wire.TaskID{Host: "h", Step: uint32(i + 1), N: 1}, Module: "command", BootID: "x"})
		w.Put(&Outcome{Host: "h", Seq: uint32(i + 1), Value: wire.Dict{Dict: value.DictOf("stdout", fmt.Sprint(secret, i))}})
		if err := w.Commit(); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestNothingInTheClear(t *testing.T) {
	path := written(t, newKey(t), 50)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(b, []byte(secret)) || bytes.Contains(b, []byte("stdout")) {
		t.Error("a result can be read")
	}
	if st, _ := os.Stat(path); st.Mode().Perm() != 0o600 {
		t.Errorf("mode %o", st.Mode().Perm())
	}
	if _, _, err := Resume(path, newKey(t), "b1", 0); !errors.Is(err, ErrForeign) {
		t.Errorf("another key opens it: %v", err)
	}
}

// TestTorn: whatever of its end is missing or garbled, what is before counts, and
// the file can be written on.
func TestTorn(t *testing.T) {
	key := newKey(t)
	whole, err := os.ReadFile(written(t, key, 8))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "torn"+Suffix)
	last := -1
	for n := len(whole) % 3; n <= len(whole); n += 3 {
		for _, garble := range []bool{false, true} {
			b := bytes.Clone(whole[:n])
			if garble && n > 0 {
				b[n-1] ^= 0x40
			}
			if err := os.WriteFile(path, b, 0o600); err != nil {
				t.Fatal(err)
			}
			p, w, err := Resume(path, key, "b2", 1)
			if err != nil {
				if !errors.Is(err, ErrForeign) {
					t.Fatalf("%d bytes: %v", n, err)
				}
				continue
			}
			if !garble {
				if p.Results() < last {
					t.Fatalf("%d bytes have %d results, fewer had %d", n, p.Results(), last)
				}
				last = p.Results()
			}
			had := p.Results()
			w.Put(&Outcome{Host: "h", Seq: 100})
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			p, w, err = Resume(path, key, "b2", 2)
			if err != nil || p.Results() != had+1 || p.Resumed != 1 {
				t.Fatalf("%d bytes: written on: %v", n, err)
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if last != 8 {
		t.Errorf("the whole file has %d results", last)
	}
}

func TestEnded(t *testing.T) {
	key := newKey(t)
	path := written(t, key, 20)
	_, w, err := Resume(path, key, "b1", 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := Resume(path, key, "b1", 0); !errors.Is(err, ErrBusy) {
		t.Errorf("a run in another process: %v", err)
	}
	if err := w.End(&End{Code: 2}); err != nil {
		t.Fatal(err)
	}
	p, w, err := Resume(path, key, "b1", 0)
	if err != nil || w != nil || p.End == nil || p.End.Code != 2 || p.Results() != 0 {
		t.Fatal(p, w, err)
	}
	if st, _ := os.Stat(path); st.Size() > 1000 {
		t.Errorf("%d bytes are left of a run that is over", st.Size())
	}
	entries, _ := os.ReadDir(filepath.Dir(path))
	if len(entries) != 1 {
		t.Errorf("left: %v", entries)
	}
}

func TestInterruptedCanGoOn(t *testing.T) {
	key := newKey(t)
	path := written(t, key, 3)
	_, w, err := Resume(path, key, "b1", 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.End(&End{Interrupted: true}); err != nil {
		t.Fatal(err)
	}
	p, w, err := Resume(path, key, "b1", 0)
	if err != nil || w == nil || p.Results() != 3 {
		t.Fatal(p, err)
	}
	_ = w.Close()
}

// TestPowerCutIsRemembered: that the end of what was written may be missing
// holds for every later attempt, whatever became of the first.
func TestPowerCutIsRemembered(t *testing.T) {
	key := newKey(t)
	path := written(t, key, 3)
	for i, attempt := range []struct {
		boot string
		want bool
	}{{"b1", false}, {"b2", true}, {"b2", true}, {"b3", true}, {"b3", true}} {
		p, w, err := Resume(path, key, attempt.boot, int64(i))
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Rebooted(attempt.boot); got != attempt.want {
			t.Errorf("attempt %d on boot %s: rebooted %v", i+1, attempt.boot, got)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestListingIsNotBusy: who lists the runs keeps nobody from resuming one.
func TestListingIsNotBusy(t *testing.T) {
	key := newKey(t)
	path := written(t, key, 500)
	stop := make(chan struct{})
	var listers sync.WaitGroup
	for range 3 {
		listers.Go(func() { // ends with stop
			for {
				select {
				case <-stop:
					return
				default:
				}
				if runs, err := List(filepath.Dir(path), key); err != nil || len(runs) != 1 || runs[0].Err != nil {
					t.Error(runs, err)
					return
				}
			}
		})
	}
	for i := range 30 {
		_, w, err := Resume(path, key, "b1", int64(i))
		if err != nil {
			t.Errorf("attempt %d: %v", i, err)
			break
		}
		if _, _, err := Resume(path, key, "b1", 0); !errors.Is(err, ErrBusy) {
			t.Errorf("resumed twice at once: %v", err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	close(stop)
	listers.Wait()
}

// TestEndingIsNeverResumed: while a run says that it is over, nobody finds it
// broken off.
func TestEndingIsNeverResumed(t *testing.T) {
	key := newKey(t)
	for range 20 {
		path := written(t, key, 20)
		_, w, err := Resume(path, key, "b1", 0)
		if err != nil {
			t.Fatal(err)
		}
		var other sync.WaitGroup
		other.Go(func() { // ends once the run is over
			for {
				p, again, err := Resume(path, key, "b1", 1)
				switch {
				case again != nil:
					t.Errorf("resumed with %d results", p.Results())
					_ = again.Close()
					return
				case err == nil:
					return
				case !errors.Is(err, ErrBusy):
					t.Error(err)
					return
				}
			}
		})
		if err := w.End(&End{Code: 2}); err != nil {
			t.Error(err)
		}
		other.Wait()
	}
}

// TestReplacedWhileOpened: the lock of a file that is the run's no longer says
// nothing of the run.
func TestReplacedWhileOpened(t *testing.T) {
	key := newKey(t)
	path, other := written(t, key, 3), written(t, key, 1)
	f, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := os.Rename(other, path); err != nil {
		t.Fatal(err)
	}
	if _, _, err := resume(f, path, key, "b1", 0); !errors.Is(err, errReplaced) {
		t.Errorf("a file without the name was taken: %v", err)
	}
}

func TestPrune(t *testing.T) {
	dir, key := t.TempDir(), newKey(t)
	var busy *Writer
	for i := range 6 {
		w, err := Create(filepath.Join(dir, fmt.Sprintf("2026010%d%s", i, Suffix)), key, &Header{})
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			busy = w
			continue
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := Prune(dir, 3); err != nil {
		t.Fatal(err)
	}
	runs, err := List(dir, key)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, r := range runs {
		names = append(names, r.Name)
	}
	if fmt.Sprint(names) != "[20260105 20260104 20260103 20260100]" || !runs[3].Running || runs[0].Running {
		t.Errorf("left: %v", names)
	}
	_ = busy.Close()
}

// TestNothingForgottenBeforeItIsWritten: what is called once synced comes after
// the record can be read back, from however many goroutines.
func TestNothingForgottenBeforeItIsWritten(t *testing.T) {
	key := newKey(t)
	path := filepath.Join(t.TempDir(), "x"+Suffix)
	w, err := Create(path, key, &Header{})
	if err != nil {
		t.Fatal(err)
	}
	var wg, due sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 50 {
				due.Add(1)
				host, seq := fmt.Sprint("h", g), uint32(i+1)
				w.PutThen(&Outcome{Host: host, Seq: seq}, due.Done)
				if i%7 == 0 {
					if err := w.Commit(); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	wg.Wait()
	due.Wait() // the syncer's work
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	p, _, err := load(f, key)
	if err != nil || p.Results() != 400 {
		t.Fatal(p.Results(), err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestDiskFull(t *testing.T) {
	key := newKey(t)
	path := filepath.Join(t.TempDir(), "x"+Suffix)
	w, err := Create(path, key, &Header{})
	if err != nil {
		t.Fatal(err)
	}
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip(err)
	}
	real := w.f
	w.f = full
	called := make(chan bool, 1)
	w.PutThen(&Outcome{Host: "h", Seq: 1}, func() { called <- true })
	if err := w.Commit(); err == nil {
		t.Fatal("nothing was said")
	}
	select {
	case <-called: // an agent is not kept waiting for ever
	case <-time.After(time.Minute):
		t.Error("what waits for the disk waits for ever")
	}
	if w.On() || w.Err() == nil {
		t.Error("it goes on")
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Error("a run could be resumed from what is not whole")
	}
	_ = real.Close()
	_ = w.Close()
}

// TestEndOnAFullDisk: a run that is over is not found broken off where there was
// no room to say that it is.
func TestEndOnAFullDisk(t *testing.T) {
	disk := disktest.New(t, 64)
	w, err := Create(filepath.Join(disk.Dir, "x"+Suffix), newKey(t), &Header{})
	if err != nil {
		t.Fatal(err)
	}
	w.Put(&Outcome{Host: "h", Seq: 1})
	if err := w.Commit(); err != nil {
		t.Fatal(err)
	}
	disk.Fill()
	if err := w.End(&End{}); !errors.Is(err, unix.ENOSPC) {
		t.Errorf("ended with %v", err)
	}
	if names, err := Names(disk.Dir); err != nil || len(names) > 0 {
		t.Errorf("left: %v, %v", names, err)
	}
}

func TestPack(t *testing.T) {
	when := time.Date(2026, 2, 3, 4, 5, 6, 7000, time.FixedZone("X", 3600))
	pos := value.Pos{File: "f.yml", Line: 3, Column: 9}
	in := value.DictOf(
		"plain", value.ListOf(int64(1), 2.5, true, nil, "s", []byte("b"), new(big.Int).Lsh(big.NewInt(1), 80)),
		"template", value.NewTemplate("{{ x }}", pos),
		"deep", value.DictOf("l", value.ListOf(value.Tuple{int64(1), value.NewTemplate("t", pos)})),
		"date", value.Date{Year: 2026, Month: 2, Day: 3}, "time", when, "naive", when.In(value.Naive),
		"of_day", value.TimeOfDay{Hour: 1, Minute: 2}, "vault", &value.Vault{Ciphertext: "$ANSIBLE_VAULT", Pos: pos},
		"undefined", &value.Undefined{Name: "n", Hint: "'n' is undefined"}, "omit", value.Omit, "markup", value.Markup("<b>"),
	)
	packed, err := PackDict(in)
	if err != nil {
		t.Fatal(err)
	}
	b, err := wire.EncodeValue(packed)
	if err != nil {
		t.Fatal(err)
	}
	v, err := wire.DecodeValue(b)
	if err != nil {
		t.Fatal(err)
	}
	u := Unpacker{Decrypt: func(text string, _ value.Pos) (string, error) { return "open " + text, nil }}
	out, err := u.Dict(v.(*value.Dict))
	if err != nil {
		t.Fatal(err)
	}
	if got := out.Lookup("template").(*value.Template); got.Text != "{{ x }}" || got.Pos != pos {
		t.Errorf("template: %#v", got)
	}
	inner := out.Lookup("deep").(*value.Dict).Lookup("l").(*value.List).Items[0].(value.Tuple)
	if _, ok := inner[1].(*value.Template); !ok || inner[0] != int64(1) {
		t.Errorf("in a tuple: %#v", inner)
	}
	if s, err := out.Lookup("vault").(*value.Vault).Decrypt(); err != nil || s != "open $ANSIBLE_VAULT" {
		t.Errorf("vault: %q %v", s, err)
	}
	if !out.Lookup("time").(time.Time).Equal(when) || !value.IsNaive(out.Lookup("naive").(time.Time)) {
		t.Error("times")
	}
	for _, k := range []string{"plain", "date", "of_day", "omit", "markup"} {
		if !value.Equal(in.Lookup(k), out.Lookup(k)) {
			t.Errorf("%s: %#v became %#v", k, in.Lookup(k), out.Lookup(k))
		}
	}
	same := value.DictOf("a", value.ListOf(value.DictOf("b", "c")))
	if p, _ := PackDict(same); p != same {
		t.Error("what needs no change was copied")
	}
}

func BenchmarkPut(b *testing.B) {
	_, key, _ := ed25519.GenerateKey(nil)
	w, err := Create(filepath.Join(b.TempDir(), "x"+Suffix), key, &Header{})
	if err != nil {
		b.Fatal(err)
	}
	d := value.DictOf("changed", true, "rc", int64(0), "stdout", "hello", "stdout_lines", value.ListOf("hello"), "cmd", value.ListOf("echo", "hello"))
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for i := uint32(0); pb.Next(); i++ {
			w.Put(&Sent{ID: wire.TaskID{Host: "host", Step: i, N: 1}, Module: "ansible.builtin.command", BootID: "7d6b0cde-64f0-4d9f-b5c5-9b4a1df8d1f5", JournalID: "0123456789abcdef"})
			_ = w.Commit()
			packed, _ := PackDict(d)
			w.Put(&Outcome{Host: "host", Seq: i, Value: wire.Dict{Dict: packed}})
		}
	})
	_ = w.Close()
}
