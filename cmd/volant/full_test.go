package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"volant/stage/disktest"
)

// TestFullDisk: a controller whose disk is full for a while, or to the end, runs
// all there is to run, and says once of each thing that it could not be kept.
func TestFullDisk(t *testing.T) {
	for name, c := range map[string]struct {
		again bool // there is room before the end
		want  []string
	}{
		"to the end": {false, []string{
			"This run could not have been resumed: writing the journal of the run: ",
			"[WARNING]: Lines of the log are missing: ",
			"Could not create retry file '",
			"error in 'jsonfile' cache plugin while trying to write to '",
		}},
		"for a while": {true, []string{
			"This run could not have been resumed: writing the journal of the run: ",
			"[WARNING]: Lines of the log are missing: ",
			"error in 'jsonfile' cache plugin while trying to write to '",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			disk := disktest.New(t, 1<<10)
			dir := t.TempDir()
			t.Chdir(dir)
			// What was given up left room, which is filled up, too.
			late := "cat /dev/zero >> " + disk.Dir + "/filler 2>/dev/null"
			if c.again {
				late = "sleep 1; rm " + disk.Dir + "/filler"
			}
			play := fmt.Sprintf(`
- hosts: localhost
  gather_facts: false
  tasks:
  - set_fact: {first: kept, cacheable: true}
  - debug: msg="{{ lookup('pipe', 'cat /dev/zero > %s/filler 2>/dev/null; echo full') }}"
  - debug: msg="{{ lookup('pipe', 'head -c 9000 /dev/urandom | base64 -w0') }}"
  - set_fact: {second: "{{ 'y' * 9000 }}", cacheable: true}
  - assert: {that: [first == 'kept', second | length == 9000]}
  - debug: msg="{{ lookup('pipe', '%s; echo later') }}"
  - fail: msg=wanted
`, disk.Dir, late)
			if err := os.WriteFile("p.yml", []byte(play), 0o600); err != nil {
				t.Fatal(err)
			}
			settings := map[string]string{
				"VOLANT_UNSUPPORTED": "warn", "VOLANT_STATE_DIR": disk.Dir + "/state", "ANSIBLE_LOG_PATH": disk.Dir + "/log",
				"ANSIBLE_RETRY_FILES_ENABLED": "1", "ANSIBLE_RETRY_FILES_SAVE_PATH": disk.Dir, "ANSIBLE_NOCOLOR": "1",
				"ANSIBLE_CACHE_PLUGIN": "jsonfile", "ANSIBLE_CACHE_PLUGIN_CONNECTION": disk.Dir + "/facts",
			}
			var out bytes.Buffer
			p := &process{name: "volant playbook", command: "playbook", find: find, stdout: &out, stderr: &out, dir: dir, home: dir,
				getenv: func(n string) (string, bool) { v, ok := settings[n]; return v, ok }}
			var opt playbookOptions
			if err := parse(p, &opt, "", []string{"p.yml"}); err != nil {
				t.Fatal(err)
			}
			j, err := configure(p, 0)
			if err != nil {
				t.Fatal(err)
			}
			_ = j.playbooks(t.Context(), &opt, &keeper{})
			text := out.String()
			for _, w := range append(c.want, "wanted", "ok=6") {
				if strings.Count(text, w) == 0 {
					t.Errorf("not said: %q", w)
				}
			}
			if n := strings.Count(text, "no space left on device"); n != len(c.want) {
				t.Errorf("%d complaints of the disk, want %d", n, len(c.want))
			}
			if t.Failed() {
				t.Log(text)
			}
			if b, err := os.ReadFile(disk.Dir + "/facts/s1_localhost"); err != nil || !bytes.Contains(b, []byte("kept")) {
				t.Errorf("the facts that were kept before: %s, %v", b, err)
			}
			if run, err := j.lastBroken(); err == nil {
				t.Errorf("%s could be resumed", run)
			}
			retry, err := os.ReadFile(filepath.Join(disk.Dir, "p.retry"))
			if c.again && string(retry) != "localhost\n" || !c.again && err == nil {
				t.Errorf("retry file: %q, %v", retry, err)
			}
			if log, err := os.ReadFile(disk.Dir + "/log"); err != nil || c.again && !bytes.Contains(log, []byte("PLAY RECAP")) {
				t.Errorf("the log has no end: %v", err)
			}
		})
	}
}
