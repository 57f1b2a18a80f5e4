package stage

import (
	"cmp"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"
)

// Bounds of a store that Prune keeps.
const (
	MaxStoreBytes = 512 << 20
	MaxStoreAge   = 30 * 24 * time.Hour
)

// Prune removes what was not used for maxAge and then the longest unused until
// the store is below maxBytes. Trees used by this process stay. Errors are not
// reported: what cannot be removed is tried again next time.
func (s *Store) Prune(maxBytes int64, maxAge time.Duration) {
	s.mu.Lock()
	inUse := map[string]bool{}
	for h := range s.laid {
		inUse[h.String()] = true
	}
	s.mu.Unlock()

	type tree struct {
		path string
		used time.Time
		size int64
	}
	var trees []tree
	var total int64
	old := s.clock().Add(-maxAge)
	entries, _ := os.ReadDir(filepath.Join(s.dir, "union"))
	for _, e := range entries {
		t := tree{path: filepath.Join(s.dir, "union", e.Name())}
		if st, err := os.Stat(filepath.Join(t.path, "manifest")); err == nil {
			t.used = st.ModTime()
		} else if st, err := e.Info(); err != nil || s.clock().Sub(st.ModTime()) < time.Hour {
			continue // being laid out
		}
		if inUse[e.Name()] {
			continue
		}
		if t.used.Before(old) {
			_ = os.RemoveAll(t.path)
			continue
		}
		t.size = diskUse(t.path)
		total += t.size
		trees = append(trees, t)
	}
	slices.SortFunc(trees, func(a, b tree) int { return cmp.Compare(a.used.UnixNano(), b.used.UnixNano()) })
	for _, t := range trees {
		if total <= maxBytes {
			break
		}
		_ = os.RemoveAll(t.path)
		total -= t.size
	}
	s.pruneBlobs()
}

// pruneBlobs removes blobs that no tree links to any more.
func (s *Store) pruneBlobs() {
	_ = filepath.WalkDir(filepath.Join(s.dir, "blobs"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil //nolint:nilerr // best effort
		}
		st, err := d.Info()
		if err != nil || s.clock().Sub(st.ModTime()) < time.Hour {
			return nil //nolint:nilerr // best effort; young ones may be about to be linked
		}
		if sys, ok := st.Sys().(*syscall.Stat_t); ok && sys.Nlink == 1 {
			_ = os.Remove(path)
		}
		return nil
	})
}

func diskUse(dir string) (n int64) {
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			if st, err := d.Info(); err == nil {
				n += st.Size()
			}
		}
		return nil
	})
	return n
}
