package stage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"lukechampine.com/blake3"
)

// ErrHash says that content is not what its name says.
var ErrHash = errors.New("content does not match its hash")

// Fetch gets blobs from the other side, in the order asked. each is called once
// per blob, with a reader of its content that need not be read to its end.
type Fetch func(ctx context.Context, want []Hash, each func(i int, r io.Reader) error) error

// Receive copies one blob from r to w in constant memory. It is refused when it
// is longer than limit (negative: no limit) or does not match h.
func Receive(w io.Writer, r io.Reader, h Hash, limit int64) (int64, error) {
	sum := blake3.New(len(h), nil)
	if limit >= 0 {
		r = io.LimitReader(r, limit+1)
	}
	n, err := io.Copy(io.MultiWriter(w, sum), r)
	switch {
	case err != nil:
		return n, err
	case limit >= 0 && n > limit:
		return n, fmt.Errorf("blob is longer than the announced %d bytes: %w", limit, ErrHash)
	case !bytes.Equal(sum.Sum(nil), h[:]):
		return n, ErrHash
	}
	return n, nil
}

// Store keeps union files between runs and lays manifests out. Everything in
// it can be deleted at any time; nothing in it is believed before its hash was
// checked in this process.
//
//	blobs/ab/abcd...        content by name, hard-linked into the trees
//	union/abcd.../manifest  the manifest of that hash
//	union/abcd.../tree/     its files
type Store struct {
	dir string

	mu    sync.Mutex // guards laid
	laid  map[Hash]*layout
	clock func() time.Time
}

// layout is one manifest's tree; its mutex lets one caller lay it out.
type layout struct {
	mu   sync.Mutex
	tree string // set once checked
}

// OpenStore opens or makes the store in dir.
func OpenStore(dir string) (*Store, error) {
	for _, d := range []string{"blobs", "union"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o700); err != nil {
			return nil, fmt.Errorf("making the cache: %w", err)
		}
	}
	return &Store{dir: dir, laid: map[Hash]*layout{}, clock: time.Now}, nil
}

// Layout returns the directory that holds the manifest's files, fetching what
// is missing. An error of fetch is returned as it is.
func (s *Store) Layout(ctx context.Context, h Hash, fetch Fetch) (string, error) {
	s.mu.Lock()
	l := s.laid[h]
	if l == nil {
		l = new(layout)
		s.laid[h] = l
	}
	s.mu.Unlock()

	l.mu.Lock()
	defer l.mu.Unlock()
	dir := filepath.Join(s.dir, "union", h.String())
	if l.tree != "" {
		if _, err := os.Lstat(filepath.Join(dir, "manifest")); err == nil {
			return l.tree, nil
		}
		l.tree = "" // swept under us
	}
	if s.check(dir, h) != nil {
		if err := s.build(ctx, dir, h, fetch); err != nil {
			return "", err
		}
	}
	now := s.clock()
	_ = os.Chtimes(filepath.Join(dir, "manifest"), now, now) // ages from its last use
	l.tree = filepath.Join(dir, "tree")
	return l.tree, nil
}

// check verifies a tree that an earlier process laid out.
func (s *Store) check(dir string, h Hash) error {
	b, err := readAtMost(filepath.Join(dir, "manifest"), maxManifestSize)
	if err != nil {
		return err
	}
	if HashBytes(b) != h {
		return ErrHash
	}
	m, err := DecodeManifest(b)
	if err != nil {
		return err
	}
	for _, f := range m.Files {
		if err := checkFile(filepath.Join(dir, "tree", filepath.FromSlash(f.Path)), f.Hash, f.Size); err != nil {
			return err
		}
	}
	return nil
}

// build lays a tree out, or mends what is wrong with it. It replaces files one
// by one, each at once: another process may run modules from the tree.
func (s *Store) build(ctx context.Context, dir string, h Hash, fetch Fetch) error {
	var enc bytes.Buffer
	err := fetch(ctx, []Hash{h}, func(_ int, r io.Reader) error {
		_, err := Receive(&enc, r, h, maxManifestSize)
		return err
	})
	if err != nil {
		return fmt.Errorf("fetching a manifest: %w", err)
	}
	m, err := DecodeManifest(enc.Bytes())
	if err != nil {
		return err
	}
	if err := s.fill(ctx, m, fetch); err != nil {
		return err
	}
	tree := filepath.Join(dir, "tree")
	if err := os.MkdirAll(tree, 0o700); err != nil {
		return fmt.Errorf("laying out a union: %w", err)
	}
	for _, f := range m.Files {
		to := filepath.Join(tree, filepath.FromSlash(f.Path))
		if checkFile(to, f.Hash, f.Size) == nil {
			continue
		}
		if err := place(s.blob(f.Hash), to); err != nil {
			return fmt.Errorf("laying out a union: %w", err)
		}
	}
	if err := writeAtomic(filepath.Join(dir, "manifest"), enc.Bytes()); err != nil {
		return fmt.Errorf("laying out a union: %w", err)
	}
	return nil
}

// place puts a link to (or a copy of) a blob at a path, replacing what is there.
func place(blob, to string) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	tmp := filepath.Join(filepath.Dir(to), ".new-"+randomName())
	err := linkOrCopy(blob, tmp)
	if err == nil {
		err = os.Rename(tmp, to)
	}
	_ = os.Remove(tmp) // rename does nothing when both are links to one file
	return err
}

func writeAtomic(path string, b []byte) error {
	tmp := path + ".new-" + randomName()
	err := os.WriteFile(tmp, b, 0o600)
	if err == nil {
		err = os.Rename(tmp, path)
	}
	if err != nil {
		_ = os.Remove(tmp)
	}
	return err
}

// fill brings every blob of m into the store.
func (s *Store) fill(ctx context.Context, m *Manifest, fetch Fetch) error {
	var want []Hash
	var sizes []int64
	seen := map[Hash]bool{}
	for _, f := range m.Files {
		if seen[f.Hash] {
			continue
		}
		seen[f.Hash] = true
		if checkFile(s.blob(f.Hash), f.Hash, f.Size) != nil {
			want, sizes = append(want, f.Hash), append(sizes, f.Size)
		}
	}
	if len(want) == 0 {
		return nil
	}
	err := fetch(ctx, want, func(i int, r io.Reader) error { return s.put(want[i], sizes[i], r) })
	if err != nil {
		return fmt.Errorf("fetching union files: %w", err)
	}
	return nil
}

func (s *Store) blob(h Hash) string {
	name := h.String()
	return filepath.Join(s.dir, "blobs", name[:2], name)
}

func (s *Store) put(h Hash, size int64, r io.Reader) error {
	to := s.blob(h)
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(to), "new-")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }()
	_, err = Receive(f, r, h, size)
	if err == nil {
		err = f.Chmod(0o700) // some modules are programs
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), to)
}

func checkFile(path string, h Hash, size int64) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if st, err := f.Stat(); err != nil || st.Size() != size || !st.Mode().IsRegular() {
		return ErrHash
	}
	_, err = Receive(io.Discard, f, h, size)
	return err
}

func readAtMost(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(b)) > limit {
		err = errors.New("file too long")
	}
	return b, err
}

func linkOrCopy(from, to string) error {
	if os.Link(from, to) == nil {
		return nil
	}
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o700)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if cerr := out.Close(); err == nil {
		err = cerr
	}
	return err
}
