package session

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"errors"
	"fmt"
	"math/big"
	"time"
)

// alpn names the protocol in the TLS handshake.
const alpn = "volant"

// ErrPin says that the other side proved another key than the pinned one.
var ErrPin = errors.New("the key is not the one that was pinned")

// ErrNotServed says that the other side refused our key in the handshake.
var ErrNotServed = errors.New("the other side refused our key")

// Identity is a side's key and the certificate made of it. It lasts as long
// as the process; only the key is kept.
type Identity struct {
	key  ed25519.PrivateKey
	cert tls.Certificate
}

// NewIdentity makes the certificate of key. Its validity is far both ways, for
// clocks that are wrong: only the key counts.
func NewIdentity(key ed25519.PrivateKey) (*Identity, error) {
	if len(key) != ed25519.PrivateKeySize {
		return nil, fmt.Errorf("making an identity: key of %d bytes", len(key))
	}
	t := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		Subject:      pkix.Name{CommonName: alpn},
		NotBefore:    time.Date(1970, 1, 1, 0, 0, 0, 0, time.UTC),
		NotAfter:     time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC),
		KeyUsage:     x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, t, t, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("making a certificate: %w", err)
	}
	return &Identity{key: key, cert: tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}}, nil
}

// Public is the identity's public key.
func (id *Identity) Public() ed25519.PublicKey { return id.key.Public().(ed25519.PublicKey) }

// resetKey lets an agent that started again tell its old peers so: derived
// from the key, so that it stays the same.
func (id *Identity) resetKey() [32]byte {
	return sha256.Sum256(append([]byte("volant stateless reset\x00"), id.key.Seed()...))
}

// Fingerprint is a short name of a key, for people.
func Fingerprint(k ed25519.PublicKey) string {
	sum := sha256.Sum256(k)
	return "SHA256:" + base64.RawStdEncoding.EncodeToString(sum[:])
}

// peerKey is the key that the other side proved in the handshake.
func peerKey(s tls.ConnectionState) (ed25519.PublicKey, error) {
	if len(s.PeerCertificates) != 1 {
		return nil, errors.New("the other side did not show one certificate")
	}
	k, ok := s.PeerCertificates[0].PublicKey.(ed25519.PublicKey)
	if !ok {
		return nil, errors.New("the other side's key is not Ed25519")
	}
	return k, nil
}

// tlsConfig accepts exactly the peers that allow accepts. The handshake itself
// proves possession of the key; names and validity play no part.
func (id *Identity) tlsConfig(allow func(ed25519.PublicKey) error) *tls.Config {
	return &tls.Config{
		Certificates:           []tls.Certificate{id.cert},
		MinVersion:             tls.VersionTLS13,
		NextProtos:             []string{alpn},
		ClientAuth:             tls.RequireAnyClientCert,
		InsecureSkipVerify:     true, //nolint:gosec // VerifyConnection pins the key instead
		SessionTicketsDisabled: true,
		VerifyConnection: func(s tls.ConnectionState) error { // also runs when resumed
			k, err := peerKey(s)
			if err != nil {
				return err
			}
			return allow(k)
		},
	}
}
