// Package journal keeps what a run has done so far in a file, so that another
// process can go on where the one that ran it was killed.
//
// A file is the run's key material sealed with the controller's own key, then
// frames. A frame holds records, compressed and sealed; a torn or foreign one
// ends what is read. Nothing in a file can be read without the controller's
// private key: results hold what no_log hides, and answers to questions.
//
//	"volant-run\x01" salt [32]                      in the clear
//	(length uint32, nonce and sealed records)*      AES-256-GCM, the frame's number as additional data
//
// What is put is on its way to the kernel when Commit returns, which a killed
// process cannot take back, and on the disk when what PutThen was given is
// called: agents are told to forget a result only then, so that not even a power
// cut of the controller loses one.
package journal

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/sha256"
	"errors"
	"fmt"
)

const (
	magic   = "volant-run\x01"
	saltLen = 32
	// maxFrame bounds one frame; a larger one was not written by us.
	maxFrame = 256 << 20
	// MaxSize bounds a file. A run whose results are more cannot be resumed.
	MaxSize = 2 << 30
)

// Suffix ends the names of journal files.
const Suffix = ".run"

// Errors that callers tell apart.
var (
	// ErrForeign says that the file was written with another controller's key,
	// or is none of ours.
	ErrForeign = errors.New("the journal was not written with this controller's key")
	// ErrBusy says that another process has the run.
	ErrBusy = errors.New("the run is going on in another process")
)

// sealer makes the cipher of one file: its key comes from the controller's.
func sealer(key ed25519.PrivateKey, salt []byte) (cipher.AEAD, error) {
	k, err := hkdf.Key(sha256.New, key.Seed(), salt, "volant run journal", 32)
	if err != nil {
		return nil, fmt.Errorf("making the key of a journal: %w", err)
	}
	b, err := aes.NewCipher(k)
	if err != nil {
		return nil, fmt.Errorf("making the key of a journal: %w", err)
	}
	return cipher.NewGCMWithRandomNonce(b)
}
