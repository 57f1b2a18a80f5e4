package bootstrap

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
	xknownhosts "golang.org/x/crypto/ssh/knownhosts"
)

// bench is the real host that situations are made on.
type bench struct {
	*testLab
	secret  string // the password of every user made here
	locked  string // an encrypted key that opens every account, passphrase "open sesame"
	ca      ssh.Signer
	hostKey string // known_hosts line of the host's ED25519 key, without its name
}

// user makes an account with the lab's key; more is run as root with U and H set.
func (b *bench) user(name, shell, more string) string {
	return fmt.Sprintf(`U=%[1]s; H=/home/%[1]s; id $U >/dev/null 2>&1 || useradd -m -s %[2]s $U; echo "$U:%[3]s" | chpasswd; mkdir -p $H/.ssh; cp /home/deploy/.ssh/authorized_keys $H/.ssh/; `+
		`cat /root/locked.pub >> $H/.ssh/authorized_keys; chown -R $U:$U $H; chmod 700 $H/.ssh; %[4]s`, name, shell, b.secret, more)
}

// sshd sets options for the user, and reloads.
func sshd(user, options string) string {
	return fmt.Sprintf(`printf 'Match User %[1]s\n%[2]s\n' > /etc/ssh/sshd_config.d/z-%[1]s.conf; sshd -t && systemctl reload ssh; sleep 0.5; `, user, strings.ReplaceAll(options, "\n", `\n`))
}

// situation is one row of the matrix in docs/COMPATIBILITY.md.
type situation struct {
	group, name string
	outcome     string // for people
	setup       func(b *bench) string
	options     func(t *testing.T, b *bench, o *Options)
	kind        Kind   // of the failure, "" for success
	text        string // in the failure, or in the agent's home
	native      bool   // our own client only
	elsewhere   string // another test that tries it, on hosts that suit it better
	check       func(t *testing.T, b *bench, o Options)
}

const installed = "agent installed"

// as is the usual way in as a user.
func as(user string, more ...func(t *testing.T, b *bench, o *Options)) func(t *testing.T, b *bench, o *Options) {
	return func(t *testing.T, b *bench, o *Options) {
		o.User = user
		for _, f := range more {
			f(t, b, o)
		}
	}
}

func byPassword(_ *testing.T, b *bench, o *Options) {
	o.PrivateKeyFile, o.Password = "", b.secret
	o.CommonArgs += " -o PubkeyAuthentication=no"
}

// knownHosts replaces the known_hosts file.
func knownHosts(t *testing.T, o *Options, text string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "known_hosts")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	o.CommonArgs = "-F none -o StrictHostKeyChecking=yes -o IdentitiesOnly=yes -o UserKnownHostsFile=" + file + " -o GlobalKnownHostsFile=/dev/null"
}

var situations = []situation{
	{group: "login", name: "password (`-k`, `ansible_password`, password file)", outcome: installed,
		setup: func(b *bench) string { return b.user("m-password", "/bin/bash", "") }, options: as("m-password", byPassword)},
	{group: "login", name: "wrong password", outcome: "unreachable, ssh's words; asked once",
		setup:   func(b *bench) string { return b.user("m-wrong", "/bin/bash", "") },
		options: as("m-wrong", byPassword, func(_ *testing.T, _ *bench, o *Options) { o.Password = "guess" }), kind: KindAuth, text: "Permission denied"},
	{group: "login", name: "keyboard-interactive", outcome: installed,
		setup: func(b *bench) string {
			return b.user("m-kbd", "/bin/bash", sshd("m-kbd", "KbdInteractiveAuthentication yes\nPasswordAuthentication no"))
		}, options: as("m-kbd", byPassword)},
	{group: "login", name: "keyboard-interactive, a second question", outcome: "the password where it is asked for; the user is asked the rest on the terminal or by `SSH_ASKPASS`",
		setup: func(b *bench) string {
			return b.user("m-two", "/bin/bash", sshd("m-two", "KbdInteractiveAuthentication yes\nPasswordAuthentication no")+
				`DEBIAN_FRONTEND=noninteractive apt-get install -y -qq libpam-google-authenticator >/dev/null 2>&1; su m-two -c 'google-authenticator -t -f -d -w 3 -r 3 -R 30 -q -C' >/dev/null; `+
				`sed -i 's/^"* *DISALLOW_REUSE.*//' $H/.google_authenticator; printf '87654321\n76543210\n65432109\n' >> $H/.google_authenticator; `+
				`grep -q google /etc/pam.d/sshd || sed -i 's/^@include common-auth/&\nauth [success=1 default=ignore] pam_succeed_if.so quiet user != m-two\nauth required pam_google_authenticator.so/' /etc/pam.d/sshd`)
		},
		options: as("m-two", byPassword, func(t *testing.T, b *bench, o *Options) {
			codes := strings.Fields(b.exec("h1", `grep -E '^[0-9]{8}$' /home/m-two/.google_authenticator`))
			o.Ask = func(_ context.Context, prompt string) (string, error) {
				if !strings.Contains(prompt, "Verification code") || len(codes) == 0 {
					return "", fmt.Errorf("asked %q", prompt)
				}
				return codes[0], nil
			}
		})},
	{group: "login", name: "key and password both (`AuthenticationMethods`)", outcome: installed,
		setup: func(b *bench) string {
			return b.user("m-both", "/bin/bash", sshd("m-both", "AuthenticationMethods publickey,password"))
		}, options: as("m-both", func(_ *testing.T, b *bench, o *Options) { o.Password = b.secret })},
	{group: "login", name: "encrypted key, `ansible_ssh_private_key_passphrase`", outcome: installed,
		setup:   func(b *bench) string { return b.user("m-pass", "/bin/bash", "") },
		options: as("m-pass", func(_ *testing.T, b *bench, o *Options) { o.PrivateKeyFile, o.Passphrase = b.locked, "open sesame" })},
	{group: "login", name: "encrypted key, somebody to ask", outcome: "asked once a run, on the terminal or by `SSH_ASKPASS`",
		setup: func(b *bench) string { return b.user("m-ask", "/bin/bash", "") },
		options: as("m-ask", func(_ *testing.T, b *bench, o *Options) {
			o.PrivateKeyFile = b.locked
			o.Ask = func(context.Context, string) (string, error) { return "open sesame", nil }
		})},
	{group: "login", name: "encrypted key, nobody to ask", outcome: "unreachable; says that the key needs a passphrase", native: true,
		setup:   func(b *bench) string { return b.user("m-nobody", "/bin/bash", "") },
		options: as("m-nobody", func(_ *testing.T, b *bench, o *Options) { o.PrivateKeyFile = b.locked }), kind: KindAuth, text: "needs a passphrase"},
	{group: "login", name: "wrong key", outcome: "unreachable, `Permission denied (publickey).`",
		setup: func(b *bench) string { return b.user("m-key", "/bin/bash", "") },
		options: as("m-key", func(t *testing.T, _ *bench, o *Options) {
			o.PrivateKeyFile = filepath.Join(t.TempDir(), "key")
			writeKey(t, o.PrivateKeyFile, "")
		}), kind: KindAuth, text: "Permission denied (publickey"},
	{group: "login", name: "key in a variable (`ansible_ssh_private_key`)", outcome: installed, native: true,
		setup: func(b *bench) string { return b.user("m-var", "/bin/bash", "") },
		options: as("m-var", func(t *testing.T, b *bench, o *Options) {
			key, err := os.ReadFile(o.PrivateKeyFile)
			if err != nil {
				t.Fatal(err)
			}
			o.PrivateKey, o.PrivateKeyFile = string(key), ""
		})},
	{group: "login", name: "user certificate", outcome: installed,
		setup: func(b *bench) string {
			return b.user("m-cert", "/bin/bash", fmt.Sprintf("rm $H/.ssh/authorized_keys; printf '%%s' '%s' > /etc/ssh/user-ca.pub; ", strings.TrimSpace(string(ssh.MarshalAuthorizedKey(b.ca.PublicKey()))))+
				sshd("m-cert", "TrustedUserCAKeys /etc/ssh/user-ca.pub"))
		},
		options: as("m-cert", func(t *testing.T, b *bench, o *Options) {
			o.PrivateKeyFile = filepath.Join(t.TempDir(), "key")
			writeKey(t, o.PrivateKeyFile, "")
			b.certify(t, o.PrivateKeyFile, "m-cert", ssh.UserCert, o.PrivateKeyFile+"-cert.pub")
		})},
	{group: "login", name: "user certificate by `CertificateFile`", outcome: installed,
		setup: func(b *bench) string { return "true" },
		options: as("m-cert", func(t *testing.T, b *bench, o *Options) {
			dir := t.TempDir()
			o.PrivateKeyFile = filepath.Join(dir, "key")
			writeKey(t, o.PrivateKeyFile, "")
			b.certify(t, o.PrivateKeyFile, "m-cert", ssh.UserCert, filepath.Join(dir, "elsewhere"))
			o.CommonArgs += " -o CertificateFile=" + filepath.Join(dir, "elsewhere")
		})},
	{group: "host key", name: "hashed known_hosts", outcome: installed,
		options: as("deploy", func(t *testing.T, b *bench, o *Options) {
			knownHosts(t, o, xknownhosts.HashHostname(o.Host)+" "+b.hostKey+"\n")
		})},
	{group: "host key", name: "host certificate, `@cert-authority`", outcome: installed,
		setup: func(b *bench) string { return b.hostCertificate() },
		options: as("deploy", func(t *testing.T, b *bench, o *Options) {
			knownHosts(t, o, "@cert-authority 10.* "+string(ssh.MarshalAuthorizedKey(b.ca.PublicKey())))
		})},
	{group: "host key", name: "`@revoked` key", outcome: "unreachable, `Host key verification failed.`",
		options: as("deploy", func(t *testing.T, b *bench, o *Options) {
			knownHosts(t, o, o.Host+" "+b.hostKey+"\n@revoked * "+b.hostKey+"\n")
		}), kind: KindHostKey, text: "Host key verification failed."},
	{group: "host key", name: "unknown, checking on", outcome: "unreachable, `Host key verification failed.`",
		options: as("deploy", func(t *testing.T, _ *bench, o *Options) { knownHosts(t, o, "") }), kind: KindHostKey, text: "Host key verification failed."},
	{group: "host key", name: "unknown, `accept-new`", outcome: "installed, key noted",
		options: as("deploy", func(t *testing.T, _ *bench, o *Options) {
			knownHosts(t, o, "")
			o.CommonArgs = strings.Replace(o.CommonArgs, "StrictHostKeyChecking=yes", "StrictHostKeyChecking=accept-new", 1)
		})},
	{group: "host key", name: "changed", outcome: "unreachable, ssh's warning in full",
		options: as("deploy", func(t *testing.T, b *bench, o *Options) { knownHosts(t, o, o.Host+" "+otherKey(t)+"\n") }),
		kind:    KindHostKey, text: "WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!"},
	{group: "host key", name: "changed, `host_key_checking = False`", outcome: "installed, with a warning",
		options: as("deploy", func(t *testing.T, b *bench, o *Options) {
			knownHosts(t, o, o.Host+" "+otherKey(t)+"\n")
			o.CommonArgs, o.NoHostKeyCheck = strings.Replace(o.CommonArgs, "-o StrictHostKeyChecking=yes", "", 1), true
		})},
	{group: "shell", name: "fish", outcome: installed, setup: func(b *bench) string { return b.user("m-fish", "/usr/bin/fish", "") }, options: as("m-fish")},
	{group: "shell", name: "csh", outcome: installed, setup: func(b *bench) string { return b.user("m-csh", "/bin/tcsh", "") }, options: as("m-csh")},
	{group: "shell", name: "zsh", outcome: installed, setup: func(b *bench) string { return b.user("m-zsh", "/bin/zsh", "") }, options: as("m-zsh")},
	{group: "shell", name: "nologin", outcome: "refused, what it printed", setup: func(b *bench) string { return b.user("m-nologin", "/usr/sbin/nologin", "") },
		options: as("m-nologin"), kind: KindNoise, text: "This account is currently not available."},
	{group: "shell", name: "/bin/false", outcome: "refused", setup: func(b *bench) string { return b.user("m-false", "/bin/false", "") }, options: as("m-false"), kind: KindNoise, text: "does not run commands"},
	{group: "shell", name: "rc files and banners that print", outcome: installed,
		setup: func(b *bench) string {
			return b.user("m-noisy", "/bin/bash", `printf 'echo "Welcome, $USER"; printf "home /evil no newline"; cat /etc/motd; echo VOLANT-PROBE >&2\n' > $H/.bashrc; `+
				`yes "some banner" | head -200 > /etc/banner; `+sshd("m-noisy", "Banner /etc/banner"))
		}, options: as("m-noisy")},
	{group: "shell", name: "rc file without end", outcome: "refused after 1 MiB",
		setup:   func(b *bench) string { return b.user("m-endless", "/bin/bash", `echo 'yes' > $H/.bashrc`) },
		options: as("m-endless"), kind: KindNoise, text: "printed more than"},
	{group: "home", name: "noexec", outcome: "agent in /var/tmp, a directory of its own, 0700",
		setup: func(b *bench) string {
			return b.user("m-noexec", "/bin/bash", `mountpoint -q $H || mount -t tmpfs -o noexec,mode=755 tmpfs $H; mkdir -p $H/.ssh; cp /home/deploy/.ssh/authorized_keys $H/.ssh/; chown -R $U $H`)
		}, options: as("m-noexec"), text: "/var/tmp/volant-agent-"},
	{group: "home", name: "read-only", outcome: "agent in /var/tmp",
		setup: func(b *bench) string {
			return b.user("m-ro", "/bin/bash", `mountpoint -q $H || { mount --bind $H $H; mount -o remount,bind,ro $H; }`)
		},
		options: as("m-ro"), text: "/var/tmp/volant-agent-"},
	{group: "home", name: "full", outcome: "agent in /var/tmp",
		setup: func(b *bench) string {
			return b.user("m-full", "/bin/bash", `mountpoint -q $H || { mount -t tmpfs -o size=64k,mode=755 tmpfs $H; mkdir -p $H/.ssh; cp /home/deploy/.ssh/authorized_keys $H/.ssh/; chown -R $U $H; }; dd if=/dev/zero of=$H/fill bs=1k 2>/dev/null; true`)
		}, options: as("m-full"), text: "/var/tmp/volant-agent-"},
	{group: "home", name: "missing", outcome: "agent in /var/tmp",
		setup: func(b *bench) string {
			return b.user("m-nohome", "/bin/bash", `mkdir -p /etc/ssh/keys; cp /home/deploy/.ssh/authorized_keys /etc/ssh/keys/m-nohome; chmod 644 /etc/ssh/keys/m-nohome; rm -rf $H; `+sshd("m-nohome", "AuthorizedKeysFile /etc/ssh/keys/%%u"))
		}, options: as("m-nohome"), text: "/var/tmp/volant-agent-"},
	{group: "home", name: "nothing writable lets programs run", outcome: "refused; says of each directory why not",
		setup: func(b *bench) string {
			return b.user("m-nowhere", "/bin/bash", `mountpoint -q $H || { mount --bind $H $H; mount -o remount,bind,noexec $H; }; `+
				`for d in /var/tmp /tmp /dev/shm; do mountpoint -q $d || mount --bind $d $d; mount -o remount,bind,noexec $d; done`)
		}, options: as("m-nowhere"), kind: KindHome, text: "programs do not run there",
		check: func(t *testing.T, b *bench, _ Options) {
			b.exec("h1", "for d in /var/tmp /tmp /dev/shm; do mount -o remount,bind,exec $d; done")
		}},
	{group: "host", name: "another port", outcome: installed,
		setup: func(b *bench) string {
			return `printf 'Port 22\nPort 2222\n' > /etc/ssh/sshd_config.d/a-port.conf; systemctl restart ssh; sleep 1`
		},
		options: as("deploy", func(t *testing.T, b *bench, o *Options) {
			knownHosts(t, o, "["+o.Host+"]:2222 "+b.hostKey+"\n")
			o.Port = 2222
		})},
	{group: "host", name: "IPv6", outcome: installed,
		setup: func(b *bench) string {
			return "echo 0 > /proc/sys/net/ipv6/conf/host0/disable_ipv6; ip -6 addr replace fd77::11/64 dev host0 nodad"
		},
		options: as("deploy", func(t *testing.T, b *bench, o *Options) {
			b.sixth(t)
			o.Host = "fd77::11"
			knownHosts(t, o, "fd77::11 "+b.hostKey+"\n")
		})},
	{group: "host", name: "`MaxSessions 1`", outcome: installed,
		setup: func(b *bench) string { return b.user("m-one", "/bin/bash", sshd("m-one", "MaxSessions 1")) }, options: as("m-one")},
	{group: "host", name: "`MaxStartups 2:50:4`, 24 logins at once", outcome: "all get in: tried again with growing, random pauses",
		setup: func(b *bench) string {
			return `echo 'MaxStartups 2:50:4' > /etc/ssh/sshd_config.d/b-startups.conf; systemctl restart ssh; sleep 1`
		},
		options: as("deploy"), native: true,
		check: func(t *testing.T, b *bench, o Options) {
			defer b.exec("h1", "rm /etc/ssh/sshd_config.d/b-startups.conf; systemctl restart ssh; sleep 1")
			var wait sync.WaitGroup
			for range 24 {
				wait.Go(func() { // ends with its login
					c, err := Dial(t.Context(), o)
					if err != nil {
						t.Error(err)
						return
					}
					c.Close()
				})
			}
			wait.Wait()
		}},
	{group: "host", name: "no Python", outcome: "agent installed; native modules run, others say that there is no interpreter",
		setup: func(b *bench) string {
			return b.user("m-nopython", "/bin/bash", `mkdir -p /opt/few; for p in sh cat mkdir rm mv ln chmod df id uname ls gzip sha256sum rmdir; do ln -sf $(command -v $p) /opt/few/; done; `+sshd("m-nopython", "SetEnv PATH=/opt/few"))
		}, options: as("m-nopython")},
	{group: "host", name: "an architecture without an agent", outcome: "refused; names the architectures there are",
		setup: func(b *bench) string {
			return b.user("m-arch", "/bin/bash", `mkdir -p /opt/riscv; printf '#!/bin/sh\ncase $1 in -m) echo riscv64;; *) echo Linux;; esac\n' > /opt/riscv/uname; chmod 755 /opt/riscv/uname; `+
				sshd("m-arch", "SetEnv PATH=/opt/riscv:/usr/bin:/bin"))
		}, options: as("m-arch"), kind: KindArch, text: "There is no agent for this host: it is Linux on riscv64"},
	{group: "host", name: "no gzip, no sha256sum", outcome: "agent installed, sent uncompressed",
		setup: func(b *bench) string {
			return b.user("m-bare", "/bin/bash", `mkdir -p /opt/bare; for p in sh cat mkdir rm mv ln chmod df id uname ls rmdir; do ln -sf $(command -v $p) /opt/bare/; done; `+sshd("m-bare", "SetEnv PATH=/opt/bare"))
		}, options: as("m-bare")},
	{group: "way in", name: "a key that an ssh-agent has", outcome: installed, elsewhere: "bootstrap TestKeys"},
	{group: "way in", name: "`ProxyJump` through other hosts", outcome: installed, elsewhere: "bootstrap TestJumpHosts, TestOpenSSH"},
	{group: "way in", name: "`Match exec`, which only the system's `ssh` evaluates", outcome: "installed by it", elsewhere: "bootstrap TestMatchExec"},
	{group: "way in", name: "GSSAPI, a ticket at hand", outcome: "left to the system's `ssh`", elsewhere: "bootstrap TestAuto"},
	{group: "way in", name: "UDP blocked, to the host or from it", outcome: "the agent is met through SSH, which is remembered", elsewhere: "cmd/volant-agent TestWays"},
	{group: "way in", name: "`chroot` (without `/proc`), `systemd-nspawn`", outcome: "agent for the run, through their programs", elsewhere: "e2e TestPipeTargets"},
	{group: "way in", name: "`docker`, `podman`", outcome: "their command lines", elsewhere: "controller/execute TestPipes"},
	{group: "circumstances", name: "ten names of one machine in an inventory", outcome: "one agent; each runs its tasks", elsewhere: "e2e TestAliases"},
	{group: "circumstances", name: "Ctrl-C at a question, while SSH is dialled, in the middle of the upload", outcome: "exit code 99 at once, the terminal as it was, nothing left on the host", elsewhere: "e2e TestInterruptedBootstrap"},
	{group: "circumstances", name: "the host's clock decades off", outcome: "agent installed, tasks run once", elsewhere: "make chaos"},
	{group: "circumstances", name: "another user of the host plants links and directories, and races", outcome: "installed elsewhere, nothing read or changed", elsewhere: "e2e TestNeighbours"},
	{group: "circumstances", name: "`KillUserProcesses`", outcome: "the login is kept for the run", elsewhere: "e2e TestLogout"},
	{group: "circumstances", name: "`/proc` with `hidepid=2`", outcome: "the agent is found again", elsewhere: "e2e TestHiddenProcesses"},
	{group: "circumstances", name: "an agent of an older release or protocol", outcome: "replaced; worked with where SSH is shut", elsewhere: "e2e TestProtocols, TestUpgradeWhileRunning"},
	{group: "circumstances", name: "an agent of a newer release", outcome: "worked with and left alone", elsewhere: "e2e TestProtocols"},
	{group: "circumstances", name: "`ForwardAgent`, `-A`", outcome: "tasks have the user's ssh-agent, except those that become another user", elsewhere: "e2e TestForwardAgent"},
	{group: "circumstances", name: "`Defaults requiretty` in sudoers, with and without a password", outcome: "sudo gets a terminal", elsewhere: "hostagent/become TestSystemdLab"},
	{group: "circumstances", name: "the host's disk full during the run", outcome: "what cannot be staged or written down is refused before it starts, and says so; the agent goes on", elsewhere: "cmd/volant-agent TestFullDisk"},
	{group: "circumstances", name: "the controller's disk full during the run", outcome: "the run goes on; each thing that is not kept is said once", elsewhere: "cmd/volant TestFullDisk"},
	{group: "circumstances", name: "`ulimit -n 256`, 320 hosts", outcome: "all are reached", elsewhere: "e2e TestFewDescriptors"},
}

// otherKey is the text of a key that is not the host's.
func otherKey(t *testing.T) string {
	t.Helper()
	pub, _, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	k, err := ssh.NewPublicKey(pub)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(ssh.MarshalAuthorizedKey(k)))
}

// sixth gives this end of the lab's bridge an IPv6 address; it goes with the bridge.
func (b *bench) sixth(t *testing.T) {
	t.Helper()
	var lab struct{ Bridge string }
	text, err := os.ReadFile(b.path("lab.json"))
	if err == nil {
		err = json.Unmarshal(text, &lab)
	}
	if err != nil {
		t.Fatal(err)
	}
	_ = os.WriteFile("/proc/sys/net/ipv6/conf/"+lab.Bridge+"/disable_ipv6", []byte("0"), 0o644)
	if out, err := exec.Command("ip", "-6", "addr", "replace", "fd77::1/64", "dev", lab.Bridge, "nodad").CombinedOutput(); err != nil {
		t.Skipf("no IPv6 here: %s", out)
	}
}

// certify signs the public half of a key file into a certificate.
func (b *bench) certify(t *testing.T, keyFile, principal string, kind uint32, to string) {
	t.Helper()
	pem, err := os.ReadFile(keyFile)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.ParsePrivateKey(pem)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, b.sign(t, signer.PublicKey(), principal, kind), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (b *bench) sign(t *testing.T, key ssh.PublicKey, principal string, kind uint32) []byte {
	t.Helper()
	cert := &ssh.Certificate{Key: key, CertType: kind, KeyId: "test", ValidPrincipals: []string{principal}, ValidBefore: ssh.CertTimeInfinity,
		Permissions: ssh.Permissions{Extensions: map[string]string{"permit-pty": ""}}}
	if err := cert.SignCert(rand.Reader, b.ca); err != nil {
		t.Fatal(err)
	}
	return ssh.MarshalAuthorizedKey(cert)
}

// hostCertificate gives the host a certificate for its ED25519 key.
func (b *bench) hostCertificate() string {
	key, _, _, _, err := ssh.ParseAuthorizedKey([]byte(b.hostKey))
	if err != nil {
		b.t.Fatal(err)
	}
	cert := strings.TrimSpace(string(b.sign(b.t, key, b.options("h1").Host, ssh.HostCert)))
	return fmt.Sprintf(`echo '%s' > /etc/ssh/ssh_host_ed25519_key-cert.pub; echo 'HostCertificate /etc/ssh/ssh_host_ed25519_key-cert.pub' > /etc/ssh/sshd_config.d/a-cert.conf; systemctl reload ssh; sleep 0.5`, cert)
}

// TestMatrix puts an agent on a real host in every situation, by our own client
// and by the system's ssh.
func TestMatrix(t *testing.T) {
	if os.Getenv("VOLANT_SYSTEMD_LAB") == "" || os.Geteuid() != 0 {
		t.Skip("set VOLANT_SYSTEMD_LAB=1, as root, to start systemd hosts")
	}
	b := &bench{testLab: newLab(t, "systemd", 1), secret: "pw-" + rand.Text()[:8]}
	_, caKey, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if b.ca, err = ssh.NewSignerFromKey(caKey); err != nil {
		t.Fatal(err)
	}
	b.locked = filepath.Join(t.TempDir(), "locked")
	writeKey(t, b.locked, "open sesame")
	pem, err := os.ReadFile(b.locked)
	if err != nil {
		t.Fatal(err)
	}
	locked, err := ssh.ParsePrivateKeyWithPassphrase(pem, []byte("open sesame"))
	if err != nil {
		t.Fatal(err)
	}
	// Failing on purpose must not shut the others out.
	b.exec("h1", `echo 'PerSourcePenalties no' > /etc/ssh/sshd_config.d/a-penalties.conf; sshd -t || rm /etc/ssh/sshd_config.d/a-penalties.conf; systemctl restart ssh`)
	b.exec("h1", "echo '"+strings.TrimSpace(string(ssh.MarshalAuthorizedKey(locked.PublicKey())))+"' > /root/locked.pub; "+
		"apt-get update -qq; DEBIAN_FRONTEND=noninteractive apt-get install -y -qq fish tcsh zsh >/dev/null 2>&1; command -v fish tcsh zsh")
	b.hostKey = strings.Join(strings.Fields(b.exec("h1", "cat /etc/ssh/ssh_host_ed25519_key.pub"))[:2], " ")
	for _, s := range situations {
		if s.elsewhere != "" {
			continue
		}
		ways := []string{SSHNative, SSHOpen}
		if _, err := exec.LookPath("ssh"); s.native || err != nil {
			ways = ways[:1]
		}
		for _, way := range ways {
			t.Run(s.group+"/"+strings.ReplaceAll(s.name, "/", "_")+"/"+way, func(t *testing.T) {
				if s.setup != nil {
					b.exec("h1", s.setup(b))
				}
				o := b.options("h1")
				o.SSH, o.Timeout = way, 15*time.Second
				o.Askpass, _ = os.Executable()
				s.options(t, b, &o)
				s.hold(t, b, o)
			})
		}
	}
}

// hold sees that what comes about is what the row says.
func (s *situation) hold(t *testing.T, b *bench, o Options) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if s.check != nil {
		defer s.check(t, b, o)
	}
	c, err := Dial(ctx, o)
	var info AgentInfo
	if err == nil {
		defer c.Close()
		info, err = c.EnsureAgent(ctx, selfBinaries(), Enrolment{Controller: make([]byte, ed25519.PublicKeySize), Name: "test"})
	}
	var e *Error
	switch {
	case s.kind == "" && err != nil:
		t.Error(err)
	case s.kind == "" && !strings.Contains(info.Home, s.text):
		t.Errorf("the agent lives in %s", info.Home)
	case s.kind != "" && (!errors.As(err, &e) || e.Kind != s.kind || !strings.Contains(e.Msg, s.text)):
		t.Errorf("%v", err)
	}
}
