package journal

import (
	"crypto/cipher"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/klauspost/compress/s2"
	"golang.org/x/sys/unix"
)

// syncEvery is the least time between two syncs of a file.
const syncEvery = 500 * time.Millisecond

// worthwhile is the size from which a frame is compressed.
const worthwhile = 2 << 10

// Frames say in their first byte how their records are encoded.
const (
	framePlain byte = 0
	frameZstd  byte = 1 // of earlier releases
	frameS2    byte = 2 // a sixth of zstd's time, and what it takes more is gone when the run ends
)

// Writer appends records to a run's file. Its methods may be called by several
// goroutines, and on a nil Writer, which keeps nothing. After an error nothing
// more is written, and Err says why.
//
//	Put --buffer--> Commit (or the next sync) --write--> kernel --sync--> disk
type Writer struct {
	path   string
	f      *os.File
	key    ed25519.PrivateKey
	header *Header
	aead   cipher.AEAD
	plain  []byte // of the frame being written: only one is
	sealed []byte

	failed atomic.Bool

	mu      sync.Mutex // guards what follows
	turn    *sync.Cond // somebody wrote
	buf     []byte     // records not written yet
	spare   []byte
	put     uint64 // records put
	written uint64 // records written
	size    int64  // of the file
	frames  uint64
	synced  uint64 // records on the disk
	writing bool
	syncing bool
	later   []pending // called once synced
	wake    bool      // the syncer was told
	err     error
	closed  bool

	work chan struct{} // wakes the syncer
	stop chan struct{} // closed to end it
	done chan struct{} // closed when it has ended
}

type pending struct {
	upTo uint64
	f    func()
}

// Create begins the file of a new run, which must not exist, with its header.
func Create(path string, key ed25519.PrivateKey, h *Header) (*Writer, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("making the journal of the run: %w", err)
	}
	head := append([]byte(magic), make([]byte, saltLen)...)
	_, _ = rand.Read(head[len(magic):]) // never fails, see crypto/rand
	err = hold(f)
	var w *Writer
	if err == nil {
		w, err = newWriter(f, path, key, head[len(magic):])
	}
	if err == nil {
		_, err = f.Write(head)
		w.size = int64(len(head))
	}
	if err == nil {
		w.header = h
		w.start()
		w.Put(h)
		err = w.Commit()
	}
	if err != nil {
		_ = f.Close()
		_ = os.Remove(path)
		return nil, fmt.Errorf("making the journal of the run: %w", err)
	}
	return w, nil
}

// newWriter writes to a file that is held.
func newWriter(f *os.File, path string, key ed25519.PrivateKey, salt []byte) (*Writer, error) {
	aead, err := sealer(key, salt)
	if err != nil {
		return nil, err
	}
	w := &Writer{path: path, f: f, key: key, aead: aead, work: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{})}
	w.turn = sync.NewCond(&w.mu)
	return w, nil
}

// start begins the syncer.
func (w *Writer) start() { go w.syncer() } // ends with Close

// Path is the file's, empty for a nil Writer.
func (w *Writer) Path() string {
	if w == nil {
		return ""
	}
	return w.path
}

// On reports whether anything is kept.
func (w *Writer) On() bool { return w != nil && !w.failed.Load() }

// Err is why nothing is kept any more; nil when all is well.
func (w *Writer) Err() error {
	if w == nil {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// fail ends the keeping. The file goes: from here on agents may forget what it
// does not know of, and a run resumed from it would do things twice. mu is held.
func (w *Writer) fail(err error) {
	if w.err == nil {
		w.err = err
		w.failed.Store(true)
		_ = os.Remove(w.path)
	}
	w.buf = nil
	w.turn.Broadcast()
}

// Fail ends the keeping: something cannot be written down.
func (w *Writer) Fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fail(err)
}

// Put appends a record, which is written with the next Commit or sync.
func (w *Writer) Put(r Record) { w.PutThen(r, nil) }

// PutThen is Put, and calls then, unless it is nil, once the record is on the
// disk; or soon, when nothing is kept any more.
func (w *Writer) PutThen(r Record, then func()) {
	if !w.On() {
		if then != nil {
			then()
		}
		return
	}
	body, err := encode(r)
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil {
		w.fail(err)
	}
	if w.err == nil && !w.closed {
		w.buf = binary.AppendUvarint(append(w.buf, byte(r.kind())), uint64(len(body)))
		w.buf = append(w.buf, body...)
		w.put++
	}
	if then != nil {
		w.later = append(w.later, pending{w.put, then})
	}
	if !w.wake && !w.closed {
		w.wake = true
		select {
		case w.work <- struct{}{}:
		default:
		}
	}
}

// Commit returns when everything put before was written: it survives this
// process. Whoever comes first writes for all who wait.
func (w *Writer) Commit() error {
	if !w.On() {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for want := w.put; w.written < want && w.err == nil; {
		if w.writing {
			w.turn.Wait()
			continue
		}
		w.write()
	}
	return w.err
}

// write writes what is buffered, letting go of mu meanwhile.
func (w *Writer) write() {
	b, n := w.buf, w.put
	w.buf, w.spare = w.spare[:0], nil
	w.writing = true
	frames := w.frames
	w.mu.Unlock()
	out, err := w.seal(b, frames)
	if err == nil {
		_, err = w.f.Write(out)
	}
	w.mu.Lock()
	w.writing = false
	if cap(b) <= keptBuffer {
		w.spare = b
	}
	switch {
	case err != nil:
		// What is torn at the end is not read, and nothing follows it.
		w.fail(fmt.Errorf("writing the journal of the run: %w", err))
	default:
		w.written, w.size, w.frames = n, w.size+int64(len(out)), frames+1
		if w.size > MaxSize {
			w.fail(fmt.Errorf("the journal of the run is larger than %d bytes", int64(MaxSize)))
		}
	}
	w.turn.Broadcast()
}

// keptBuffer is the largest buffer that is kept for the next frame.
const keptBuffer = 1 << 20

// seal makes a frame of records; it is good until the next.
func (w *Writer) seal(records []byte, number uint64) ([]byte, error) {
	plain := append(w.plain[:0], framePlain)
	switch most := s2.MaxEncodedLen(len(records)); {
	case len(records) >= worthwhile && most > 0:
		plain = slices.Grow(plain, most)
		plain[0] = frameS2
		plain = plain[:1+len(s2.Encode(plain[1:1+most], records))]
	default:
		plain = append(plain, records...)
	}
	out := append(w.sealed[:0], 0, 0, 0, 0)
	out = w.aead.Seal(out, nil, plain, binary.BigEndian.AppendUint64(nil, number))
	w.plain, w.sealed = nil, nil
	if cap(plain) <= keptBuffer {
		w.plain = plain
	}
	if cap(out) <= keptBuffer {
		w.sealed = out
	}
	if len(out)-4 > maxFrame {
		return nil, errors.New("a result is too large to be kept")
	}
	binary.BigEndian.PutUint32(out, uint32(len(out)-4))
	return out, nil
}

// syncer writes and syncs what was put, at most every syncEvery.
func (w *Writer) syncer() {
	defer close(w.done)
	pause := time.NewTimer(0)
	defer pause.Stop()
	for {
		select {
		case <-w.work:
		case <-w.stop:
			return
		}
		pause.Reset(syncEvery)
		select {
		case <-pause.C:
		case <-w.stop:
			return
		}
		w.mu.Lock()
		w.wake = false
		w.mu.Unlock()
		w.Sync()
	}
}

// Sync returns when everything put before is on the disk. Those who come while
// another syncs share the next one.
func (w *Writer) Sync() {
	if w == nil {
		return
	}
	w.mu.Lock()
	for want := w.put; w.synced < want && w.err == nil; {
		if w.syncing {
			w.turn.Wait()
			continue
		}
		w.sync()
	}
	n := 0
	for n < len(w.later) && (w.err != nil || w.later[n].upTo <= w.synced) {
		n++
	}
	due := w.later[:n:n]
	w.later = append([]pending(nil), w.later[n:]...)
	w.mu.Unlock()
	for _, p := range due {
		p.f()
	}
}

// sync syncs what is put, letting go of mu meanwhile.
func (w *Writer) sync() {
	w.syncing = true
	w.mu.Unlock()
	err := w.Commit()
	w.mu.Lock()
	upTo := w.written
	if err == nil {
		w.mu.Unlock()
		err = unix.Fdatasync(int(w.f.Fd()))
		w.mu.Lock()
	}
	w.syncing = false
	if err != nil {
		w.fail(fmt.Errorf("syncing the journal of the run: %w", err))
	} else {
		w.synced = max(w.synced, upTo)
	}
	w.turn.Broadcast()
}

// End says that the run is over and forgets what it did: nothing is left of its
// results. The file is held until another, which says no more than that, has its
// name: nobody finds the run broken off.
func (w *Writer) End(e *End) error {
	if w == nil {
		return nil
	}
	if e.Interrupted {
		w.Put(e)
		return w.Close()
	}
	w.Sync()
	if w.failed.Load() {
		return w.Close()
	}
	path := w.path + ".new"
	_ = os.Remove(path) // of a process that was killed here
	short, err := Create(path, w.key, w.header)
	if err == nil {
		short.Put(e)
		err = short.Close()
	}
	if err == nil {
		err = os.Rename(path, w.path)
	}
	if err != nil { // it would look broken off
		_ = os.Remove(path)
		_ = os.Remove(w.path)
	}
	return errors.Join(err, w.Close())
}

// Close writes and syncs what was put and closes the file. The run can be
// resumed.
func (w *Writer) Close() error {
	if w == nil {
		return nil
	}
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return nil
	}
	w.mu.Unlock()
	w.Sync()
	w.mu.Lock()
	w.closed = true
	err := w.err
	w.mu.Unlock()
	close(w.stop)
	<-w.done
	return errors.Join(err, w.f.Close())
}
