package main

import (
	"bytes"
	"context"
	"strings"
	"testing"
)

// runDoc is `volant doc` with an environment; it gives what is said on standard
// error, and the code.
func runDoc(t *testing.T, env map[string]string, args ...string) (string, int) {
	t.Helper()
	var errs bytes.Buffer
	dir := t.TempDir()
	p := &process{name: "volant doc", command: "doc", find: find, stdout: &bytes.Buffer{}, stderr: &errs, dir: dir, home: dir,
		getenv: func(n string) (string, bool) { v, ok := env[n]; return v, ok }}
	code := p.code(context.Background(), docMain(context.Background(), p, args))
	return errs.String(), code
}

// TestDocSaysWhyThereIsNoCore: an ansible-core that is named and is none is not
// the same as none at all.
func TestDocSaysWhyThereIsNoCore(t *testing.T) {
	if got, code := runDoc(t, map[string]string{"VOLANT_ANSIBLE_CORE": "/nosuch"}, "copy"); code != codeError || !strings.Contains(got, "VOLANT_ANSIBLE_CORE names /nosuch") {
		t.Errorf("%d %q", code, got)
	}
}

// TestDocRefusesWhatItCannot: options and types of ansible-doc that are not
// followed are refused, not taken in silence.
func TestDocRefusesWhatItCannot(t *testing.T) {
	for line, want := range map[string]string{
		"-r here copy":                        "--roles-path is not supported",
		"--roles-path=here copy":              "--roles-path is not supported",
		"-t role -e main copy":                "--entry-point is not supported",
		"--metadata-dump":                     "--metadata-dump is not supported",
		"--no-fail-on-errors copy":            "--no-fail-on-errors is not supported",
		"-t role x":                           "--type role is not supported",
		"-l -t keyword":                       "--type keyword is not supported",
		"--metadata-dump --no-fail-on-errors": "--metadata-dump is not supported",
	} {
		if got, code := runDoc(t, nil, strings.Fields(line)...); code != codeOptions || !strings.Contains(got, want) {
			t.Errorf("%s: %d %q, want %q", line, code, got, want)
		}
	}
}
