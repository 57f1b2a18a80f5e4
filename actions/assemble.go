package actions

import (
	"bytes"
	"context"
	"os"
	"path"
	"strings"

	"volant/wire/pyre"
	"volant/wire/value"
)

// maxFragments and maxAssembled bound what one assemble puts together.
const (
	maxFragments = 100_000
	maxAssembled = 1 << 30
)

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
	data, err := joinFragments(r, found)
	if err != nil {
		return nil, err
	}
	source := r.Controller.Content(data)
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

// joinFragments reads the regular files of dir in order of their names, with
// the delimiter, on a line of its own, between them.
func joinFragments(r *Run, dir string) ([]byte, error) {
	var filter *pyre.Regexp
	if text, _ := r.Args.Str("regexp"); text != "" {
		var err error
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
	var out bytes.Buffer
	first, newline := true, false
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
		if int64(out.Len())+src.Size > maxAssembled {
			return nil, Fail("the fragments in %s are larger than %d bytes together", dir, maxAssembled)
		}
		data, err := src.Data()
		if err != nil {
			return nil, err
		}
		if newline {
			out.WriteByte('\n')
		}
		if !first && delimiter != "" {
			// The reference adds the newline even where the delimiter ends in one.
			out.WriteString(delimiter + "\n")
		}
		out.Write(data)
		first, newline = false, !bytes.HasSuffix(data, []byte("\n"))
	}
	return out.Bytes(), nil
}

// unescape decodes the backslash escapes people write in a delimiter.
func unescape(s string) string {
	return strings.NewReplacer(`\\`, `\`, `\n`, "\n", `\t`, "\t", `\r`, "\r", `\'`, `'`, `\"`, `"`).Replace(s)
}
