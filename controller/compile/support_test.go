package compile

import (
	"path/filepath"
	"strings"
	"testing"

	"volant/controller/union"
)

// TestWhyPython: what is written in Python and cannot run is refused with what
// is missing, and only kinds that never load are said not to.
func TestWhyPython(t *testing.T) {
	dir := t.TempDir()
	coll := "collections/ansible_collections/acme/tools/plugins/"
	write(t, dir, map[string]string{
		"action_plugins/ping.py":    "",
		"action_plugins/own.py":     "",
		"filter_plugins/own.py":     "class FilterModule: filters = lambda s: {'own_one': 1}\n",
		"lookup_plugins/seek.py":    "",
		"connection_plugins/tin.py": "",
		coll + "action/driven.py":   "",
		coll + "modules/driven.py":  "#!/usr/bin/python\n",
	})
	with := &Catalog{Union: union.New(union.Options{Core: core(t), Collections: []string{filepath.Join(dir, "collections")}})}
	python := &Catalog{Union: with.Union, Actions: func(n string) bool { return n == "ansible.legacy.own" || n == "acme.tools.driven" }}
	const setup, noPython, notLoaded = "`volant setup`", "no python3 was found", "does not load"
	for name, tt := range map[string]struct {
		h    *Have
		want map[string]string // by kind and name; "" for no refusal
	}{
		"without ansible-core": {&Have{Catalog: &Catalog{}, Natives: []string{"ping"}}, map[string]string{
			"filter own_one": setup, "lookup seek": setup, "connection tin": notLoaded, "action own": setup, "action blockinfile": setup,
		}},
		"without Python": {&Have{Catalog: with}, map[string]string{
			"filter own_one": noPython, "lookup seek": noPython, "connection tin": notLoaded, "action own": noPython, "action acme.tools.driven": noPython,
		}},
		"with Python": {&Have{Catalog: python, Python: true}, map[string]string{
			"filter own_one": "", "lookup seek": "", "connection tin": notLoaded, "action ansible.legacy.own": "", "action acme.tools.driven": "",
			// what is beside the playbook does not stand in for ansible-core's own
			"action ansible.builtin.ping": "",
		}},
	} {
		tt.h.Dirs = []string{dir}
		no := func(string) bool { return false }
		tt.h.Filter, tt.h.Test, tt.h.Lookup = no, no, no
		for what, want := range tt.want {
			kind, plugin, _ := strings.Cut(what, " ")
			why := ""
			if kind == "action" {
				why = tt.h.Action(plugin, nil)
			} else {
				why, _ = tt.h.Plugin(kind, plugin, nil)
			}
			if (why == "") != (want == "") || !strings.Contains(why, want) || want != notLoaded && strings.Contains(why, notLoaded) {
				t.Errorf("%s: %s: %q, want %q", name, what, why, want)
			}
		}
	}
}
