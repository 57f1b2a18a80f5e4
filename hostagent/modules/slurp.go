package modules

import (
	"context"
	"encoding/base64"
	"io"
	"os"
	"syscall"

	"volant/wire/value"
)

type slurpArgs struct {
	Src string `arg:"src,required,type=path,alias=path"`
}

// maxSlurp bounds what is read into a result; larger files are left to the
// Python module and the bounds of its output.
const maxSlurp = 48 << 20

func slurp(_ context.Context, c *call, a *slurpArgs) (Result, error) {
	b, err := readAll(c.p(a.Src))
	if h, ok := err.(*HandBack); ok { //nolint:errorlint // made right here
		return nil, h
	}
	if err != nil {
		e := asOSError(err, a.Src, false)
		msg := "Unable to slurp file: {source}" // as the module has it
		switch e.errno {
		case syscall.ENOENT:
			msg = "File not found: " + a.Src
		case syscall.EACCES:
			msg = "File is not readable: " + a.Src
		case syscall.EISDIR:
			msg = "Source is a directory and must be a file: " + a.Src
		}
		return nil, failBecause(e, msg)
	}
	return value.DictOf("content", base64.StdEncoding.EncodeToString(b), "source", a.Src, "encoding", "base64"), nil
}

func readAll(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if st.IsDir() {
		return nil, syscall.EISDIR
	}
	b, err := io.ReadAll(io.LimitReader(f, maxSlurp+1))
	if err == nil && len(b) > maxSlurp {
		return nil, handBack("the file is larger than %d bytes", maxSlurp)
	}
	return b, err
}
