package modules

import (
	"testing"

	"volant/wire/value"
)

const managed = "one\n# BEGIN ANSIBLE MANAGED BLOCK\nold\n# END ANSIBLE MANAGED BLOCK\ntwo\n"

func TestBlockinfileIsThePythonModule(t *testing.T) {
	f := mkfile("f", "one\ntwo\n#three=3\nfour\n", 0o640)
	has := mkfile("f", managed, 0o640)
	arg := func(kv ...any) *value.Dict {
		a := value.DictOf("path", "@D/f")
		a.Update(value.DictOf(kv...))
		return a
	}
	newDiffer(t).test(t, "blockinfile", []diffCase{
		{name: "append", args: arg("block", "a\nb"), setup: f},
		{name: "append ended", args: arg("block", "a\nb\n"), setup: f},
		{name: "append to open end", args: arg("block", "a"), setup: mkfile("f", "one\ntwo", 0o600)},
		{name: "replaces", args: arg("block", "new"), setup: has},
		{name: "same", args: arg("block", "old"), setup: has},
		{name: "same and mode", args: arg("block", "old", "mode", "0600"), setup: has},
		{name: "new and owner", args: arg("block", "new", "owner", "nobody"), setup: has},
		{name: "removes", args: arg("state", "absent"), setup: has},
		{name: "removes nothing", args: arg("state", "absent"), setup: f},
		{name: "absent file", args: arg("state", "absent")},
		{name: "absent file, create", args: arg("state", "absent", "create", true)},
		{name: "empty block", args: arg("block", ""), setup: has},
		{name: "no block", args: arg(), setup: has},
		{name: "missing", args: arg("block", "a")},
		{name: "create", args: arg("block", "a", "create", true, "mode", "0604")},
		{name: "create in directories", args: arg("path", "@D/a/b/f", "block", "a", "create", true)},
		{name: "create below file", args: arg("path", "@D/f/b/f", "block", "a", "create", true), setup: f},
		{name: "directory", args: arg("path", "@D", "block", "a")},
		{name: "insertafter", args: arg("block", "a", "insertafter", "^one"), setup: f},
		{name: "insertafter last match", args: arg("block", "a", "insertafter", "o"), setup: f},
		{name: "insertafter none", args: arg("block", "a", "insertafter", "zzz"), setup: f},
		{name: "insertafter EOF", args: arg("block", "a", "insertafter", "EOF"), setup: f},
		{name: "insertafter BOF", args: arg("block", "a", "insertafter", "BOF"), setup: f},
		{name: "insertafter bad", args: arg("block", "a", "insertafter", "("), setup: f, handBack: true},
		{name: "insertafter lines", args: arg("block", "a", "insertafter", "(?m)^two"), setup: f, handBack: true},
		{name: "insertafter empty", args: arg("block", "a", "insertafter", ""), setup: f, handBack: true},
		{name: "insertbefore", args: arg("block", "a", "insertbefore", "^two"), setup: f},
		{name: "insertbefore BOF", args: arg("block", "a", "insertbefore", "BOF"), setup: f},
		{name: "insertbefore EOF", args: arg("block", "a", "insertbefore", "EOF"), setup: f},
		{name: "insertbefore none", args: arg("block", "a", "insertbefore", "zzz"), setup: f},
		{name: "both inserts", args: arg("block", "a", "insertbefore", "x", "insertafter", "y"), setup: f},
		{name: "insertafter with block there", args: arg("block", "old", "insertafter", "^two"), setup: has},
		{name: "marker", args: arg("block", "a", "marker", "<!-- {mark} x {mark} -->"), setup: f},
		{name: "marker without mark", args: arg("block", "a", "marker", "# x"), setup: f, once: true},
		{name: "marker utf-8", args: arg("block", "é", "marker", "# é {mark}"), setup: f},
		{name: "marker words", args: arg("block", "a", "marker_begin", "START", "marker_end", "STOP"), setup: f},
		{name: "marker backslash", args: arg("block", "a", "marker_begin", `\x`), setup: f, handBack: true},
		{name: "markers swapped", args: arg("block", "new"), setup: mkfile("f", "1\n# END ANSIBLE MANAGED BLOCK\nx\n# BEGIN ANSIBLE MANAGED BLOCK\n2\n", 0o600)},
		{name: "two blocks", args: arg("block", "new"), setup: mkfile("f", managed+managed, 0o600), once: true},
		{name: "only begin", args: arg("block", "new"), setup: mkfile("f", "1\n# BEGIN ANSIBLE MANAGED BLOCK\n2\n", 0o600)},
		{name: "carriage returns", args: arg("block", "a\r\nb", "insertafter", "^one"), setup: mkfile("f", "one\r\ntwo\r\n", 0o600)},
		{name: "old line ends", args: arg("block", "a\rb", "insertafter", "^one"), setup: mkfile("f", "one\rtwo\r", 0o600)},
		{name: "prepend", args: arg("block", "a", "prepend_newline", true), setup: f},
		{name: "prepend at start", args: arg("block", "a", "prepend_newline", true, "insertbefore", "BOF"), setup: f},
		{name: "append newline", args: arg("block", "a", "append_newline", true, "insertafter", "^one"), setup: f},
		{name: "append newline at end", args: arg("block", "a", "append_newline", true), setup: f},
		{name: "both newlines", args: arg("block", "a", "append_newline", true, "prepend_newline", true, "insertafter", "^one"), setup: f},
		{name: "newlines there", args: arg("block", "a", "append_newline", true, "prepend_newline", true, "insertafter", "^$"), setup: mkfile("f", "1\n\n\n2\n", 0o600)},
		{name: "empty file", args: arg("block", "a"), setup: mkfile("f", "", 0o600)},
		{name: "empty file, nothing", args: arg("block", ""), setup: mkfile("f", "", 0o600)},
		{name: "through link", args: arg("path", "@D/l", "block", "a"), setup: all(f, symlink("l", "f"))},
		{name: "backup", args: arg("block", "a", "backup", true), setup: f, once: true},
		{name: "validate", args: arg("block", "a", "validate", "grep -q BEGIN %s"), setup: f},
		{name: "validate fails", args: arg("block", "a", "validate", "false %s"), setup: f},
		{name: "validate without file", args: arg("block", "a", "validate", "true"), setup: f},
		{name: "not utf-8", args: arg("block", "a"), setup: mkfile("f", "a\xff\n", 0o600)},
		{name: "aliases", args: value.DictOf("dest", "@D/f", "content", "a"), setup: f},
		{name: "unknown", args: arg("blocks", "x"), setup: f},
		{name: "no path", args: value.DictOf("block", "x")},
	})
}
