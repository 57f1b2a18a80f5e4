package modules

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"volant/hostagent/python"
	"volant/wire/value"
)

// maxEdited bounds the files that are edited in memory here.
const maxEdited = 64 << 20

// readEdited reads a file that is edited in memory.
func (c *call) readEdited(path string) ([]byte, error) {
	f, err := os.Open(c.p(path))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	large := handBack("the file has more than %d bytes", maxEdited)
	if st, err := f.Stat(); err == nil && st.Size() > maxEdited {
		return nil, large // without holding any of it
	}
	b, err := io.ReadAll(io.LimitReader(f, maxEdited+1))
	if err == nil && len(b) > maxEdited {
		return nil, large
	}
	return b, err
}

// readPlain is readEdited of a file that has to be text of plain lines.
func (c *call) readPlain(path string) (string, error) {
	b, err := c.readEdited(path)
	if err == nil && (!utf8.Valid(b) || bytes.IndexByte(b, '\r') >= 0) {
		return "", handBack("%s is not plain text", path)
	}
	return string(b), err
}

// edited is a file's new content and how it gets there.
type edited struct {
	content  []byte
	path     string // as the task has it; what it links to is replaced
	validate *string
	format   func(string) string // of validate
	unsafe   bool
}

// install puts the content in the place of the file, once `validate` had no
// objection.
func (c *call) install(ctx context.Context, e *edited) error {
	return c.put(&placement{
		content: e.content, dest: realpath(c.p(e.path)), unsafe: e.unsafe,
		temp: func() (*os.File, error) {
			dir := c.tmpdir()
			f, err := os.CreateTemp(dir, "tmp")
			if err != nil {
				return nil, raise(asOSError(err, dir, false).Error())
			}
			return f, nil
		},
		failed: func(err error, _ string) error { return raise(asOSError(err, "", false).Error()) },
		check: func(tmp string) error {
			v := e.validate
			if v == nil || *v == "" {
				return nil
			}
			if e.format == nil {
				return fail("validate must contain %s: " + *v)
			}
			got, err := c.runLine(ctx, e.format(tmp))
			if err != nil {
				return err
			}
			if got.rc != 0 {
				return fail(fmt.Sprintf("failed to validate: rc:%d error:%s", got.rc, got.stderr))
			}
			return nil
		},
	})
}

// placement is content that takes the place of a file by way of a temporary
// one, of which nothing is left however it ends.
type placement struct {
	content []byte
	dest    string
	unsafe  bool
	temp    func() (*os.File, error)          // the temporary file, or the module's error
	failed  func(err error, tmp string) error // the module's error when the temporary file cannot be written
	check   func(tmp string) error            // of what is written; may be nil
}

func (c *call) put(r *placement) error {
	f, err := r.temp()
	if err != nil {
		return err
	}
	tmp := f.Name()
	defer os.Remove(tmp) // moved away when all went well
	_, err = f.Write(r.content)
	if err = errors.Join(err, f.Close()); err != nil {
		return r.failed(err, tmp)
	}
	if r.check != nil {
		if err := r.check(tmp); err != nil {
			return err
		}
	}
	m := &mover{call: c, unsafe: r.unsafe, raised: func(err error, path string) error {
		return raise(asOSError(err, path, true).Error())
	}}
	return m.atomicMove(tmp, tmp, r.dest, true)
}

// attributesAfter sets the attributes of an edited file and completes the
// module's message; diff may be nil.
func (c *call) attributesAfter(ctx context.Context, f *fileCommon, path string, changed bool, msg string, diff *value.Dict) (bool, string, error) {
	also, err := c.setAttrs(ctx, c.commonArgs(f, path, false), false, diff)
	if err != nil || !also {
		return changed, msg, err
	}
	if changed {
		msg += " and "
	}
	return true, msg + "ownership, perms or SE linux context changed", nil
}

// splitLines is bytes.splitlines(True).
func splitLines(b []byte) [][]byte {
	var lines [][]byte
	for len(b) > 0 {
		i := bytes.IndexAny(b, "\r\n")
		switch {
		case i < 0:
			return append(lines, b)
		case b[i] == '\r' && i+1 < len(b) && b[i+1] == '\n':
			i++
		}
		lines = append(lines, b[:i+1:i+1])
		b = b[i+1:]
	}
	return lines
}

// splitText is str.splitlines(True).
func splitText(s string) []string {
	var lines []string
	for _, l := range python.SplitLines(s) {
		end := len(l)
		if end < len(s) {
			_, n := utf8.DecodeRuneInString(s[end:])
			if strings.HasPrefix(s[end:], "\r\n") {
				n = 2
			}
			end += n
		}
		lines = append(lines, s[:end])
		s = s[end:]
	}
	return lines
}
