package python

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Join makes an extra directory usable together with a base: for every package
// directory below ansible that both have, the extra's __init__.py also searches
// the base's. A module that starts itself anew under another interpreter puts
// only the extra directory on its path. It must be called once for a pair,
// before its first use; extra then belongs to that base.
func Join(base, extra string) error {
	root := filepath.Join(extra, "ansible")
	if _, err := os.Stat(root); errors.Is(err, fs.ErrNotExist) {
		if err := os.MkdirAll(filepath.Join(root, "module_utils"), 0o755); err != nil {
			return fmt.Errorf("laying out a module: %w", err)
		}
	}
	if err := os.MkdirAll(filepath.Join(root, "module_utils"), 0o755); err != nil {
		return fmt.Errorf("laying out a module: %w", err)
	}
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return fmt.Errorf("laying out a module: %w", err)
		}
		if !d.IsDir() {
			return nil
		}
		rel, err := filepath.Rel(extra, path)
		if err != nil {
			return fmt.Errorf("laying out a module: %w", err)
		}
		theirs, err := os.ReadFile(filepath.Join(base, rel, "__init__.py"))
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("laying out a module: %w", err)
		}
		return joinInit(filepath.Join(path, "__init__.py"), theirs, filepath.Join(base, rel))
	})
}

// joinMark ends an __init__.py that was joined, so that it is not joined twice.
const joinMark = "# joined\n"

func joinInit(file string, theirs []byte, dir string) error {
	ours, err := os.ReadFile(file)
	switch {
	case err == nil && strings.HasSuffix(string(ours), joinMark):
		return nil
	case errors.Is(err, fs.ErrNotExist):
		ours = theirs
	case err != nil:
		return fmt.Errorf("laying out a module: %w", err)
	}
	text := strings.TrimRight(string(ours), "\n") + "\n__path__.append(" + pyQuote(dir) + ")  " + joinMark
	tmp := file + ".new"
	err = os.WriteFile(tmp, []byte(text), 0o644)
	if err = errors.Join(err, os.Rename(tmp, file)); err != nil {
		return fmt.Errorf("laying out a module: %w", err)
	}
	return nil
}
