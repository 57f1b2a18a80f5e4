package modules

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"volant/wire/value"
)

// BenchmarkNatives is what natives cost that find nothing to do.
func BenchmarkNatives(b *testing.B) {
	dir := b.TempDir()
	for _, f := range []string{"src", "dest"} {
		if err := os.WriteFile(filepath.Join(dir, f), []byte("one\ntwo\n"), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	for _, c := range []struct {
		name, module string
		args         *value.Dict
	}{
		{"ping", "ping", value.DictOf()},
		{"command", "command", value.DictOf("argv", value.ListOf("/bin/true"))},
		{"stat", "stat", value.DictOf("path", dir+"/dest", "get_mime", false)},
		{"file", "file", value.DictOf("path", dir+"/dest", "mode", "0644", "owner", "root")},
		{"copy", "copy", value.DictOf("src", dir+"/src", "dest", dir+"/dest", "mode", "0644")},
		{"lineinfile", "lineinfile", value.DictOf("path", dir+"/dest", "regexp", "^tw", "line", "two")},
		{"apt", "apt", value.DictOf("name", "dpkg")},
		{"setup", "setup", value.DictOf()},
	} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				env := &Env{Name: c.module, Umask: 0o22, Environ: os.Environ(), Cwd: dir, Tmpdir: dir, Python: "/usr/bin/python3"}
				if _, err := Table[c.module](context.Background(), env, c.args.Clone()); err != nil {
					b.Skip(err)
				}
			}
		})
	}
}
