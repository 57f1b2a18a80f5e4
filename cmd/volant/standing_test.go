package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"volant/controller/config"
)

// readable are settings that nothing acts on and that are looked at all the
// same: by tasks, as variables or in what modules are given, or to name what
// is not run.
var readable = map[string]bool{"DEFAULT_MODULE_COMPRESSION": true, "DEFAULT_CALLBACK_PLUGIN_PATH": true}

// elsewhere are settings that are acted on under another name: that of an
// option of a plugin, or one put together.
var elsewhere = map[string]string{
	"ANSIBLE_NOCOWS":        "there never are any",
	"DEFAULT_BECOME_EXE":    "the become methods' option become_exe",
	"DEFAULT_BECOME_FLAGS":  "the become methods' option become_flags",
	"DEFAULT_REMOTE_PORT":   "the option port of ssh",
	"DISPLAY_SKIPPED_HOSTS": "the callback's option of the same name",
	"GALAXY_SERVER_LIST":    "config list, dump and validate",
	"GALAXY_SERVER_TIMEOUT": "config list, dump and validate",
	"HOST_KEY_CHECKING":     "the option host_key_checking of ssh",
	"SHOW_CUSTOM_STATS":     "the callback's option of the same name",
}

// codeOutside is the text of all that may act on settings, by folder.
func codeOutside(t *testing.T) map[string]string {
	t.Helper()
	code := map[string]string{}
	for _, top := range []string{"../../controller", "../../cmd/volant"} {
		err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir() && d.Name() == "config":
				return fs.SkipDir
			case !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
				return nil
			}
			b, err := os.ReadFile(path)
			code[filepath.Dir(path)] += string(b)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return code
}

// TestEverySettingIsActedOnOrNamed goes through the whole table: a setting is
// read by name somewhere outside of it (or is known to act under another
// name), or setting it gives one warning that names it, or it is one that
// nobody misses.
func TestEverySettingIsActedOnOrNamed(t *testing.T) {
	code := codeOutside(t)
	var acted, warned, moot int
	for _, s := range config.Settings() {
		named := ""
		for dir, text := range code {
			if strings.Contains(text, `"`+s.Name+`"`) || strings.HasPrefix(s.Name, "COLOR_") && strings.Contains(text, `"`+strings.ToLower(strings.TrimPrefix(s.Name, "COLOR_"))+`"`) {
				named = dir
			}
		}
		ok, why, warns := config.Standing(s.Name)
		other := elsewhere[s.Name]
		switch {
		case ok && named == "" && other == "":
			t.Errorf("%s is said to be acted on, and is named nowhere in the code", s.Name)
		case ok && other != "" && named != "" && !strings.Contains(other, "config"):
			t.Errorf("%s is said to act elsewhere (%s), and is named in %s", s.Name, other, named)
		case ok:
			acted++
			continue
		case why == "":
			t.Errorf("%s has no reason for not being acted on", s.Name)
		case named != "" && !readable[s.Name]:
			t.Errorf("%s is said not to be acted on, and is named in %s", s.Name, named)
		case other != "":
			t.Errorf("%s stands in two tables", s.Name)
		}
		if len(s.Env)+len(s.Ini) == 0 {
			continue // it cannot be set
		}
		got := warningsOf(t, s)
		switch {
		case warns && (len(got) != 1 || !strings.Contains(got[0], s.Name+" (") || !strings.HasSuffix(got[0], why+".")):
			t.Errorf("setting %s warns %q, want one that names it and says that %s", s.Name, got, why)
		case !warns && len(got) > 0:
			t.Errorf("setting %s warns: %q", s.Name, got)
		case warns:
			warned++
		default:
			moot++
		}
	}
	t.Logf("%d settings are acted on, %d warn, %d are moot", acted, warned, moot)
	if acted < 100 {
		t.Errorf("only %d settings are acted on", acted)
	}
}

// warningsOf are those of a configuration with the one setting in it.
func warningsOf(t *testing.T, s config.Setting) []string {
	t.Helper()
	text := "1"
	if s.Default == true {
		text = "no" // what is at its default gives no warning
	}
	for _, c := range s.Choices {
		if list, ok := s.Default.([]string); c != s.Default && (!ok || len(list) != 1 || list[0] != c) {
			text = c
		}
	}
	dir := t.TempDir()
	if len(s.Env) == 0 {
		e := s.Ini[len(s.Ini)-1]
		if err := os.WriteFile(filepath.Join(dir, "ansible.cfg"), []byte("["+e.Section+"]\n"+e.Key+" = "+text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c, err := config.Load(config.Source{Dir: dir, Home: dir, Getenv: func(n string) (string, bool) {
		if len(s.Env) > 0 && n == s.Env[len(s.Env)-1] {
			return text, true
		}
		return "", false
	}})
	if err != nil {
		t.Errorf("%s: %v", s.Name, err)
		return nil
	}
	return c.Warnings()
}
