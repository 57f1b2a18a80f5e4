package modules

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"

	"volant/wire/pyre"
	"volant/wire/rx"
	"volant/wire/value"
)

type blockinfileArgs struct {
	Path         string  `arg:"path,required,type=path,alias=dest|destfile|name"`
	State        string  `arg:"state,default=present,choices=absent|present"`
	Marker       string  `arg:"marker,default=# {mark} ANSIBLE MANAGED BLOCK"`
	Block        string  `arg:"block,default=,alias=content"`
	InsertAfter  *string `arg:"insertafter"`
	InsertBefore *string `arg:"insertbefore"`
	Create       bool    `arg:"create,default=no"`
	Backup       bool    `arg:"backup,default=no"`
	Validate     *string `arg:"validate"`
	MarkerBegin  string  `arg:"marker_begin,default=BEGIN"`
	MarkerEnd    string  `arg:"marker_end,default=END"`
	Append       bool    `arg:"append_newline,default=no"`
	Prepend      bool    `arg:"prepend_newline,default=no"`
	fileCommon
}

// blockEdit is one run of blockinfile.
type blockEdit struct {
	*call
	a            *blockinfileArgs
	insert       *pyre.Regexp
	begin, end   []byte
	original     []byte
	lines, block [][]byte
}

// manyLines are inline flags that may make a pattern look at all lines at once.
var manyLines = rx.Lazy(`\(\?[a-zA-Z]*m`)

func blockinfile(ctx context.Context, c *call, a *blockinfileArgs) (Result, error) {
	e := &blockEdit{call: c, a: a}
	switch {
	case selinuxOn():
		return nil, handBack("SELinux is on")
	case a.Path == "" || strings.IndexByte(a.Path, 0) >= 0:
		return nil, handBack("an unusual path")
	}
	if err := usableMode(a.Mode); err != nil {
		return nil, err
	}
	format, err := validateFormat(a.Validate)
	if err != nil {
		return nil, err
	}
	if err := e.patterns(); err != nil {
		return nil, err
	}
	if isDir(c.p(a.Path)) {
		return nil, fail("Path "+a.Path+" is a directory !", "rc", int64(256))
	}
	there := exists(c.p(a.Path))
	if !there {
		if !a.Create {
			return nil, fail("Path "+a.Path+" does not exist !", "rc", int64(257))
		}
		if err := e.makeParent(); err != nil {
			return nil, err
		}
	} else {
		b, err := c.readEdited(a.Path)
		if h, ok := err.(*HandBack); ok { //nolint:errorlint // made right there
			return nil, h
		}
		if err != nil {
			return nil, raise(asOSError(err, a.Path, false).Error())
		}
		e.original, e.lines = b, splitLines(b)
	}
	if a.State == "absent" && !there {
		return value.DictOf("changed", false, "msg", "File "+a.Path+" not present"), nil
	}
	result, err := e.edit()
	if err != nil {
		return nil, err
	}
	diff := value.DictOf("before", "", "after", "", "before_header", a.Path+" (content)", "after_header", a.Path+" (content)")
	if c.Diff {
		diff.Set("before", string(e.original))
		diff.Set("after", string(result))
	}
	msg := ""
	switch {
	case there && bytes.Equal(e.original, result):
	case !there:
		msg = "File created"
	case len(e.block) == 0:
		msg = "Block removed"
	default:
		msg = "Block inserted"
	}
	backup := ""
	if msg != "" && !c.Check {
		if a.Backup && there {
			if backup, err = c.backupLocal(ctx, a.Path); err != nil {
				return nil, err
			}
		}
		if err := c.install(ctx, &edited{result, a.Path, a.Validate, format, a.Unsafe}); err != nil {
			return nil, err
		}
	}
	if c.Check && !there {
		return value.DictOf("changed", msg != "", "msg", msg, "diff", diff), nil
	}
	attr := value.NewDict(4)
	changed, msg, err := c.attributesAfter(ctx, &a.fileCommon, a.Path, msg != "", msg, attr)
	if err != nil {
		return nil, err
	}
	attr.Set("before_header", a.Path+" (file attributes)")
	attr.Set("after_header", a.Path+" (file attributes)")
	res := value.DictOf("changed", changed, "msg", msg, "diff", value.ListOf(diff, attr))
	if backup != "" {
		res.Set("backup_file", backup)
	}
	return res, nil
}

// patterns reads what can be read wrong, before anything is done.
func (e *blockEdit) patterns() error {
	a := e.a
	pattern := ""
	switch {
	case a.InsertAfter != nil && *a.InsertAfter != "EOF":
		pattern = *a.InsertAfter
	case a.InsertBefore != nil && *a.InsertBefore != "BOF":
		pattern = *a.InsertBefore
	}
	if a.InsertAfter != nil && *a.InsertAfter == "" || a.InsertBefore != nil && *a.InsertBefore == "" {
		return handBack("an empty pattern")
	}
	if pattern != "" {
		if manyLines.MatchString(pattern) {
			return handBack("the pattern may look at several lines")
		}
		var err error
		if e.insert, err = compileBytes(pattern); err != nil {
			return err
		}
	}
	for _, m := range []string{a.MarkerBegin, a.MarkerEnd} {
		if strings.ContainsRune(m, '\\') || strings.IndexFunc(m, func(r rune) bool { return r >= 0x80 }) >= 0 {
			return handBack("an unusual marker")
		}
	}
	e.begin = []byte(strings.ReplaceAll(a.Marker, "{mark}", a.MarkerBegin) + "\n")
	e.end = []byte(strings.ReplaceAll(a.Marker, "{mark}", a.MarkerEnd) + "\n")
	return nil
}

// makeParent makes the directories of a file that is to be created.
func (e *blockEdit) makeParent() error {
	dir := dirname(e.a.Path)
	if dir == "" || exists(e.p(dir)) || e.Check {
		return nil
	}
	if err := e.makeAll(dir); err != nil {
		no := errnoOf(err)
		return fail(fmt.Sprintf("Error creating %s Error code: %d Error description: %s", dir, int(no), strerror(no)))
	}
	return nil
}

// edit gives the content with the block where it belongs.
func (e *blockEdit) edit() ([]byte, error) {
	a := e.a
	present := a.State == "present"
	if present && a.Block != "" {
		block := []byte(a.Block)
		if !bytes.HasSuffix(block, []byte("\n")) {
			block = append(block, '\n')
		}
		e.block = append(append([][]byte{e.begin}, splitLines(block)...), e.end)
	}
	at, err := e.place()
	if err != nil {
		return nil, err
	}
	if at > 0 && !bytes.HasSuffix(e.lines[at-1], []byte("\n")) {
		e.lines[at-1] = append(e.lines[at-1][:len(e.lines[at-1]):len(e.lines[at-1])], '\n')
	}
	newline := []byte("\n")
	if a.Prepend && present && at != 0 && !bytes.Equal(e.lines[at-1], newline) {
		e.put(at, newline)
		at++
	}
	e.put(at, e.block...)
	if after := at + len(e.block); a.Append && present && after < len(e.lines) && !bytes.Equal(e.lines[after], newline) {
		e.put(after, newline)
	}
	return bytes.Join(e.lines, nil), nil
}

func (e *blockEdit) put(at int, lines ...[]byte) {
	e.lines = append(e.lines[:at:at], append(lines[:len(lines):len(lines)], e.lines[at:]...)...)
}

// place takes an old block out and says where the new one goes.
func (e *blockEdit) place() (int, error) {
	first, last := -1, -1
	for i, line := range e.lines {
		if bytes.Equal(line, e.begin) {
			first = i
		}
		if bytes.Equal(line, e.end) {
			last = i
		}
	}
	if first >= 0 && last >= 0 {
		if first > last {
			first, last = last, first
		}
		e.lines = append(e.lines[:first:first], e.lines[last+1:]...)
		return first, nil
	}
	switch {
	case e.insert != nil:
		at := -1
		for i, line := range e.lines {
			m, err := search(e.insert, line)
			if err != nil {
				return 0, err
			}
			if m != nil {
				at = i
			}
		}
		if at < 0 {
			return len(e.lines), nil
		}
		if e.a.InsertAfter != nil {
			at++
		}
		return at, nil
	case e.a.InsertBefore != nil:
		return 0, nil
	}
	return len(e.lines), nil
}

// makeAll is os.makedirs.
func (c *call) makeAll(dir string) error {
	var missing []string
	for d := dir; d != "" && !exists(c.p(d)); d = dirname(d) {
		missing = append(missing, d)
	}
	for i := len(missing) - 1; i >= 0; i-- {
		if err := c.makeDir(c.p(missing[i])); err != nil {
			return &os.PathError{Op: "mkdir", Path: missing[i], Err: errnoOf(err)}
		}
	}
	return nil
}
