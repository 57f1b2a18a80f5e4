package modules

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"volant/wire/value"
)

func TestGetentIsThePythonModule(t *testing.T) {
	newDiffer(t).test(t, "getent", []diffCase{
		{name: "all users", args: value.DictOf("database", "passwd")},
		{name: "one user", args: value.DictOf("database", "passwd", "key", "root")},
		{name: "no user", args: value.DictOf("database", "passwd", "key", "nobody-there")},
		{name: "no user, no fault", args: value.DictOf("database", "passwd", "key", "nobody-there", "fail_key", false)},
		{name: "groups", args: value.DictOf("database", "group", "split", ":")},
		{name: "shadow", args: value.DictOf("database", "shadow", "key", "root")},
		{name: "hosts", args: value.DictOf("database", "hosts")},
		{name: "services", args: value.DictOf("database", "services", "key", "http", "fail_key", false)},
		{name: "protocols", args: value.DictOf("database", "protocols")},
		{name: "unknown database", args: value.DictOf("database", "nothing")},
		{name: "no enumeration", args: value.DictOf("database", "ahosts")},
		{name: "service", args: value.DictOf("database", "passwd", "key", "root", "service", "files")},
		{name: "odd separator", args: value.DictOf("database", "passwd", "key", "root", "split", "o")},
		{name: "empty separator", args: value.DictOf("database", "passwd", "key", "root", "split", ""), handBack: true},
		{name: "no database", args: value.DictOf()},
	})
}

func TestGroupIsThePythonModule(t *testing.T) {
	newDiffer(t).test(t, "group", []diffCase{
		{name: "there", args: value.DictOf("name", "daemon")},
		{name: "there with number", args: value.DictOf("name", "daemon", "gid", int64(1))},
		{name: "there, system", args: value.DictOf("name", "daemon", "system", true)},
		{name: "number as text", args: value.DictOf("name", "root", "gid", "0")},
		{name: "absent", args: value.DictOf("name", "nobody-there", "state", "absent")},
		{name: "non_unique without number", args: value.DictOf("name", "daemon", "non_unique", true)},
		{name: "bad number", args: value.DictOf("name", "daemon", "gid", "x")},
		{name: "bad state", args: value.DictOf("name", "daemon", "state", "x")},
		{name: "no name", args: value.DictOf()},
	})
}

func TestTempfile(t *testing.T) {
	d := newDiffer(t)
	d.prepare(t, &diffCase{})
	for _, c := range []struct {
		name string
		args *value.Dict
	}{
		{"file", value.DictOf("path", d.dir)},
		{"directory", value.DictOf("path", d.dir, "state", "directory")},
		{"names", value.DictOf("path", d.dir, "prefix", "a-", "suffix", ".b")},
		{"default place", value.DictOf()},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got [2]string
			for i, native := range []bool{true, false} {
				res := d.run(t, native, "tempfile", c.args, false)
				path, _ := res.Str("path")
				if _, err := os.Stat(path); err != nil {
					t.Fatalf("%v: %s", err, value.Repr(res))
				}
				defer os.RemoveAll(path)
				prefix, suffix := "ansible.", ""
				if c.name == "names" {
					prefix, suffix = "a-", ".b"
				}
				random := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(path), prefix), suffix)
				if len(random) != 8 {
					t.Errorf("random part %q of %s", random, path)
				}
				got[i] = strings.ReplaceAll(strings.Join(flat(res), "\n"), random, "RANDOM")
			}
			if got[0] != got[1] {
				t.Errorf("native:\n%s\npython:\n%s", got[0], got[1])
			}
		})
	}
	d.test(t, "tempfile", []diffCase{
		{name: "no directory", args: value.DictOf("path", "@D/none"), handBack: true},
		{name: "slash", args: value.DictOf("path", "@D", "prefix", "a/b"), handBack: true},
		{name: "bad state", args: value.DictOf("state", "x")},
	})
}
