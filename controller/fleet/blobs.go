package fleet

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/klauspost/compress/zstd"

	"volant/cores"
	"volant/stage"
	"volant/wire"
)

const (
	pieceSize     = 128 << 10 // bytes of one Data
	sampleSize    = 64 << 10  // of a blob, to see whether compressing pays
	worthwhile    = 512       // blobs smaller than this travel as they are
	cacheBytes    = 64 << 20  // encoded union blobs kept for the next hosts
	maxCachedBlob = 4 << 20
)

// serve sends the wanted blobs, each in turn, on the slot.
func (x *exchange) serve(ctx context.Context, s *slot, b *budget, want *wire.Want) error {
	if n := len(want.Hashes); n == 0 || n > wire.MaxWant {
		return unasked("asks for %d files at once", n)
	}
	for _, h := range want.Hashes {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := x.wants(b, h); err != nil {
			return err
		}
		if err := x.serveOne(s, h); err != nil {
			return err
		}
	}
	return nil
}

func (x *exchange) serveOne(s *slot, h wire.Hash) error {
	for f := range x.r.files() {
		if f.Hash == h {
			n, err := sendBlob(s, h, f.Size, f.Open)
			x.ans.Sent += n
			if x.served == nil {
				x.served = map[wire.Hash]bool{}
			}
			x.served[h] = true
			x.l.f.cfg.Metrics.Staged("sent", n)
			return err
		}
	}
	if !x.mayServe(h) {
		return flushed(s, &wire.NoBlob{Hash: h, Text: "not part of this sub-task"})
	}
	b, err := x.l.f.blobs.get(h, x.r.Union)
	if err != nil {
		return flushed(s, &wire.NoBlob{Hash: h, Text: err.Error()})
	}
	x.l.unionSent(h, int64(b.size))
	if err := s.w.Put(&wire.Blob{Hash: h, Size: int64(b.size), Encoding: b.enc}); err != nil {
		return &lostSlot{err}
	}
	for p := b.data; ; {
		n := min(len(p), pieceSize)
		if err := flushed(s, &wire.Data{Data: p[:n], Last: n == len(p)}); err != nil {
			return err
		}
		if p = p[n:]; len(p) == 0 {
			return nil
		}
	}
}

func flushed(s *slot, m wire.Message) error {
	if err := s.w.Send(m); err != nil {
		return &lostSlot{err}
	}
	return nil
}

// mayServe tells whether the sub-task in progress names the blob: one of its
// two manifests, or a file in one of them.
func (x *exchange) mayServe(h wire.Hash) bool {
	py := x.r.Task.Python
	if py == nil || x.r.Union == nil {
		return false
	}
	if h == py.Base || h == py.Extra {
		return true
	}
	for _, m := range []wire.Hash{py.Extra, py.Base} {
		if _, ok := x.l.f.blobs.members(m, x.r.Union)[h]; ok {
			return true
		}
	}
	return false
}

// bulk is from how many bytes a file's content is worth every processor: reading,
// compressing and packets are then worked on at once.
const bulk = 1 << 20

// sendBlob streams a file in constant memory, compressed when a sample says
// that it pays, and returns the bytes of content sent.
func sendBlob(s *slot, h wire.Hash, size int64, open func() (io.ReadCloser, error)) (int64, error) {
	src, err := open()
	if err != nil {
		return 0, flushed(s, &wire.NoBlob{Hash: h, Text: err.Error()})
	}
	defer src.Close()
	if size >= bulk {
		defer cores.All()()
	}
	sample := make([]byte, min(size+1, sampleSize))
	n, err := io.ReadFull(src, sample)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return 0, flushed(s, &wire.NoBlob{Hash: h, Text: err.Error()})
	}
	sample = sample[:n]
	enc := wire.EncodingPlain
	if n > worthwhile && pays(sample) {
		enc = wire.EncodingZstd
	}
	if err := s.w.Put(&wire.Blob{Hash: h, Size: size, Encoding: enc}); err != nil {
		return 0, &lostSlot{err}
	}
	out := &pieces{s: s}
	var w io.Writer = out
	var z *zstd.Encoder
	if enc == wire.EncodingZstd {
		if z, err = zstd.NewWriter(out, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1<<20)); err != nil {
			return 0, err
		}
		w = z
	}
	sent, err := io.Copy(w, io.MultiReader(bytes.NewReader(sample), src))
	if z != nil && err == nil {
		err = z.Close()
	}
	var gone *lostSlot
	switch {
	case errors.As(err, &gone):
		return sent, gone
	case err != nil: // the source failed half-way
		return sent, flushed(s, &wire.NoBlob{Hash: h, Text: err.Error()})
	}
	return sent, flushed(s, &wire.Data{Last: true})
}

func pays(sample []byte) bool {
	return len(encoder.EncodeAll(sample, nil)) < len(sample)*9/10
}

// encoder is safe for concurrent use by EncodeAll; its options cannot fail.
var encoder, _ = zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1))

// pieces writes content as Data frames.
type pieces struct{ s *slot }

func (p *pieces) Write(b []byte) (n int, err error) {
	for len(b) > 0 {
		c := min(len(b), pieceSize)
		if err := flushed(p.s, &wire.Data{Data: b[:c]}); err != nil {
			return n, err
		}
		b, n = b[c:], n+c
	}
	return n, nil
}

// blobCache keeps union blobs as they travel, and what manifests name, for all
// hosts of a run.
type blobCache struct {
	mu        sync.Mutex // guards what follows
	blobs     map[wire.Hash]*encoded
	bytes     int
	manifests map[wire.Hash]map[wire.Hash]int64 // sizes of a manifest's files
}

type encoded struct {
	enc  wire.Encoding
	size int // once decoded
	data []byte
}

func newBlobCache() *blobCache {
	return &blobCache{blobs: map[wire.Hash]*encoded{}, manifests: map[wire.Hash]map[wire.Hash]int64{}}
}

// get returns a blob of the union, encoded.
func (c *blobCache) get(h wire.Hash, union Opener) (*encoded, error) {
	c.mu.Lock()
	b := c.blobs[h]
	c.mu.Unlock()
	if b != nil {
		return b, nil
	}
	raw, err := readBlob(h, union)
	if err != nil {
		return nil, err
	}
	b = &encoded{size: len(raw), data: raw}
	if len(raw) > worthwhile {
		if z := encoder.EncodeAll(raw, nil); len(z) < len(raw)*9/10 {
			b.enc, b.data = wire.EncodingZstd, z
		}
	}
	if len(b.data) <= maxCachedBlob {
		c.mu.Lock()
		if c.bytes+len(b.data) <= cacheBytes {
			c.blobs[h] = b
			c.bytes += len(b.data)
		}
		c.mu.Unlock()
	}
	return b, nil
}

func readBlob(h wire.Hash, union Opener) ([]byte, error) {
	r, err := union.Open(h)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	var b bytes.Buffer
	if _, err := stage.Receive(&b, r, h, -1); err != nil {
		return nil, fmt.Errorf("reading a union file: %w", err)
	}
	return b.Bytes(), nil
}

// members are the files that manifest m names, with their sizes; empty when it
// cannot be read.
func (c *blobCache) members(m wire.Hash, union Opener) map[wire.Hash]int64 {
	c.mu.Lock()
	files, ok := c.manifests[m]
	c.mu.Unlock()
	if ok {
		return files
	}
	files = map[wire.Hash]int64{}
	raw, err := readBlob(m, union)
	if err != nil {
		return files
	}
	man, err := stage.DecodeManifest(raw)
	if err != nil {
		return files
	}
	for _, f := range man.Files {
		files[f.Hash] = f.Size
	}
	c.mu.Lock()
	c.manifests[m] = files
	c.mu.Unlock()
	return files
}

// unionSent counts a union blob that travelled over this link.
func (l *hostLink) unionSent(h wire.Hash, size int64) {
	l.f.cfg.Metrics.Union("sent", 1, size)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.union == nil {
		l.union = map[wire.Hash]bool{}
	}
	l.union[h] = true
}

// unionUsed counts, once per link and manifest, the files that a Python
// sub-task used and that did not have to travel.
func (l *hostLink) unionUsed(r *Request) {
	if r.Task.Python == nil || r.Union == nil {
		return
	}
	for _, m := range []wire.Hash{r.Task.Python.Base, r.Task.Python.Extra} {
		l.mu.Lock()
		seen := l.laid[m]
		if l.laid == nil {
			l.laid = map[wire.Hash]bool{}
		}
		l.laid[m] = true
		l.mu.Unlock()
		if seen {
			continue
		}
		files, size := 0, int64(0)
		members := l.f.blobs.members(m, r.Union)
		l.mu.Lock()
		for h, n := range members {
			if !l.union[h] {
				files, size = files+1, size+n
			}
		}
		l.mu.Unlock()
		l.f.cfg.Metrics.Union("spared", files, size)
	}
}
