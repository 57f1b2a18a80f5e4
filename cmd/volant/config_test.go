package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// localTmp is the one value that differs between any two runs.
var localTmp = regexp.MustCompile(`ansible-local-\w+`)

// What the config command writes, beside what the ansible-core that is installed
// writes of the same configuration.
func TestConfigBesideTheReference(t *testing.T) {
	python := referencePython(t)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	cfg := "[defaults]\nforks = 9\nroles_path = here:/there\n[galaxy]\nserver_list = one, two\n[galaxy_server.one]\nurl = http://x\ntoken = t\n" +
		"[galaxy_server.two]\ntimeout = 5\nvalidate_certs = no\n[colors]\nok = blue\n[sudo_become_plugin]\nflags = -n\n"
	if err := os.WriteFile(filepath.Join(dir, "ansible.cfg"), []byte(cfg), 0o600); err != nil {
		t.Fatal(err)
	}
	core := filepath.Dir(filepath.Dir(python))
	env := map[string]string{"HOME": dir, "ANSIBLE_NOCOLOR": "1", "VOLANT_ANSIBLE_CORE": core, "ANSIBLE_BECOME_EXE": "dzdo", "XDG_CACHE_HOME": dir}
	for _, line := range []string{"list -t all", "dump -t all", "init -t all", "init --format vars -t all", "validate -t all"} {
		t.Run(line, func(t *testing.T) {
			args := strings.Fields(line)
			want, refErr, refCode := reference(t, python, "ansible-config", dir, env, args)
			var out, errs bytes.Buffer
			p := &process{name: "ansible-config", command: "config", find: find, stdout: &out, stderr: &errs, dir: dir, home: dir,
				getenv: func(n string) (string, bool) { v, ok := env[n]; return v, ok }}
			code := p.code(context.Background(), configMain(context.Background(), p, args))
			if code != refCode || errs.String() != refErr {
				t.Errorf("%d %q\nwant %d %q", code, errs.String(), refCode, refErr)
			}
			a, b := localTmp.ReplaceAllString(want, "TMP"), localTmp.ReplaceAllString(out.String(), "TMP")
			if a != b {
				t.Errorf("(-want +got)\n%s", cmp.Diff(strings.Split(a, "\n"), strings.Split(b, "\n")))
			}
		})
	}
}

// reference runs a command of the ansible-core whose Python that is, in dir and
// with an environment, and gives what it wrote and its code.
func reference(t *testing.T, python, command, dir string, env map[string]string, args []string) (stdout, stderr string, code int) {
	t.Helper()
	ref := exec.CommandContext(t.Context(), python, append([]string{filepath.Join(filepath.Dir(python), command)}, args...)...)
	ref.Dir = dir
	ref.Env = append(ref.Env, "PATH="+os.Getenv("PATH"), "LC_ALL=C.UTF-8")
	for k, v := range env {
		ref.Env = append(ref.Env, k+"="+v)
	}
	var out, errs bytes.Buffer
	ref.Stdout, ref.Stderr = &out, &errs
	if err := ref.Run(); err != nil && ref.ProcessState == nil {
		t.Fatal(err)
	}
	return out.String(), errs.String(), ref.ProcessState.ExitCode()
}
