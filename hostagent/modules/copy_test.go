package modules

import (
	"os"
	"path/filepath"
	"testing"

	"volant/wire/value"
)

func TestCopyIsThePythonModule(t *testing.T) {
	src := mkfile("src", "new\n", 0o644)
	both := all(src, mkfile("dest", "old\n", 0o600))
	same := all(src, mkfile("dest", "new\n", 0o600))
	// again puts src back, which the first run moved away.
	arg := func(kv ...any) *value.Dict {
		a := value.DictOf("src", "@D/src", "dest", "@D/dest")
		a.Update(value.DictOf(kv...))
		return a
	}
	sum := "9bdef1b3ebd0dbd4d7f0b5b0f0f5b5a0d0e4b0b0"
	newDiffer(t).test(t, "copy", []diffCase{
		{name: "new", args: arg(), setup: src},
		{name: "new with mode", args: arg("mode", "0751", "owner", "nobody", "group", "daemon"), setup: src},
		{name: "changed", args: arg(), setup: both},
		{name: "changed keeps owner", args: arg(), setup: all(both, chown("dest", 12345, 12346))},
		{name: "changed with mode", args: arg("mode", "u=rwx,go=r"), setup: both},
		{name: "same", args: arg(), setup: same},
		{name: "same with mode", args: arg("mode", "0640"), setup: same},
		{name: "same with owner", args: arg("owner", "nobody"), setup: same},
		{name: "backup", args: arg("backup", true), setup: both, once: true},
		{name: "backup of nothing", args: arg("backup", true), setup: src, once: true},
		{name: "backup keeps owner", args: arg("backup", true), setup: all(both, chown("dest", 12345, 12346)), once: true},
		{name: "no force", args: arg("force", false), setup: both},
		{name: "no force, new", args: arg("force", false), setup: src},
		{name: "into directory", args: arg("dest", "@D/d"), setup: all(src, mkdir("d", 0o755))},
		{name: "into directory with basename", args: arg("dest", "@D/d", "_original_basename", "real"), setup: all(src, mkdir("d", 0o755))},
		{name: "into directory with slash", args: arg("dest", "@D/d/", "_original_basename", "real"), setup: all(src, mkdir("d", 0o755))},
		{name: "makes directories", args: arg("dest", "@D/a/b/", "_original_basename", "real", "mode", "0600"), setup: src},
		{name: "makes directories with mode", args: arg("dest", "@D/a/b/", "_original_basename", "real", "directory_mode", "0700", "owner", "nobody"), setup: src},
		{name: "makes directories without basename", args: arg("dest", "@D/a/b/"), setup: src},
		{name: "missing directory", args: arg("dest", "@D/a/b"), setup: src},
		{name: "below a file", args: arg("dest", "@D/src/x"), setup: src},
		{name: "missing source", args: arg()},
		{name: "relative", args: arg("src", "src", "dest", "dest"), setup: src},
		{name: "relative with directory", args: arg("src", "./src", "dest", "d/x"), setup: all(src, mkdir("d", 0o755))},
		{name: "over link", args: arg(), setup: all(src, mkfile("t", "t", 0o640), symlink("dest", "t"))},
		{name: "over link to same content", args: arg(), setup: all(src, mkfile("t", "new\n", 0o640), symlink("dest", "t"))},
		{name: "over link followed", args: arg("follow", true), setup: all(src, mkfile("t", "t", 0o640), symlink("dest", "t"))},
		{name: "over broken link", args: arg(), setup: all(src, symlink("dest", "none"))},
		{name: "checksum wrong", args: arg("checksum", sum), setup: src},
		{name: "checksum right", args: arg("checksum", "38eda3d8d5c05c9cd8b0cf4e1ff2e8a4d8ab4a6d"), setup: src},
		{name: "validate", args: arg("validate", "test -s %s"), setup: both},
		{name: "validate fails", args: arg("validate", "sh -c 'echo no; echo bad >&2; exit 4' %s"), setup: both},
		{name: "validate without %s", args: arg("validate", "true"), setup: both},
		{name: "validate missing program", args: arg("validate", "nosuchprogram %s"), setup: both},
		{name: "validate with mode", args: arg("validate", "test -x %s", "mode", "0755"), setup: both},
		{name: "validate odd format", args: arg("validate", "echo %d %s"), setup: both, handBack: true},
		{name: "validate percent", args: arg("validate", "sh -c 'test %% = %% -a -f $0' %s"), setup: both},
		{name: "remote_src", args: arg("remote_src", true), setup: all(mkfile("src", "new\n", 0o751), chtimes("src", 1000000000))},
		{name: "remote_src over", args: arg("remote_src", true), setup: all(both, chown("dest", 12345, 12346), chtimes("src", 1000000000))},
		{name: "remote_src same", args: arg("remote_src", true, "mode", "0400"), setup: same},
		{name: "remote_src preserve", args: arg("remote_src", true, "mode", "preserve"), setup: mkfile("src", "x", 0o751)},
		{name: "remote_src backup", args: arg("remote_src", true, "backup", true), setup: both, once: true},
		{name: "remote_src directory", args: arg("remote_src", true), setup: mkdir("src", 0o755), handBack: true},
		{name: "remote_src special", args: arg("src", "/dev/null", "remote_src", true)},
		{name: "preserve", args: arg("mode", "preserve"), setup: mkfile("src", "x", 0o751)},
		{name: "directory with setgid", args: arg("dest", "@D/d/x"), setup: all(src, mkdir("d", 0o755), chown("d", 0, 12346), func(t *testing.T, dir string) {
			must(t, os.Chmod(filepath.Join(dir, "d"), 0o755|os.ModeSetgid))
		})},
		{name: "owner unknown", args: arg("owner", "no-such-user"), setup: src},
		{name: "mode nonsense", args: arg("mode", "rw"), setup: src},
		{name: "content argument", args: arg("content", "secret-content"), setup: src},
		{name: "dest is home", args: arg("dest", "~nobodyatall/x"), setup: src},
		{name: "unsafe_writes", args: arg("unsafe_writes", true), setup: both},
		{name: "hard link broken", args: arg(), setup: all(both, hardlink("other", "dest"))},
		{name: "attributes", args: arg("attributes", "+A"), setup: src},
		{name: "no dest", args: value.DictOf("src", "@D/src"), setup: src},
		{name: "unknown", args: arg("colour", "red"), setup: src},
		{name: "empty", args: arg(), setup: mkfile("src", "", 0o600)},
	})
}
