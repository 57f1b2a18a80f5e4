package modules

import (
	"testing"

	"volant/wire/value"
)

func TestReplaceIsThePythonModule(t *testing.T) {
	f := mkfile("f", "one=1\ntwo=2\n[sec]\ntwo=3\nfour\n", 0o640)
	arg := func(kv ...any) *value.Dict {
		a := value.DictOf("path", "@D/f")
		a.Update(value.DictOf(kv...))
		return a
	}
	newDiffer(t).test(t, "replace", []diffCase{
		{name: "one", args: arg("regexp", "one", "replace", "1"), setup: f},
		{name: "several", args: arg("regexp", "two", "replace", "zwei"), setup: f},
		{name: "none", args: arg("regexp", "zzz", "replace", "x"), setup: f},
		{name: "same", args: arg("regexp", "one", "replace", "one"), setup: f},
		{name: "delete", args: arg("regexp", "^two.*$"), setup: f},
		{name: "delete lines", args: arg("regexp", `^two.*\n`), setup: f},
		{name: "line ends", args: arg("regexp", "$", "replace", ";"), setup: f, once: true},
		{name: "line starts", args: arg("regexp", "^", "replace", "# "), setup: f, once: true},
		{name: "empty matches", args: arg("regexp", "x*", "replace", "-"), setup: mkfile("f", "axb\n", 0o600), once: true},
		{name: "groups", args: arg("regexp", `^(\w+)=(\d)$`, "replace", `\2=\1`), setup: f, once: true},
		{name: "named groups", args: arg("regexp", `^(?P<k>\w+)=`, "replace", `\g<k> = `), setup: f},
		{name: "escapes", args: arg("regexp", "one", "replace", `a\tb\nc`), setup: f},
		{name: "bad group", args: arg("regexp", "one", "replace", `\1`), setup: f, handBack: true},
		{name: "bad pattern", args: arg("regexp", "("), setup: f, handBack: true},
		{name: "lookahead", args: arg("regexp", "two(?==3)", "replace", "drei"), setup: f},
		{name: "backreference", args: arg("regexp", `(.)\1`, "replace", `<\1>`), setup: mkfile("f", "aabbc\n", 0o600)},
		{name: "after", args: arg("regexp", "two", "replace", "zwei", "after", `\[sec\]`), setup: f},
		{name: "before", args: arg("regexp", "two", "replace", "zwei", "before", `\[sec\]`), setup: f},
		{name: "between", args: arg("regexp", "two", "replace", "zwei", "after", `\[sec\]`, "before", "four"), setup: f},
		{name: "after none", args: arg("regexp", "two", "after", "zzz"), setup: f},
		{name: "after bad", args: arg("regexp", "two", "after", "("), setup: f, handBack: true},
		{name: "after empty", args: arg("regexp", "two", "replace", "z", "after", "", "before", ""), setup: f},
		{name: "between, with groups", args: arg("regexp", "(two)", "replace", `<\1>`, "after", `(\[sec\])`, "before", "four"), setup: f, once: true},
		{name: "mode only", args: arg("regexp", "zzz", "mode", "0600"), setup: f},
		{name: "and mode", args: arg("regexp", "one", "replace", "1", "mode", "0600", "owner", "nobody"), setup: f},
		{name: "missing", args: arg("regexp", "a")},
		{name: "directory", args: arg("path", "@D", "regexp", "a")},
		{name: "empty file", args: arg("regexp", "^", "replace", "a"), setup: mkfile("f", "", 0o600), once: true},
		{name: "utf-8", args: arg("regexp", "ö+", "replace", "é"), setup: mkfile("f", "aöö\n", 0o600)},
		{name: "utf-8 dot", args: arg("regexp", "a.b", "replace", "-"), setup: mkfile("f", "aöb\n", 0o600)},
		{name: "not utf-8", args: arg("regexp", "a", "replace", "b"), setup: mkfile("f", "a\xff\n", 0o600), handBack: true},
		{name: "encoding", args: arg("regexp", "a", "replace", "b", "encoding", "latin-1"), setup: mkfile("f", "a\xff\n", 0o600), handBack: true},
		{name: "carriage returns", args: arg("regexp", "^b$", "replace", "c"), setup: mkfile("f", "a\r\nb\r\n", 0o600)},
		{name: "case", args: arg("regexp", "(?i)ONE", "replace", "1"), setup: f},
		{name: "through link", args: arg("path", "@D/l", "regexp", "one", "replace", "1"), setup: all(f, symlink("l", "f"))},
		{name: "backup", args: arg("regexp", "one", "replace", "1", "backup", true), setup: f, once: true},
		{name: "validate", args: arg("regexp", "one", "replace", "1", "validate", "grep -q 1 %s"), setup: f},
		{name: "validate fails", args: arg("regexp", "one", "replace", "1", "validate", "false %s"), setup: f},
		{name: "aliases", args: value.DictOf("name", "@D/f", "regexp", "one"), setup: f},
		{name: "no regexp", args: arg("replace", "x"), setup: f},
		{name: "unknown", args: arg("regexp", "x", "regex", "x"), setup: f},
	})
}
