package stage

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// other is the other side: blobs by name, and how many were fetched.
type other struct {
	blobs   map[Hash][]byte
	fetched int
	err     error
}

func (o *other) fetch(_ context.Context, want []Hash, each func(int, io.Reader) error) error {
	for i, h := range want {
		if o.err != nil {
			return o.err
		}
		o.fetched++
		if err := each(i, bytes.NewReader(o.blobs[h])); err != nil {
			return err
		}
	}
	return nil
}

func (o *other) manifest(files map[string]string) Hash {
	m := new(Manifest)
	for path, text := range files {
		h := HashBytes([]byte(text))
		o.blobs[h] = []byte(text)
		m.Files = append(m.Files, ManifestFile{Path: path, Hash: h, Size: int64(len(text))})
	}
	m.Sort()
	o.blobs[m.Hash()] = m.Encode()
	return m.Hash()
}

func layoutOK(t *testing.T, s *Store, o *other, h Hash, files map[string]string, fetched int) string {
	t.Helper()
	before := o.fetched
	dir, err := s.Layout(t.Context(), h, o.fetch)
	if err != nil {
		t.Fatal(err)
	}
	for path, text := range files {
		b, err := os.ReadFile(filepath.Join(dir, path))
		if err != nil || string(b) != text {
			t.Errorf("%s: %q, %v", path, b, err)
		}
	}
	if n := o.fetched - before; n != fetched {
		t.Errorf("%d blobs fetched, want %d", n, fetched)
	}
	return dir
}

func TestLayout(t *testing.T) {
	root := t.TempDir()
	open := func() *Store {
		s, err := OpenStore(root)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	o := &other{blobs: map[Hash][]byte{}}
	files := map[string]string{"a/b.py": "one", "a/__init__.py": "", "c.py": "one", "d.py": "two"}
	h := o.manifest(files)
	s := open()
	dir := layoutOK(t, s, o, h, files, 4) // manifest and three distinct contents
	layoutOK(t, s, o, h, files, 0)
	layoutOK(t, open(), o, h, files, 0) // found again by the next process
	more := map[string]string{"d.py": "two", "e.py": "three"}
	layoutOK(t, s, o, o.manifest(more), more, 2) // only what is missing

	for name, damage := range map[string]func() error{
		"file changed": func() error {
			_ = os.Remove(filepath.Join(dir, "c.py"))
			return os.WriteFile(filepath.Join(dir, "c.py"), []byte("0ne"), 0o600)
		},
		"file gone":         func() error { return os.Remove(filepath.Join(dir, "a", "b.py")) },
		"manifest changed":  func() error { return os.WriteFile(filepath.Join(dir, "..", "manifest"), []byte("x"), 0o600) },
		"blob and file cut": func() error { return os.Truncate(filepath.Join(dir, "d.py"), 1) }, // one inode
		"all gone":          func() error { return os.RemoveAll(root) },
	} {
		t.Run(name, func(t *testing.T) {
			if err := damage(); err != nil {
				t.Fatal(err)
			}
			s := open()
			if _, err := s.Layout(t.Context(), h, o.fetch); err != nil {
				t.Fatal(err)
			}
			layoutOK(t, s, o, h, files, 0)
		})
	}
}

func TestLayoutRefuses(t *testing.T) {
	lost := errors.New("link lost")
	for name, change := range map[string]func(o *other, h Hash) Hash{
		"wrong content":      func(o *other, _ Hash) Hash { o.blobs[HashBytes([]byte("one"))] = []byte("0ne"); return Hash{} },
		"longer content":     func(o *other, _ Hash) Hash { o.blobs[HashBytes([]byte("one"))] = []byte("oneone"); return Hash{} },
		"shorter content":    func(o *other, _ Hash) Hash { o.blobs[HashBytes([]byte("one"))] = nil; return Hash{} },
		"wrong manifest":     func(o *other, h Hash) Hash { o.blobs[h] = []byte("x"); return Hash{} },
		"unusable manifest":  func(o *other, _ Hash) Hash { b := []byte("\xff"); h := HashBytes(b); o.blobs[h] = b; return h },
		"link lost":          func(o *other, _ Hash) Hash { o.err = lost; return Hash{} },
		"path over the root": func(o *other, _ Hash) Hash { return o.manifest(map[string]string{"../x": "one"}) },
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			s, err := OpenStore(root)
			if err != nil {
				t.Fatal(err)
			}
			o := &other{blobs: map[Hash][]byte{}}
			h := o.manifest(map[string]string{"a": "one"})
			if other := change(o, h); other != (Hash{}) {
				h = other
			}
			_, err = s.Layout(t.Context(), h, o.fetch)
			if err == nil {
				t.Fatal("laid out")
			}
			if name == "link lost" && !errors.Is(err, lost) {
				t.Errorf("got %v", err)
			}
			if m, _ := filepath.Glob(filepath.Join(root, "union", "*", "manifest")); len(m) != 0 {
				t.Errorf("%v was left as if whole", m)
			}
		})
	}
}

func TestPrune(t *testing.T) {
	root := t.TempDir()
	s, err := OpenStore(root)
	if err != nil {
		t.Fatal(err)
	}
	o := &other{blobs: map[Hash][]byte{}}
	old := o.manifest(map[string]string{"old": "old"})
	young := o.manifest(map[string]string{"young": "young"})
	start := time.Now()
	layoutOK(t, s, o, old, nil, 2)
	s.clock = func() time.Time { return start.Add(20 * 24 * time.Hour) }
	layoutOK(t, s, o, young, nil, 2)
	s.laid = map[Hash]*layout{}
	s.clock = func() time.Time { return start.Add(40 * 24 * time.Hour) }
	s.Prune(MaxStoreBytes, MaxStoreAge)
	layoutOK(t, s, o, young, map[string]string{"young": "young"}, 0)
	layoutOK(t, s, o, old, map[string]string{"old": "old"}, 2)
	s.laid = map[Hash]*layout{}
	s.Prune(0, MaxStoreAge)
	if m, _ := filepath.Glob(filepath.Join(root, "union", "*")); len(m) != 0 {
		t.Errorf("%v is left", m)
	}
}

func TestArea(t *testing.T) {
	parent := t.TempDir()
	a, err := OpenArea(parent)
	if err != nil {
		t.Fatal(err)
	}
	d, err := a.Get()
	if err != nil {
		t.Fatal(err)
	}
	for _, suffix := range []string{".conf", "", "/../../x", "a\x00b"} {
		f, err := d.Create(suffix)
		if err != nil {
			t.Fatalf("%q: %v", suffix, err)
		}
		f.Close()
		if filepath.Dir(f.Name()) != d.Path() {
			t.Errorf("%q: %s", suffix, f.Name())
		}
	}
	if err := os.MkdirAll(filepath.Join(d.Path(), "x", "y"), 0o700); err != nil {
		t.Fatal(err)
	}
	d.Put()
	again, err := a.Get()
	if err != nil || again.Path() != d.Path() {
		t.Fatalf("%v, %v", again, err)
	}
	if e, _ := os.ReadDir(again.Path()); len(e) != 0 {
		t.Errorf("%v was left", e)
	}
	if err := os.Chmod(again.Path(), 0o755); err != nil {
		t.Fatal(err)
	}
	again.Put()
	if third, err := a.Get(); err != nil || third.Path() == again.Path() {
		t.Errorf("a directory others can read is used again: %v", err)
	}

	dead := filepath.Join(parent, "1234-5-dead")
	if err := os.MkdirAll(filepath.Join(dead, "left"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dead, "lock"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	b, err := OpenArea(parent)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dead); !errors.Is(err, os.ErrNotExist) {
		t.Error("what a dead process left was not swept")
	}
	if _, err := os.Stat(a.dir); err != nil {
		t.Error("a living process's area was swept")
	}
	for _, x := range []*Area{a, b} {
		if err := x.Close(); err != nil {
			t.Error(err)
		}
	}
	if e, _ := os.ReadDir(parent); len(e) != 0 {
		t.Errorf("%v is left", e)
	}
}

// TestAreaRemoved: an area that somebody removed while its process lives is
// made anew, also below directories that are kept for the next sub-task.
func TestAreaRemoved(t *testing.T) {
	parent := filepath.Join(t.TempDir(), "staging")
	a, err := OpenArea(parent)
	if err != nil {
		t.Fatal(err)
	}
	kept, err := a.Get()
	if err != nil {
		t.Fatal(err)
	}
	kept.Put()
	if err := os.RemoveAll(parent); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the one kept, and a new one
		d, err := a.Get()
		if err != nil {
			t.Fatal(err)
		}
		f, err := d.Create(".conf")
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
	other, err := OpenArea(parent)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	d, err := a.Get()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(filepath.Dir(d.Path()), "lock")); err != nil {
		t.Errorf("another process swept it away: %v", err)
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
}
