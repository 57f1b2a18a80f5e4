package journal

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"volant/wire"
)

// Run is one run that a directory has a file of.
type Run struct {
	Name    string
	Path    string
	Header  *Header
	End     *End // nil: broken off, or going on
	Running bool
	Results int
	Size    int64
	Changed time.Time // when it was last written
	Err     error     // why the file cannot be read
}

// Name makes the name of a run: when it began, and a few digits of its id.
func Name(begin time.Time, run wire.RunID) string {
	return begin.UTC().Format("20060102-150405-") + run.String()[:4]
}

// List reads a directory's runs, the newest first. A directory that does not
// exist has none.
func List(dir string, key ed25519.PrivateKey) ([]*Run, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("listing runs: %w", err)
	}
	var out []*Run
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), Suffix)
		if !ok || !e.Type().IsRegular() {
			continue
		}
		out = append(out, read(filepath.Join(dir, e.Name()), name, key))
	}
	slices.SortFunc(out, func(a, b *Run) int { return strings.Compare(b.Name, a.Name) })
	return out, nil
}

func read(path, name string, key ed25519.PrivateKey) *Run {
	r := &Run{Name: name, Path: path}
	f, err := os.Open(path)
	if err != nil {
		r.Err = err
		return r
	}
	defer f.Close()
	if st, err := f.Stat(); err == nil {
		r.Size, r.Changed = st.Size(), st.ModTime()
	}
	r.Running = unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB) != nil
	p, _, err := load(f, key)
	if err != nil {
		r.Err = err
		return r
	}
	r.Header, r.End, r.Results = p.Header, p.End, p.Results()
	return r
}

// Prune removes all but the newest runs, keep of them; those that are going on
// stay. A file's name says when it began.
func Prune(dir string, keep int) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("removing old runs: %w", err)
	}
	var names []string
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), Suffix) && e.Type().IsRegular() {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	for i := range max(0, len(names)-keep) {
		if err := Remove(filepath.Join(dir, names[i])); err != nil && !errors.Is(err, ErrBusy) {
			return err
		}
	}
	return nil
}

// Remove deletes the file of a run that is not going on.
func Remove(path string) error {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("removing a run: %w", err)
	}
	defer f.Close()
	if unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil {
		return ErrBusy
	}
	if err := os.Remove(path); err != nil {
		return fmt.Errorf("removing a run: %w", err)
	}
	return nil
}
