package vault

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"volant/controller/fault"
)

const (
	iterations = 10000
	keyLength  = 32
	saltLength = 32
)

// errWrongKey says that a secret does not open the data; another may.
var errWrongKey = errors.New("HMAC verification failed: Signature did not match digest.") //nolint:staticcheck // the reference's text

// keys are what is derived from a password and a salt.
type keys struct{ cipher, hmac, iv []byte }

func (v *Vault) derive(password, salt []byte) (*keys, error) {
	id := string(password) + "\x00" + string(salt)
	v.mu.Lock()
	k := v.keys[id]
	v.mu.Unlock()
	if k != nil {
		return k, nil
	}
	raw, err := pbkdf2.Key(sha256.New, string(password), salt, iterations, 2*keyLength+aes.BlockSize)
	if err != nil {
		return nil, fmt.Errorf("deriving the vault key: %w", err)
	}
	k = &keys{raw[:keyLength], raw[keyLength : 2*keyLength], raw[2*keyLength:]}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.keys == nil {
		v.keys = map[string]*keys{}
	}
	v.keys[id] = k
	return k, nil
}

func unhex(b []byte) ([]byte, error) {
	out := make([]byte, hex.DecodedLen(len(b)))
	if _, err := hex.Decode(out, b); err != nil {
		cause := errors.New("Non-hexadecimal digit found") //nolint:staticcheck // Python's text
		if errors.Is(err, hex.ErrLength) {
			cause = errors.New("Odd-length string") //nolint:staticcheck // Python's text
		}
		return nil, &fault.Error{Msg: "Vault format unhexlify error.", Cause: cause}
	}
	return out, nil
}

// decryptBody opens the body of an envelope: hex of three hex lines, salt,
// HMAC and ciphertext.
func (v *Vault) decryptBody(body []byte, secret Secret) ([]byte, error) {
	raw, err := unhex(body)
	if err != nil {
		return nil, err
	}
	parts := bytes.SplitN(raw, []byte("\n"), 3)
	if len(parts) != 3 {
		return nil, &fault.Error{Msg: "Vault vaulttext format error.",
			Cause: fmt.Errorf("not enough values to unpack (expected 3, got %d)", len(parts))}
	}
	salt, err := unhex(parts[0])
	if err != nil {
		return nil, err
	}
	text, err := unhex(parts[2])
	if err != nil {
		return nil, err
	}
	k, err := v.derive(secret.Key, salt)
	if err != nil {
		return nil, err
	}
	sum, err := unhex(parts[1])
	if err != nil {
		return nil, err
	}
	mac := hmac.New(sha256.New, k.hmac)
	mac.Write(text)
	if !hmac.Equal(mac.Sum(nil), sum) {
		return nil, errWrongKey
	}
	plain, err := stream(k, text)
	if err != nil {
		return nil, err
	}
	n := len(plain)
	if n == 0 || n%aes.BlockSize != 0 {
		return nil, errors.New("Invalid padding bytes.") //nolint:staticcheck // the reference's text
	}
	pad := int(plain[n-1])
	if pad == 0 || pad > aes.BlockSize || !bytes.Equal(plain[n-pad:], bytes.Repeat([]byte{byte(pad)}, pad)) {
		return nil, errors.New("Invalid padding bytes.") //nolint:staticcheck // the reference's text
	}
	return plain[:n-pad], nil
}

// stream is AES-256 in counter mode, which is its own inverse.
func stream(k *keys, in []byte) ([]byte, error) {
	block, err := aes.NewCipher(k.cipher)
	if err != nil {
		return nil, fmt.Errorf("making the vault cipher: %w", err)
	}
	out := make([]byte, len(in))
	cipher.NewCTR(block, k.iv).XORKeyStream(out, in)
	return out, nil
}

func (v *Vault) encryptBody(plain []byte, secret Secret, salt []byte) ([]byte, error) {
	if salt == nil {
		salt = make([]byte, saltLength)
		if _, err := rand.Read(salt); err != nil {
			return nil, fmt.Errorf("drawing a salt: %w", err)
		}
	} else if len(salt) == 0 {
		return nil, &fault.Error{Msg: "Empty or invalid salt passed to encrypt()"}
	}
	k, err := v.derive(secret.Key, salt)
	if err != nil {
		return nil, err
	}
	pad := aes.BlockSize - len(plain)%aes.BlockSize
	padded := append(append([]byte(nil), plain...), bytes.Repeat([]byte{byte(pad)}, pad)...)
	text, err := stream(k, padded)
	if err != nil {
		return nil, err
	}
	mac := hmac.New(sha256.New, k.hmac)
	mac.Write(text)
	inner := bytes.Join([][]byte{hexed(salt), hexed(mac.Sum(nil)), hexed(text)}, []byte("\n"))
	return hexed(inner), nil
}

func hexed(b []byte) []byte {
	out := make([]byte, hex.EncodedLen(len(b)))
	hex.Encode(out, b)
	return out
}
