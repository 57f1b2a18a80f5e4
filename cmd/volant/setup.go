package main

import (
	"context"
	"fmt"
	"path/filepath"

	"volant/controller/union"
)

// setupMain installs ansible-core into an environment of Volant's own.
func setupMain(ctx context.Context, p *process, args []string) error {
	var opt struct {
		Python string `default:"python3" help:"Python to make the environment with."`
	}
	if err := parse(p, &opt, "Install ansible-core for Volant alone, where it finds it by itself.", args); err != nil {
		return err
	}
	j, err := configure(p, 0)
	if err != nil {
		return err
	}
	core, err := union.Setup(ctx, filepath.Join(j.dataDir(), "ansible-core"), opt.Python, p.stderr)
	if err != nil {
		return err
	}
	fmt.Fprintf(p.stdout, "ansible-core %s is in %s\n", core.Version, core.Path)
	return nil
}
