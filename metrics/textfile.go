package metrics

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"
)

// Write writes what reg gathers in Prometheus' text format.
func Write(reg prometheus.Gatherer, w io.Writer) error {
	families, err := reg.Gather()
	if err != nil {
		return fmt.Errorf("gathering metrics: %w", err)
	}
	enc := expfmt.NewEncoder(w, expfmt.NewFormat(expfmt.TypeTextPlain))
	for _, f := range families {
		if err := enc.Encode(f); err != nil {
			return fmt.Errorf("writing metrics: %w", err)
		}
	}
	return nil
}

// WriteFile writes what reg gathers to path: beside it first, then in its place
// at once, so that a half-written file is never scraped.
func WriteFile(reg prometheus.Gatherer, path string) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return fmt.Errorf("making metrics file: %w", err)
	}
	defer os.Remove(f.Name()) // nothing is there any more once it was renamed
	if err := Write(reg, f); err != nil {
		f.Close()
		return err
	}
	if err := f.Chmod(0o644); err != nil {
		f.Close()
		return fmt.Errorf("making metrics file readable: %w", err)
	}
	if err := f.Close(); err != nil {
		return fmt.Errorf("closing metrics file: %w", err)
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return fmt.Errorf("placing metrics file: %w", err)
	}
	return nil
}

// Writable reports why WriteFile could not write path: its directory, which must
// be there, takes no file.
func Writable(path string) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return fmt.Errorf("making metrics file: %w", err)
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}
