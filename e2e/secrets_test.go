package e2e

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// sampler looks at the arguments and environments of every process of this
// machine, those of the lab's hosts too, again and again.
type sampler struct {
	words map[string]string // what must not be seen, by its name
	stop  chan struct{}
	wg    sync.WaitGroup

	mu     sync.Mutex // guards what follows
	rounds int
	seen   map[string]bool
}

func newSampler(words map[string]string) *sampler {
	s := &sampler{words: words, stop: make(chan struct{}), seen: map[string]bool{}}
	s.wg.Go(func() { // ends with end
		for {
			select {
			case <-s.stop:
				return
			default:
				s.look()
				time.Sleep(5 * time.Millisecond)
			}
		}
	})
	return s
}

func (s *sampler) end() {
	close(s.stop)
	s.wg.Wait()
}

func (s *sampler) look() {
	files, _ := filepath.Glob("/proc/[0-9]*")
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rounds++
	for _, dir := range files {
		argv, err := os.ReadFile(dir + "/cmdline")
		if err != nil {
			continue
		}
		environ, _ := os.ReadFile(dir + "/environ")
		for where, text := range map[string][]byte{"arguments": argv, "environment": environ} {
			for name, word := range s.words {
				if bytes.Contains(text, []byte(word)) {
					s.seen[fmt.Sprintf("%s in the %s of %.200q", name, where, strings.ReplaceAll(string(argv), "\x00", " "))] = true
				}
			}
		}
	}
}

// openAgents are agents of a host whose memory and environment other processes
// of their user could read, and how many agents there are.
func (l *lab) openAgents() (open []string, all int) {
	out, _ := l.exec("h1", `for p in /proc/[0-9]*; do case $(readlink $p/exe) in *volant-agent*) echo "$(readlink $p/exe) $(stat -c %u $p/environ) $(awk '/^Uid/{print $2}' $p/status)";; esac; done`)
	for line := range strings.Lines(out) {
		if f := strings.Fields(line); len(f) == 3 {
			if all++; f[1] == f[2] && f[2] != "0" { // root's is root's either way
				open = append(open, f[0])
			}
		}
	}
	return open, all
}

// TestSecretsStayInside: while a run logs in with a password, becomes root with
// one, decrypts a vault and gives a module a secret, neither is in any process's
// arguments or environment, in what is shown at -vvvvv, or in any file that
// either side writes.
func TestSecretsStayInside(t *testing.T) {
	l := newLab(t, "systemd", "1")
	words := map[string]string{"the login's password": "lp-" + rand.Text(), "the vault's password": "vp-" + rand.Text(), "the secret": "vs-" + rand.Text(), "the new password": "np-" + rand.Text()}
	// In a directory of its own, where they may be.
	own := filepath.Join(t.TempDir(), "own")
	if err := os.MkdirAll(own, 0o700); err != nil {
		t.Fatal(err)
	}
	put := func(name, text string) string {
		path := filepath.Join(own, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	password, vault := put("login", words["the login's password"]+"\n"), put("vault", words["the vault's password"]+"\n")
	if out, code := l.exec("h1", fmt.Sprintf("echo 'ops:%s' | chpasswd", words["the login's password"])); code != 0 {
		t.Fatal(out)
	}
	clear := put("vars.yml", fmt.Sprintf("secret: %s\nnew_password: %s\n", words["the secret"], words["the new password"]))
	if out, code := l.run(time.Minute, "volant", "vault", "encrypt", "--vault-password-file", vault, clear); code != 0 {
		t.Fatal(out)
	}
	inv, err := os.ReadFile(filepath.Join(l.dir, "inventory.ini"))
	if err != nil {
		t.Fatal(err)
	}
	var kept []string
	for line := range strings.Lines(string(inv)) {
		switch {
		case strings.HasPrefix(line, "ansible_user="):
			line = "ansible_user=ops\n"
		case strings.Contains(line, "private_key_file"):
			continue
		case strings.HasPrefix(line, "ansible_ssh_common_args="):
			line = strings.TrimRight(line, "\n") + " -o PubkeyAuthentication=no\n"
		}
		kept = append(kept, line)
	}
	inventory := l.file("inventory.ini", strings.Join(kept, ""))
	l.file("ansible.cfg", "[defaults]\nlog_path = "+filepath.Join(l.home, "run.log")+"\ngathering = explicit\n")
	book := l.file("site.yml", `
- hosts: all
  become: true
  vars_files: ["`+clear+`"]
  tasks:
  - {ping: {}}
  - {copy: {content: "{{ secret }}", dest: /root/kept, mode: "0600"}, no_log: true}
  - {shell: sleep 1; id, register: who}
  - {debug: {var: who.stdout}}
  - {user: {name: somebody, password: "{{ new_password | password_hash('sha512') }}"}}
  - {uri: {url: "http://127.0.0.1:1/", url_username: u, url_password: "{{ secret }}", force_basic_auth: true}, ignore_errors: true}
  - {ansible.builtin.command: cat, args: {stdin: "{{ secret }}"}, no_log: true}
  - {package_facts: {}, vars: {ansible_python_interpreter: /usr/bin/python3}, no_log: true}
`)
	for _, way := range []string{"native", "openssh"} {
		t.Run(way, func(t *testing.T) {
			s := newSampler(words)
			out, code := l.run(3*time.Minute, "volant", "playbook", "-i", inventory, book, "-vvvvv", "--metrics-file", filepath.Join(l.home, "metrics.prom"),
				"--connection-password-file", password, "--become-password-file", password, "--vault-password-file", vault, "-e", "volant_ssh="+way, "-e", "ansible_python_interpreter=/usr/bin/python3")
			s.end()
			if code != 0 {
				t.Fatalf("exit %d:\n%s", code, out)
			}
			for what := range s.seen {
				t.Error(what)
			}
			open, agents := l.openAgents()
			for _, what := range open {
				t.Errorf("others of its user can read the memory of %s", what)
			}
			if s.rounds < 20 || agents == 0 {
				t.Errorf("%d looks, %d agents", s.rounds, agents)
			}
			for name, word := range words {
				if strings.Contains(out, word) {
					t.Errorf("%s is shown", name)
				}
				l.nowhere(t, name, word)
			}
			if out, code := l.run(time.Minute, "volant", "agent", "uninstall", "-i", inventory, "all", "--connection-password-file", password); code != 0 {
				t.Logf("uninstall: %s", out)
			}
			_ = os.RemoveAll(filepath.Join(l.home, "state", "pins"))
		})
	}
}

// nowhere sees that no file of the controller's or the host's holds the word,
// but those that are meant to.
func (l *lab) nowhere(t *testing.T, name, word string) {
	t.Helper()
	_ = filepath.WalkDir(l.home, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return nil
		}
		if b, err := os.ReadFile(path); err == nil && bytes.Contains(b, []byte(word)) {
			t.Errorf("%s is in %s", name, path)
		}
		return nil
	})
	// The word is split, or the search would find itself.
	out, _ := l.exec("h1", fmt.Sprintf(`w=%s; w=${w}%s; journalctl --no-pager -q 2>/dev/null | grep -F -- "$w" | head -3; `+
		`grep -rlF --exclude-dir=proc --exclude-dir=sys -- "$w" /var /home /tmp /run /dev/shm /root /etc 2>/dev/null | grep -v '^/root/kept$' | head -5`, word[:8], word[8:]))
	if s := strings.TrimSpace(out); s != "" {
		t.Errorf("%s is on the host: %s", name, s)
	}
}
