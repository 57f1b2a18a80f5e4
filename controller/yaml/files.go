package yaml

import (
	"sync"

	"volant/controller/fault"
)

// Decrypter opens vault-encrypted data; controller/vault has it.
type Decrypter interface {
	// Decrypt returns the text of data, which is encrypted; file is for messages.
	Decrypt(data []byte, file string) ([]byte, error)
}

// Files reads the operator's files: decrypted when encrypted, parsed once. It
// is safe for concurrent use; what LoadFile returns is shared and must not be
// changed.
type Files struct {
	Vault      Decrypter // nil refuses encrypted files
	Sink       fault.Sink
	Duplicates Duplicates

	mu    sync.Mutex // guards cache
	cache map[string]loaded
}

type loaded struct {
	v         any
	encrypted bool
	err       error
}

// Read returns a file's bytes, decrypted, and whether it was encrypted.
func (f *Files) Read(path string) (data []byte, encrypted bool, err error) { return nil, false, nil }

// LoadFile reads and parses a file the operator wrote: its strings are
// trusted. encrypted says that its values must not be shown.
func (f *Files) LoadFile(path string) (v any, encrypted bool, err error) { return nil, false, nil }

// LoadString parses text the operator wrote elsewhere (-e, a file already
// read); file is its path or description.
func (f *Files) LoadString(text, file string) (any, error) { return nil, nil }
