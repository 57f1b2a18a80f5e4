package hostagent

import (
	"bytes"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"volant/stage"
	"volant/wire"
	"volant/wire/frame"
)

func testJournal(t *testing.T, path string, key byte) *journal {
	t.Helper()
	j, err := openJournal(path)
	if err != nil {
		t.Fatal(err)
	}
	s, err := newSealer(bytes.Repeat([]byte{key}, wire.SessionKeyLen))
	if err != nil {
		t.Fatal(err)
	}
	j.seal, j.open = s.seal, s.open
	t.Cleanup(func() { j.close(false) })
	return j
}

// died makes the journal as a process leaves it that is no more.
func died(t *testing.T, j *journal) {
	t.Helper()
	j.close(false)
	b, err := os.ReadFile(j.path)
	if err != nil {
		t.Fatal(err)
	}
	// The start time in its records is another process's.
	var out []byte
	for len(b) >= 9 {
		n := 9 + int(binary.BigEndian.Uint32(b))
		var r record
		if err := frame.Unmarshal(b[9:n], &r); err != nil {
			t.Fatal(err)
		}
		if r.PID == j.pid && r.Start == j.start && recordKind(b[8]) != recForked {
			r.Start = "1"
		}
		if out, err = encodeRecord(out, recordKind(b[8]), r); err != nil {
			t.Fatal(err)
		}
		b = b[n:]
	}
	if err := os.WriteFile(j.path, out, 0o600); err != nil {
		t.Fatal(err)
	}
}

func id(n uint32) wire.TaskID { return wire.TaskID{Host: "h", N: n} }

func begin(t *testing.T, j *journal, n uint32) {
	t.Helper()
	if known, err := j.begin(id(n)); known || err != nil {
		t.Fatalf("beginning %d: %v, %v", n, known, err)
	}
}

func states(j *journal, n uint32) string {
	var out []string
	for i := range n {
		out = append(out, j.state(id(i+1)).String())
	}
	return strings.Join(out, " ")
}

func TestJournal(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j")
	j := testJournal(t, path, 1)
	for n := range uint32(5) {
		begin(t, j, n+1)
	}
	j.finish(id(2), []byte("two"))
	j.finish(id(3), []byte("three"))
	j.ack(id(2))
	j.withdraw(id(4))
	j.forked(id(5), os.Getpid()) // a process group that lives
	if got, want := states(j, 6), "running unknown done unknown running unknown"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if known, err := j.begin(id(3)); !known || err != nil {
		t.Errorf("a known id may run again: %v, %v", known, err)
	}
	j.finish(id(1), []byte("one")) // carries the acknowledgement
	if b, err := j.result(id(1)); err != nil || string(b) != "one" {
		t.Errorf("%q, %v", b, err)
	}
	begin(t, j, 6)
	died(t, j)

	j = testJournal(t, path, 1)
	if got, want := states(j, 7), "done unknown done unknown running lost unknown"; got != want {
		t.Errorf("after a death: %s, want %s", got, want)
	}
	if b, err := j.result(id(3)); err != nil || string(b) != "three" {
		t.Errorf("%q, %v", b, err)
	}
	raw, err := os.ReadFile(path)
	if err != nil || bytes.Contains(raw, []byte("three")) {
		t.Error("a result lies unsealed on disk")
	}
	j.close(false)
	j = testJournal(t, path, 2)
	if _, err := j.result(id(3)); err == nil {
		t.Error("a result opened with another session's key")
	}
}

func TestJournalDamaged(t *testing.T) {
	for name, damage := range map[string]func(b []byte) []byte{
		"cut":          func(b []byte) []byte { return b[:len(b)-3] },
		"byte changed": func(b []byte) []byte { b[len(b)-3] ^= 1; return b },
		"garbage":      func([]byte) []byte { return []byte("this is no journal at all") },
		"more behind":  func(b []byte) []byte { return append(b, 0, 0, 0) },
		"huge length":  func(b []byte) []byte { return append(b, 0xff, 0xff, 0xff, 0xff, 1, 2, 3, 4, 5) },
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "j")
			j := testJournal(t, path, 1)
			begin(t, j, 1)
			j.finish(id(1), []byte("one"))
			begin(t, j, 2)
			died(t, j)
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, damage(b), 0o600); err != nil {
				t.Fatal(err)
			}
			j = testJournal(t, path, 1)
			for n := range uint32(3) {
				if s := j.state(id(n + 2)); s != wire.StateLost {
					t.Errorf("%d is %s: it could run twice", n+2, s)
				}
			}
			begin(t, j, 9)
			j.finish(id(9), []byte("nine"))
			j.close(false)
			j = testJournal(t, path, 1)
			if b, err := j.result(id(9)); err != nil || string(b) != "nine" {
				t.Errorf("what came after the damage: %q, %v", b, err)
			}
		})
	}
}

// TestJournalDamagedAnywhere: whatever byte is wrong, and whether the agent that
// wrote it is gone, dying or still there, nothing that was started is taken for
// something that never came.
func TestJournalDamagedAnywhere(t *testing.T) {
	other := exec.Command("sleep", "100")
	dying := exec.Command("true")
	for _, cmd := range []*exec.Cmd{other, dying} {
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
	}
	for end := time.Now().Add(time.Minute); !stage.Zombie(dying.Process.Pid) && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	t.Cleanup(func() {
		_ = other.Process.Kill()
		_ = other.Wait()
		_ = dying.Wait()
	})
	if alive(dying.Process.Pid, stage.ProcessStart(dying.Process.Pid)) {
		t.Error("a process that ended is alive until its parent looks")
	}
	for name, owner := range map[string]int{"gone": 0, "dying": dying.Process.Pid, "there": other.Process.Pid} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "j")
			j := testJournal(t, path, 1)
			if owner != 0 {
				j.pid, j.start = owner, stage.ProcessStart(owner)
				if err := j.append(recHeader, record{PID: j.pid, Start: j.start, Version: journalVersion}); err != nil {
					t.Fatal(err)
				}
			}
			begin(t, j, 1)
			j.finish(id(1), []byte("one"))
			begin(t, j, 2)
			if j.close(false); owner == 0 {
				died(t, j)
			}
			whole, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			for at := range whole {
				for _, garbage := range [][]byte{{0xff, 0, 0xff, 0}, {0}, {whole[at] ^ 1}, {0xff}} {
					b := append(bytes.Clone(whole[:at]), garbage...)
					if len(b) < len(whole) {
						b = append(b, whole[len(b):]...)
					}
					if bytes.Equal(b, whole) {
						continue
					}
					if err := os.WriteFile(path, b, 0o600); err != nil {
						t.Fatal(err)
					}
					j := testJournal(t, path, 1)
					for n := range uint32(2) {
						if s := j.state(id(n + 1)); s == wire.StateUnknown {
							t.Errorf("%x at byte %d of %d: %d would run twice", garbage, at, len(whole), n+1)
						}
					}
					j.close(false)
				}
			}
		})
	}
}

func TestJournalBounds(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j")
	j := testJournal(t, path, 1)
	body := make([]byte, 1<<20)
	for n := range uint32(70) {
		begin(t, j, n+1)
		j.finish(id(n+1), body)
	}
	if s := j.state(id(1)); s != wire.StateLost {
		t.Errorf("the oldest of 70 MiB is %s", s)
	}
	if s := j.state(id(70)); s != wire.StateDone {
		t.Errorf("the youngest is %s", s)
	}
	for n := range uint32(70) {
		j.ack(id(n + 1))
	}
	if st, err := os.Stat(path); err != nil || st.Size() > truncateAbove {
		t.Errorf("an acknowledged journal has %d bytes, %v", st.Size(), err)
	}
	j.close(true)
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("removed: %v", err)
	}
}

func TestJournalNotWritable(t *testing.T) {
	j := testJournal(t, filepath.Join(t.TempDir(), "j"), 1)
	begin(t, j, 1)
	j.f.Close() // stands for a full or failing disk
	if _, err := j.begin(id(2)); err == nil {
		t.Error("a sub-task may start though it could not be journalled")
	}
	j.finish(id(1), []byte("one"))
	if b, err := j.result(id(1)); err != nil || string(b) != "one" {
		t.Errorf("a result that could not be written: %q, %v", b, err)
	}
}

// TestJournalOfTwoAgents: an agent that was replaced and the one that replaced
// it write the same file, and none runs what the other began.
func TestJournalOfTwoAgents(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j")
	old := testJournal(t, path, 1)
	begin(t, old, 1)
	fresh := testJournal(t, path, 1)
	fresh.pid = os.Getppid() // another process, alive
	fresh.start = stage.ProcessStart(fresh.pid)
	if s := fresh.state(id(2)); s != wire.StateUnknown {
		t.Fatalf("nobody began it, and it is %s", s)
	}
	begin(t, old, 2) // which the old one had already been sent
	if known, err := fresh.begin(id(2)); err != nil || !known {
		t.Errorf("both run it: %v, %v", known, err)
	}
	begin(t, fresh, 3)
	if known, err := old.begin(id(3)); err != nil || !known {
		t.Errorf("both run it: %v, %v", known, err)
	}
	old.finish(id(2), []byte("two"))
	if s := fresh.state(id(2)); s != wire.StateDone {
		t.Errorf("done by the other it is %s", s)
	}
	if b, err := fresh.result(id(2)); err != nil || string(b) != "two" {
		t.Errorf("%q, %v", b, err)
	}
	if s := fresh.state(id(1)); s != wire.StateRunning {
		t.Errorf("running in the other it is %s", s)
	}
	fresh.finish(id(3), []byte("three"))
	if b, err := old.result(id(3)); err == nil && string(b) != "three" {
		t.Errorf("%q, %v", b, err)
	}
	var wg sync.WaitGroup
	var began atomic.Int32
	for n := range uint32(200) {
		for _, j := range []*journal{old, fresh} {
			wg.Go(func() {
				if known, err := j.begin(id(100 + n)); err == nil && !known {
					began.Add(1)
				}
			})
		}
	}
	wg.Wait()
	if began.Load() != 200 {
		t.Errorf("200 sub-tasks began %d times", began.Load())
	}
}

// TestJournalOfAnAgentThatEnds: it wrote its last result and was gone while we
// looked: after we read the journal, before we looked whether it lives.
func TestJournalOfAnAgentThatEnds(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j")
	process := exec.Command("sleep", "60")
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	old := testJournal(t, path, 1)
	old.pid, old.start = process.Process.Pid, stage.ProcessStart(process.Process.Pid)
	begin(t, old, 1)
	begin(t, old, 2)
	fresh := testJournal(t, path, 1)
	fresh.looked = func() {
		if process.ProcessState == nil {
			old.finish(id(1), []byte("one"))
			_ = process.Process.Kill()
			_ = process.Wait()
		}
	}
	if s := fresh.state(id(1)); s != wire.StateDone {
		t.Errorf("its result is written and it is %s", s)
	}
	if s := fresh.state(id(2)); s != wire.StateLost {
		t.Errorf("nothing is written of it and it is %s", s)
	}
}

// TestJournalOfABusySession: its file stays small though something is always
// outstanding, and what is outstanding is whole.
func TestJournalOfABusySession(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j")
	j := testJournal(t, path, 1)
	begin(t, j, 1) // runs all the while
	j.forked(id(1), os.Getpid())
	body := bytes.Repeat([]byte("x"), 20<<10)
	for n := range uint32(1000) {
		begin(t, j, n+10)
		j.finish(id(n+10), append(body, byte(n)))
		if n >= 5 {
			j.ack(id(n + 5))
		}
	}
	if st, err := os.Stat(path); err != nil || st.Size() > 2*compactAbove {
		t.Errorf("the file has %d bytes, %v", st.Size(), err)
	}
	check := func() {
		t.Helper()
		for n := uint32(995); n < 1000; n++ {
			if b, err := j.result(id(n + 10)); err != nil || len(b) != len(body)+1 || b[len(body)] != byte(n) {
				t.Errorf("result %d: %d bytes, %v", n, len(b), err)
			}
		}
		if s := j.state(id(1)); s != wire.StateRunning {
			t.Errorf("what runs is %s", s)
		}
		if s := j.state(id(500)); s != wire.StateUnknown {
			t.Errorf("what was acknowledged is %s", s)
		}
	}
	check()
	j.close(false)
	j = testJournal(t, path, 1)
	check()
}
