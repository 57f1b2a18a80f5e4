package proc

import (
	"errors"
	"io"
	"os"
	"syscall"
)

// WriteProgram makes a file of what in gives, for its owner alone, that can be
// run at once. A process that is started while the file is open for writing has it
// open, too, until it has become another program, and nobody can run it meanwhile
// ("Text file busy"): none is started before the file is whole.
func WriteProgram(path string, in io.Reader) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	out, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o700)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
