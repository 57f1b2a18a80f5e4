package main

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"golang.org/x/crypto/ssh"
)

// makeKey returns the Ed25519 key in file, making it and file.pub when absent.
func makeKey(file, comment string) (ssh.Signer, error) {
	if b, err := os.ReadFile(file); err == nil {
		s, err := ssh.ParsePrivateKey(b)
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", file, err)
		}
		return s, nil
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	_, priv, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	block, err := ssh.MarshalPrivateKey(priv, comment)
	if err != nil {
		return nil, err
	}
	signer, err := ssh.NewSignerFromKey(priv)
	if err != nil {
		return nil, err
	}
	if err := writeFile(file, string(pem.EncodeToMemory(block)), 0o600); err != nil {
		return nil, err
	}
	return signer, writeFile(file+".pub", publicLine(signer, comment)+"\n", 0o644)
}

func publicLine(s ssh.Signer, comment string) string {
	return strings.TrimSuffix(string(ssh.MarshalAuthorizedKey(s.PublicKey())), "\n") + " " + comment
}

// writeClientFiles writes what a client needs: inventory, ssh_config and known_hosts.
// hostKeys holds the public key lines ("type base64") of each host, in order.
func (l *lab) writeClientFiles(user string, hostKeys [][]string) error {
	var inv, conf, known strings.Builder
	inv.WriteString("[lab]\n")
	for i, h := range l.Hosts {
		fmt.Fprintf(&inv, "%s ansible_host=%s", h.Name, h.Address)
		fmt.Fprintf(&conf, "Host %s\n  HostName %s\n", h.Name, h.Address)
		addr := h.Address
		if h.Port != 22 {
			fmt.Fprintf(&inv, " ansible_port=%d", h.Port)
			fmt.Fprintf(&conf, "  Port %d\n", h.Port)
			addr = fmt.Sprintf("[%s]:%d", h.Address, h.Port)
		}
		inv.WriteString("\n")
		for _, k := range hostKeys[i] {
			fmt.Fprintf(&known, "%s,%s %s\n", h.Name, addr, k)
		}
	}
	key, kh := l.path("keys", "id"), l.path("keys", "known_hosts")
	vars := func(user string) string {
		return fmt.Sprintf("\n[lab:vars]\nansible_user=%s\nansible_ssh_private_key_file=%s\n"+
			"ansible_ssh_common_args=-F none -o UserKnownHostsFile=%s -o StrictHostKeyChecking=yes -o IdentitiesOnly=yes\n", user, key, kh)
	}
	fmt.Fprintf(&conf, "Host *\n  User %s\n  IdentityFile %s\n  IdentitiesOnly yes\n  UserKnownHostsFile %s\n  StrictHostKeyChecking yes\n", user, key, kh)
	files := []struct{ name, content string }{
		{"keys/known_hosts", known.String()},
		{"ssh_config", conf.String()},
		{"inventory.ini", inv.String() + vars(user)},
	}
	if l.Kind == "systemd" { // the same hosts as the user whose sudo asks for a password
		pass := fmt.Sprintf("ansible_become_password=\"{{ lookup('file', '%s') }}\"\n", l.path("ops.password"))
		files = append(files, struct{ name, content string }{"inventory-ops.ini", inv.String() + vars("ops") + pass},
			struct{ name, content string }{"inventory-root.ini", inv.String() + vars("root")})
	}
	for _, f := range files {
		if err := writeFile(l.path(f.name), f.content, 0o644); err != nil {
			return err
		}
	}
	return nil
}
