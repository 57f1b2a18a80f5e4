package journal

import (
	"bufio"
	"bytes"
	"crypto/ed25519"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
	"volant/wire"
)

// Past is what the file of a run says was done. It belongs to one goroutine but
// for Answer, Sent and Item, which do not change it.
type Past struct {
	Header  *Header
	End     *End // nil: the run was broken off
	Files   []*File
	Plays   map[uint32]*Play
	Resumed int // how often it was resumed before

	bootID string // of the controller's machine when it was last written
	gap    bool   // it was started anew before that, too

	outcomes map[step]*Outcome
	items    map[step][]*Outcome
	metas    map[step]*Meta
	order    []step // of outcomes and metas, as they happened
	next     int
	used     map[step]bool // tasks are taken over in another order than they ended
	redone   map[step]bool
	sent     map[wire.TaskID]*Sent
	answers  map[wire.TaskID][]byte
	last     map[string]*Sent // of each host
}

// step names a task on a host.
type step struct {
	host string
	seq  uint32
}

// Results is how many tasks are known to be done.
func (p *Past) Results() int { return len(p.outcomes) }

// reader reads the frames of a file.
type reader struct {
	r    *bufio.Reader
	aead interface {
		Open(dst, nonce, ct, ad []byte) ([]byte, error)
	}
	zstd   *zstd.Decoder
	frames uint64
	good   int64 // where the last whole frame ends
}

func newReader(f io.Reader, key ed25519.PrivateKey) (*reader, error) {
	head := make([]byte, len(magic)+saltLen)
	r := bufio.NewReaderSize(f, 1<<16)
	if _, err := io.ReadFull(r, head); err != nil || string(head[:len(magic)]) != magic {
		return nil, ErrForeign
	}
	aead, err := sealer(key, head[len(magic):])
	if err != nil {
		return nil, err
	}
	z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(4*maxFrame))
	if err != nil {
		return nil, err
	}
	return &reader{r: r, aead: aead, zstd: z, good: int64(len(head))}, nil
}

// frame returns the records of the next frame, encoded; io.EOF ends the file,
// torn or not.
func (r *reader) frame() ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(r.r, head[:]); err != nil {
		return nil, io.EOF
	}
	n := binary.BigEndian.Uint32(head[:])
	if n > maxFrame {
		return nil, io.EOF
	}
	var sealed bytes.Buffer // grows as it comes, not on the word of a torn length
	if m, err := io.CopyN(&sealed, r.r, int64(n)); err != nil || m != int64(n) {
		return nil, io.EOF
	}
	plain, err := r.aead.Open(nil, nil, sealed.Bytes(), binary.BigEndian.AppendUint64(nil, r.frames))
	if err != nil || len(plain) == 0 {
		if r.frames == 0 {
			return nil, ErrForeign
		}
		return nil, io.EOF
	}
	body := plain[1:]
	switch plain[0] {
	case frameZstd:
		body, err = r.zstd.DecodeAll(body, nil)
	case frameS2:
		if n, lerr := s2.DecodedLen(body); lerr != nil || n > 4*maxFrame {
			return nil, io.EOF
		}
		body, err = s2.Decode(nil, body)
	}
	if err != nil {
		return nil, io.EOF
	}
	r.frames++
	r.good += int64(len(head)) + int64(n)
	return body, nil
}

// each gives f the records of a frame.
func each(body []byte, f func(Record) error) error {
	for len(body) > 0 {
		k := kind(body[0])
		n, w := binary.Uvarint(body[1:])
		if w <= 0 || n > uint64(len(body)-1-w) {
			return errors.New("a frame of the journal is not what was written")
		}
		r, err := decode(k, body[1+w:1+w+int(n)])
		if err != nil {
			return err
		}
		if r != nil {
			if err := f(r); err != nil {
				return err
			}
		}
		body = body[1+w+int(n):]
	}
	return nil
}

// load reads a whole file.
func load(f io.Reader, key ed25519.PrivateKey) (*Past, *reader, error) {
	r, err := newReader(f, key)
	if err != nil {
		return nil, nil, err
	}
	defer r.zstd.Close()
	p := &Past{
		Plays: map[uint32]*Play{}, outcomes: map[step]*Outcome{}, items: map[step][]*Outcome{}, metas: map[step]*Meta{},
		used: map[step]bool{}, redone: map[step]bool{}, sent: map[wire.TaskID]*Sent{}, answers: map[wire.TaskID][]byte{},
		last: map[string]*Sent{},
	}
	for {
		body, err := r.frame()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = each(body, p.add)
		}
		if err != nil {
			return nil, nil, err
		}
	}
	if p.Header == nil {
		return nil, nil, ErrForeign
	}
	return p, r, nil
}

func (p *Past) add(r Record) error {
	switch r := r.(type) {
	case *Header:
		if p.Header != nil {
			return errors.New("the journal has two beginnings")
		}
		p.Header, p.bootID = r, r.BootID
	case *File:
		p.Files = append(p.Files, r)
	case *Play:
		p.Plays[r.Index] = r
	case *Sent:
		p.sent[r.ID], p.last[r.ID.Host] = r, r
	case *Answer:
		p.answers[r.ID] = r.Body
	case *Outcome:
		s := step{r.Host, r.Seq}
		if r.Item > 0 {
			if n := len(p.items[s]); r.Item == uint32(n+1) {
				p.items[s] = append(p.items[s], r)
			}
			return nil
		}
		p.outcomes[s] = r
		p.order = append(p.order, s)
	case *Meta:
		s := step{r.Host, r.Seq}
		p.metas[s] = r
		p.order = append(p.order, s)
	case *Redo:
		p.redone[step{r.Host, r.Seq}] = true
	case *Resumed:
		p.Resumed++
		p.gap = p.gap || r.BootID != p.bootID
		p.bootID = r.BootID
		p.End = nil
	case *End:
		p.End = r
	}
	return nil
}

// Resume opens the file of a run that was broken off, to go on with it. What is
// torn at its end is cut off. bootID is that of this machine. The writer is nil
// when the run came to its end.
func Resume(path string, key ed25519.PrivateKey, bootID string, now int64) (*Past, *Writer, error) {
	for {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND, 0)
		if err != nil {
			return nil, nil, fmt.Errorf("opening the journal of the run: %w", err)
		}
		p, w, err := resume(f, path, key, bootID, now)
		if w == nil {
			_ = f.Close()
		}
		if errors.Is(err, errReplaced) {
			continue // with the file that the run left when it was over
		}
		return p, w, err
	}
}

// errReplaced says that a file has lost its name to another, see Writer.End.
var errReplaced = errors.New("the journal of the run was replaced")

func resume(f *os.File, path string, key ed25519.PrivateKey, bootID string, now int64) (*Past, *Writer, error) {
	if err := hold(f); err != nil {
		return nil, nil, err
	}
	if !sameFile(f, path) {
		return nil, nil, errReplaced
	}
	p, r, err := load(f, key)
	if err != nil {
		return nil, nil, err
	}
	if p.End != nil && !p.End.Interrupted {
		return p, nil, nil
	}
	if err := f.Truncate(r.good); err != nil {
		return nil, nil, fmt.Errorf("repairing the journal of the run: %w", err)
	}
	salt := make([]byte, saltLen)
	if _, err := f.ReadAt(salt, int64(len(magic))); err != nil {
		return nil, nil, fmt.Errorf("reading the journal of the run: %w", err)
	}
	w, err := newWriter(f, path, key, salt)
	if err != nil {
		return nil, nil, err
	}
	w.header, w.size, w.frames = p.Header, r.good, r.frames
	w.start()
	w.Put(&Resumed{Time: now, BootID: bootID})
	if err := w.Commit(); err != nil {
		return nil, nil, err
	}
	return p, w, nil
}

// Rebooted reports whether the controller's machine was started anew since the
// run began: then what was written last before that may be missing.
func (p *Past) Rebooted(bootID string) bool { return p.gap || bootID == "" || p.bootID != bootID }

// Outcome is what a task on a host ended with before, nil when it did not. Of a
// loop whose result is to be joined it has the items, too.
func (p *Past) Outcome(host string, seq uint32) (o *Outcome, items []*Outcome) {
	if p == nil {
		return nil, nil
	}
	s := step{host, seq}
	o = p.outcomes[s]
	if o != nil && o.Joined {
		items = p.items[s]
	}
	return o, items
}

// Items are those items of a task's loop that ended before the task did.
func (p *Past) Items(host string, seq uint32) []*Outcome {
	if p == nil {
		return nil
	}
	return p.items[step{host, seq}]
}

// Meta is what a meta task decided on a host.
func (p *Past) Meta(host string, seq uint32) *Meta {
	if p == nil {
		return nil
	}
	return p.metas[step{host, seq}]
}

// Redone reports whether the outcome was thrown away.
func (p *Past) Redone(host string, seq uint32) bool { return p.redone[step{host, seq}] }

// Use says that the outcome or decision was taken over.
func (p *Past) Use(host string, seq uint32) { p.used[step{host, seq}] = true }

// Next is the host of the first outcome or decision that was not taken over yet;
// ok is false when all were.
func (p *Past) Next() (host string, ok bool) {
	if p == nil {
		return "", false
	}
	for p.next < len(p.order) && p.used[p.order[p.next]] {
		p.next++
	}
	if p.next == len(p.order) {
		return "", false
	}
	return p.order[p.next].host, true
}

// Sent is the last message that a sub-task was sent with, nil when none is known.
func (p *Past) Sent(id wire.TaskID) *Sent {
	if p == nil {
		return nil
	}
	return p.sent[id]
}

// LastSent is the last that was sent for a host.
func (p *Past) LastSent(host string) *Sent { return p.last[host] }

// Answer is what a sub-task ended with: an encoded wire.Outcome.
func (p *Past) Answer(id wire.TaskID) ([]byte, bool) {
	if p == nil {
		return nil, false
	}
	b, ok := p.answers[id]
	return b, ok
}
