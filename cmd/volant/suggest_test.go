package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestMeant(t *testing.T) {
	for word, want := range map[string]string{
		"playbok": "playbook", "invnetory": "inventory", "chek": "check", "plyabook": "playbook", "vautl": "vault", "adhocs": "adhoc",
		"frobnicate": "", "x": "", "": "", strings.Repeat("check", 100): "",
	} {
		if want != "" {
			want = ", did you mean \"" + want + "\"?"
		}
		if got := meant(word, commandNames()); got != want {
			t.Errorf("%q: %q, want %q", word, got, want)
		}
	}
}

// own runs a command under Volant's own name and returns what it shows on
// standard error.
func own(t *testing.T, dir, command string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, errs bytes.Buffer
	p := &process{name: "volant " + command, command: command, find: find, stdout: &out, stderr: &errs, dir: dir, home: dir,
		getenv: func(string) (string, bool) { return "", false }}
	code = p.code(context.Background(), find(command)(context.Background(), p, args))
	return out.String(), errs.String(), code
}

// TestOwnRefusals: what a command line called by Volant's own name is refused
// with says what helps.
func TestOwnRefusals(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		{"playbook --chek p.yml", `error: unrecognized arguments: --chek, did you mean "--check"?`},
		{"playbook --metrics-fil=x p.yml", `error: unrecognized arguments: --metrics-fil=x, did you mean "--metrics-file"?`},
		{"playbook --frobnicate p.yml", "error: unrecognized arguments: --frobnicate\n"},
		{"playbook --unsupported= p.yml", "error: argument --unsupported: invalid choice: '' (choose from 'refuse', 'warn')"},
		{"playbook --unsupported=x p.yml", "error: argument --unsupported: invalid choice: 'x' (choose from 'refuse', 'warn')"},
		{"playbook --resume last -i x other.yml --check", "--resume goes on with the playbooks of the run; none can be given."},
		{"playbook --resume=last other.yml", "--resume goes on with the playbooks of the run; none can be given."},
		{"playbook --resume last --chek", `error: unrecognized arguments: --chek, did you mean "--check"?`},
		{"playbook --resume last --check", "There is no run that was broken off."},
	} {
		words := strings.Fields(c.line)
		if _, got, code := own(t, t.TempDir(), words[0], words[1:]...); !strings.Contains(got, c.want) || code == 0 {
			t.Errorf("%s: %d %s\nwant %s", c.line, code, got, c.want)
		}
	}
}

// TestUnexpected: what the reference calls a bug of its own has its exit code.
func TestUnexpected(t *testing.T) {
	for play, want := range map[string]string{
		"serial: abc": "[ERROR]: Unexpected Exception, this is probably a bug: invalid literal for int() with base 10: 'abc'\n",
		"vars_prompt: [{name: a, private: maybe}]": "[ERROR]: Unexpected Exception, this is probably a bug: The value 'maybe' is not a valid boolean.",
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "p.yml"), []byte("- hosts: localhost\n  gather_facts: no\n  "+play+"\n  tasks: [{debug: }]\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		t.Chdir(dir)
		if _, errs, code := own(t, dir, "playbook", "--unsupported=warn", "p.yml"); code != codeUnexpected || !strings.Contains(errs, want) {
			t.Errorf("%s: %d %s\nwant %s", play, code, errs, want)
		}
	}
}

// TestCheckNeedsThePassword: what cannot be decrypted for want of a password is
// said with how to give it.
func TestCheckNeedsThePassword(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"site.yml": "- hosts: all\n  vars_files: [secret.yml]\n  tasks: [{import_tasks: secret.yml}]\n",
		"secret.yml": "$ANSIBLE_VAULT;1.1;AES256\n35386164323238663866663630393963373232373465393330326132623737386230393435383234\n" +
			"3035663935343939646237626434663462363264653135660a386162613766313963346632326262\n38633533666532343331313863643564373038363235623461656564393063623465333035343733\n" +
			"3862303237313765310a336461363339333665663633665353065383934353032373534656364323433\n66376233363465636430353364326434306436303766373261333166323061336362\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, errs, code := own(t, dir, "check", dir)
	if want := "Give the password with --vault-password-file"; !strings.Contains(got, want) || code != codeParser {
		t.Errorf("%d %s%s\nwant %s", code, got, errs, want)
	}
}
