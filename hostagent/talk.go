package hostagent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/klauspost/compress/zstd"
	"lukechampine.com/blake3"

	"volant/cores"
	"volant/stage"
	"volant/wire"
	"volant/wire/frame"
)

// errWithdrawn says that the controller went away before anything was done.
var errWithdrawn = errors.New("the link was lost before the sub-task began")

// startedDelay is how long Started may wait for the Result to travel with it.
// Nobody waits for Started; that anything comes is missed after a quarter second.
const startedDelay = 20 * time.Millisecond

// talk is the agent's end of one sub-task's conversation: over a slot, or in a
// worker over its pipe.
type talk struct {
	next func() (wire.Message, error) // what the other side sends; one reader at a time
	// task is the encoding of the sub-task as it came; gone once next is called.
	task []byte

	mu sync.Mutex // guards w and err
	w  *frame.Writer
	// err is the first failure to write. The sub-task goes on: its result
	// waits in the journal.
	err error
	// waits: something was put and is to be sent in a while by late, which is left
	// as it is when that happens before, as it does for most sub-tasks: to set a
	// timer for each of them wakes a thread each time.
	waits time.Time
	late  *time.Timer // nil: not set

	speech *speech // output of the module while it runs; nil: nobody listens

	// Of the sub-task's own goroutine: bytes of files that went either way, and
	// what ends the use of every processor for them, nil before.
	content int
	spread  func()
}

// maxPieces are so many reads of a module's output that wait to be sent.
const maxPieces = 64

// speech is output of a module on its way. Nothing waits for it but the result:
// a controller that is slow, or gone, misses pieces and does not hold up what runs.
type speech struct {
	pieces chan *wire.Output
	left   atomic.Int64  // bytes that are still worth sending
	over   chan struct{} // closed when the module has ended
	said   chan struct{} // closed once the last piece is sent, or the link failed
}

// listen begins a speech; over is to be closed in the end.
func (t *talk) listen() *speech {
	s := &speech{pieces: make(chan *wire.Output, maxPieces), over: make(chan struct{}), said: make(chan struct{})}
	s.left.Store(maxOutput)
	t.speech = s
	go func() { // ends after over, with the link at the latest
		defer close(s.said)
		for {
			select {
			case m := <-s.pieces:
				_ = t.send(m)
				continue
			case <-s.over:
			}
			select {
			case m := <-s.pieces:
				_ = t.send(m)
			default:
				return
			}
		}
	}()
	return s
}

func (s *speech) put(stream uint8, p []byte) {
	for piece := range slices.Chunk(p, wire.MaxChunk) {
		if s.left.Add(-max(int64(len(piece)), outputCost)) < 0 {
			return
		}
		select {
		case s.pieces <- &wire.Output{Stream: stream, Data: bytes.Clone(piece)}:
		default:
		}
	}
}

func (t *talk) send(ms ...wire.Message) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.sendLocked(ms...)
}

func (t *talk) sendLocked(ms ...wire.Message) error {
	if t.err != nil {
		return t.err
	}
	t.err = t.w.Send(ms...)
	return t.err
}

// started says Started, together with the Result when that comes at once.
func (t *talk) started(group int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err == nil {
		t.err = t.w.Put(&wire.Started{Group: int64(group)})
	}
	t.waits = time.Now()
	if t.late == nil {
		t.late = time.AfterFunc(startedDelay, t.flushLate)
	}
}

// flushLate sends what has waited long enough. It is late's.
func (t *talk) flushLate() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if rest := startedDelay - time.Since(t.waits); t.err == nil && t.w.Buffered() > 0 && rest > 0 {
		t.late.Reset(rest)
		return
	}
	t.late = nil
	if t.err == nil {
		t.err = t.w.Flush()
	}
}

func (t *talk) flush() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err == nil {
		t.err = t.w.Flush()
	}
}

// putResult puts the encoded outcome, in pieces; the last is not yet flushed.
func (t *talk) putResult(body []byte) error {
	if t.speech != nil { // output comes before the result
		<-t.speech.said
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for t.err == nil {
		n := min(len(body), wire.MaxChunk)
		t.err = t.w.Put(&wire.Result{Data: body[:n], More: n < len(body)})
		if body = body[n:]; len(body) == 0 {
			break
		}
		if t.err == nil {
			t.err = t.w.Flush()
		}
	}
	return t.err
}

// bulk is from how many bytes the content of files is worth every processor:
// packets, checksums and the file are then worked on at once.
const bulk = 1 << 20

// moved counts content of the sub-task.
func (t *talk) moved(n int) {
	if t.content += n; t.content >= bulk && t.spread == nil {
		t.spread = cores.All()
	}
}

// settle ends what moved began.
func (t *talk) settle() {
	if t.spread != nil {
		t.spread()
		t.spread = nil
	}
	t.content = 0
}

// fetch is stage.Fetch over the conversation. When the link fails the error
// is errWithdrawn.
func (t *talk) fetch(ctx context.Context, want []stage.Hash, each func(i int, r io.Reader) error) error {
	for len(want) > 0 {
		n := min(len(want), wire.MaxWant)
		if err := t.send(&wire.Want{Hashes: want[:n]}); err != nil {
			return t.withdrawn(ctx, err)
		}
		var failed error // the rest is still read, to stay in step
		for i, h := range want[:n] {
			b := &blobReader{t: t, hash: h}
			err := b.open()
			if err == nil && failed == nil {
				failed = each(i, b)
			}
			if derr := b.drain(); err == nil {
				err = derr
			}
			switch {
			case errors.Is(err, errNoBlob):
				if failed == nil {
					failed = err
				}
			case err != nil:
				return t.withdrawn(ctx, err)
			}
		}
		if failed != nil {
			return failed
		}
		want, each = want[n:], shifted(each, n)
	}
	return nil
}

func shifted(each func(int, io.Reader) error, n int) func(int, io.Reader) error {
	return func(i int, r io.Reader) error { return each(i+n, r) }
}

func (t *talk) withdrawn(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return fmt.Errorf("%w: %w", errWithdrawn, err)
}

// errNoBlob says that the controller could not send a blob.
var errNoBlob = errors.New("the controller could not send a file")

func noBlob(m *wire.NoBlob) error {
	if m.Lost {
		return errWithdrawn
	}
	return fmt.Errorf("%w: %s", errNoBlob, m.Text)
}

// blobReader reads the content of one blob from the conversation.
type blobReader struct {
	t    *talk
	hash stage.Hash
	buf  []byte
	last bool
	err  error
	dec  *zstd.Decoder
}

// open reads the blob's announcement.
func (b *blobReader) open() error {
	m, err := b.t.next()
	if err != nil {
		b.last = true
		return err
	}
	switch m := m.(type) {
	case *wire.NoBlob:
		b.last = true
		return noBlob(m)
	case *wire.Blob:
		if m.Hash != b.hash {
			return errors.New("a blob that was not wanted next")
		}
		if m.Encoding == wire.EncodingZstd {
			b.dec, err = zstd.NewReader(pieces{b}, zstd.WithDecoderConcurrency(1),
				zstd.WithDecoderMaxMemory(16<<20), zstd.WithDecoderMaxWindow(8<<20))
			return err
		}
		if m.Encoding != wire.EncodingPlain {
			return fmt.Errorf("unknown encoding %d of a blob", m.Encoding)
		}
		return nil
	}
	b.last = true
	return fmt.Errorf("%s where a blob was due", m.Kind())
}

// Read returns decoded content.
func (b *blobReader) Read(p []byte) (int, error) {
	if b.dec != nil {
		return b.dec.Read(p)
	}
	return pieces{b}.Read(p)
}

// drain skips what was not read and lets the decoder go.
func (b *blobReader) drain() error {
	for !b.last && b.err == nil {
		b.fill()
	}
	if b.dec != nil {
		b.dec.Close()
	}
	return b.err
}

func (b *blobReader) fill() {
	m, err := b.t.next()
	switch m := m.(type) {
	case *wire.Data:
		b.buf, b.last = m.Data, m.Last
		b.t.moved(len(m.Data))
	case *wire.NoBlob:
		b.last, b.err = true, noBlob(m)
	default:
		if err == nil {
			err = fmt.Errorf("%s within a blob", m.Kind())
		}
		b.last, b.err = true, err
	}
}

// pieces is the blob as it travels.
type pieces struct{ *blobReader }

func (b pieces) Read(p []byte) (int, error) {
	for len(b.buf) == 0 {
		if b.err != nil {
			return 0, b.err
		}
		if b.last {
			return 0, io.EOF
		}
		b.fill()
	}
	n := copy(p, b.buf)
	b.blobReader.buf = b.buf[n:]
	return n, nil
}

// sendFile streams a file to the controller's sink.
func (t *talk) sendFile(ctx context.Context, path string) (int64, error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	sum := blake3.New(32, nil)
	buf := make([]byte, 256<<10)
	var size int64
	for {
		n, err := f.Read(buf)
		if n > 0 {
			sum.Write(buf[:n])
			size += int64(n)
			t.moved(n)
			if serr := t.send(&wire.Data{Data: buf[:n]}); serr != nil {
				return size, t.withdrawn(ctx, serr)
			}
		}
		if ctx.Err() != nil {
			return size, context.Cause(ctx)
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			_ = t.send(&wire.FileDone{Size: size, Text: err.Error()})
			return size, err
		}
	}
	done := &wire.FileDone{Size: size}
	sum.Sum(done.Hash[:0])
	if err := t.send(done); err != nil {
		return size, t.withdrawn(ctx, err)
	}
	return size, nil
}
