package modules

import (
	"context"
	"crypto/rand"
	"errors"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"volant/wire/value"
)

type tempfileArgs struct {
	State  string  `arg:"state,default=file,choices=file|directory"`
	Path   *string `arg:"path,type=path"`
	Prefix string  `arg:"prefix,default=ansible."`
	Suffix string  `arg:"suffix,default="`
}

// tempLetters are the characters of a random name.
const tempLetters = "abcdefghijklmnopqrstuvwxyz0123456789_"

func tempfile(_ context.Context, c *call, a *tempfileArgs) (Result, error) {
	if c.Check {
		return nil, c.noCheck()
	}
	dir := ""
	if a.Path != nil {
		dir = *a.Path
	} else {
		dir = c.tempDir()
	}
	switch {
	case !strings.HasPrefix(dir, "/") || strings.Contains(dir, "//") || strings.Contains(dir, "/."):
		return nil, handBack("an unusual directory")
	case strings.ContainsAny(a.Prefix+a.Suffix, "/\x00"):
		return nil, handBack("an unusual name")
	case !isDir(dir) || unix.Access(dir, unix.W_OK|unix.X_OK) != nil:
		return nil, handBack("the directory is not writable")
	}
	for range 100 {
		path := pyJoin(dir, a.Prefix+randomName()+a.Suffix)
		var err error
		if a.State == "file" {
			var f *os.File
			if f, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL|syscall.O_NOFOLLOW, 0o600); err == nil {
				f.Close()
			}
		} else {
			err = syscall.Mkdir(path, 0o700)
		}
		if errors.Is(err, os.ErrExist) {
			continue
		}
		if err != nil {
			return nil, fail(asOSError(err, path, false).Error())
		}
		return value.DictOf("changed", true, "path", path), nil
	}
	return nil, handBack("every name was taken")
}

// randomName is eight characters as Python's tempfile takes them.
func randomName() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	for i := range b {
		b[i] = tempLetters[int(b[i])%len(tempLetters)]
	}
	return string(b[:])
}

// tempDir is tempfile.gettempdir().
func (e *Env) tempDir() string {
	for _, d := range []string{e.Getenv("TMPDIR"), e.Getenv("TEMP"), e.Getenv("TMP"), "/tmp", "/var/tmp", "/usr/tmp"} {
		if strings.HasPrefix(d, "/") && isDir(d) && unix.Access(d, unix.W_OK|unix.X_OK) == nil {
			return d
		}
	}
	return "/"
}

// tempFile makes a file as tempfile.mkstemp does.
func (e *Env) tempFile(prefix string) (*os.File, error) { return tempFileIn(e.tempDir(), prefix, "") }

func tempFileIn(dir, prefix, suffix string) (*os.File, error) {
	for range 100 {
		f, err := os.OpenFile(pyJoin(dir, prefix+randomName()+suffix), os.O_RDWR|os.O_CREATE|os.O_EXCL|syscall.O_NOFOLLOW, 0o600)
		if !errors.Is(err, os.ErrExist) {
			return f, err
		}
	}
	return nil, syscall.EEXIST
}

// noCheck ends a module that has no check mode.
func (c *call) noCheck() error {
	return &skip{"remote module (" + c.Name + ") does not support check mode"}
}
