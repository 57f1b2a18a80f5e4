package hostagent

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"fmt"

	"volant/wire"
)

// sealer encrypts journalled results with the session key that the controller
// gave: the agent holds it only in memory, so a journal file alone tells nothing.
type sealer struct{ aead cipher.AEAD }

func newSealer(key []byte) (*sealer, error) {
	if len(key) != wire.SessionKeyLen {
		return nil, fmt.Errorf("session key of %d bytes", len(key))
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		return nil, err
	}
	return &sealer{aead: aead}, nil
}

func (s *sealer) seal(id wire.TaskID, plain []byte) []byte {
	nonce := make([]byte, s.aead.NonceSize(), s.aead.NonceSize()+len(plain)+s.aead.Overhead())
	_, _ = rand.Read(nonce) // never fails, see crypto/rand
	return s.aead.Seal(nonce, nonce, plain, []byte(id.String()))
}

func (s *sealer) open(id wire.TaskID, sealed []byte) ([]byte, error) {
	n := s.aead.NonceSize()
	if len(sealed) < n {
		return nil, errSealed
	}
	plain, err := s.aead.Open(nil, sealed[:n], sealed[n:], []byte(id.String()))
	if err != nil {
		return nil, errSealed
	}
	return plain, nil
}
