package bootstrap

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/crypto/ssh"
)

// maxTries is how often a passphrase is asked for, as NumberOfPasswordPrompts.
const maxTries = 3

// unlocked is what became of an encrypted key, kept for the whole run so that a
// thousand hosts ask once.
type unlocked struct {
	signer ssh.Signer // nil: nobody could say the passphrase
	why    string
}

// unlock decrypts a private key with the passphrase that is set, or that the
// user says. why is for the message where that fails.
func (a *authenticator) unlock(path string, pem []byte) (signer ssh.Signer, why string) {
	if a.s.passphrase != "" {
		signer, err := ssh.ParsePrivateKeyWithPassphrase(pem, []byte(a.s.passphrase))
		if err == nil {
			return signer, ""
		}
		return nil, fmt.Sprintf("Load key %q: incorrect passphrase supplied to decrypt private key", path)
	}
	if a.ask == nil || a.s.batch {
		return nil, fmt.Sprintf("The key %s needs a passphrase: add it to ssh-agent with ssh-add, it cannot be asked for here.", path)
	}
	a.shared.keyMu.Lock()
	defer a.shared.keyMu.Unlock()
	if k := a.shared.keys[path]; k != nil {
		return k.signer, k.why
	}
	k := &unlocked{why: fmt.Sprintf("Load key %q: incorrect passphrase supplied to decrypt private key", path)}
	for range maxTries {
		said, err := a.ask(a.ctx, fmt.Sprintf("Enter passphrase for key '%s': ", path))
		if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
			return nil, k.why // another host may ask again
		}
		if err != nil || said == "" {
			k.why = fmt.Sprintf("The key %s needs a passphrase: add it to ssh-agent with ssh-add, it cannot be asked for here.", path)
			break
		}
		if k.signer, err = ssh.ParsePrivateKeyWithPassphrase(pem, []byte(said)); err == nil {
			break
		}
		k.signer = nil
	}
	if a.shared.keys == nil {
		a.shared.keys = map[string]*unlocked{}
	}
	a.shared.keys[path] = k
	return k.signer, k.why
}
