package modules

import (
	"testing"

	"volant/wire/value"
)

func TestFindIsThePythonModule(t *testing.T) {
	tree := all(
		mkfile("a.txt", "one\ntwo words\n", 0o644), mkfile("b.log", "xx\r\none\r\n", 0o600), mkfile(".hidden", "h", 0o644),
		mkdir("sub", 0o755), mkfile("sub/c.txt", "three", 0o755), mkdir("sub/deep", 0o750), mkfile("sub/deep/d.txt", "", 0o444),
		mkdir("sub/.dot", 0o755), mkfile("sub/.dot/e.txt", "e", 0o644), symlink("link", "a.txt"), symlink("dirlink", "sub"), symlink("broken", "none"),
		chtimes("a.txt", 1000000000), chtimes("sub/c.txt", 1500000000))
	arg := func(kv ...any) *value.Dict {
		a := value.DictOf("paths", "@D")
		a.Update(value.DictOf(kv...))
		return a
	}
	l := func(items ...any) *value.List { return value.ListOf(items...) }
	newDiffer(t).test(t, "find", []diffCase{
		{name: "plain", args: arg(), setup: tree},
		{name: "recurse", args: arg("recurse", true), setup: tree},
		{name: "recurse hidden", args: arg("recurse", true, "hidden", true), setup: tree},
		{name: "trailing slash", args: arg("paths", "@D/", "recurse", true), setup: tree},
		{name: "dots in path", args: arg("paths", "@D/sub/../sub", "recurse", true), setup: tree},
		{name: "patterns", args: arg("patterns", "*.txt", "recurse", true), setup: tree},
		{name: "several patterns", args: arg("patterns", l("*.log", "c*"), "recurse", true), setup: tree},
		{name: "comma patterns", args: arg("patterns", "*.log,c*", "recurse", true), setup: tree},
		{name: "excludes", args: arg("excludes", "*.txt", "recurse", true), setup: tree},
		{name: "patterns and excludes", args: arg("patterns", "*.txt", "excludes", l("a*", "d*"), "recurse", true), setup: tree},
		{name: "regex", args: arg("patterns", `^[ac]\.`, "use_regex", true, "recurse", true), setup: tree},
		{name: "regex default", args: arg("use_regex", true), setup: tree},
		{name: "regex excludes", args: arg("patterns", `.*`, "excludes", l(`.*\.txt$`), "use_regex", true, "recurse", true), setup: tree},
		{name: "regex bad", args: arg("patterns", "(", "use_regex", true), setup: tree, handBack: true},
		{name: "any", args: arg("file_type", "any", "recurse", true), setup: tree},
		{name: "directory", args: arg("file_type", "directory", "recurse", true), setup: tree},
		{name: "directory hidden", args: arg("file_type", "directory", "recurse", true, "hidden", true), setup: tree},
		{name: "link", args: arg("file_type", "link"), setup: tree},
		{name: "bad type", args: arg("file_type", "socket"), setup: tree},
		{name: "depth 1", args: arg("depth", int64(1), "recurse", true), setup: tree},
		{name: "depth 2", args: arg("depth", int64(2), "recurse", true, "file_type", "any"), setup: tree},
		{name: "depth 0", args: arg("depth", int64(0), "recurse", true), setup: tree},
		{name: "depth with slash", args: arg("paths", "@D/", "depth", int64(2), "recurse", true), setup: tree},
		{name: "age", args: arg("age", "1w", "recurse", true), setup: tree},
		{name: "age negative", args: arg("age", "-1d", "recurse", true), setup: tree},
		{name: "age bad", args: arg("age", "x"), setup: tree},
		{name: "age ctime", args: arg("age", "1h", "age_stamp", "ctime", "recurse", true), setup: tree},
		{name: "size", args: arg("size", "3", "recurse", true), setup: tree},
		{name: "size negative", args: arg("size", "-3b", "recurse", true), setup: tree},
		{name: "size any", args: arg("size", "1k", "recurse", true, "file_type", "any"), setup: tree},
		{name: "size bad", args: arg("size", "1x"), setup: tree},
		{name: "contains", args: arg("contains", "one", "recurse", true), setup: tree},
		{name: "contains at start", args: arg("contains", "words"), setup: tree},
		{name: "contains whole", args: arg("contains", "words", "read_whole_file", true), setup: tree},
		{name: "contains line end", args: arg("contains", "one$"), setup: tree},
		{name: "contains bad", args: arg("contains", "("), setup: tree, handBack: true},
		{name: "contains not utf-8", args: arg("contains", "o"), setup: all(tree, mkfile("z", "\xff", 0o600)), handBack: true},
		{name: "mode", args: arg("mode", "0644"), setup: tree},
		{name: "mode symbolic", args: arg("mode", "u=rw", "recurse", true), setup: tree},
		{name: "mode inexact", args: arg("mode", "0111", "exact_mode", false, "recurse", true), setup: tree},
		{name: "mode number", args: arg("mode", int64(420)), setup: tree},
		{name: "checksum", args: arg("get_checksum", true, "recurse", true), setup: tree},
		{name: "checksum sha256, any", args: arg("get_checksum", true, "checksum_algorithm", "sha256", "file_type", "any"), setup: tree},
		{name: "limit", args: arg("limit", int64(1), "recurse", true), setup: tree},
		{name: "limit, two paths", args: arg("limit", int64(1), "paths", l("@D/sub", "@D")), setup: tree},
		{name: "limit 0", args: arg("limit", int64(0)), setup: tree},
		{name: "missing path", args: arg("paths", l("@D/none", "@D")), setup: tree},
		{name: "path is a file", args: arg("paths", "@D/a.txt"), setup: tree},
		{name: "follow", args: arg("follow", true, "recurse", true), setup: tree, handBack: true},
		{name: "relative", args: arg("paths", "."), setup: tree, handBack: true},
		{name: "owner", args: arg("patterns", "a.txt"), setup: all(tree, chown("a.txt", 12345, 54321))},
		{name: "empty directory", args: arg()},
		{name: "no paths", args: value.DictOf()},
		{name: "unknown", args: arg("pattern_s", "x"), setup: tree},
	})
}
