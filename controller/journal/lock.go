package journal

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// A run that is going on holds the lock of its file. Whoever wants to know
// whether it is takes a share of the lock and gives it back at once.

// glance is the longest that a run waits for those who look.
const glance = time.Second

// hold takes the lock of a run's file; ErrBusy says that a run has it.
func hold(f *os.File) error {
	for end := time.Now().Add(glance); ; time.Sleep(time.Millisecond) {
		if unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil {
			return nil
		}
		if held(f) || time.Now().After(end) {
			return ErrBusy
		}
	}
}

// held reports whether a run has the lock of a file, which the caller has not.
func held(f *os.File) bool {
	if unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB) != nil {
		return true
	}
	_ = unix.Flock(int(f.Fd()), unix.LOCK_UN)
	return false
}

// sameFile reports whether f is still what path names.
func sameFile(f *os.File, path string) bool {
	a, err := f.Stat()
	if err != nil {
		return false
	}
	b, err := os.Stat(path)
	return err == nil && os.SameFile(a, b)
}
