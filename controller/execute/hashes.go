package execute

import (
	"crypto/sha1" //nolint:gosec // what the reference's modules compare
	"encoding/hex"
	"errors"
	"io"
	"os"
	"sync"
	"syscall"
	"time"

	"lukechampine.com/blake3"

	"volant/stage"
)

// hashes remembers what controller files hash to, so that a file that goes to
// many hosts is read for this once. A file that changed is read again.
type hashes struct {
	mu    sync.Mutex // guards files
	files map[string]*hashed
}

// hashed is one file; its mutex lets one caller read it.
type hashed struct {
	mu    sync.Mutex
	stamp stamp // zero: not known
	hash  stage.Hash
	sha1  string
}

// stamp tells a file from what it was before.
type stamp struct {
	dev, ino             uint64
	size, mtime, changed int64
}

const (
	maxHashes = 100_000
	// settled is how old a file must be before the clock of the file system
	// cannot hide that it is written again.
	settled = 2 * time.Second
)

// file makes a staged file of the one at path, and its SHA-1.
func (c *hashes) file(path string) (stage.File, string, error) {
	c.mu.Lock()
	h := c.files[path]
	if h == nil {
		if c.files == nil || len(c.files) >= maxHashes {
			c.files = map[string]*hashed{}
		}
		h = new(hashed)
		c.files[path] = h
	}
	c.mu.Unlock()
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.update(path); err != nil {
		return stage.File{}, "", err
	}
	return stage.File{Hash: h.hash, Size: h.stamp.size, Open: func() (io.ReadCloser, error) { return os.Open(path) }}, h.sha1, nil
}

func (h *hashed) update(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return err
	}
	now, young := stampOf(st)
	if now == h.stamp && !young {
		return nil
	}
	old, name := sha1.New(), blake3.New(len(h.hash), nil) //nolint:gosec // as above
	h.stamp = stamp{}
	n, err := feed(f, st.Size(), old, name)
	if err != nil {
		return err
	}
	now.size = n
	h.stamp, h.sha1 = now, hex.EncodeToString(old.Sum(nil))
	name.Sum(h.hash[:0])
	return nil
}

// feed writes what r has to both, of a long file to each in a goroutine of its
// own, which ends with feed.
func feed(r io.Reader, size int64, a, b io.Writer) (n int64, err error) {
	const piece = 1 << 20
	if size < 4*piece {
		return io.Copy(io.MultiWriter(a, b), r)
	}
	pieces, free := make(chan []byte), make(chan []byte, 2)
	free <- make([]byte, piece)
	free <- make([]byte, piece)
	var written sync.WaitGroup
	written.Go(func() {
		for p := range pieces {
			_, _ = b.Write(p) // a hash: it cannot fail
			free <- p
		}
	})
	defer written.Wait()
	defer close(pieces)
	for {
		p := (<-free)[:piece]
		m, err := io.ReadFull(r, p)
		n += int64(m)
		if m > 0 {
			pieces <- p[:m]
			_, _ = a.Write(p[:m])
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return n, nil
		}
		if err != nil {
			return n, err
		}
	}
}

func stampOf(st os.FileInfo) (s stamp, young bool) {
	s = stamp{size: st.Size(), mtime: st.ModTime().UnixNano()}
	sys, ok := st.Sys().(*syscall.Stat_t)
	if ok {
		s.dev, s.ino, s.changed = sys.Dev, sys.Ino, sys.Ctim.Nano()
	}
	latest := max(s.mtime, s.changed)
	return s, !ok || time.Since(time.Unix(0, latest)) < settled
}
