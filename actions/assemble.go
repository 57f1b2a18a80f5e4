package actions

import (
	"context"
	"crypto/sha1" //nolint:gosec // what the modules compare
	"encoding/hex"
	"io"
	"os"
	"path"
	"strings"

	"volant/stage"
	"volant/wire/pyre"
	"volant/wire/value"
)

// maxFragments bounds what one assemble puts together.
const maxFragments = 100_000

// assemble joins the fragments of a directory into one file on the host.
func assemble(ctx context.Context, r *Run) (Result, error) {
	args := without(r.Args, "decrypt")
	src, hasSrc := args.Str("src")
	dest, hasDest := args.Str("dest")
	if !hasSrc || !hasDest {
		return nil, Fail("src and dest are required")
	}
	if option(args, "remote_src", true) {
		return r.Host.Module(ctx, "ansible.legacy.assemble", args)
	}
	if r.Marked("src") {
		return nil, errMarkedSource
	}
	found, err := r.Controller.Find("files", src)
	if err != nil {
		return nil, err
	}
	if info, err := os.Stat(found); err != nil || !info.IsDir() {
		return nil, Fail("Source (%s) is not a directory", found)
	}
	parts, err := fragments(r, found)
	if err != nil {
		return nil, err
	}
	source, err := joined(parts)
	if err != nil {
		return nil, Fail("reading %s: %v", found, err)
	}
	if dest, err = expandUser(ctx, r, dest); err != nil {
		return nil, err
	}
	// The reference sums the name of its temporary file, not the content: it
	// sends the file every time, and the copy module finds it unchanged.
	if _, err := remoteStat(ctx, r, dest, option(args, "follow", false), true); err != nil {
		return nil, err
	}
	module := without(args, "remote_src", "regexp", "delimiter", "ignore_hidden")
	module.Set("dest", dest)
	var diff *value.Dict
	if r.Diff {
		if diff, err = fileDiff(ctx, r, dest, source, LocalTmp()); err != nil {
			return nil, err
		}
	}
	file := source.File
	file.Arg, file.Suffix = "src", "/src"
	res, err := r.Host.Module(ctx, "ansible.legacy.copy", module, file)
	if err != nil {
		return nil, err
	}
	if diff.Len() > 0 {
		res.Set("diff", diff)
	}
	return res, nil
}

// fragments are the regular files of dir in order of their names, with the
// delimiter, on a line of its own, between them. A part is a file or text.
func fragments(r *Run, dir string) (parts []part, err error) {
	var filter *pyre.Regexp
	if text, _ := r.Args.Str("regexp"); text != "" {
		if filter, err = pyre.Compile(text, 0); err != nil {
			return nil, err
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, Fail("reading %s: %v", dir, err)
	}
	if len(entries) > maxFragments {
		return nil, Fail("%s holds more than %d files", dir, maxFragments)
	}
	delimiter, _ := r.Args.Str("delimiter")
	delimiter = unescape(delimiter)
	hidden := option(r.Args, "ignore_hidden", false)
	between := "" // what ends the fragment before
	for _, e := range entries {
		name := e.Name()
		if filter != nil {
			if m, err := filter.Search(name); err != nil {
				return nil, err
			} else if m == nil {
				continue
			}
		}
		if hidden && strings.HasPrefix(name, ".") {
			continue
		}
		full := path.Join(dir, name)
		if info, err := os.Stat(full); err != nil || !info.Mode().IsRegular() {
			continue
		}
		src, err := r.Controller.Open(full, option(r.Args, "decrypt", true))
		if err != nil {
			return nil, err
		}
		if len(parts) > 0 {
			if delimiter != "" { // the reference adds the newline even where the delimiter ends in one
				between += delimiter + "\n"
			}
			parts = append(parts, part{text: between})
		}
		parts = append(parts, part{open: src.File.Open})
		ends, err := endsLine(src)
		if err != nil {
			return nil, Fail("reading %s: %v", full, err)
		}
		if between = "\n"; ends {
			between = ""
		}
	}
	return parts, nil
}

// part is a piece of an assembled file: text, or what open gives.
type part struct {
	text string
	open func() (io.ReadCloser, error)
}

// endsLine reports whether the last byte is a newline.
func endsLine(src Source) (bool, error) {
	if src.Size == 0 {
		return false, nil
	}
	f, err := src.File.Open()
	if err != nil {
		return false, err
	}
	defer f.Close()
	if seeker, ok := f.(io.Seeker); ok {
		if _, err := seeker.Seek(src.Size-1, io.SeekStart); err != nil {
			return false, err
		}
	} else if _, err := io.CopyN(io.Discard, f, src.Size-1); err != nil {
		return false, err
	}
	last := make([]byte, 1)
	_, err = io.ReadFull(f, last)
	return last[0] == '\n', err
}

// joined is the source that consists of parts, which are read again whenever it is.
func joined(parts []part) (Source, error) {
	src := Source{Data: func() ([]byte, error) { return io.ReadAll(&joiner{parts: parts}) }}
	src.File.Open = func() (io.ReadCloser, error) { return &joiner{parts: parts}, nil }
	sum := sha1.New() //nolint:gosec // see import
	whole := &joiner{parts: parts}
	defer whole.Close()
	var err error
	src.Hash, src.Size, err = stage.HashReader(io.TeeReader(whole, sum))
	src.SHA1 = hex.EncodeToString(sum.Sum(nil))
	return src, err
}

// joiner reads parts one after the other, with one of them open at a time.
type joiner struct {
	parts []part
	now   io.Reader
	file  io.Closer
}

// Read returns the next bytes.
func (j *joiner) Read(p []byte) (int, error) {
	for {
		if j.now != nil {
			n, err := j.now.Read(p)
			if err != io.EOF {
				return n, err
			}
			if err := j.Close(); err != nil || n > 0 {
				return n, err
			}
		}
		if len(j.parts) == 0 {
			return 0, io.EOF
		}
		next := j.parts[0]
		j.parts = j.parts[1:]
		if next.open == nil {
			j.now = strings.NewReader(next.text)
			continue
		}
		f, err := next.open()
		if err != nil {
			return 0, err
		}
		j.now, j.file = f, f
	}
}

// Close closes the part that is open.
func (j *joiner) Close() (err error) {
	if j.file != nil {
		err = j.file.Close()
	}
	j.now, j.file = nil, nil
	return err
}

// unescape decodes the backslash escapes people write in a delimiter.
func unescape(s string) string {
	return strings.NewReplacer(`\\`, `\`, `\n`, "\n", `\t`, "\t", `\r`, "\r", `\'`, `'`, `\"`, `"`).Replace(s)
}
