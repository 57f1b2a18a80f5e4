// Package source reads files the operator names: of any kind, bounded, and no
// longer than the run goes on.
package source

import (
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
		st, err := f.Stat()
		if err == nil && st.Mode().IsRegular() && st.Size() < limit {
			return readRegular(f, st.Size(), limit)
		}
		return io.ReadAll(io.LimitReader(f, limit+1))
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

// readRegular reads a file of about size bytes without growing its buffer step
// by step. The size is a hint: files of /proc say 0, others grow meanwhile.
func readRegular(f *os.File, size, limit int64) ([]byte, error) {
	data := make([]byte, 0, size+512)
	for int64(len(data)) <= limit {
		n, err := f.Read(data[len(data):min(int64(cap(data)), limit+1)])
		data = data[:len(data)+n]
		if err == io.EOF {
			break
		}
		if err != nil {
			return data, err
		}
		if len(data) == cap(data) {
			data = append(data, 0)[:len(data)]
		}
	}
	return data, nil
}
