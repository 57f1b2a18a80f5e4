// Package stdio takes standard input and output away from a program that speaks
// frames on them.
package stdio

import (
	"fmt"
	"os"
	"syscall"
)

// Take moves standard input and output to descriptors that no child inherits and
// puts /dev/null in their place, so that nothing else written there garbles the
// frames. Reading them holds no thread.
func Take() (in, out *os.File, err error) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("opening the null device: %w", err)
	}
	defer null.Close()
	if in, err = take(0, "standard input", null); err != nil {
		return nil, nil, err
	}
	out, err = take(1, "standard output", null)
	return in, out, err
}

func take(fd int, name string, null *os.File) (*os.File, error) {
	n, err := syscall.Dup(fd)
	if err != nil {
		return nil, fmt.Errorf("taking %s: %w", name, err)
	}
	syscall.CloseOnExec(n)
	if err := syscall.SetNonblock(n, true); err != nil { // else a read blocks a thread, and waking that takes two more
		return nil, fmt.Errorf("taking %s: %w", name, err)
	}
	if err := syscall.Dup3(int(null.Fd()), fd, 0); err != nil {
		return nil, fmt.Errorf("replacing %s: %w", name, err)
	}
	return os.NewFile(uintptr(n), name), nil
}
