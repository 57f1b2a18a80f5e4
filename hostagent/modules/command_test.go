package modules

import (
	"testing"
	"time"

	"volant/wire/value"
)

func TestCommandIsThePythonModule(t *testing.T) {
	d := newDiffer(t)
	raw := func(s string, kv ...any) *value.Dict {
		a := value.DictOf("_raw_params", s)
		a.Update(value.DictOf(kv...))
		return a
	}
	sh := func(s string, kv ...any) *value.Dict {
		a := raw(s, kv...)
		a.Set("_uses_shell", true)
		return a
	}
	d.test(t, "command", []diffCase{
		{name: "echo", args: raw("echo hello world")},
		{name: "quotes", args: raw(`printf '%s|' "a b" 'c d' e\ f "" $HOME`)},
		{name: "no expansion", args: raw(`printf '%s|' $HOME ~ ~/x ~root '${HOME}/y' $NOSUCH`, "expand_argument_vars", false)},
		{name: "expansion", args: raw(`printf '%s|' $HOME ~ ~/x ~root ${HOME}/y $NOSUCH ~nobodyatall/z`)},
		{name: "cmd", args: value.DictOf("cmd", "echo cmd")},
		{name: "argv", args: value.DictOf("argv", value.ListOf("echo", "a b", int64(3), true))},
		{name: "fails", args: raw("sh -c 'echo out; echo err >&2; exit 3'")},
		{name: "signal", args: raw("sh -c 'kill -9 $$'")},
		{name: "missing", args: raw("/nonexistent/program with args")},
		{name: "missing on PATH", args: raw("nosuchprogram --password=secret -p x")},
		{name: "password follows", args: raw("nosuchprogram --password secret http://u:pw@host/")},
		{name: "not executable", args: raw("./data"), setup: mkfile("data", "x", 0o644)},
		{name: "directory", args: raw("./sub"), setup: mkdir("sub", 0o755)},
		{name: "exec format", args: raw("./data"), setup: mkfile("data", "no interpreter line\n", 0o755)},
		{name: "chdir", args: raw("pwd", "chdir", "@D/sub"), setup: mkdir("sub", 0o755)},
		{name: "chdir relative", args: raw("sh -c pwd", "chdir", "sub"), setup: mkdir("sub", 0o755)},
		{name: "chdir missing", args: raw("pwd", "chdir", "@D/nowhere")},
		{name: "chdir file", args: raw("pwd", "chdir", "@D/f"), setup: mkfile("f", "", 0o644)},
		{name: "creates there", args: raw("touch new", "creates", "@D/f"), setup: mkfile("f", "", 0o644)},
		{name: "creates not there", args: raw("touch new", "creates", "@D/new")},
		{name: "creates glob", args: raw("touch new", "creates", "@D/f*.txt"), setup: mkfile("foo.txt", "", 0o644)},
		{name: "creates glob hidden", args: raw("echo x", "creates", "@D/*"), setup: mkfile(".hidden", "", 0o644)},
		{name: "creates glob class", args: raw("echo x", "creates", "@D/[!a]b?"), setup: mkfile("cbd", "", 0o644)},
		{name: "creates relative", args: raw("touch new", "creates", "new")},
		{name: "creates broken link", args: raw("echo x", "creates", "@D/l"), setup: symlink("l", "nowhere")},
		{name: "removes there", args: raw("rm f", "removes", "@D/f"), setup: mkfile("f", "", 0o644)},
		{name: "removes not there", args: raw("rm f", "removes", "@D/f")},
		{name: "both", args: raw("echo x", "creates", "@D/f", "removes", "@D/g")},
		{name: "stdin", args: raw("cat", "stdin", "text")},
		{name: "stdin without newline", args: raw("cat", "stdin", "text", "stdin_add_newline", false, "strip_empty_ends", false)},
		{name: "stdin empty", args: raw("cat", "stdin", "")},
		{name: "keep ends", args: raw(`printf 'a\n\n'`, "strip_empty_ends", "no")},
		{name: "blank lines", args: raw(`printf '\n\na\r\n\n'`)},
		{name: "not utf-8", args: raw(`printf 'a\377b\303\251'`)},
		{name: "executable warns", args: raw("echo x", "executable", "/bin/bash")},
		{name: "comment is a word", args: raw("echo a # b")},
		{name: "two ways", args: raw("echo a", "argv", value.ListOf("echo", "b"))},
		{name: "none", args: value.DictOf("chdir", "/")},
		{name: "unknown argument", args: raw("echo a", "warn", false, "colour", "red")},
		{name: "bad bool", args: raw("echo a", "argv", value.DictOf("a", "b"))},
		{name: "no closing quotation", args: raw("echo 'a")},
		{name: "environment", args: raw("sh -c 'echo $LANG'")},
		{name: "umask", args: raw("sh -c 'umask; touch f'")},
		{name: "shell", args: sh("echo $HOME | tr a-z A-Z; echo err >&2")},
		{name: "shell fails", args: sh("false")},
		{name: "shell pipe and redirect", args: sh("echo a > f && cat f"), once: true},
		{name: "shell executable", args: sh("echo $0 ${BASH_VERSION:+bash}", "executable", "/bin/bash")},
		{name: "shell executable missing", args: sh("echo x", "executable", "/nonexistent/sh")},
		{name: "shell chdir", args: sh("pwd; ls", "chdir", "@D/sub"), setup: mkdir("sub", 0o755)},
		{name: "shell creates", args: sh("echo x", "creates", "@D/f"), setup: mkfile("f", "", 0o644)},
		{name: "shell stdin", args: sh("cat; cat", "stdin", "a\nb")},
		{name: "shell multi line", args: sh("echo a\necho b\n")},
		{name: "shell argv", args: value.DictOf("_uses_shell", true, "argv", value.ListOf("echo", "$HOME", "it's"))},
	})
}

// TestTimesAreInTheTasksZone sets TZ as a task's environment does.
func TestTimesAreInTheTasksZone(t *testing.T) {
	if _, err := time.LoadLocation("Asia/Tokyo"); err != nil {
		t.Skip(err)
	}
	noon := time.Date(2026, 1, 2, 12, 0, 0, 5000, time.UTC)
	env := &Env{Name: "command", Umask: -1, Environ: []string{"PATH=/usr/bin:/bin", "TZ=Asia/Tokyo"}, Now: func() time.Time { return noon }}
	res, err := Table["command"](t.Context(), env, value.DictOf("_raw_params", "date +%Z"))
	if err != nil {
		t.Fatal(err)
	}
	if res.Lookup("start") != "2026-01-02 21:00:00.000005" || res.Lookup("stdout") != "JST" || res.Lookup("delta") != "0:00:00" {
		t.Error(value.Repr(res))
	}
}

func TestPingIsThePythonModule(t *testing.T) {
	newDiffer(t).test(t, "ping", []diffCase{
		{name: "plain", args: value.DictOf()},
		{name: "data", args: value.DictOf("data", "hé")},
		{name: "crash", args: value.DictOf("data", "crash")},
		{name: "unknown", args: value.DictOf("x", 1)},
		{name: "a number", args: value.DictOf("data", int64(5))},
	})
}

func TestSlurpIsThePythonModule(t *testing.T) {
	newDiffer(t).test(t, "slurp", []diffCase{
		{name: "file", args: value.DictOf("src", "@D/f"), setup: mkfile("f", "a\x00b\xff", 0o644)},
		{name: "alias", args: value.DictOf("path", "f"), setup: mkfile("f", "", 0o644)},
		{name: "missing", args: value.DictOf("src", "@D/f")},
		{name: "directory", args: value.DictOf("src", "@D")},
		{name: "none", args: value.DictOf()},
	})
}
