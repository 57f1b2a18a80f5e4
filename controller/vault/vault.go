// Package vault reads and writes Ansible Vault files and strings (format 1.1
// and 1.2, AES256) and finds the secrets for them: password files, scripts and
// prompts.
package vault

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"sync"

	"volant/controller/fault"
	"volant/wire/value"
)

// DefaultID is the vault id of secrets given without one.
const DefaultID = "default"

const header = "$ANSIBLE_VAULT"

// NoSecrets is the message of the error about encrypted data where no password
// was given.
const NoSecrets = "Attempting to decrypt but no vault secrets found."

// Secret is a password with the vault id it belongs to.
type Secret struct {
	ID  string // DefaultID when none was given
	Key []byte
}

// String never shows the password.
func (s Secret) String() string { return s.ID }

// Vault decrypts with a list of secrets, in order. It is safe for concurrent
// use; derived keys are kept, so that many values under one password and salt
// cost one derivation.
type Vault struct {
	// MatchID tries only secrets whose id the data names
	// (DEFAULT_VAULT_ID_MATCH).
	MatchID bool
	// DefaultID is the id of data that names none; "" means the constant.
	DefaultID string

	mu      sync.Mutex // guards secrets and keys
	secrets []Secret
	keys    map[string]*keys
}

// New returns a Vault with these secrets.
func New(secrets ...Secret) *Vault { return &Vault{secrets: secrets} }

// Secrets are the secrets in order.
func (v *Vault) Secrets() []Secret {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.secrets
}

// Add puts secrets behind those there are.
func (v *Vault) Add(secrets ...Secret) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.secrets = append(v.secrets[:len(v.secrets):len(v.secrets)], secrets...)
}

// IsEncrypted reports whether data is ASCII that begins with a vault header.
func IsEncrypted(data []byte) bool {
	if !bytes.HasPrefix(data, []byte(header)) {
		return false
	}
	for _, c := range data {
		if c >= 0x80 {
			return false
		}
	}
	return true
}

// Decrypt returns the text of an encrypted file; file is for messages.
func (v *Vault) Decrypt(data []byte, file string) ([]byte, error) {
	plain, _, err := v.Open(data, value.Pos{File: file})
	return plain, err
}

// DecryptString returns the text of an inline encrypted value written at pos.
func (v *Vault) DecryptString(ciphertext string, pos value.Pos) (string, error) {
	plain, _, err := v.Open([]byte(ciphertext), pos)
	return string(plain), err
}

// Envelope is the outside of encrypted data.
type Envelope struct {
	Cipher string
	ID     string // "" when it names none
	body   []byte
}

// ParseEnvelope reads the header of encrypted data.
func ParseEnvelope(data []byte) (Envelope, error) {
	lines := splitLines(data)
	if len(lines) == 0 {
		return Envelope{}, &fault.Error{Msg: "Vault envelope format error.", Cause: errors.New("list index out of range")}
	}
	parts := bytes.Split(bytes.TrimSpace(lines[0]), []byte(";"))
	if len(parts) < 3 {
		return Envelope{}, &fault.Error{Msg: "Vault envelope format error.", Cause: errors.New("list index out of range")}
	}
	e := Envelope{Cipher: string(bytes.TrimSpace(parts[2])), body: bytes.Join(lines[1:], nil)}
	if len(parts) >= 4 {
		e.ID = string(bytes.TrimSpace(parts[3]))
	}
	return e, nil
}

// splitLines is Python's bytes.splitlines.
func splitLines(data []byte) [][]byte {
	data = bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
	data = bytes.ReplaceAll(data, []byte("\r"), []byte("\n"))
	lines := bytes.Split(data, []byte("\n"))
	if n := len(lines); len(lines[n-1]) == 0 {
		lines = lines[:n-1]
	}
	return lines
}

// Open decrypts data and returns the secret that opened it.
func (v *Vault) Open(data []byte, pos value.Pos) ([]byte, Secret, error) {
	if !IsEncrypted(data) {
		return nil, Secret{}, &fault.Error{Msg: "Input is not vault encrypted data.", Pos: pos}
	}
	env, err := ParseEnvelope(data)
	if err != nil {
		return nil, Secret{}, placed(err, pos)
	}
	if env.Cipher != "AES256" {
		return nil, Secret{}, &fault.Error{Msg: fmt.Sprintf("Cipher '%s' could not be found.", env.Cipher), Pos: pos}
	}
	secrets := v.Secrets()
	if len(secrets) == 0 {
		return nil, Secret{}, &fault.Error{Msg: NoSecrets, Pos: pos}
	}
	id := env.ID
	if id == "" {
		if id = v.DefaultID; id == "" {
			id = DefaultID
		}
	}
	for _, s := range secrets {
		// In the order given, as the reference does, not the matching id first.
		if v.MatchID && s.ID != id {
			continue
		}
		plain, err := v.decryptBody(env.body, s)
		if err == nil {
			return plain, s, nil
		}
		if !errors.Is(err, errWrongKey) {
			return nil, Secret{}, placed(err, pos)
		}
	}
	return nil, Secret{}, &fault.Error{Msg: "Decryption failed (no vault secrets were found that could decrypt).", Pos: pos}
}

// placed gives an error its place.
func placed(err error, pos value.Pos) error {
	var e *fault.Error
	if errors.As(err, &e) && e.Pos.IsZero() {
		e.Pos = pos
	}
	return err
}

// Encrypt writes plain under secret with the vault id ("" or DefaultID leaves
// it out: format 1.1); salt nil draws one.
func (v *Vault) Encrypt(plain []byte, secret Secret, id string, salt []byte) ([]byte, error) {
	if IsEncrypted(plain) {
		return nil, &fault.Error{Msg: "input is already encrypted"}
	}
	body, err := v.encryptBody(plain, secret, salt)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if id != "" && id != DefaultID {
		fmt.Fprintf(&b, "%s;1.2;AES256;%s\n", header, id)
	} else {
		fmt.Fprintf(&b, "%s;1.1;AES256\n", header)
	}
	for len(body) > 0 {
		n := min(80, len(body))
		b.Write(body[:n])
		b.WriteByte('\n')
		body = body[n:]
	}
	return b.Bytes(), nil
}

// EncryptionSecret picks the secret to encrypt with: the first of the id asked
// for, or the first of all when none is.
func EncryptionSecret(secrets []Secret, id string) (Secret, error) {
	if id == "" {
		if len(secrets) == 0 {
			return Secret{}, &fault.Error{Msg: "A vault password must be specified to encrypt data"}
		}
		return secrets[0], nil
	}
	var known []string
	for _, s := range secrets {
		if s.ID == id {
			return s, nil
		}
		known = append(known, "'"+s.ID+"'")
	}
	return Secret{}, &fault.Error{Msg: fmt.Sprintf("Did not find a match for --encrypt-vault-id=%s in the known vault-ids [%s]",
		id, strings.Join(known, ", "))}
}
