package modules

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

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
		{"blockinfile", "blockinfile", value.DictOf("path", dir+"/dest", "state", "absent")},
		{"replace", "replace", value.DictOf("path", dir+"/dest", "regexp", "^tw", "replace", "tw")},
		{"find", "find", value.DictOf("paths", dir)},
		{"user", "user", value.DictOf("name", "root")},
		{"group", "group", value.DictOf("name", "root", "gid", int64(0))},
		{"apt", "apt", value.DictOf("name", "dpkg")},
		{"setup", "setup", value.DictOf()},
	} {
		b.Run(c.name, func(b *testing.B) {
			before := cpuTime()
			for b.Loop() {
				env := &Env{Name: c.module, Umask: 0o22, Environ: os.Environ(), Cwd: dir, Tmpdir: given(dir), Python: "/usr/bin/python3"}
				if _, err := Table[c.module](context.Background(), env, c.args.Clone()); err != nil {
					b.Skip(err)
				}
			}
			b.ReportMetric(float64((cpuTime()-before).Microseconds())/float64(b.N), "cpu-µs/op")
		})
	}
}

// cpuTime is the processor time of this process and of the commands it ran.
func cpuTime() time.Duration {
	var sum time.Duration
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var u syscall.Rusage
		if syscall.Getrusage(who, &u) == nil {
			sum += time.Duration(u.Utime.Nano() + u.Stime.Nano())
		}
	}
	return sum
}
