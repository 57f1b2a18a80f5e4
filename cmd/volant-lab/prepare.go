package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/crypto/ssh"
)

// prepareHost mounts the host's overlay and writes what differs between hosts,
// once; it returns the lines of its public host keys.
func (l *lab) prepareHost(ctx context.Context, h *host) ([]string, error) {
	base := l.path("hosts", h.Name)
	root := filepath.Join(base, "root")
	for _, d := range []string{"upper", "work", "root"} {
		if err := os.MkdirAll(filepath.Join(base, d), 0o755); err != nil {
			return nil, err
		}
	}
	if !mounted(root) {
		options := fmt.Sprintf("lowerdir=%s,upperdir=%s/upper,workdir=%s/work", l.Image, base, base)
		if err := syscall.Mount("volant-lab", root, "overlay", 0, options); err != nil {
			return nil, fmt.Errorf("mounting overlay on %s (is the lab's directory itself on an overlay? use another --dir): %w", root, err)
		}
	}
	if !exists(filepath.Join(root, "etc/volant-lab")) {
		if err := l.personalise(ctx, h, root); err != nil {
			return nil, err
		}
	}
	b, err := os.ReadFile(filepath.Join(root, "etc/ssh/ssh_host_ed25519_key.pub"))
	if err != nil {
		return nil, err
	}
	f := strings.Fields(string(b))
	return []string{f[0] + " " + f[1]}, nil
}

func (l *lab) personalise(ctx context.Context, h *host, root string) error {
	var names strings.Builder
	names.WriteString("127.0.0.1 localhost\n::1 localhost\n")
	for i := 1; i <= 200; i++ {
		fmt.Fprintf(&names, "%s.%d h%d\n", l.Subnet, 10+i, i)
	}
	fmt.Fprintf(&names, "%s controller\n", l.gateway())
	key, err := os.ReadFile(l.path("keys", "id.pub"))
	if err != nil {
		return err
	}
	password, err := os.ReadFile(l.path("ops.password"))
	if err != nil {
		return err
	}
	signer, err := makeKey(filepath.Join(root, "etc/ssh/ssh_host_ed25519_key"), h.Name)
	if err != nil {
		return err
	}
	files := []struct{ name, content string }{
		{"etc/hostname", h.Name + "\n"},
		{"etc/hosts", names.String()},
		{"etc/ssh/ssh_host_ed25519_key.pub", string(ssh.MarshalAuthorizedKey(signer.PublicKey()))},
		{"etc/ssh/sshd_config.d/volant-lab.conf", "HostKey /etc/ssh/ssh_host_ed25519_key\n"},
		{"etc/apt/apt.conf.d/99volant-lab", fmt.Sprintf("Acquire::http::Proxy \"http://%s:%d\";\n", l.gateway(), proxyPort)},
		{"etc/apt/sources.list", "deb " + plainHTTP(l.Mirror) + " " + suite + " main\n"},
		{"etc/systemd/network/10-host0.network", fmt.Sprintf("[Match]\nName=host0\n[Network]\nAddress=%s/24\nDHCP=no\nLinkLocalAddressing=no\nIPv6AcceptRA=no\n", h.Address)},
	}
	for _, f := range files {
		if err := writeFile(filepath.Join(root, f.name), f.content, 0o644); err != nil {
			return err
		}
	}
	users, err := readUsers(filepath.Join(root, "etc/passwd"))
	if err != nil {
		return err
	}
	for _, u := range []string{"root", "deploy", "ops"} {
		dir := filepath.Join(root, users[u].home, ".ssh")
		if err := writeFile(filepath.Join(dir, "authorized_keys"), string(key), 0o600); err != nil {
			return err
		}
		for _, p := range []string{dir, filepath.Join(dir, "authorized_keys")} {
			if err := os.Chown(p, users[u].uid, users[u].gid); err != nil {
				return err
			}
		}
		if err := os.Chmod(dir, 0o700); err != nil {
			return err
		}
	}
	chpasswd := command(ctx, "chroot", root, "chpasswd")
	chpasswd.Stdin = strings.NewReader("ops:" + strings.TrimSpace(string(password)) + "\n")
	if out, err := chpasswd.CombinedOutput(); err != nil {
		return fmt.Errorf("setting the password of ops: %w: %s", err, out)
	}
	return writeFile(filepath.Join(root, "etc/volant-lab"), h.Name+"\n", 0o644) // last: says that all of this is there
}

type account struct {
	uid, gid int
	home     string
}

func readUsers(passwd string) (map[string]account, error) {
	f, err := os.Open(passwd)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	users := map[string]account{}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if p := strings.Split(lines.Text(), ":"); len(p) >= 6 {
			uid, _ := strconv.Atoi(p[2])
			gid, _ := strconv.Atoi(p[3])
			users[p[0]] = account{uid, gid, p[5]}
		}
	}
	return users, lines.Err()
}
