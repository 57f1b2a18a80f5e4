package modules

import (
	"testing"

	"volant/wire/value"
)

func TestLineinfileIsThePythonModule(t *testing.T) {
	f := mkfile("f", "one\ntwo\n#three=3\nfour\n", 0o640)
	open := mkfile("f", "one\ntwo", 0o640)
	arg := func(kv ...any) *value.Dict {
		a := value.DictOf("path", "@D/f")
		a.Update(value.DictOf(kv...))
		return a
	}
	newDiffer(t).test(t, "lineinfile", []diffCase{
		{name: "append", args: arg("line", "five"), setup: f},
		{name: "there", args: arg("line", "two"), setup: f},
		{name: "append to open end", args: arg("line", "three"), setup: open},
		{name: "there at open end", args: arg("line", "two"), setup: open},
		{name: "regexp replaces", args: arg("regexp", "^#?three=", "line", "three=4"), setup: f},
		{name: "regexp no match", args: arg("regexp", "^nothing", "line", "new"), setup: f},
		{name: "regexp last match", args: arg("regexp", "o", "line", "X"), setup: f},
		{name: "regexp first match", args: arg("regexp", "o", "line", "X", "firstmatch", true), setup: f},
		{name: "regexp matches line end", args: arg("regexp", "two$", "line", "2"), setup: f},
		{name: "regexp same", args: arg("regexp", "^two", "line", "two"), setup: f},
		{name: "regexp lookahead", args: arg("regexp", "^(?=f)our", "line", "4"), setup: f},
		{name: "regexp empty", args: arg("regexp", "", "line", "X"), setup: f},
		{name: "regexp bad", args: arg("regexp", "(", "line", "X"), setup: f, handBack: true},
		{name: "regexp case", args: arg("regexp", "(?i)^TWO", "line", "X"), setup: f},
		{name: "regexp utf-8", args: arg("regexp", "^.{5}$", "line", "X"), setup: mkfile("f", "äöü\naäb\nabc\n", 0o600)},
		{name: "regexp utf-8 pattern", args: arg("regexp", "^ä", "line", "é"), setup: mkfile("f", "äöü\n", 0o600)},
		{name: "not utf-8", args: arg("regexp", "^a", "line", "b"), setup: mkfile("f", "a\xff\nz\xfe\n", 0o600)},
		{name: "regexp word", args: arg("regexp", `\bö`, "line", "X"), setup: mkfile("f", "aö\n ö\n", 0o600)},
		{name: "backrefs", args: arg("regexp", "^(t)(w)o", "line", `\2\g<1>!`, "backrefs", true), setup: f},
		{name: "backrefs no match", args: arg("regexp", "^nothing", "line", "X", "backrefs", true), setup: f},
		{name: "backrefs bad", args: arg("regexp", "^(t)wo", "line", `\3`, "backrefs", true), setup: f, handBack: true},
		{name: "backrefs without regexp", args: arg("line", "X", "backrefs", true), setup: f},
		{name: "search_string", args: arg("search_string", "three=", "line", "three=5"), setup: f},
		{name: "search_string none", args: arg("search_string", "zzz", "line", "z"), setup: f},
		{name: "search_string empty", args: arg("search_string", "", "line", "z"), setup: f},
		{name: "insertafter", args: arg("line", "new", "insertafter", "^two"), setup: f},
		{name: "insertafter last", args: arg("line", "new", "insertafter", "^four"), setup: f},
		{name: "insertafter several", args: arg("line", "new", "insertafter", "o"), setup: f},
		{name: "insertafter first", args: arg("line", "new", "insertafter", "o", "firstmatch", true), setup: f},
		{name: "insertafter none", args: arg("line", "new", "insertafter", "zzz"), setup: f},
		{name: "insertafter EOF", args: arg("line", "new", "insertafter", "EOF"), setup: f},
		{name: "insertafter BOF", args: arg("line", "new", "insertafter", "BOF"), setup: f},
		{name: "insertafter with regexp", args: arg("regexp", "^new=", "line", "new=1", "insertafter", "^two"), setup: f},
		{name: "insertafter open end", args: arg("line", "new", "insertafter", "^two"), setup: open},
		{name: "insertbefore", args: arg("line", "new", "insertbefore", "^two"), setup: f},
		{name: "insertbefore first line", args: arg("line", "new", "insertbefore", "^one"), setup: f},
		{name: "insertbefore BOF", args: arg("line", "new", "insertbefore", "BOF"), setup: f},
		{name: "insertbefore none", args: arg("line", "new", "insertbefore", "zzz"), setup: f},
		{name: "insertbefore with regexp", args: arg("regexp", "^new=", "line", "new=1", "insertbefore", "^two"), setup: f},
		{name: "both inserts", args: arg("line", "new", "insertbefore", "a", "insertafter", "b"), setup: f},
		{name: "create", args: arg("line", "new", "create", true, "mode", "0600")},
		{name: "create in directories", args: arg("path", "@D/a/b/f", "line", "new", "create", true, "owner", "nobody")},
		{name: "missing", args: arg("line", "new")},
		{name: "empty file", args: arg("line", "new"), setup: mkfile("f", "", 0o600)},
		{name: "empty file, insertafter", args: arg("line", "new", "insertafter", "x"), setup: mkfile("f", "", 0o600)},
		{name: "empty line", args: arg("line", ""), setup: f},
		{name: "line with newline", args: arg("line", "a\nb\n"), setup: f, once: true},
		{name: "carriage returns", args: arg("regexp", "^two", "line", "2"), setup: mkfile("f", "one\r\ntwo\r\n", 0o600)},
		{name: "mode only", args: arg("line", "two", "mode", "0600"), setup: f},
		{name: "line and mode", args: arg("line", "five", "mode", "0600", "owner", "nobody"), setup: f},
		{name: "keeps owner", args: arg("line", "five"), setup: all(f, chown("f", 12345, 12346))},
		{name: "through link", args: arg("path", "@D/l", "line", "five"), setup: all(f, symlink("l", "f"))},
		{name: "backup", args: arg("line", "five", "backup", true), setup: f, once: true},
		{name: "validate", args: arg("line", "five", "validate", "grep -q five %s"), setup: f},
		{name: "validate fails", args: arg("line", "five", "validate", "sh -c 'echo no >&2; exit 3' %s"), setup: f},
		{name: "validate without file", args: arg("line", "five", "validate", "true"), setup: f},
		{name: "directory", args: arg("path", "@D", "line", "x")},
		{name: "absent line", args: arg("line", "two", "state", "absent"), setup: f},
		{name: "absent regexp", args: arg("regexp", "o", "state", "absent"), setup: f},
		{name: "absent search", args: arg("search_string", "three", "state", "absent"), setup: f},
		{name: "absent none", args: arg("line", "zzz", "state", "absent", "mode", "0600"), setup: f},
		{name: "absent all", args: arg("regexp", ".", "state", "absent"), setup: f},
		{name: "absent file", args: arg("line", "x", "state", "absent")},
		{name: "absent backup", args: arg("line", "two", "state", "absent", "backup", true), setup: f, once: true},
		{name: "absent nothing named", args: arg("state", "absent"), setup: f},
		{name: "no line", args: arg("regexp", "x"), setup: f},
		{name: "aliases", args: value.DictOf("dest", "@D/f", "regex", "^two", "value", "2"), setup: f},
		{name: "unknown", args: arg("line", "x", "lines", "y"), setup: f},
	})
}
