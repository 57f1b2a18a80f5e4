package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

// runDoc is `volant doc` with an environment; it gives what is said on standard
// error, and the code.
func runDoc(t *testing.T, env map[string]string, args ...string) (string, int) {
	t.Helper()
	var errs bytes.Buffer
	dir := t.TempDir()
	p := &process{name: "volant doc", command: "doc", find: find, stdout: &bytes.Buffer{}, stderr: &errs, dir: dir, home: dir,
		getenv: func(n string) (string, bool) { v, ok := env[n]; return v, ok }}
	code := p.code(context.Background(), docMain(context.Background(), p, args))
	return errs.String(), code
}

// TestDocSaysWhyThereIsNoCore: an ansible-core that is named and is none is not
// the same as none at all.
func TestDocSaysWhyThereIsNoCore(t *testing.T) {
	if got, code := runDoc(t, map[string]string{"VOLANT_ANSIBLE_CORE": "/nosuch"}, "copy"); code != codeError || !strings.Contains(got, "VOLANT_ANSIBLE_CORE names /nosuch") {
		t.Errorf("%d %q", code, got)
	}
}

// docProject is what TestDocBesideTheReference documents: a role of each kind, a
// module, a filter and a collection with routing.
const docProject = `
-- roles/plain/meta/main.yml --
galaxy_info: {author: me, description: my role}
argument_specs:
  main:
    short_description: A short description that goes on and on, far beyond the end of the line of any terminal
    description: [First O(opt) and C(x)., Second one.]
    author: [me, you]
    options:
      opt: {type: str, required: true, description: The option., choices: [a, b]}
      deep:
        type: dict
        default: {}
        version_added: 1.2.0
        description: [Deep, Deeper I(x)]
        options:
          inner: {type: int, description: inner one, default: 3, version_added: 1.0.0}
  other: {short_description: Other, author: {x: y}, examples: "- foo\n", options: {}}
-- roles/specs/meta/argument_specs.yml --
argument_specs: {main: }
-- roles/specs/meta/main.yml --
galaxy_info: {description: b}
-- roles/empty/meta/main.yml --
-- roles/bare/meta/argument_specs.yaml --
argument_specs: {main: {options: {z: {type: str}}}}
-- c/ansible_collections/ns/coll/MANIFEST.json --
{"collection_info": {"namespace": "ns", "name": "coll", "version": "1.0.0"}}
-- c/ansible_collections/ns/coll/meta/runtime.yml --
plugin_routing:
  modules: {old: {redirect: ns.coll.new, deprecation: {removal_version: 9.0.0, warning_text: Use new.}}}
  lookup: {going: {deprecation: {removal_date: "2031-01-01", warning_text: It goes.}}}
-- c/ansible_collections/ns/coll/roles/r/meta/argument_specs.yml --
argument_specs: {main: {short_description: of a collection, description: D}}
-- c/ansible_collections/ns/coll/plugins/modules/new.py --
DOCUMENTATION = r"""
module: new
short_description: Naïve things
description: Does M(ns.coll.old).
extends_documentation_fragment: [ns.coll.vx100]
options:
  a:
    description: One.
    type: dict
    suboptions: {b: {description: Two., type: int, version_added: 1.1.0}}
"""
EXAMPLES = "- ns.coll.new:"
RETURN = "r: {description: R, returned: always, type: str, sample: é}"
-- c/ansible_collections/ns/coll/plugins/action/new.py --
-- c/ansible_collections/ns/coll/plugins/doc_fragments/vx100.py --
class ModuleDocFragment(object):
    DOCUMENTATION = "options: {host: {description: H, type: str, required: true}}"
-- c/ansible_collections/ns/coll/plugins/lookup/going.py --
DOCUMENTATION = "name: going\nshort_description: Going\ndescription: G\noptions: {}"
from ansible.plugins.lookup import LookupBase
class LookupModule(LookupBase):
    pass
-- c/ansible_collections/ns/coll/plugins/filter/many.py --
def one(x):
    return {"no": x}
class FilterModule(object):
    def filters(self):
        return {"one": one, 'two': one}  # "three": one
-- c/ansible_collections/ns/coll/plugins/filter/one.yml --
DOCUMENTATION: {name: one, short_description: First, description: F, options: {}}
`

// What the doc command writes, beside what the ansible-core that is installed
// writes.
func TestDocBesideTheReference(t *testing.T) {
	python := referencePython(t)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range txtar.Parse([]byte(docProject)).Files {
		path := filepath.Join(dir, f.Name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, f.Data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	env := map[string]string{
		"HOME": dir, "VOLANT_ANSIBLE_CORE": filepath.Dir(filepath.Dir(python)), "XDG_CACHE_HOME": dir, "ANSIBLE_COLLECTIONS_PATH": filepath.Join(dir, "c"),
	}
	for _, line := range []string{
		"-t role -l -j -r roles", "-t role -r roles plain", "-t role -r roles -j specs", "-t role -r roles plain -e other",
		"-t role --playbook-dir . ns.coll.r", "-t role -l", "-t role -r roles bare", "-t role -r roles specs -e nope",
		"-t keyword -l", "-t keyword nope become with_items when loop async hosts collections listen", "-t keyword",
		"ns.coll.old", "-v ns.coll.new ns.coll.nope nope.nope.nope ns.nope.x copy ansible.legacy.ping", "-s ns.coll.new",
		"-l ns.coll", "-l ns", "-F ns.coll", "-l -t lookup", "-t filter -F ns.coll",
		"-t filter ns.coll.one d ansible.builtin.first groupby", "-t filter -l", "-t test -l", "-l -t netconf",
		"-t inventory -s constructed", "--metadata-dump --no-fail-on-errors",
	} {
		t.Run(line, func(t *testing.T) {
			args := strings.Fields(line)
			want, wantErr, wantCode := reference(t, python, "ansible-doc", dir, env, args)
			var out, errs bytes.Buffer
			p := &process{name: "ansible-doc", command: "doc", find: find, stdout: &out, stderr: &errs, dir: dir, home: dir,
				getenv: func(n string) (string, bool) { v, ok := env[n]; return v, ok }}
			code := p.code(context.Background(), docMain(context.Background(), p, args))
			if code != wantCode || errs.String() != wantErr {
				t.Errorf("%d %q\nwant %d %q", code, errs.String(), wantCode, wantErr)
			}
			if got := out.String(); got != want {
				t.Errorf("(-want +got)\n%s", cmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n")))
			}
		})
	}
}
