package e2e

import (
	"strings"
	"testing"
	"time"
)

// mallory is another user of a host, who waits in every place that all may write
// to: she puts links and directories where ours may come, tries to read, replace
// and remove whatever appears, and to talk to every socket. What she got to read
// is in her file.
const mallory = `
import glob, os, socket, time
got = open('/home/mallory/got', 'ab', buffering=0)
me, mine = os.getuid(), set()
def plant(path, to):
    try:
        os.symlink(to, path); mine.add(path)
    except OSError: pass
def trap(path):
    try:
        os.mkdir(path); os.chmod(path, 0o777); mine.add(path)
        for sub in ('bin', 'staging', 'cache', 'journal'):
            os.mkdir(path + '/' + sub); os.chmod(path + '/' + sub, 0o777)
        for name in ('bin/volant-agent', 'key', 'keys', 'agent.json', 'lock'):
            open(path + '/' + name, 'w').write('#!/bin/sh\nid > /tmp/pwned-$(id -u)\n'); os.chmod(path + '/' + name, 0o777)
    except OSError: pass
for base in ('/tmp', '/var/tmp', '/dev/shm'):
    for uid in UIDS:
        trap('%s/volant-agent-%d-AAAAAA' % (base, uid))
        plant('%s/volant-agent-%d-BBBBBB' % (base, uid), '/etc')
        plant('%s/volant-agent-%d-CCCCCC' % (base, uid), '/home/mallory')
    trap(base + '/volant-worker-files-111')
    plant(base + '/volant-worker-files-222', '/root')
    trap(base + '/volant-worker-AAAAAA')
    plant(base + '/volant-worker-BBBBBB', '/etc')
os.makedirs('/home/mallory/.ansible_async', exist_ok=True)
open('/home/mallory/ready', 'w').close()
seen = set()
end = time.time() + 120
while time.time() < end and not os.path.exists('/home/mallory/stop'):
    for base in ('/tmp', '/var/tmp', '/dev/shm'):
        for top, dirs, files in os.walk(base):
            for name in dirs + files:
                path = os.path.join(top, name)
                if path in mine or any(path.startswith(m + '/') for m in mine): continue
                try:
                    st = os.lstat(path)
                except OSError: continue
                if st.st_uid == me: continue
                for attack in (lambda: os.rename(path, path + '.moved'), lambda: os.unlink(path), lambda: os.chmod(path, 0o777),
                               lambda: open(path, 'r+b').write(b'#!/bin/sh\nid > /tmp/pwned-$(id -u)\n')):
                    try: attack(); got.write(b'CHANGED ' + path.encode() + b'\n')
                    except OSError: pass
                if name.startswith('volant') or 'ansible' in name:
                    try: got.write(open(path, 'rb').read(1 << 20))
                    except OSError: pass
    for p in glob.glob('/proc/[0-9]*'):
        try:
            if os.stat(p).st_uid == me: continue
        except OSError: continue
        for f in ('cmdline', 'environ', 'maps', 'fd/0', 'fd/1', 'fd/3', 'cwd/.source'):
            try: got.write(open(p + '/' + f, 'rb').read(1 << 16))
            except OSError: pass
    for path in open('/proc/net/unix').read().split():
        if path.startswith(('/', '@')) and 'olant' in path:
            try:
                s = socket.socket(socket.AF_UNIX); s.settimeout(0.2); s.connect(path.replace('@', '\0', 1)); s.send(b'x' * 64)
                got.write(b'CONNECTED ' + path.encode() + b'\n' + s.recv(64))
            except OSError: pass
`

// TestNeighbours: another user of a host, who races with a run in every place
// that all may write to, reads nothing of it, changes nothing of it, and has
// nobody run anything of hers; and the run is as any other.
func TestNeighbours(t *testing.T) {
	l := newLab(t, "systemd", "1")
	setup := `useradd -m -s /bin/bash mallory; useradd -M -s /bin/bash homeless; ` +
		`mkdir -p /etc/ssh/keys; cp /home/deploy/.ssh/authorized_keys /etc/ssh/keys/homeless; chmod 644 /etc/ssh/keys/homeless; ` +
		`printf 'Match User homeless\nAuthorizedKeysFile /etc/ssh/keys/%%u\n' > /etc/ssh/sshd_config.d/z-homeless.conf; systemctl reload ssh; ` +
		`echo 'homeless ALL=(ALL) NOPASSWD: ALL' > /etc/sudoers.d/homeless; sleep 0.5; id -u homeless; id -u deploy; id -u nobody`
	out, code := l.exec("h1", setup)
	if code != 0 {
		t.Fatal(out)
	}
	uids := "[0, " + strings.Join(strings.Fields(out), ", ") + "]"
	script := "cat > /home/mallory/m.py << 'EOF'\n" + strings.ReplaceAll(mallory, "UIDS", uids) + "EOF\n"
	if out, code := l.exec("h1", script+"su mallory -c 'setsid python3 /home/mallory/m.py > /home/mallory/log 2>&1 < /dev/null &'"); code != 0 {
		t.Fatal(out)
	}
	l.eventually("h1", "ls /home/mallory/ready 2>/dev/null || true", "/home/mallory/ready", 20*time.Second)
	const sum = "cat /etc/passwd /etc/shadow /etc/group /etc/sudoers /etc/sudoers.d/* /root/.bashrc /home/deploy/.bashrc | sha256sum"
	before, _ := l.exec("h1", sum)
	for _, user := range []string{"deploy", "root", "homeless"} {
		out, code := l.playbook(`
- hosts: all
  vars: {secret: sesame-`+user+`}
  tasks:
    - copy: {content: "{{ secret }} of {{ become_as }}", dest: "/run/volant-e2e", mode: "0600"}
      become: true
    - shell: cat > /dev/null; sleep 0.3
      args: {stdin: "{{ secret }}"}
      no_log: true
    - command: cat {{ secret_file | default('/dev/null') }}
      become: true
      become_user: nobody
    - shell: echo {{ secret | quote }} > /dev/null
      no_log: true
      become: true
      become_user: nobody
    - copy: {content: "{{ secret }}", dest: /dev/null}
      become: true
      become_user: nobody
      check_mode: true
    - command: sleep 1
      async: 20
      poll: 1
      become: true
    - debconf: {name: tzdata}
      become: true
    - script: `+l.file("s.sh", "#!/bin/sh\n# sesame\nsleep 0.3\nid -un\n")+`
      register: r
      become: true
      become_user: nobody
    - assert: {that: "r.stdout_lines[0] == 'nobody'"}
    - command: cat /run/volant-e2e
      become: true
      register: r
    - assert: {that: "r.stdout == secret ~ ' of ' ~ become_as"}
`, "-e", "become_as="+user, "-e", "ansible_user="+user)
		l.want(out, code, 0, "failed=0", "unreachable=0")
	}
	l.exec("h1", "touch /home/mallory/stop; rm -f /run/volant-e2e; sleep 1")
	if log, _ := l.exec("h1", "cat /home/mallory/log"); strings.TrimSpace(log) != "" {
		t.Errorf("mallory had a fault of her own: %s", log)
	}
	if got, _ := l.exec("h1", "grep -a -o -E 'sesame[a-z-]*|CHANGED /.*|CONNECTED [/@].*' /home/mallory/got | sort | uniq -c"); strings.TrimSpace(got) != "" {
		t.Errorf("mallory got: %s", got)
	}
	if n, _ := l.exec("h1", "stat -c %s /home/mallory/got"); strings.TrimSpace(n) == "0" {
		t.Error("mallory saw nothing at all, not even command lines")
	}
	if pwned, _ := l.exec("h1", "ls /tmp/pwned-* /var/tmp/pwned-* 2>/dev/null"); strings.TrimSpace(pwned) != "" {
		t.Errorf("somebody ran what is mallory's: %s", pwned)
	}
	if after, _ := l.exec("h1", sum); after != before {
		t.Error("files of the system changed")
	}
}
