package modules

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"volant/wire/value"
)

// rawModule runs a command line with a shell and nothing else: no arguments
// are checked, and the result has only rc, stdout and stderr. An argument other
// than these is a staged file: its path replaces its name in the line.
func rawModule(ctx context.Context, env *Env, args *value.Dict) (Result, error) {
	line, _ := args.Str("_raw_params")
	shell, _ := args.Str("executable")
	for k, v := range args.All() {
		name, _ := value.Text(k)
		path, ok := value.Text(v)
		if ok && name != "" && name != "_raw_params" && name != "executable" {
			line = strings.ReplaceAll(line, name, path)
			if dir := env.tmpdir(); dir != "" && strings.HasPrefix(path, dir+"/") { // staged: a script to run
				if err := os.Chmod(path, 0o700); err != nil {
					return nil, fmt.Errorf("making a staged file executable: %w", err)
				}
			}
		}
	}
	if shell == "" {
		shell = "/bin/sh"
	}
	r, err := env.run(ctx, &command{argv: []string{shell, "-c", line}, live: true})
	var oe *osError
	if errors.As(err, &oe) {
		return value.DictOf("rc", int64(127), "stdout", "", "stderr", "/bin/sh: 1: "+shell+": "+shellWords(oe)+"\n"), nil
	}
	if err != nil {
		return nil, err
	}
	if env.truncated {
		return nil, errTooLarge
	}
	if r.rc < 0 {
		r.rc = 128 - r.rc // as the shell between would say
	}
	return value.DictOf("rc", int64(r.rc), "stdout", string(r.stdout), "stderr", string(r.stderr)), nil
}

func shellWords(e *osError) string {
	if e.errno == 2 {
		return "not found"
	}
	return strerror(e.errno)
}
