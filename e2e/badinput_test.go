package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestBadInput: what operators get wrong ends with one clear error, the right
// exit code and nothing run. Codes and texts are the reference's where it has
// them; each case was compared with ansible-playbook 2.19.12.
func TestBadInput(t *testing.T) {
	core := reference(t)
	bin, err := binaries()
	if err != nil {
		t.Fatal(err)
	}
	l := &lab{t: t, bin: bin, home: t.TempDir()}
	l.env = append(os.Environ(), "ANSIBLE_NOCOLOR=1", "VOLANT_ANSIBLE_CORE="+core, "HOME="+l.home,
		"VOLANT_STATE_DIR="+filepath.Join(l.home, "state"), "XDG_CACHE_HOME="+filepath.Join(l.home, "cache"))
	mark := filepath.Join(l.home, "ran")
	first := "- hosts: all\n  gather_facts: false\n  tasks:\n    - command: touch " + mark + "\n"
	files := map[string]string{
		"inv":           "h1 ansible_connection=local\n",
		"closed":        "h1 ansible_host=127.0.0.1 ansible_port=1\n",
		"bad.yml":       first + "   - {ping: }\n  foo\n",
		"keyword.yml":   "- hosts: all\n  nokey: 1\n  tasks: []\n",
		"module.yml":    first + "    - nosuch: {}\n",
		"task.yml":      first + "    - ping:\n      foo: 1\n",
		"role.yml":      "- hosts: all\n  gather_facts: false\n  roles: [nosuch]\n",
		"vars.yml":      "- hosts: all\n  vars_files: [broken.yml]\n  tasks: []\n",
		"broken.yml":    "a: [1\n",
		"empty.yml":     "",
		"binary.yml":    "\x00\x01\xfe\xff\n",
		"handler.yml":   "- hosts: all\n  gather_facts: false\n  tasks:\n    - debug: msg=hi\n      notify: nohandler\n      changed_when: true\n",
		"ok.yml":        first,
		"bomb.yml":      "a: &a [x,x,x,x,x,x,x,x,x]\n" + aliases(12),
		"deep.yml":      strings.Repeat("[", 20000),
		"expr.yml":      "- hosts: all\n  gather_facts: false\n  tasks:\n    - debug: msg={{ " + strings.Repeat("(", 5000) + "1 }}\n",
		"undefined.yml": "- hosts: all\n  gather_facts: false\n  tasks:\n    - debug: msg={{ nosuch }}\n",
	}
	for name, text := range files {
		l.file(name, text)
	}
	for _, c := range []struct {
		args string
		code int
		text string
	}{
		{"-i inv nosuch.yml", 1, "the playbook: nosuch.yml could not be found"},
		{"-i inv bad.yml", 4, "YAML parsing failed"},
		{"-i inv keyword.yml", 4, "'nokey' is not a valid attribute for a Play"},
		{"-i inv module.yml", 4, "couldn't resolve module/action 'nosuch'"},
		{"-i inv task.yml", 4, "conflicting action statements"},
		{"-i inv role.yml", 1, "the role 'nosuch' was not found"},
		{"-i inv vars.yml", 4, "broken.yml"},
		{"-i inv empty.yml", 4, "Empty playbook"},
		{"-i inv binary.yml", 4, "binary.yml"},
		{"-i inv handler.yml", 1, "The requested handler 'nohandler' was not found"},
		{"-i inv ok.yml -l nosuch", 1, "Specified inventory, host pattern and/or --limit leaves us with no hosts to target."},
		{"-i inv ok.yml -e @nosuch", 1, "nosuch"},
		{"-i inv ok.yml --nosuch", 2, "--nosuch"},
		{"-i inv ok.yml -f x", 2, "forks"},
		{"", 2, ""},
		{"-i inv ok.yml --vault-password-file nosuch", 1, "nosuch"},
		{"-i inv bomb.yml", 4, "bomb.yml"},
		{"-i inv deep.yml", 4, "deep.yml"},
		{"-i inv expr.yml", 2, "nested"},
		{"-i inv undefined.yml", 2, "'nosuch' is undefined"},
		{"-i closed ok.yml", 4, "Failed to connect to the host via ssh"},
	} {
		t.Run(strings.ReplaceAll(c.args, " ", "_"), func(t *testing.T) {
			l := *l
			l.t = t
			out, code := l.run(time.Minute, "volant", append([]string{"playbook"}, strings.Fields(c.args)...)...)
			l.want(out, code, c.code, c.text)
			for _, bad := range []string{"goroutine ", "panic:", "runtime error"} {
				if strings.Contains(out, bad) {
					t.Errorf("%q in\n%s", bad, out)
				}
			}
			if _, err := os.Stat(mark); err == nil {
				t.Error("a task ran")
			}
		})
	}
}

// aliases are lines of YAML each of which repeats the one before nine times.
func aliases(n int) string {
	var b strings.Builder
	for i := range n {
		a, c := string(rune('a'+i)), string(rune('b'+i))
		b.WriteString(c + ": &" + c + " [" + strings.TrimSuffix(strings.Repeat("*"+a+",", 9), ",") + "]\n")
	}
	return b.String()
}
