package bootstrap

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/skeema/knownhosts"
	"golang.org/x/crypto/ssh"
	xknownhosts "golang.org/x/crypto/ssh/knownhosts"
)

// hostKeyCheck decides about one host's key and remembers what it saw.
type hostKeyCheck struct {
	s        *settings
	shared   *Shared
	db       *knownhosts.HostKeyDB
	seen     ssh.PublicKey
	verified bool // known and unchanged
	changed  bool // differs from the known one, accepted all the same
}

func newHostKeyCheck(s *settings, shared *Shared) (*hostKeyCheck, error) {
	db, err := shared.hostKeys(s.knownHosts)
	return &hostKeyCheck{s: s, shared: shared, db: db}, err
}

// address is the name to look up: the alias for it, else name and port.
func (c *hostKeyCheck) address() string {
	name := c.s.hostName
	if c.s.keyAlias != "" {
		return net.JoinHostPort(c.s.keyAlias, "22")
	}
	return net.JoinHostPort(name, strconv.Itoa(c.s.port))
}

// algorithms orders the host's possible keys so that one we know is offered first.
func (c *hostKeyCheck) algorithms() []string { return c.db.HostKeyAlgorithms(c.address()) }

func (c *hostKeyCheck) callback(_ string, remote net.Addr, key ssh.PublicKey) error {
	c.seen = key
	err := c.db.HostKeyCallback()(c.address(), remote, key)
	if cert, ok := key.(*ssh.Certificate); ok && err != nil && strings.Contains(err.Error(), "no authorities for hostname") {
		// As ssh: a certificate of nobody we know is as good as its plain key.
		key = cert.Key
		c.seen = key
		err = c.db.HostKeyCallback()(c.address(), remote, key)
	}
	switch {
	case err == nil:
		c.verified = true
		return nil
	case knownhosts.IsHostUnknown(err):
		if c.s.strict == strictYes {
			return c.unknown(key)
		}
		return c.shared.remember(c.s.knownHosts, c.address(), key, c.s.hash)
	case knownhosts.IsHostKeyChanged(err):
		if c.s.strict != strictNo {
			return c.mismatch(key, err)
		}
		c.changed = true
		return nil
	}
	return viaSSH(KindHostKey, err, "Host key verification failed.\r\n%v", err) // revoked, or an unfit certificate
}

func (c *hostKeyCheck) unknown(key ssh.PublicKey) error {
	text := "Host key verification failed."
	if !c.s.asked {
		text = fmt.Sprintf("No %s host key is known for %s and you have requested strict checking.\r\n%s",
			keyType(key), xknownhosts.Normalize(c.address()), text)
	}
	return viaSSH(KindHostKey, nil, "%s", text)
}

// mismatch is ssh's warning: people recognise it, and tools match on it.
func (c *hostKeyCheck) mismatch(key ssh.PublicKey, err error) error {
	kind := keyType(key)
	rule := strings.Repeat("@", 59)
	lines := []string{
		rule, "@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @", rule,
		"IT IS POSSIBLE THAT SOMEONE IS DOING SOMETHING NASTY!",
		"Someone could be eavesdropping on you right now (man-in-the-middle attack)!",
		"It is also possible that a host key has just been changed.",
		"The fingerprint for the " + kind + " key sent by the remote host is\n" + ssh.FingerprintSHA256(key) + ".",
		"Please contact your system administrator.",
	}
	if len(c.s.knownHosts) > 0 {
		lines = append(lines, "Add correct host key in "+c.s.knownHosts[0]+" to get rid of this message.")
	}
	name := xknownhosts.Normalize(c.address())
	var k *xknownhosts.KeyError
	if errors.As(err, &k) && len(k.Want) > 0 {
		w := k.Want[0]
		lines = append(lines, fmt.Sprintf("Offending %s key in %s:%d", keyType(w.Key), w.Filename, w.Line),
			"  remove with:", fmt.Sprintf("  ssh-keygen -f %q -R %q", w.Filename, name))
	}
	lines = append(lines, "Host key for "+name+" has changed and you have requested strict checking.", "Host key verification failed.")
	return viaSSH(KindHostKey, err, "%s", strings.Join(lines, "\r\n"))
}

// keyType is ssh's short name of a key's type.
func keyType(key ssh.PublicKey) string {
	switch t := key.Type(); {
	case t == ssh.KeyAlgoED25519:
		return "ED25519"
	case t == ssh.KeyAlgoRSA:
		return "RSA"
	case strings.HasPrefix(t, "ecdsa-"):
		return "ECDSA"
	case t == ssh.KeyAlgoSKED25519:
		return "ED25519-SK"
	default:
		return t
	}
}
