package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"volant/controller/fault"
	"volant/wire/value"
)

// path is a file's real path; - stays.
func (r *vaultRun) path(name string) string {
	if name == "-" {
		return name
	}
	if !filepath.IsAbs(name) {
		name = filepath.Join(r.p.dir, name)
	}
	if real, err := filepath.EvalSymlinks(name); err == nil {
		return real
	}
	return filepath.Clean(name)
}

// maxVaultFile bounds what is read whole into memory.
const maxVaultFile = 1 << 30

// read returns a file's bytes; shown is its name in messages.
func (r *vaultRun) read(name, shown string) ([]byte, error) {
	if name == "-" {
		return io.ReadAll(io.LimitReader(r.p.asking().lines, maxVaultFile))
	}
	path := r.path(name)
	if st, err := os.Stat(path); err == nil && st.Size() > maxVaultFile {
		return nil, plainError("Unable to read source file (%s): it is larger than %d bytes", shown, maxVaultFile)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, plainError("Unable to read source file (%s): %s", shown, pythonError(err, path))
	}
	return data, nil
}

// pythonError is Python's text of an operating system error.
func pythonError(err error, path string) string {
	var no syscall.Errno
	if errors.As(err, &no) {
		return value.Errno(no) + ": " + value.Repr(path)
	}
	return err.Error()
}

// write puts data in the place of a file, which is first destroyed when what
// it held must not be found again.
func (r *vaultRun) write(data []byte, path string, shred bool) error {
	if path == "-" {
		_, err := r.p.stdout.Write(data)
		return err
	}
	dir := filepath.Dir(path)
	if unix.Access(dir, unix.W_OK) != nil {
		return plainError("Destination '%s' not writable", dir)
	}
	if st, err := os.Stat(path); err == nil && st.Mode().IsRegular() {
		if shred {
			overwrite(path)
		}
		if err := os.Remove(path); err != nil {
			return fmt.Errorf("replacing %s: %w", path, err)
		}
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	switch {
	case os.IsExist(err):
		return plainError("Vault file got recreated while we were operating on it.")
	case err != nil:
		return fault.New(fault.Generic, value.Pos{}, "Problem creating temporary vault file.").Because(errors.New(pythonError(err, path)))
	}
	_, err = f.Write(data)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return plainError("Unable to write to temporary vault file: %s", err)
	}
	return nil
}

// overwrite writes random bytes over a file three times. It is a courtesy:
// many file systems keep what was overwritten.
func overwrite(path string) {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return
	}
	for range 3 {
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			return
		}
		if _, err := io.CopyN(f, rand.Reader, st.Size()); err != nil {
			return
		}
		_ = f.Sync()
	}
}

// withEditor lets the operator edit text and returns what it became.
func (r *vaultRun) withEditor(ctx context.Context, name string, text []byte) (edited []byte, err error) {
	base := r.c.String("DEFAULT_LOCAL_TMP")
	if err := os.MkdirAll(base, 0o700); err != nil {
		return nil, fmt.Errorf("making a place to edit in: %w", err)
	}
	dir, err := os.MkdirTemp(base, fmt.Sprintf("ansible-local-%d", os.Getpid()))
	if err != nil {
		return nil, fmt.Errorf("making a place to edit in: %w", err)
	}
	defer os.RemoveAll(dir)
	n, err := rand.Int(rand.Reader, big.NewInt(1<<40))
	if err != nil {
		return nil, fmt.Errorf("naming the file to edit: %w", err)
	}
	path := filepath.Join(dir, fmt.Sprintf("tmp%x%s", n, filepath.Ext(name)))
	if err := os.WriteFile(path, text, 0o600); err != nil {
		return nil, fmt.Errorf("writing the file to edit: %w", err)
	}
	defer overwrite(path)
	words := append(strings.Fields(r.c.String("EDITOR")), path)
	cmd := exec.CommandContext(ctx, words[0], words[1:]...) //nolint:gosec // the operator's own editor
	cmd.Stdin, cmd.Stdout, cmd.Stderr = r.p.stdin, r.p.direct(), r.p.directError()
	var status *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &status) {
		return nil, plainError("Unable to execute the command \"%s\": %s", strings.Join(words, " "), pythonError(err, words[0]))
	}
	return os.ReadFile(path)
}

// replace puts data in the place of a file and keeps its mode and owner.
func (r *vaultRun) replace(data []byte, path string) error {
	st, statErr := os.Stat(path)
	if err := r.write(data, path, false); err != nil {
		return err
	}
	if statErr != nil {
		return nil
	}
	if err := os.Chmod(path, st.Mode().Perm()); err != nil {
		return fmt.Errorf("keeping the mode of %s: %w", path, err)
	}
	if s, ok := st.Sys().(*syscall.Stat_t); ok {
		_ = os.Chown(path, int(s.Uid), int(s.Gid)) // only root may give files away
	}
	return nil
}
