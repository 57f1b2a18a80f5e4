package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// shimsMain writes links named as ansible-core's commands into a directory, so
// that whoever calls those runs Volant.
func shimsMain(_ context.Context, p *process, args []string) error {
	var opt struct {
		Dir string `arg:"" help:"Directory to write the links into; it is made when missing."`
	}
	if err := parse(p, &opt, "Write links named as ansible-core's commands that run Volant.", args); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("finding this program: %w", err)
	}
	if err := os.MkdirAll(opt.Dir, 0o755); err != nil {
		return err
	}
	names := make([]string, 0, len(aliases))
	for name := range aliases {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		path := filepath.Join(opt.Dir, name)
		if st, err := os.Lstat(path); err == nil {
			if st.Mode()&os.ModeSymlink == 0 {
				return fmt.Errorf("%s is in the way: it is no link", path)
			}
			if err := os.Remove(path); err != nil {
				return err
			}
		}
		if err := os.Symlink(self, path); err != nil {
			return err
		}
		fmt.Fprintln(p.stdout, path)
	}
	return nil
}
