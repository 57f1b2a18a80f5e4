package e2e

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// The Python plugins of a project: a filter of a role, a lookup and an action.
var plugins = map[string]string{
	"roles/r/filter_plugins/f.py": `
class FilterModule:
    def filters(self):
        return {'shout': lambda v: v.upper() + '!'}
`,
	"roles/r/tasks/main.yml": "- debug: msg=\"{{ 'role' | shout }}\"\n",
	"lookup_plugins/whose.py": `
from ansible.plugins.lookup import LookupBase
class LookupModule(LookupBase):
    def run(self, terms, variables=None, **kwargs):
        return ['%s of %s' % (t, variables['inventory_hostname']) for t in terms]
`,
	"action_plugins/work.py": `
import os
from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase
class ActionModule(ActionBase):
    def run(self, tmp=None, task_vars=None):
        result = super().run(tmp, task_vars)
        if self._task.args.get('fail'):
            raise AnsibleActionFail('as asked')
        ran = self._execute_module('ansible.builtin.command', {'_raw_params': 'echo module'}, task_vars=task_vars)
        path = self._connection._shell.join_path(self._make_tmp_path(), 'sent')
        self._transfer_data(path, 'transferred')
        got = self._low_level_execute_command('cat ' + path)
        self._connection.fetch_file(path, task_vars['back'])
        result.update(out=[ran['stdout'], got['stdout'], open(task_vars['back']).read()], changed=True)
        return result
`,
}

// TestPlugins: the Python plugins that projects bring run on the controller, and
// what an action plugin does on its host goes over the link.
func TestPlugins(t *testing.T) {
	core := reference(t)
	l := newLab(t, "process", "1")
	for name, text := range plugins {
		l.file(name, text)
	}
	env := append(l.env, "VOLANT_ANSIBLE_CORE="+core)
	book := l.file("site.yml", `
- hosts: all
  gather_facts: false
  vars: {back: `+filepath.Join(l.home, "back")+`}
  roles: [r]
  tasks:
    - debug: msg="{{ lookup('whose', 'the file') }}"
    - work:
      register: did
    - debug: msg="{{ did.out | join(' ') }}"
    - work: {fail: true}
`)
	out, code := l.runEnv(env, 3*time.Minute, "volant", "playbook", "-i", l.inventory(), book)
	l.want(out, code, 2, "ROLE!", "the file of h1", "module transferred transferred", `"msg": "as asked"`, "changed=1 ")
	if left, _ := filepath.Glob(filepath.Join(l.dir, "*", "home", ".ansible", "tmp", "*")); len(left) > 0 {
		t.Errorf("left on the host: %v", left)
	}
	if b, err := os.ReadFile(filepath.Join(l.home, "back")); err != nil || string(b) != "transferred" {
		t.Errorf("what was fetched: %q, %v", b, err)
	}
}
