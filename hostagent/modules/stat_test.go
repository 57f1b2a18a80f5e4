package modules

import (
	"path/filepath"
	"syscall"
	"testing"

	"volant/wire/value"
)

func TestStatIsThePythonModule(t *testing.T) {
	fifo := func(t *testing.T, dir string) { must(t, syscall.Mkfifo(filepath.Join(dir, "p"), 0o600)) }
	f := mkfile("f", "hello\n", 0o640)
	d := newDiffer(t)
	d.test(t, "stat", []diffCase{
		{name: "file", args: value.DictOf("path", "@D/f"), setup: f},
		{name: "relative", args: value.DictOf("path", "f"), setup: f},
		{name: "alias dest", args: value.DictOf("dest", "@D/f"), setup: f},
		{name: "alias name", args: value.DictOf("name", "@D/f"), setup: f},
		{name: "both aliases", args: value.DictOf("name", "@D/f", "path", "@D/g"), setup: f},
		{name: "empty file", args: value.DictOf("path", "@D/e"), setup: mkfile("e", "", 0o600)},
		{name: "binary", args: value.DictOf("path", "@D/b"), setup: mkfile("b", "\x7fELF\x00\x01", 0o755)},
		{name: "setuid", args: value.DictOf("path", "@D/s"), setup: all(mkfile("s", "x", 0o755), func(t *testing.T, dir string) {
			must(t, syscall.Chmod(filepath.Join(dir, "s"), 0o6755))
		})},
		{name: "missing", args: value.DictOf("path", "@D/nothing")},
		{name: "below a file", args: value.DictOf("path", "@D/f/x"), setup: f},
		{name: "directory", args: value.DictOf("path", "@D/d"), setup: mkdir("d", 0o1777)},
		{name: "link", args: value.DictOf("path", "@D/l"), setup: all(f, symlink("l", "f"))},
		{name: "link followed", args: value.DictOf("path", "@D/l", "follow", true), setup: all(f, symlink("l", "f"))},
		{name: "link chain", args: value.DictOf("path", "@D/l2"), setup: all(f, symlink("l", "./f"), symlink("l2", "../work/l"))},
		{name: "link broken", args: value.DictOf("path", "@D/l"), setup: symlink("l", "nowhere/at/../all")},
		{name: "link broken followed", args: value.DictOf("path", "@D/l", "follow", true), setup: symlink("l", "nowhere")},
		{name: "link loop", args: value.DictOf("path", "@D/l", "follow", true), setup: symlink("l", "l")},
		{name: "link to directory", args: value.DictOf("path", "@D/l", "follow", "yes"), setup: all(mkdir("d", 0o755), symlink("l", "d"))},
		{name: "fifo", args: value.DictOf("path", "@D/p"), setup: fifo},
		{name: "device", args: value.DictOf("path", "/dev/null")},
		{name: "proc", args: value.DictOf("path", "/proc/version")},
		{name: "root", args: value.DictOf("path", "/")},
		{name: "md5", args: value.DictOf("path", "@D/f", "checksum_algorithm", "md5"), setup: f},
		{name: "sha224", args: value.DictOf("path", "@D/f", "checksum_algorithm", "sha224"), setup: f},
		{name: "sha256", args: value.DictOf("path", "@D/f", "checksum", "sha256"), setup: f},
		{name: "sha384", args: value.DictOf("path", "@D/f", "checksum_algo", "sha384"), setup: f},
		{name: "sha512", args: value.DictOf("path", "@D/f", "checksum_algorithm", "sha512"), setup: f},
		{name: "unknown hash", args: value.DictOf("path", "@D/f", "checksum_algorithm", "crc"), setup: f},
		{name: "no checksum", args: value.DictOf("path", "@D/f", "get_checksum", false), setup: f},
		{name: "no mime", args: value.DictOf("path", "@D/f", "get_mime", false), setup: f},
		{name: "no attributes", args: value.DictOf("path", "@D/f", "get_attributes", false), setup: f},
		{name: "alias mime", args: value.DictOf("path", "@D/f", "mime-type", "no", "attr", "no"), setup: f},
		{name: "owner unknown", args: value.DictOf("path", "@D/f"), setup: all(f, chown("f", 54321, 54322))},
		{name: "hard links", args: value.DictOf("path", "@D/f"), setup: all(f, hardlink("g", "f"))},
		{name: "name with space", args: value.DictOf("path", "@D/a b:c"), setup: mkfile("a b:c", "x", 0o644)},
		{name: "home", args: value.DictOf("path", "~/.nothing-of-that-name")},
		{name: "variable", args: value.DictOf("path", "$HOME/.nothing-of-that-name")},
		{name: "unknown argument", args: value.DictOf("path", "@D/f", "get_size", false), setup: f},
		{name: "no path", args: value.DictOf("follow", true)},
	})
}
