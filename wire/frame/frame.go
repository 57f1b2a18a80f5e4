// Package frame puts messages of package wire on a byte stream and takes them
// off again. A frame is
//
//	length  4 bytes, big endian: of what follows, at most wire.MaxFrame
//	kind    1 byte
//	body    a CBOR map with integer keys
//
// Every bound is checked before anything is allocated on the other side's word.
package frame

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/fxamacker/cbor/v2"

	"volant/wire"
)

const (
	headLen  = 5
	keepBuf  = 64 << 10 // buffers larger than this are given back after use
	readStep = 64 << 10 // a body is allocated as it arrives, in steps of this
)

// ErrTooLong says that a frame is longer than wire.MaxFrame.
var ErrTooLong = errors.New("frame too long")

// UnknownError says that a well-formed frame of an unknown kind was skipped;
// reading may go on.
type UnknownError struct{ Kind wire.Kind }

// Error names the kind.
func (e *UnknownError) Error() string { return fmt.Sprintf("unknown message kind %d", e.Kind) }

var (
	encMode = must(cbor.EncOptions{IndefLength: cbor.IndefLengthForbidden}.UserBufferEncMode())
	decMode = must(cbor.DecOptions{
		DupMapKey:        cbor.DupMapKeyEnforcedAPF,
		IndefLength:      cbor.IndefLengthForbidden,
		MaxNestedLevels:  wire.MaxDepth + 16,
		MaxArrayElements: wire.MaxElements,
		MaxMapPairs:      wire.MaxElements,
	}.DecMode())
)

// must is for the two constant option sets above.
func must[M any](m M, err error) M {
	if err != nil {
		panic(err)
	}
	return m
}

// Marshal encodes the body of a message, or any struct with integer keys.
func Marshal(v any) ([]byte, error) {
	if own, ok := v.(wire.Body); ok {
		return wire.Encoded(own.AppendBody)
	}
	var b bytes.Buffer
	if err := encMode.MarshalToBuffer(v, &b); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// Unmarshal decodes what Marshal encoded, within the limits of package wire.
func Unmarshal(b []byte, v any) error {
	if own, ok := v.(wire.Body); ok {
		return own.ParseBody(b)
	}
	return decMode.Unmarshal(b, v)
}

// Decode makes the message of a frame's kind and body.
func Decode(k wire.Kind, body []byte) (wire.Message, error) {
	m := wire.New(k)
	if m == nil {
		return nil, &UnknownError{Kind: k}
	}
	if err := Unmarshal(body, m); err != nil {
		return nil, fmt.Errorf("decoding %s: %w", k, err)
	}
	return m, nil
}

// Writer writes frames. Put gathers frames, Flush sends them in one write. It
// is not safe for concurrent use.
type Writer struct {
	w   io.Writer
	buf []byte
}

// NewWriter returns a Writer on w.
func NewWriter(w io.Writer) *Writer { return &Writer{w: w} }

// Put appends a frame to what Flush will send.
func (w *Writer) Put(m wire.Message) error {
	start := len(w.buf)
	w.buf = append(w.buf, 0, 0, 0, 0, byte(m.Kind()))
	buf, err := appendBody(w.buf, m)
	if err != nil {
		w.buf = w.buf[:start]
		return fmt.Errorf("encoding %s: %w", m.Kind(), err)
	}
	w.buf = buf
	return w.finish(start)
}

func appendBody(b []byte, m wire.Message) ([]byte, error) {
	if own, ok := m.(wire.Body); ok {
		return own.AppendBody(b)
	}
	to := bytes.NewBuffer(b)
	err := encMode.MarshalToBuffer(m, to)
	return to.Bytes(), err
}

// PutRaw appends a frame whose body is encoded already.
func (w *Writer) PutRaw(k wire.Kind, body []byte) error {
	start := len(w.buf)
	w.buf = append(append(w.buf, 0, 0, 0, 0, byte(k)), body...)
	return w.finish(start)
}

func (w *Writer) finish(start int) error {
	n := len(w.buf) - start - 4
	if n > wire.MaxFrame {
		w.buf = w.buf[:start]
		return fmt.Errorf("message of %d bytes, the most is %d: %w", n, wire.MaxFrame, ErrTooLong)
	}
	binary.BigEndian.PutUint32(w.buf[start:], uint32(n))
	return nil
}

// Buffered is the number of bytes that wait for Flush.
func (w *Writer) Buffered() int { return len(w.buf) }

// Flush sends what was put.
func (w *Writer) Flush() error {
	if len(w.buf) == 0 {
		return nil
	}
	_, err := w.w.Write(w.buf)
	if cap(w.buf) > keepBuf {
		w.buf = nil
	} else {
		w.buf = w.buf[:0]
	}
	return err
}

// Discard forgets what was put and not flushed.
func (w *Writer) Discard() { w.buf = w.buf[:0] }

// Send puts messages and flushes.
func (w *Writer) Send(ms ...wire.Message) error {
	for _, m := range ms {
		if err := w.Put(m); err != nil {
			return err
		}
	}
	return w.Flush()
}

// Reader reads frames. It reads no further than the frame it returns, and is
// not safe for concurrent use.
type Reader struct {
	r    io.Reader
	head [headLen]byte
	buf  []byte
	max  int
}

// NewReader returns a Reader on r.
func NewReader(r io.Reader) *Reader { return &Reader{r: r, max: wire.MaxFrame} }

// ReadRaw returns the next frame's kind and body, which is valid until the
// next call. io.EOF means that the stream ended between frames.
func (r *Reader) ReadRaw() (wire.Kind, []byte, error) {
	if _, err := io.ReadFull(r.r, r.head[:]); err != nil {
		if err == io.EOF {
			return 0, nil, err
		}
		return 0, nil, fmt.Errorf("reading frame head: %w", err)
	}
	n := binary.BigEndian.Uint32(r.head[:4])
	if n < 1 {
		return 0, nil, errors.New("frame without a kind")
	}
	if int64(n) > int64(r.max) {
		return 0, nil, fmt.Errorf("frame of %d bytes: %w", n, ErrTooLong)
	}
	if cap(r.buf) > keepBuf {
		r.buf = nil
	}
	body, want := r.buf[:0], int(n)-1
	for len(body) < want {
		step := min(want-len(body), max(readStep, len(body)))
		body = append(body, make([]byte, step)...)
		if _, err := io.ReadFull(r.r, body[len(body)-step:]); err != nil {
			if err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return 0, nil, fmt.Errorf("reading frame: %w", err)
		}
	}
	r.buf = body
	return wire.Kind(r.head[4]), body, nil
}

// Read returns the next message. The error is a *UnknownError when the frame's
// kind is not known; the next Read then returns the frame behind it.
func (r *Reader) Read() (wire.Message, error) {
	k, body, err := r.ReadRaw()
	if err != nil {
		return nil, err
	}
	return Decode(k, body)
}

// Body is the body of the message that Read returned last, valid until the next call.
func (r *Reader) Body() []byte { return r.buf }
