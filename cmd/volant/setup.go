package main

import (
	"context"
	"fmt"
	"os"
	"os/user"
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
	dir := filepath.Join(j.dataDir(), "ansible-core")
	if os.Geteuid() == 0 {
		dir = systemCore // for every user of this machine, whatever HOME a job has
	}
	core, err := union.Setup(ctx, dir, opt.Python, p.stderr)
	if err != nil {
		return err
	}
	fmt.Fprintf(p.stdout, "ansible-core %s is in %s\n", core.Version, core.Path)
	return nil
}

// systemCore is where root's setup puts ansible-core.
const systemCore = "/var/lib/volant/ansible-core"

// coreDirs are the places that setup may have put ansible-core: for this user
// (HOME may be a job's), for the machine, and beside the program, where a
// package or a source tree has it.
func (j *project) coreDirs() []string {
	var dirs []string
	if d := j.dataDir(); d != "" {
		dirs = append(dirs, filepath.Join(d, "ansible-core"))
	}
	if u, err := user.Current(); err == nil && u.HomeDir != "" && u.HomeDir != j.home {
		dirs = append(dirs, filepath.Join(u.HomeDir, ".local/share/volant/ansible-core"))
	}
	dirs = append(dirs, systemCore)
	if self, err := os.Executable(); err == nil {
		if real, err := filepath.EvalSymlinks(self); err == nil {
			self = real
		}
		prefix := filepath.Dir(filepath.Dir(self))
		dirs = append(dirs, filepath.Join(prefix, "lib/volant/ansible-core"), filepath.Join(prefix, ".cache/reference"))
	}
	return dirs
}
