package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// runIn runs a command in a directory holding files, and returns what it wrote
// and its exit code.
func runIn(t *testing.T, files map[string]string, sub string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return runAt(t, dir, sub, args...)
}

func runAt(t *testing.T, dir string, sub string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	in, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	var out, errs bytes.Buffer
	p := &process{name: "volant " + sub, command: sub, find: find, stdin: in, stdout: &out, stderr: &errs, dir: dir, home: dir,
		getenv: func(name string) (string, bool) {
			if name == "VOLANT_ANSIBLE_CORE" { // else it depends on what this machine has
				return os.LookupEnv(name)
			}
			return "", false
		}}
	code = p.code(context.Background(), find(sub)(context.Background(), p, args))
	return strings.ReplaceAll(out.String(), dir, "DIR"), strings.ReplaceAll(errs.String(), dir, "DIR"), code
}

func TestInventoryCommand(t *testing.T) {
	files := map[string]string{
		"hosts":              "[web]\nw1 a=1\nw2\n[web:vars]\nt=\"{{ x }}\"\n[db]\nd1\n",
		"range":              "[r]\nr[1:2] k=[1]\n[r:vars]\nl={'m': 1}\n",
		"group_vars/all.yml": "g: [1, é]\n",
		"host_vars/w1.yml":   "h: true\n",
		"pb/group_vars/db":   "p: 2\n",
		"enc.yml":            "web:\n  hosts:\n    a: {u: !unsafe '{{ y }}', v: !vault abc}\n",
	}
	for _, c := range []struct {
		args, out, err string
		code           int
	}{
		{"-i hosts --graph --vars", "@all:\n  |--@ungrouped:\n  |--@web:\n  |  |--w1\n  |  |  |--{a = 1}\n  |  |  |--{g = [1, 'é']}\n  |  |  |--{h = True}\n  |  |  |--{t = {{ x }}}\n" +
			"  |  |--w2\n  |  |  |--{g = [1, 'é']}\n  |  |  |--{t = {{ x }}}\n  |  |--{t = {{ x }}}\n  |--@db:\n  |  |--d1\n  |  |  |--{g = [1, 'é']}\n  |--{g = [1, 'é']}\n", "", 0},
		{"-i hosts --host w1 --yaml", "a: 1\ng:\n- 1\n- é\nh: true\nt: '{{ x }}'\n", "", 0},
		{"-i hosts --list --yaml --export --limit db --playbook-dir pb", "all:\n  children:\n    db:\n      hosts:\n        d1: {}\n      vars:\n        p: 2\n    web:\n      vars:\n        t: '{{ x }}'\n  vars:\n    g:\n    - 1\n    - é\n", "", 0},
		// What a group has is one value, what hosts have is one for each.
		{"-i range --list --yaml --limit r", "all:\n  children:\n    r:\n      hosts:\n        r1:\n          g: &id001\n          - 1\n          - é\n          k:\n          - 1\n          l: &id002\n            m: 1\n" +
			"        r2:\n          g: *id001\n          k:\n          - 1\n          l: *id002\n", "", 0},
		{"-i enc.yml --list", "{\n    \"_meta\": {\n        \"hostvars\": {\n            \"a\": {\n                \"g\": [\n                    1,\n                    \"é\"\n                ],\n                \"u\": {\n                    \"__ansible_unsafe\": \"{{ y }}\"\n                },\n                \"v\": {\n                    \"__ansible_vault\": \"abc\"\n                }\n            }\n        },\n        \"profile\": \"inventory_legacy\"\n    },\n    \"all\": {\n        \"children\": [\n            \"ungrouped\",\n            \"web\"\n        ]\n    },\n    \"web\": {\n        \"hosts\": [\n            \"a\"\n        ]\n    }\n}\n", "", 0},
		{"-i hosts --list --toml --limit web", "[web.hosts.w1]\nt = \"{{ x }}\"\ng = [\n    1,\n    \"é\",\n]\na = 1\nh = true\n\n[web.hosts.w2]\nt = \"{{ x }}\"\ng = [\n    1,\n    \"é\",\n]\n", "", 0},
		{"-i hosts", "", "[ERROR]: No action selected, at least one of --host, --graph or --list needs to be specified.\n", 5},
		{"-i hosts --list --graph", "", "[ERROR]: Conflicting options used, only one of --host, --graph or --list can be used at the same time.\n", 5},
		{"-i hosts --host web", "", "[ERROR]: You must pass a single valid host to --host parameter\n", 5},
		{"-i hosts --graph nosuch", "", "[ERROR]: Pattern must be valid group name when using --graph\n", 5},
	} {
		out, errs, code := runIn(t, files, "inventory", strings.Fields(c.args)...)
		if out != c.out || errs != c.err || code != c.code {
			t.Errorf("%s: %d\n%s\n%s\nwant %d\n%s\n%s", c.args, code, out, errs, c.code, c.out, c.err)
		}
	}
}

func TestVaultCommand(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"pw": "one\n", "pw2": "two\n", "f": "text\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o640); err != nil { //nolint:gosec // a mode to be kept
			t.Fatal(err)
		}
	}
	steps := []struct {
		args, out, err string
		code           int
	}{
		{"encrypt --vault-id dev@pw f", "", "", 0},
		{"encrypt --vault-id dev@pw f", "", "[ERROR]: input is already encrypted\n", 1},
		{"view --vault-password-file pw f", "text\n", "", 0},
		{"view --vault-password-file pw2 f", "", "[ERROR]: Decryption failed (no vault secrets were found that could decrypt). for f\n", 1},
		{"rekey --vault-password-file pw --new-vault-password-file pw2 f", "", "Rekey successful\n", 0},
		{"decrypt --vault-password-file pw2 --output - f", "text\n", "", 0},
		{"decrypt --vault-password-file pw2 f", "", "", 0},
		{"decrypt --vault-password-file pw2 f", "", "[ERROR]: Input is not vault encrypted data. for DIR/f\n", 1},
		{"encrypt --vault-id a@pw --vault-id b@pw2 f", "", "[ERROR]: The vault-ids a,b are available to encrypt. Specify the vault-id to encrypt with --encrypt-vault-id\n", 5},
		{"create --vault-password-file pw n", "", "[ERROR]: not a tty, editor cannot be opened\n", 5},
		{"view --vault-password-file nosuch f", "", "[WARNING]: Error getting vault password file (default): The vault password file DIR/nosuch was not found\n[ERROR]: The vault password file DIR/nosuch was not found\n", 1},
	}
	for _, c := range steps {
		out, errs, code := runAt(t, dir, "vault", strings.Fields(c.args)...)
		if out != c.out || errs != c.err || code != c.code {
			t.Errorf("%s: %d %q %q, want %d %q %q", c.args, code, out, errs, c.code, c.out, c.err)
		}
	}
	out, _, code := runAt(t, dir, "vault", "encrypt_string", "--vault-password-file", "pw", "--name", "v", "secret")
	if code != 0 || !strings.HasPrefix(out, "v: !vault |\n          $ANSIBLE_VAULT;1.1;AES256\n          ") {
		t.Errorf("%d %q", code, out)
	}
}

func TestConfigCommand(t *testing.T) {
	files := map[string]string{"ansible.cfg": "[defaults]\nforks = 9\nnosuch = 1\n[volant]\nreconnect = 7\n"}
	out, errs, code := runIn(t, files, "config", "dump", "--only-changed")
	if code != 0 || out != "CONFIG_FILE() = DIR/ansible.cfg\nDEFAULT_FORKS(DIR/ansible.cfg) = 9\n\nGALAXY_SERVERS:\n" {
		t.Errorf("%d %q %q", code, out, errs)
	}
	out, errs, code = runIn(t, files, "config", "validate")
	if code != 1 || errs != "[ERROR]: Found unknown key 'nosuch' in section 'defaults' in 'DIR/ansible.cfg.\n" {
		t.Errorf("%d %q %q", code, out, errs)
	}
	if _, errs, code = runIn(t, nil, "config", "view"); code != 1 || errs != "[ERROR]: Invalid or no config file was supplied\n" {
		t.Errorf("%d %q", code, errs)
	}
	t.Run("init", func(t *testing.T) {
		referencePython(t) // has the descriptions, without which nothing is written
		if out, _, code := runIn(t, nil, "config", "init", "--disabled"); code != 0 || !strings.Contains(out, "\n;forks=5\n") {
			t.Errorf("%d %.200q", code, out)
		}
	})
}
