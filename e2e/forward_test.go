package e2e

import (
	"crypto/ed25519"
	"net"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/crypto/ssh/agent"
)

// keyring is an ssh-agent with one key, whose comment is "lent"; its socket.
func keyring(t *testing.T) string {
	t.Helper()
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	ring := agent.NewKeyring()
	if err := ring.Add(agent.AddedKey{PrivateKey: &key, Comment: "lent"}); err != nil {
		t.Fatal(err)
	}
	sock := filepath.Join(t.TempDir(), "agent.sock")
	ln, err := net.Listen("unix", sock)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	go func() { // ends with the listener
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go func() { _ = agent.ServeAgent(ring, c); c.Close() }()
		}
	}()
	return sock
}

// TestForwardAgent: tasks on a host that the connection forwards the user's
// ssh-agent to have it, as long as the run lasts, and nobody else has.
func TestForwardAgent(t *testing.T) {
	l := newLab(t, "systemd", "1")
	l.env = append(l.env, "SSH_AUTH_SOCK="+keyring(t))
	site := l.file("site.yml", `
- hosts: h1
  gather_facts: false
  become: false
  tasks:
    - command: ssh-add -L
      register: keys
    - shell: 'echo "[$SSH_AUTH_SOCK]"'
      register: own
      environment: {SSH_AUTH_SOCK: mine}
    - shell: 'echo "[$SSH_AUTH_SOCK]"'
      become: true
      register: root
    - assert:
        that: ["' lent' in keys.stdout", "own.stdout == '[mine]'", "root.stdout == '[]'"]
`)
	for _, ssh := range []string{"native", "openssh"} {
		t.Run(ssh, func(t *testing.T) {
			out, code := l.run(3*time.Minute, "volant", "playbook", "-i", l.inventory(), "-e", "volant_ssh="+ssh, "-e", "ansible_ssh_extra_args=-A", site)
			l.want(out, code, 0, "failed=0")
			if out, code = l.exec("h1", "sleep 1; ls -d /tmp/ssh-*"); code == 0 {
				t.Errorf("left: %s", out)
			}
		})
	}
	out, code := l.run(3*time.Minute, "volant", "adhoc", "-i", l.inventory(), "h1", "-m", "shell", "-a", `echo "[$SSH_AUTH_SOCK]"`)
	l.want(out, code, 0, "[]")
	_, _ = l.exec("h1", "echo 'AllowAgentForwarding no' > /etc/ssh/sshd_config.d/none.conf; systemctl restart ssh")
	out, code = l.run(3*time.Minute, "volant", "adhoc", "-i", l.inventory(), "-e", "ansible_ssh_extra_args=-A", "h1", "-m", "shell", "-a", `echo "[$SSH_AUTH_SOCK]"`)
	l.want(out, code, 0, "[]", "no ssh-agent")
}
