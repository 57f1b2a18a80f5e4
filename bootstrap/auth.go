package bootstrap

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"strings"
	"syscall"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"
)

// authenticator offers keys and passwords in ssh's order, and keeps what ssh
// would have said about those it could not use.
type authenticator struct {
	s       *settings
	notes   []string // lines for the message when the host refuses us
	offered []string // methods the host allows, as far as seen
	agent   net.Conn // kept open while its signers are used; nil for none

	ctx      context.Context                                          //nolint:containedctx // of the one login this is for
	ask      func(ctx context.Context, prompt string) (string, error) // the clock of the login stands still meanwhile; nil for nobody
	shared   *Shared
	answered map[string]bool // questions that got the password
}

// errNoPassword ends an attempt: the host takes passwords, we have none.
var errNoPassword = errors.New("no password given")

// methods are the ways to log in, in the order that is asked for.
func (a *authenticator) methods() []ssh.AuthMethod {
	ways := map[string]ssh.AuthMethod{}
	if a.s.publicKey {
		ways["publickey"] = ssh.PublicKeysCallback(func() ([]ssh.Signer, error) {
			a.offered = append(a.offered, "publickey")
			return a.signers(), nil
		})
	}
	if a.s.passwords {
		ways["password"] = ssh.PasswordCallback(func() (string, error) {
			a.offered = append(a.offered, "password")
			if a.s.password == "" {
				return "", errNoPassword
			}
			return a.s.password, nil
		})
	}
	if a.s.interactive && (a.s.password != "" || a.ask != nil) {
		ways["keyboard-interactive"] = ssh.KeyboardInteractive(a.answers)
	}
	order := a.s.preferred
	if len(order) == 0 {
		order = []string{"publickey", "password", "keyboard-interactive"}
		if a.s.password == "" { // nothing to say but what the user does
			order = []string{"publickey", "keyboard-interactive", "password"}
		}
	}
	var m []ssh.AuthMethod
	for _, name := range order {
		if w := ways[name]; w != nil {
			m = append(m, w)
			delete(ways, name)
		}
	}
	return m
}

// answers replies to keyboard-interactive: the password where it is asked for,
// what the user says to every other question.
func (a *authenticator) answers(name, instruction string, questions []string, echo []bool) ([]string, error) {
	answers := make([]string, len(questions))
	for i, q := range questions {
		switch {
		case a.s.password != "" && (asksPassword(q, a.s.passwordPrompt) || a.ask == nil && !echo[i] && a.s.passwordPrompt == ""):
			if a.answered[q] { // refused: saying it again locks accounts
				return nil, errNoPassword
			}
			if a.answered == nil {
				a.answered = map[string]bool{}
			}
			a.answered[q] = true
			answers[i] = a.s.password
		case a.ask != nil:
			text := strings.TrimSpace(strings.Join([]string{name, instruction}, "\n"))
			said, err := a.ask(a.ctx, clip(strings.TrimLeft(text+"\n("+a.s.user+"@"+a.s.hostName+") "+q, "\n"), 1000))
			if err != nil {
				return nil, errNoPassword
			}
			answers[i] = said
		default:
			return nil, errNoPassword
		}
	}
	if len(questions) > 0 {
		a.offered = append(a.offered, "keyboard-interactive")
	}
	return answers, nil
}

// close ends the conversation with ssh-agent.
func (a *authenticator) close() {
	if a.agent != nil {
		a.agent.Close()
	}
}

// signers returns, in this order: agent keys that belong to an identity file,
// the agent's other keys unless only identities count, and key files.
func (a *authenticator) signers() []ssh.Signer {
	held := a.agentSigners()
	var first, files []ssh.Signer
	used := map[string]bool{}
	if a.s.privateKey != "" {
		if s := a.givenKey(); s != nil {
			files = append(files, a.certified("", s)...)
		}
	}
	for _, id := range a.s.identities {
		signer, public := a.keyFile(id, held)
		if public != nil {
			wire := string(public.Marshal())
			if used[wire] {
				continue
			}
			if s := held[wire]; s != nil {
				used[wire] = true
				first = append(first, a.certified(id.path, s)...)
				continue
			}
			used[wire] = true
		}
		if signer != nil {
			files = append(files, a.certified(id.path, signer)...)
		}
	}
	if !a.s.identitiesOnly {
		for wire, s := range held {
			if !used[wire] {
				first = append(first, s)
			}
		}
	}
	return append(first, files...)
}

func (a *authenticator) agentSigners() map[string]ssh.Signer {
	if a.s.authSock == "" {
		return nil
	}
	c, err := net.Dial("unix", a.s.authSock)
	if err != nil {
		return nil // as ssh: no agent
	}
	a.agent = c
	list, err := agent.NewClient(c).Signers()
	if err != nil {
		return nil
	}
	held := map[string]ssh.Signer{}
	for _, s := range list {
		held[string(s.PublicKey().Marshal())] = s
	}
	return held
}

// keyFile reads a private key, or says why not in notes. Public is also known
// of keys that cannot be read here but may be held by ssh-agent.
func (a *authenticator) keyFile(id identity, held map[string]ssh.Signer) (signer ssh.Signer, public ssh.PublicKey) {
	if b, err := os.ReadFile(id.path + ".pub"); err == nil {
		public, _, _, _, _ = ssh.ParseAuthorizedKey(b)
	}
	if public != nil && held[string(public.Marshal())] != nil {
		return nil, public
	}
	note := func(format string, args ...any) {
		if id.given {
			a.notes = append(a.notes, fmt.Sprintf(format, args...))
		}
	}
	f, err := os.Open(id.path)
	if errors.Is(err, fs.ErrNotExist) {
		note("no such identity: %s: No such file or directory", id.path)
		return nil, public
	}
	if err != nil {
		note("Load key %q: %s", id.path, plain(err))
		return nil, public
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil || st.Size() > 1<<20 {
		note("Load key %q: invalid format", id.path)
		return nil, public
	}
	pem := make([]byte, st.Size())
	n, err := io.ReadFull(f, pem)
	if err != nil {
		note("Load key %q: %s", id.path, plain(err))
		return nil, public
	}
	if public == nil { // a .pub file given as identity names a key in the agent
		if key, _, _, _, err := ssh.ParseAuthorizedKey(pem[:n]); err == nil {
			return nil, key
		}
	}
	if owner, ok := st.Sys().(*syscall.Stat_t); ok && st.Mode().Perm()&0o077 != 0 && int(owner.Uid) == os.Getuid() {
		note("Permissions %04o for '%s' are too open.\r\nIt is required that your private key files are NOT accessible by others.\r\nThis private key will be ignored.\r\nLoad key %q: bad permissions",
			st.Mode().Perm(), id.path, id.path)
		return nil, public
	}
	signer, err = ssh.ParsePrivateKey(pem[:n])
	var locked *ssh.PassphraseMissingError
	switch {
	case errors.As(err, &locked):
		if locked.PublicKey != nil {
			public = locked.PublicKey
		}
		if public != nil && held[string(public.Marshal())] != nil {
			return nil, public
		}
		signer, why := a.unlock(id.path, pem[:n])
		if signer == nil {
			note("%s", why)
			return nil, public
		}
		return signer, signer.PublicKey()
	case err != nil:
		note("Load key %q: error in libcrypto", id.path)
		return nil, public
	}
	return signer, signer.PublicKey()
}

// givenKey is the key that a variable holds.
func (a *authenticator) givenKey() ssh.Signer {
	pem := []byte(strings.TrimSpace(a.s.privateKey) + "\n")
	signer, err := ssh.ParsePrivateKey(pem)
	var locked *ssh.PassphraseMissingError
	if errors.As(err, &locked) {
		signer, err = ssh.ParsePrivateKeyWithPassphrase(pem, []byte(a.s.passphrase))
	}
	if err != nil {
		a.notes = append(a.notes, "The key in ansible_ssh_private_key cannot be used: "+strings.TrimPrefix(err.Error(), "ssh: "))
		return nil
	}
	return signer
}

// certified is a key with the certificates there are for it, which go first:
// those of CertificateFile, and one that lies beside the key.
func (a *authenticator) certified(path string, signer ssh.Signer) []ssh.Signer {
	files := a.s.certificates
	if path != "" {
		files = append(files[:len(files):len(files)], path+"-cert.pub")
	}
	var out []ssh.Signer
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil || len(b) > 1<<20 {
			continue
		}
		k, _, _, _, err := ssh.ParseAuthorizedKey(b)
		if err != nil {
			continue
		}
		if cert, ok := k.(*ssh.Certificate); ok {
			if s, err := ssh.NewCertSigner(cert, signer); err == nil { // of this key
				out = append(out, s)
			}
		}
	}
	return append(out, signer)
}

// denied is the message when the host refused all of it.
func (a *authenticator) denied(err error) *Error {
	methods := a.offered
	if len(methods) == 0 {
		methods = []string{"publickey"}
	}
	seen := map[string]bool{}
	var unique []string
	for _, m := range methods {
		if !seen[m] {
			seen[m] = true
			unique = append(unique, m)
		}
	}
	lines := append(a.notes, fmt.Sprintf("%s@%s: Permission denied (%s).", a.s.user, a.s.hostName, strings.Join(unique, ",")))
	return viaSSH(KindAuth, err, "%s", strings.Join(lines, "\r\n"))
}
