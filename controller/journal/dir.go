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

	"volant/wire"
)

// Run is one run that a directory has a file of.
type Run struct {
	Name    string
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
	names, err := Names(dir)
	var out []*Run
	for _, name := range names {
		out = append(out, read(filepath.Join(dir, name+Suffix), name, key))
	}
	return out, err
}

// Names are those of a directory's runs, the newest first: a name says when its
// run began. No file is opened.
func Names(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("listing runs: %w", err)
	}
	var names []string
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), Suffix); ok && e.Type().IsRegular() {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b string) int { return strings.Compare(b, a) })
	return names, nil
}

func read(path, name string, key ed25519.PrivateKey) *Run {
	r := &Run{Name: name}
	f, err := os.Open(path)
	if err != nil {
		r.Err = err
		return r
	}
	defer f.Close()
	if st, err := f.Stat(); err == nil {
		r.Size, r.Changed = st.Size(), st.ModTime()
	}
	r.Running = held(f)
	p, _, err := load(f, key)
	if err != nil {
		r.Err = err
		return r
	}
	r.Header, r.End, r.Results = p.Header, p.End, p.Results()
	return r
}

// Prune removes all but the newest runs, keep of them; those that are going on
// stay.
func Prune(dir string, keep int) error {
	names, err := Names(dir)
	if err != nil {
		return fmt.Errorf("removing old runs: %w", err)
	}
	for _, name := range names[min(max(keep, 0), len(names)):] {
		if err := Remove(filepath.Join(dir, name+Suffix)); err != nil && !errors.Is(err, ErrBusy) {
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
	if err := hold(f); err != nil {
		return err
	}
	if err := os.Remove(path); err != nil {
		return fmt.Errorf("removing a run: %w", err)
	}
	return nil
}
