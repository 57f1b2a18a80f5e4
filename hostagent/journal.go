package hostagent

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"volant/stage"
	"volant/wire"
	"volant/wire/frame"
)

// Bounds of one session's journal.
const (
	maxJournal     = 64 << 20 // bytes of results kept; the oldest are forgotten (lost) beyond
	maxRecord      = wire.MaxResult + 4096
	truncateAbove  = 256 << 10 // an all-acknowledged journal longer than this starts anew
	journalVersion = 1
	sayAgain       = time.Hour // from one header to the next, while something is written
)

// recordKind numbers the records of a journal file; never renumbered.
type recordKind uint8

const (
	recHeader    recordKind = 1
	recStarted   recordKind = 2
	recForked    recordKind = 3
	recResult    recordKind = 4
	recWithdrawn recordKind = 5
	recAck       recordKind = 6
	recDamaged   recordKind = 7 // something before it could not be read
)

// entry is what the journal knows of one sub-task.
type entry struct {
	state wire.TaskState
	// where the sealed result lies in the file, or the result itself when it
	// could not be written
	off, size int64
	body      []byte
	group     int // process group and the start time of its leader
	start     string
	ownerPID  int // agent process that started it
	ownerTime string
}

// journal remembers, per session, what was started and how it ended, so that
// nothing runs twice and no result is lost. Without a file (local sessions) it
// remembers only in memory.
type journal struct {
	path string // empty: memory only
	seal func(id wire.TaskID, plain []byte) []byte
	open func(id wire.TaskID, sealed []byte) ([]byte, error)

	mu      sync.Mutex // guards what follows
	f       *os.File
	size    int64 // of the file
	entries map[wire.TaskID]*entry
	order   []wire.TaskID // results, oldest first, for the bound
	live    int64         // bytes of results not acknowledged
	acks    []wire.TaskID // acknowledged, not yet written
	damaged bool          // the file was not what an agent wrote: nothing unknown is safe to run again
	shared  bool          // an agent that was replaced still finishes its sub-tasks and writes here
	unsaid  bool          // the header of this process is not written yet
	said    time.Time     // when it was last: with it the file says how old it is
	looked  func()        // of tests: the file was read, and who wrote it not yet looked for
	pid     int           // this process
	start   string
	// of the header read last: who wrote the records behind it
	ownerPID  int
	ownerTime string
}

var crcTable = crc32.MakeTable(crc32.Castagnoli)

// openJournal reads what path holds, or starts an empty journal.
func openJournal(path string) (*journal, error) {
	j := &journal{path: path, entries: map[wire.TaskID]*entry{}, pid: os.Getpid()}
	j.start = stage.ProcessStart(j.pid)
	if path == "" {
		return j, nil
	}
	for {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
		if err != nil {
			return nil, fmt.Errorf("opening the journal: %w", err)
		}
		j.f = f
		unlock := j.lock()
		if !sameFile(f, path) { // rewritten since, see compact
			f.Close()
			continue
		}
		if err = j.load(); err == nil || full(err) {
			err = j.introduce()
		}
		unlock()
		if err != nil {
			f.Close()
			return nil, err
		}
		return j, nil
	}
}

// full reports whether a write failed because there is no room, which may change.
func full(err error) bool { return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) }

// introduce writes the header, which says who writes what follows. Where there
// is no room for it, it comes with the first record there is room for: what can
// be read counts all the same, and what cannot be begun is refused one by one.
func (j *journal) introduce() error {
	err := j.write(recHeader, j.header())
	if j.unsaid = full(err); j.unsaid {
		return nil
	}
	return err
}

func (j *journal) header() record {
	return record{PID: j.pid, Start: j.start, Version: journalVersion, Boot: BootID(), Up: int64(uptime())}
}

// load reads records from j.size to the end of the file. What cannot be read
// marks the journal damaged; what was read before it counts. The file is locked,
// and whoever else writes it does so under the lock: nothing is half written.
func (j *journal) load() error {
	st, err := j.f.Stat()
	if err != nil {
		return fmt.Errorf("reading the journal: %w", err)
	}
	var head [9]byte
	torn := false
	for j.size < st.Size() {
		if _, err := j.f.ReadAt(head[:], j.size); err != nil {
			torn = true
			break
		}
		n := int64(binary.BigEndian.Uint32(head[:4]))
		if n > maxRecord || j.size+int64(len(head))+n > st.Size() {
			torn = true
			break
		}
		body := make([]byte, n)
		if _, err := j.f.ReadAt(body, j.size+int64(len(head))); err != nil && err != io.EOF {
			return fmt.Errorf("reading the journal: %w", err)
		}
		var r record
		if recordSum(recordKind(head[8]), body) != binary.BigEndian.Uint32(head[4:8]) || frame.Unmarshal(body, &r) != nil {
			torn = true
			break
		}
		if recordKind(head[8]) == recHeader {
			j.ownerPID, j.ownerTime = r.PID, r.Start
			j.shared = j.shared || r.PID != j.pid && alive(r.PID, r.Start)
		}
		j.replay(recordKind(head[8]), r, j.size, n+int64(len(head)))
		j.size += int64(len(head)) + n
	}
	if torn {
		return j.mark()
	}
	return nil
}

// mark keeps what follows readable where the file is torn: it is appended behind
// what counts, and says to whoever reads it next that something is missing.
func (j *journal) mark() error {
	j.damaged = true
	if err := j.f.Truncate(j.size); err != nil {
		return fmt.Errorf("repairing the journal: %w", err)
	}
	b, err := encodeRecord(nil, recDamaged, record{})
	if err == nil {
		_, err = j.f.Write(b)
	}
	if err != nil {
		_ = j.f.Truncate(j.size + 1) // a hole needs no room on a full disk: it stays torn
		return fmt.Errorf("repairing the journal: %w", err)
	}
	j.size += int64(len(b))
	return nil
}

func (j *journal) replay(k recordKind, r record, off, size int64) {
	e := j.entries[r.ID]
	switch k {
	case recStarted:
		e := &entry{state: wire.StateRunning, ownerPID: j.ownerPID, ownerTime: j.ownerTime}
		if r.PID != 0 { // two agents may write by turns
			e.ownerPID, e.ownerTime = r.PID, r.Start
		}
		j.entries[r.ID] = e
	case recForked:
		if e != nil {
			e.group, e.start = r.PID, r.Start
		}
	case recResult:
		if e != nil && e.state != wire.StateDone {
			e.state, e.off, e.size = wire.StateDone, off, size
			j.order = append(j.order, r.ID)
			j.live += size
		}
	case recDamaged:
		j.damaged = true
	case recWithdrawn, recAck:
		if e != nil {
			j.live -= e.size
			delete(j.entries, r.ID)
		}
	}
}

// recordSum is a record's CRC-32C.
func recordSum(k recordKind, body []byte) uint32 {
	return crc32.Update(crc32.Update(0, crcTable, []byte{byte(k)}), crcTable, body)
}

func encodeRecord(b []byte, k recordKind, r record) ([]byte, error) {
	body, err := frame.Marshal(&r)
	if err != nil {
		return b, fmt.Errorf("encoding a journal record: %w", err)
	}
	b = binary.BigEndian.AppendUint32(b, uint32(len(body)))
	b = binary.BigEndian.AppendUint32(b, recordSum(k, body))
	return append(append(b, byte(k)), body...), nil
}

// append writes records in one write, acknowledgements that wait in front.
// A short write is undone so that the file stays readable. mu is held, or j
// not shared yet.
func (j *journal) append(k recordKind, r record) error {
	defer j.lock()()
	return j.write(k, r)
}

// lock keeps the other process away that may write the same file: the agent
// that replaces this one, or the one that it replaced and that still finishes
// what it had.
func (j *journal) lock() (unlock func()) {
	if j.f == nil {
		return func() {}
	}
	fd := int(j.f.Fd())
	for unix.Flock(fd, unix.LOCK_EX) == unix.EINTR {
	}
	return func() { _ = unix.Flock(fd, unix.LOCK_UN) }
}

// catchUp reads what the other process wrote. The file is locked.
func (j *journal) catchUp() error {
	if j.f == nil {
		return nil
	}
	st, err := j.f.Stat()
	if err != nil {
		return fmt.Errorf("reading the journal: %w", err)
	}
	if st.Size() == j.size {
		return nil
	}
	j.shared = true
	if st.Size() < j.size { // the other one cut off what was damaged
		j.size, j.damaged = st.Size(), true
	}
	return j.load()
}

// write is append with the file locked.
func (j *journal) write(k recordKind, r record) error {
	if j.f == nil {
		j.acks = nil
		return nil
	}
	var b []byte
	var err error
	again := k != recHeader && (j.unsaid || time.Since(j.said) >= sayAgain)
	if again {
		if b, err = encodeRecord(b, recHeader, j.header()); err != nil {
			return err
		}
	}
	for _, id := range j.acks {
		if b, err = encodeRecord(b, recAck, record{ID: id}); err != nil {
			return err
		}
	}
	if b, err = encodeRecord(b, k, r); err != nil {
		return err
	}
	if err := j.catchUp(); err != nil { // for j.size to be the end
		return err
	}
	if _, err := j.f.Write(b); err != nil {
		_ = j.f.Truncate(j.size)
		return fmt.Errorf("writing the journal: %w", err)
	}
	j.acks, j.unsaid = nil, false
	if again || k == recHeader {
		j.said = time.Now()
	}
	j.size += int64(len(b))
	return nil
}

// begin records Started. known is the entry when the id was seen before: the
// sub-task must not run then.
func (j *journal) begin(id wire.TaskID) (known bool, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.entries[id] != nil {
		return true, nil
	}
	defer j.lock()()
	if err := j.catchUp(); err != nil {
		return false, err
	}
	if j.entries[id] != nil { // the other agent was faster
		return true, nil
	}
	if err := j.write(recStarted, record{ID: id, PID: j.pid, Start: j.start}); err != nil {
		return false, err
	}
	j.entries[id] = &entry{state: wire.StateRunning, ownerPID: j.pid, ownerTime: j.start}
	return false, nil
}

// forked records the process group of a running sub-task, best effort.
func (j *journal) forked(id wire.TaskID, group int) {
	start := stage.ProcessStart(group)
	j.mu.Lock()
	defer j.mu.Unlock()
	e := j.entries[id]
	if e == nil || e.state != wire.StateRunning {
		return
	}
	e.group, e.start = group, start
	_ = j.append(recForked, record{ID: id, PID: group, Start: start})
}

// finish records the encoded outcome; when it cannot be written it is kept in
// memory.
func (j *journal) finish(id wire.TaskID, body []byte) {
	var sealed []byte
	if j.f != nil {
		sealed = j.seal(id, body)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	e := j.entries[id]
	if e == nil {
		return
	}
	e.state = wire.StateDone
	j.order = append(j.order, id)
	if sealed == nil {
		e.body = bytes.Clone(body)
		return
	}
	before := j.size
	if err := j.append(recResult, record{ID: id, Sealed: sealed}); err != nil {
		e.body, e.size = bytes.Clone(body), int64(len(body))
	} else {
		e.off, e.size = before, j.size-before // with the acknowledgements in front of it
	}
	j.live += e.size
	j.bound()
}

// bound forgets the oldest results beyond maxJournal; they count as lost.
func (j *journal) bound() {
	for j.live > maxJournal && len(j.order) > 1 {
		id := j.order[0]
		j.order = j.order[1:]
		if e := j.entries[id]; e != nil && e.state == wire.StateDone {
			j.live -= e.size
			*e = entry{state: wire.StateLost}
		}
	}
}

// withdraw records that nothing was done: the id may be sent again. Where that
// cannot be written it holds for this process: another takes the id for lost.
func (j *journal) withdraw(id wire.TaskID) {
	j.mu.Lock()
	defer j.mu.Unlock()
	_ = j.append(recWithdrawn, record{ID: id})
	delete(j.entries, id)
}

// ack forgets a result that the controller has.
func (j *journal) ack(id wire.TaskID) {
	j.mu.Lock()
	defer j.mu.Unlock()
	e := j.entries[id]
	if e == nil || e.state == wire.StateRunning {
		return
	}
	j.live -= e.size
	delete(j.entries, id)
	j.acks = append(j.acks, id)
	for len(j.order) > 0 && j.entries[j.order[0]] == nil {
		j.order = j.order[1:]
	}
	if len(j.entries) == 0 {
		if j.f != nil && j.size > truncateAbove && !j.shared && !j.damaged {
			j.restart()
		}
	}
	j.compact()
}

// restart empties a journal in which nothing is outstanding.
func (j *journal) restart() {
	defer j.lock()()
	if j.catchUp() != nil || j.shared || len(j.entries) > 0 || j.f.Truncate(0) != nil {
		return
	}
	j.size, j.acks = 0, nil
	_ = j.introduce()
}

var errSealed = errors.New("the result is sealed with another session's key")

// result returns the encoded outcome of a done sub-task.
func (j *journal) result(id wire.TaskID) ([]byte, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	e := j.entries[id]
	if e == nil || e.state != wire.StateDone {
		return nil, errors.New("no such result")
	}
	if e.body != nil {
		return e.body, nil
	}
	r, err := j.readResult(id, e)
	if err != nil {
		return nil, err
	}
	return j.open(id, r.Sealed)
}

// readResult reads the record of a result from the file.
func (j *journal) readResult(id wire.TaskID, e *entry) (*record, error) {
	b := make([]byte, e.size)
	if _, err := j.f.ReadAt(b, e.off); err != nil {
		return nil, fmt.Errorf("reading the journal: %w", err)
	}
	for len(b) >= 9 { // acknowledgements may precede it
		n := int(binary.BigEndian.Uint32(b))
		if len(b) < 9+n {
			break
		}
		body := b[9 : 9+n]
		var r record
		if recordKind(b[8]) == recResult && recordSum(recResult, body) == binary.BigEndian.Uint32(b[4:]) && frame.Unmarshal(body, &r) == nil && r.ID == id {
			return &r, nil
		}
		b = b[9+n:]
	}
	return nil, errors.New("reading the journal: the result is damaged")
}

// state says what is known of a sub-task. live tells whether a job of this
// process runs it; without one, the processes it was started in decide.
func (j *journal) state(id wire.TaskID) wire.TaskState {
	j.mu.Lock()
	defer j.mu.Unlock()
	if st := j.stateNow(id); st != wire.StateLost {
		return st
	}
	// The agent before us may have written the result and ended in between.
	st := j.stateNow(id)
	if e := j.entries[id]; st == wire.StateLost && e != nil {
		*e = entry{state: wire.StateLost}
	}
	return st
}

// stateNow is what the journal says now of a sub-task. mu is held.
func (j *journal) stateNow(id wire.TaskID) wire.TaskState {
	unlock := j.lock()
	_ = j.catchUp() // the agent before us may still write here
	unlock()
	if j.looked != nil {
		j.looked()
	}
	e := j.entries[id]
	switch {
	case e == nil && j.damaged:
		return wire.StateLost
	case e == nil:
		return wire.StateUnknown
	case e.state != wire.StateRunning || e.ownerPID == j.pid && e.ownerTime == j.start:
		return e.state
	case alive(e.ownerPID, e.ownerTime):
		return e.state
	case e.group != 0 && alive(e.group, e.start):
		return wire.StateRunning
	}
	return wire.StateLost
}

// close closes the file. It is deleted when the session is over, or when nothing
// is outstanding in it; not while another agent writes it, too, nor when it was
// damaged and says of everything else that it may have run.
func (j *journal) close(over bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.f == nil {
		return
	}
	unlock := j.lock()
	caughtUp := j.catchUp() == nil
	if over || caughtUp && !j.shared && !j.damaged && len(j.entries) == 0 && sameFile(j.f, j.path) {
		_ = os.Remove(j.path)
	}
	unlock()
	_ = j.f.Close()
}

func alive(pid int, start string) bool {
	if pid <= 1 || start == "" || stage.Zombie(pid) {
		return false
	}
	if now := stage.ProcessStart(pid); now != "" {
		return now == start
	}
	// With hidepid /proc hides an agent from its own user, as it is not
	// dumpable; that there is a process of that number is then all there is to
	// know.
	err := unix.Kill(pid, 0)
	return err == nil || errors.Is(err, unix.EPERM)
}
