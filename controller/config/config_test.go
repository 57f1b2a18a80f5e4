package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"volant/controller/fault"
	"volant/wire/value"
)

// load reads a configuration whose ansible.cfg is text ("" for none).
func load(t *testing.T, text string, env map[string]string) (*Config, string, error) {
	t.Helper()
	dir := t.TempDir()
	if text != "" {
		if err := os.WriteFile(filepath.Join(dir, "ansible.cfg"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	c, err := Load(Source{Dir: dir, Home: "/home/x", Getenv: func(n string) (string, bool) { v, ok := env[n]; return v, ok }})
	return c, dir, err
}

func TestValues(t *testing.T) {
	c, dir, err := load(t, `# comment
[defaults]
forks = 7 ; seven
Timeout: 9
roles_path = a:~/b
  :$SUB/c
log_path = "x.log"
callbacks_enabled = "a", b , c
nocows = yes
[volant]
reconnect = 5
`, map[string]string{"ANSIBLE_GATHERING": "explicit", "SUB": "/s", "ANSIBLE_POLL_INTERVAL": ""})
	if err != nil {
		t.Fatal(err)
	}
	if c.File != dir+"/ansible.cfg" {
		t.Errorf("file %q", c.File)
	}
	for name, want := range map[string]Value{
		"DEFAULT_FORKS":         {int64(7), c.File},
		"DEFAULT_TIMEOUT":       {int64(9), c.File},
		"DEFAULT_GATHERING":     {"explicit", "env: ANSIBLE_GATHERING"},
		"DEFAULT_LOG_PATH":      {dir + `/"x.log"`, c.File},
		"ANSIBLE_NOCOWS":        {true, c.File},
		"DEFAULT_POLL_INTERVAL": {int64(15), "default"},
		"DEFAULT_LOCAL_TMP":     {"/home/x/.ansible/tmp", "default"},
		"VOLANT_RECONNECT":      {int64(5), c.File},
		"VOLANT_AGENT":          {"resident", "default"},
		"CONFIG_FILE":           {c.File, ""},
	} {
		if got := c.Lookup(name); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	if d := cmp.Diff([]string{"a", "b", "c"}, c.Strings("CALLBACKS_ENABLED")); d != "" {
		t.Error(d)
	}
	// A value over several lines keeps the line feed, as the reference's does.
	if d := cmp.Diff([]string{dir + "/a", "/home/x/b\n", "/s/c"}, c.Strings("DEFAULT_ROLES_PATH")); d != "" {
		t.Error(d)
	}
	if c.IsSet("DEFAULT_BECOME") || !c.IsSet("DEFAULT_FORKS") || c.Int("DEFAULT_FORKS") != 7 {
		t.Error("what is set")
	}
}

func TestErrors(t *testing.T) {
	for text, want := range map[string]string{
		"x=1\n":                        "File contains no section headers.\nfile: '<string>', line: 1\n'x=1\\n'",
		"[defaults]\nforks\n":          "Source contains parsing errors: '<string>'\n\t[line  2]: 'forks\\n'",
		"[defaults]\na=1\na=2\n":       "While reading from '<string>' [line  3]: option 'a' in section 'defaults' already exists",
		"[a]\n[a]\n":                   "While reading from '<string>' [line  2]: section 'a' already exists",
		"[defaults]\nforks=x\n":        "has an invalid value: Invalid value provided for 'integer': 'x'",
		"[defaults]\ngathering=x\n":    "Invalid value 'x' for config 'DEFAULT_GATHERING'.",
		"[defaults]\ninventory=\xff\n": "because the config file was not utf8 encoded",
		"[volant]\nagent=sometimes\n":  "Invalid value 'sometimes' for config 'VOLANT_AGENT'.",
	} {
		_, _, err := load(t, text, nil)
		if err == nil || !strings.Contains(err.Error(), want) || fault.KindOf(err) != fault.Options {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestWorldWritable(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "ansible.cfg"), []byte("[defaults]\nforks=9\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o777); err != nil { //nolint:gosec // the point of the test
		t.Fatal(err)
	}
	c, err := Load(Source{Dir: dir, Home: dir + "/none", Getenv: func(string) (string, bool) { return "", false }})
	if err != nil {
		t.Fatal(err)
	}
	if c.File == dir+"/ansible.cfg" || c.Int("DEFAULT_FORKS") == 9 {
		t.Error("a configuration everyone can write is used")
	}
	if w := c.Warnings(); len(w) != 1 || !strings.HasPrefix(w[0], "Ansible is being run in a world writable directory ("+dir+"), ignoring it") {
		t.Errorf("warnings: %q", w)
	}
}

func TestOption(t *testing.T) {
	c, _, err := load(t, "[ssh_connection]\npipelining = yes\n", map[string]string{"ANSIBLE_SSH_RETRIES": "4"})
	if err != nil {
		t.Fatal(err)
	}
	vars := func(n string) (any, bool) {
		v, ok := map[string]any{"ansible_ssh_port": "2222", "ansible_port": value.NewTemplate("22", value.Pos{})}[n]
		return v, ok
	}
	for option, want := range map[string]Value{
		"pipelining":           {true, c.File},
		"reconnection_retries": {int64(4), "env: ANSIBLE_SSH_RETRIES"},
		"port":                 {int64(2222), "var: ansible_ssh_port"},
		"host_key_checking":    {true, "default"},
	} {
		got, err := c.Option("connection", "ssh", option, vars, nil)
		if err != nil || got != want {
			t.Errorf("%s: %v, %v; want %v", option, got, err, want)
		}
	}
	if _, err := c.Option("connection", "ssh", "nosuch", nil, nil); err == nil {
		t.Error("an unknown option")
	}
}

// TestTable holds the table together: names once, defaults that their own type
// can read, choices that hold the default.
func TestTable(t *testing.T) {
	c, _, err := load(t, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, s := range Settings() {
		if seen[s.Name] {
			t.Errorf("%s is there twice", s.Name)
		}
		seen[s.Name] = true
		if v := c.Lookup(s.Name); v.Origin != "default" {
			t.Errorf("%s: %v", s.Name, v)
		}
	}
	for name := range ignored {
		if !seen[name] {
			t.Errorf("%s is ignored and not there", name)
		}
	}
	for _, kind := range PluginKinds() {
		for _, name := range PluginNames(kind) {
			for _, s := range PluginOptions(kind, name) {
				if _, err := c.Option(kind, name, s.Name, nil, nil); err != nil {
					t.Errorf("%s/%s/%s: %v", kind, name, s.Name, err)
				}
			}
		}
	}
}

func FuzzIni(f *testing.F) {
	f.Add("[a]\nb = c\n  d\n; e\n[f]\ng: h ; i\n")
	f.Add("x\n")
	f.Fuzz(func(t *testing.T, text string) {
		ini, err := parseIni(text)
		if (ini == nil) == (err == nil) {
			t.Errorf("%v, %v", ini, err)
		}
	})
}

// A setting without a type is true when it is any text.
func TestUntypedBool(t *testing.T) {
	for text, want := range map[string]bool{"1": true, "0": true, "": false} {
		c, _, err := load(t, "", map[string]string{"ANSIBLE_VAULT_ID_MATCH": text})
		if err != nil {
			t.Fatal(err)
		}
		if got := c.Bool("DEFAULT_VAULT_ID_MATCH"); got != want {
			t.Errorf("%q: got %v", text, got)
		}
	}
}

// What is set to its default has the effect it would have, so nothing is said of it.
func TestNoWarningOfDefaults(t *testing.T) {
	for set, want := range map[string]int{"never": 0, "always": 1} {
		c, err := Load(Source{Getenv: func(name string) (string, bool) {
			return set, name == "ANSIBLE_DISPLAY_TRACEBACK"
		}, Dir: t.TempDir(), Home: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		if w := c.Warnings(); len(w) != want {
			t.Errorf("%s: %q", set, w)
		}
	}
}
