package modules

import (
	"errors"
	"os"
	"testing"

	"volant/wire/value"
)

// The facts themselves are compared in package facts; here the module is.
func TestSetupModule(t *testing.T) {
	python := ""
	for _, p := range []string{"/usr/bin/python3", "/usr/local/bin/python3"} {
		if _, err := os.Stat(p); err == nil {
			python = p
			break
		}
	}
	if python == "" {
		t.Skip("there is no system python3")
	}
	run := func(env *Env, args *value.Dict) (*value.Dict, error) {
		env.Environ, env.Name = os.Environ(), "setup"
		return Table["setup"](t.Context(), env, args)
	}
	res, err := run(&Env{Python: python}, value.DictOf("filter", "ansible_pkg_mgr", "gather_subset", "!all"))
	if err != nil {
		t.Fatal(err)
	}
	facts, _ := res.Lookup("ansible_facts").(*value.Dict)
	if facts.Len() != 1 || !facts.Has("ansible_pkg_mgr") {
		t.Errorf("filtered facts: %s", value.Repr(facts))
	}
	const want = "{'module_args': {'filter': ['ansible_pkg_mgr'], 'gather_subset': ['!all'], 'gather_timeout': 10, 'fact_path': '/etc/ansible/facts.d'}}"
	if got := value.Repr(res.Lookup("invocation")); got != want {
		t.Errorf("invocation\n got %s\nwant %s", got, want)
	}
	var back *HandBack
	if _, err := run(&Env{Python: python}, value.DictOf("gather_subset", "nosuch")); !errors.As(err, &back) {
		t.Errorf("an unknown subset is not handed back: %v", err)
	}
	if _, err := run(&Env{}, value.DictOf()); !errors.As(err, &back) {
		t.Errorf("setup without a known interpreter is not handed back: %v", err)
	}
}
