package become

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// lineCases are command lines by plugin: what is set, and the line with MARK
// and ID in place of what is made up each time.
var lineCases = []struct {
	plugin string
	p      Params
	want   string
}{
	{"ansible.builtin.sudo", Params{}, `sudo -H -S -n -u root /bin/sh -c 'echo MARK ; exec /opt/agent worker'`},
	{"ansible.builtin.sudo", Params{User: "bob", Password: "x"}, `sudo -H -S -p "[sudo via ansible, key=ID] password:" -u bob /bin/sh -c 'echo MARK ; exec /opt/agent worker'`},
	{"ansible.builtin.sudo", Params{Exe: "/opt/sudo", Flags: new("-Hn --non-interactive -E"), Password: "x"}, `/opt/sudo -H -E -p "[sudo via ansible, key=ID] password:" -u root /bin/sh -c 'echo MARK ; exec /opt/agent worker'`},
	{"ansible.builtin.sudo", Params{Chdir: "/a b", Flags: new("-i")}, `cd '/a b' && sudo -i -u root /bin/sh -c 'echo MARK ; exec /opt/agent worker'`},
	{"ansible.builtin.su", Params{}, `su root -c '/bin/sh -c '"'"'echo MARK ; exec /opt/agent worker'"'"''`},
	{"ansible.builtin.su", Params{User: "bob", Flags: new("-"), Exe: "runuser", Password: "x"}, `runuser - bob -c '/bin/sh -c '"'"'echo MARK ; exec /opt/agent worker'"'"''`},
	{"community.general.doas", Params{}, `doas -n -u root /bin/sh -c 'echo MARK ; exec /opt/agent worker'`},
	{"community.general.doas", Params{User: "bob", Flags: new("-L"), Password: "x"}, `doas -L -u bob /bin/sh -c 'echo MARK ; exec /opt/agent worker'`},
	{"community.general.dzdo", Params{User: "bob"}, `dzdo -H -S -n -u bob /bin/sh -c 'echo MARK ; exec /opt/agent worker'`},
	{"community.general.dzdo", Params{User: "bob", Password: "x"}, `dzdo -H -S -p "[dzdo via ansible, key=ID] password:" -u bob /bin/sh -c 'echo MARK ; exec /opt/agent worker'`},
	{"community.general.sudosu", Params{User: "bob"}, `sudo -H -S -n su -l bob /bin/sh -c 'echo MARK ; exec /opt/agent worker'`},
	{"community.general.sudosu", Params{User: "bob", Password: "x", Wrap: true}, `sudo -H -S -p "[sudo via ansible, key=ID] password:" su -l bob -c 'echo MARK ; exec /opt/agent worker'`},
	{"community.general.pfexec", Params{}, `pfexec -H -S -n 'echo MARK ; exec /opt/agent worker'`},
	{"community.general.pfexec", Params{Flags: new(""), Wrap: true}, `pfexec /bin/sh -c 'echo MARK ; exec /opt/agent worker'`},
	{"community.general.ksu", Params{User: "bob", Flags: new("-q")}, `ksu bob -q -e /bin/sh -c 'echo MARK ; exec /opt/agent worker'`},
	{"community.general.pbrun", Params{User: "bob"}, `pbrun -u bob 'echo MARK ; exec /opt/agent worker'`},
	{"community.general.pbrun", Params{User: "bob", Flags: new("-b"), Wrap: true, Password: "x"}, `pbrun -b -u bob /bin/sh -c 'echo MARK ; exec /opt/agent worker'`},
	{"community.general.pmrun", Params{Flags: new("-x"), Password: "x"}, `pmrun -x '/bin/sh -c '"'"'echo MARK ; exec /opt/agent worker'"'"''`},
	{"community.general.sesu", Params{User: "bob"}, `sesu -H -S -n bob -c /bin/sh -c 'echo MARK ; exec /opt/agent worker'`},
	{"community.general.run0", Params{User: "bob", Flags: new("--nice=1")}, `run0 --user=bob --nice=1 /bin/sh -c 'echo MARK ; exec /opt/agent worker'`},
	{"containers.podman.podman_unshare", Params{User: "root"}, `podman unshare /bin/sh -c 'echo MARK ; exec /opt/agent worker'`},
	{"containers.podman.podman_unshare", Params{User: "bob", Password: "x"}, `sudo -iu bob -p "[sudo podman unshare via ansible, key=ID] password:" -- podman unshare /bin/sh -c 'echo MARK ; exec /opt/agent worker'`},
	// A terminal is between us and the worker here, which must be quiet before the first frame.
	{"community.general.machinectl", Params{User: "bob"}, `machinectl -q shell bob@ /bin/sh -c 'stty raw -echo ; echo MARK ; exec /opt/agent worker'`},
}

func TestCommandLines(t *testing.T) {
	seen := map[string]bool{}
	for _, tc := range lineCases {
		tc.p.Method = tc.plugin
		pl, err := newPlan(tc.p, []string{"/opt/agent", "worker"})
		if err != nil {
			t.Fatal(err)
		}
		seen[pl.method] = true
		got := strings.NewReplacer(pl.mark, "MARK", strings.TrimPrefix(pl.mark, "BECOME-SUCCESS-"), "ID").Replace(pl.line)
		if got != tc.want {
			t.Errorf("%s:\n%s\nwant\n%s", tc.plugin, got, tc.want)
		}
	}
	for _, name := range Methods() {
		if !seen[name] {
			t.Errorf("no command line of %s is tested", name)
		}
	}
	pl, err := newPlan(Params{Method: "su"}, []string{"/opt/my agent", "worker"})
	if want := `su root -c '/bin/sh -c '"'"'echo MARK ; exec '"'"'"'"'"'"'"'"'/opt/my agent'"'"'"'"'"'"'"'"' worker'"'"''`; err != nil || strings.ReplaceAll(pl.line, pl.mark, "MARK") != want {
		t.Errorf("%s, %v", pl.line, err)
	}
}

// referenceLines asks ansible-core for the command lines of its own plugins.
const referenceLines = `
import json, sys
from ansible.plugins.loader import become_loader, shell_loader, init_plugin_loader
init_plugin_loader()
out = []
shell = shell_loader.get("sh")
shell.executable = "/bin/sh"
for case in json.load(sys.stdin):
    p = become_loader.get(case["plugin"])
    if p is None:
        out.append(None)
        continue
    p.set_options(direct=case["options"])
    line = p.build_become_command("exec /opt/agent worker", shell)
    out.append(line.replace(p.success, "MARK").replace(p._id, "ID"))
json.dump(out, sys.stdout)
`

// TestReference holds the table against the plugins themselves. Collections are
// looked for where ansible-core looks, and in VOLANT_COLLECTIONS.
func TestReference(t *testing.T) {
	core := os.Getenv("VOLANT_ANSIBLE_CORE")
	python := filepath.Join(core, "bin", "python")
	if _, err := os.Stat(python); core == "" || err != nil {
		t.Skip("set VOLANT_ANSIBLE_CORE to a virtual environment with ansible-core")
	}
	type question struct {
		Plugin  string         `json:"plugin"`
		Options map[string]any `json:"options"`
	}
	var questions []question
	for _, tc := range lineCases {
		o := map[string]any{}
		set := func(name, v string) {
			if v != "" {
				o[name] = v
			}
		}
		user := tc.p.User
		if user == "" && strings.HasSuffix(tc.plugin, ".doas") {
			user = "root" // the keyword's default
		}
		set("become_user", user)
		set("become_exe", tc.p.Exe)
		set("become_pass", tc.p.Password)
		set("sudo_chdir", tc.p.Chdir)
		if tc.p.Flags != nil {
			o["become_flags"] = *tc.p.Flags
		}
		switch {
		case strings.HasSuffix(tc.plugin, "sudosu"):
			o["alt_method"] = tc.p.Wrap
		case strings.HasSuffix(tc.plugin, "pbrun"), strings.HasSuffix(tc.plugin, "pfexec"):
			o["wrap_exe"] = tc.p.Wrap
		}
		questions = append(questions, question{tc.plugin, o})
	}
	in, err := json.Marshal(questions)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(python, "-c", referenceLines)
	cmd.Env = append(os.Environ(), "ANSIBLE_HOME="+t.TempDir())
	if dir := os.Getenv("VOLANT_COLLECTIONS"); dir != "" {
		cmd.Env = append(cmd.Env, "ANSIBLE_COLLECTIONS_PATH="+dir)
	}
	cmd.Stdin = bytes.NewReader(in)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, stderr.String())
	}
	var lines []*string
	if err := json.Unmarshal(out, &lines); err != nil || len(lines) != len(lineCases) {
		t.Fatalf("%v: %s", err, out)
	}
	absent := 0
	for i, line := range lines {
		if line == nil {
			absent++
			continue
		}
		want := strings.Replace(lineCases[i].want, "stty raw -echo ; ", "", 1)
		if got := strings.Join(strings.Fields(*line), " "); got != want { // the reference leaves blanks for what is empty
			t.Errorf("%s: the reference's line is\n%s\nnot\n%s", lineCases[i].plugin, got, want)
		}
	}
	t.Logf("%d lines compared, %d plugins are not installed", len(lines)-absent, absent)
}
