// Package source reads files the operator names: of any kind, bounded, and no
// longer than the run goes on.
package source

import (
	"bytes"
	"context"
	"io"
	"os"
)

// Read reads path, of what is longer than limit one byte more. What may
// never end, or never begin (a device, a pipe nobody writes to), is waited for
// only until done is closed; the error then wraps context.Canceled, and the
// reader ends with the process. A nil done waits for ever.
func Read(done <-chan struct{}, path string, limit int64) ([]byte, error) {
	read := func() ([]byte, error) {
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		var b bytes.Buffer
		if st, err := f.Stat(); err == nil && st.Mode().IsRegular() && st.Size() < limit {
			b.Grow(int(st.Size()) + bytes.MinRead) // only a hint: files of /proc say 0
		}
		_, err = b.ReadFrom(io.LimitReader(f, limit+1))
		return b.Bytes(), err
	}
	if st, err := os.Stat(path); err != nil || st.Mode().IsRegular() || st.IsDir() {
		return read()
	}
	type got struct {
		data []byte
		err  error
	}
	c := make(chan got, 1)
	go func() {
		data, err := read()
		c <- got{data, err}
	}()
	select {
	case g := <-c:
		return g.data, g.err
	case <-done:
		return nil, &os.PathError{Op: "read", Path: path, Err: context.Canceled}
	}
}
