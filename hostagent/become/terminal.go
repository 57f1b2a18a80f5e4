package become

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// terminal is a pseudo terminal that becomes a command's controlling terminal,
// for methods that read the password from there; what the worker says and
// hears goes through pipes all the same.
type terminal struct{ outer, inner *os.File }

func openTerminal() (*terminal, error) {
	outer, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("opening a terminal: %w", err)
	}
	raw, err := outer.SyscallConn()
	if err != nil {
		outer.Close()
		return nil, fmt.Errorf("opening a terminal: %w", err)
	}
	var n int
	var ierr error
	err = raw.Control(func(fd uintptr) {
		if ierr = unix.IoctlSetPointerInt(int(fd), unix.TIOCSPTLCK, 0); ierr == nil {
			n, ierr = unix.IoctlGetInt(int(fd), unix.TIOCGPTN)
		}
	})
	if err = errors.Join(err, ierr); err != nil {
		outer.Close()
		return nil, fmt.Errorf("opening a terminal: %w", err)
	}
	inner, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		outer.Close()
		return nil, fmt.Errorf("opening a terminal: %w", err)
	}
	return &terminal{outer, inner}, nil
}
