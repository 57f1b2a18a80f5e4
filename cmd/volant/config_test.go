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
			ref := exec.CommandContext(t.Context(), python, append([]string{filepath.Join(filepath.Dir(python), "ansible-config")}, args...)...)
			ref.Dir = dir
			ref.Env = append(ref.Env, "PATH="+os.Getenv("PATH"), "LC_ALL=C.UTF-8")
			for k, v := range env {
				ref.Env = append(ref.Env, k+"="+v)
			}
			var refErr bytes.Buffer
			ref.Stderr = &refErr
			want, err := ref.Output()
			if err != nil && ref.ProcessState == nil {
				t.Fatal(err)
			}
			var out, errs bytes.Buffer
			p := &process{name: "ansible-config", command: "config", find: find, stdout: &out, stderr: &errs, dir: dir, home: dir,
				getenv: func(n string) (string, bool) { v, ok := env[n]; return v, ok }}
			code := p.code(context.Background(), configMain(context.Background(), p, args))
			if code != ref.ProcessState.ExitCode() || errs.String() != refErr.String() {
				t.Errorf("%d %q\nwant %d %q", code, errs.String(), ref.ProcessState.ExitCode(), refErr.String())
			}
			a, b := localTmp.ReplaceAllString(string(want), "TMP"), localTmp.ReplaceAllString(out.String(), "TMP")
			if a != b {
				t.Errorf("(-want +got)\n%s", cmp.Diff(strings.Split(a, "\n"), strings.Split(b, "\n")))
			}
		})
	}
}
