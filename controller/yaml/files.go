package yaml

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"syscall"
	"unicode/utf8"

	"volant/controller/fault"
	"volant/controller/source"
	"volant/wire/value"
)

// Decrypter opens vault-encrypted data; controller/vault has it.
type Decrypter interface {
	// Decrypt returns the text of data, which is encrypted; file is for messages.
	Decrypt(data []byte, file string) ([]byte, error)
	// DecryptString returns the text of an inline encrypted value.
	DecryptString(ciphertext string, pos value.Pos) (string, error)
}

// Files reads the operator's files: decrypted when encrypted, parsed once. It
// is safe for concurrent use; what LoadFile returns is shared and must not be
// changed.
type Files struct {
	Vault      Decrypter // nil refuses encrypted files
	Sink       fault.Sink
	Duplicates Duplicates
	// Seen, when set, is told of every file that is read, with its bytes as they
	// are on the disk.
	Seen func(path string, data []byte)
	// Done, when closed, ends the waiting for pipes; nil waits for ever.
	Done <-chan struct{}

	mu    sync.Mutex // guards cache
	cache map[string]loaded
}

type loaded struct {
	v         any
	encrypted bool
	err       error
}

// IsEncrypted reports whether data begins with a vault header.
func IsEncrypted(data []byte) bool { return bytes.HasPrefix(data, []byte("$ANSIBLE_VAULT")) }

// Read returns a file's bytes, decrypted, and whether it was encrypted.
func (f *Files) Read(path string) (data []byte, encrypted bool, err error) {
	data, err = source.Read(f.Done, path, MaxSize)
	switch {
	case errors.Is(err, context.Canceled):
		return nil, false, err
	case len(data) > MaxSize:
		return nil, false, &fault.Error{Msg: fmt.Sprintf("The file %q is larger than %d bytes.", path, MaxSize)}
	case errors.Is(err, fs.ErrNotExist):
		return nil, false, &fault.Error{Kind: fault.NotFound, Class: "AnsibleFileNotFound",
			Msg: "Unable to retrieve file contents.\nCould not find or access '" + path + "' on the Ansible Controller.\n" +
				"If you are using a module and expect the file to exist on the remote, see the remote_src option",
			Cause: osError(err, path)}
	case err != nil:
		return nil, false, &fault.Error{Kind: fault.Parser, Cause: osError(err, path),
			Msg: "An error occurred while trying to read the file " + value.Repr(path) + "."}
	}
	if f.Seen != nil {
		f.Seen(path, data)
	}
	if !IsEncrypted(data) {
		return data, false, nil
	}
	if f.Vault == nil {
		return nil, true, &fault.Error{Msg: "Attempting to decrypt but no vault secrets found.", Pos: value.Pos{File: path}}
	}
	data, err = f.Vault.Decrypt(data, path)
	return data, true, err
}

// osError is Python's text of an operating system error about a file.
func osError(err error, path string) error {
	var pe *fs.PathError
	if !errors.As(err, &pe) {
		return err
	}
	var code syscall.Errno
	if !errors.As(pe.Err, &code) {
		return err
	}
	return errors.New(value.Errno(code) + ": " + value.Repr(path))
}

// Options are the options with which a file of the operator is read.
func (f *Files) options(file string, redacted bool) Options {
	o := Options{File: file, Trusted: true, Sink: f.Sink, Duplicates: f.Duplicates, Redacted: redacted}
	if f.Vault != nil {
		o.Decrypt = f.Vault.DecryptString
	}
	return o
}

// text is Read for what is to be text: that it is none is said.
func (f *Files) text(path string) (data []byte, encrypted bool, err error) {
	data, encrypted, err = f.Read(path)
	if err == nil && f.Sink != nil && !utf8.Valid(data) {
		f.Sink.Deprecated(fault.Deprecation{Version: "2.23", Error: fault.Error{
			Msg:  "File " + value.Repr(path) + " could not be decoded as 'utf-8'. Invalid content has been escaped.",
			Help: "This file must be UTF-8 encoded.",
		}})
	}
	return data, encrypted, err
}

// LoadFile reads and parses a file the operator wrote: its strings are
// trusted. encrypted says that its values must not be shown.
func (f *Files) LoadFile(path string) (v any, encrypted bool, err error) {
	f.mu.Lock()
	l, ok := f.cache[path]
	f.mu.Unlock()
	if ok {
		return l.v, l.encrypted, l.err
	}
	data, encrypted, err := f.text(path)
	if err == nil {
		v, err = Load(data, f.options(path, encrypted))
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.cache == nil {
		f.cache = map[string]loaded{}
	}
	f.cache[path] = loaded{v, encrypted, err}
	return v, encrypted, err
}

// Forget drops what LoadFile kept, so that changed files are read again.
func (f *Files) Forget() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.cache = nil
}

// LoadString parses text the operator wrote elsewhere (-e, a file already
// read); file is its path or description.
func (f *Files) LoadString(text, file string) (any, error) {
	return Load([]byte(text), f.options(file, false))
}

// LoadFresh is LoadFile without what was kept: the result is the caller's own.
func (f *Files) LoadFresh(path string) (any, error) {
	data, encrypted, err := f.text(path)
	if err != nil {
		return nil, err
	}
	return Load(data, f.options(path, encrypted))
}
