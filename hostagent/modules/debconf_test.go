package modules

import (
	"os/exec"
	"testing"

	"volant/wire/value"
)

func TestDebconfIsThePythonModule(t *testing.T) {
	if !inSandbox(t) {
		return
	}
	if _, err := exec.LookPath("debconf-set-selections"); err != nil {
		t.Skip("there is no debconf")
	}
	set := shell("printf 'mine mine/text string one two\nmine mine/bool boolean true\n' | debconf-set-selections")
	arg := func(kv ...any) *value.Dict {
		a := value.DictOf("name", "mine")
		a.Update(value.DictOf(kv...))
		return a
	}
	d := systemWide(t)
	d.unordered = true // debconf-show is a hash of Perl's
	d.test(t, "debconf", []diffCase{
		{name: "ask", args: arg(), setup: set},
		{name: "there", args: arg("question", "mine/text", "vtype", "string", "value", "one two"), setup: set},
		{name: "changes", args: arg("question", "mine/text", "vtype", "string", "value", "three"), setup: set},
		{name: "new", args: arg("question", "mine/new", "vtype", "select", "value", "x"), setup: set},
		{name: "truth there", args: arg("question", "mine/bool", "vtype", "boolean", "value", true), setup: set},
		{name: "truth changes", args: arg("question", "mine/bool", "vtype", "boolean", "value", "False"), setup: set},
		{name: "unseen", args: arg("question", "mine/text", "vtype", "string", "value", "three", "unseen", true), setup: set},
		{name: "nothing known", args: value.DictOf("name", "none-there")},
		{name: "list", args: arg("question", "mine/many", "vtype", "multiselect", "value", value.ListOf("b", "a")), setup: set, handBack: true, once: true},
		{name: "password", args: arg("question", "mine/pw", "vtype", "password", "value", "abcd"), setup: set, handBack: true, once: true},
		{name: "question only", args: arg("question", "mine/text")},
		{name: "bad type", args: arg("question", "a", "vtype", "b", "value", "c")},
		{name: "no name", args: value.DictOf()},
	})
}
