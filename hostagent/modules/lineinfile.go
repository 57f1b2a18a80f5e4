package modules

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"volant/wire/pyre"
	"volant/wire/rx"
	"volant/wire/value"
)

type lineinfileArgs struct {
	Path         string  `arg:"path,required,type=path,alias=dest|destfile|name"`
	State        string  `arg:"state,default=present,choices=absent|present"`
	Regexp       *string `arg:"regexp,alias=regex"`
	Search       *string `arg:"search_string"`
	Line         *string `arg:"line,alias=value"`
	InsertAfter  *string `arg:"insertafter"`
	InsertBefore *string `arg:"insertbefore"`
	Backrefs     bool    `arg:"backrefs,default=no"`
	Create       bool    `arg:"create,default=no"`
	Backup       bool    `arg:"backup,default=no"`
	FirstMatch   bool    `arg:"firstmatch,default=no"`
	Validate     *string `arg:"validate"`
	fileCommon
}

var lineinfileRules = []rule{
	exclusive("insertbefore", "insertafter"), exclusive("regexp", "search_string"), exclusive("backrefs", "search_string"), unsafeWritesRule,
}

// lineEdit is one run of lineinfile.
type lineEdit struct {
	*call
	a      *lineinfileArgs
	format func(string) string // of validate
	lines  [][]byte
	regexp *pyre.Regexp
	diff   *value.Dict
}

const emptyMatch = "The %s is an empty string, which will match every line in the file. " +
	"This may have unintended consequences, such as replacing the last line in the file rather than appending."

func lineinfile(ctx context.Context, c *call, a *lineinfileArgs) (Result, error) {
	e := &lineEdit{call: c, a: a}
	if err := e.covered(); err != nil {
		return nil, err
	}
	switch {
	case a.Regexp != nil && *a.Regexp == "":
		c.Warn(emptyMatch+" If this is desired, use '^' to match every line in the file and avoid this warning.", "regular expression")
	case a.Search != nil && *a.Search == "":
		c.Warn(emptyMatch, "search string")
	}
	if isDir(c.p(a.Path)) {
		return nil, fail("Path "+a.Path+" is a directory !", "rc", int64(256))
	}
	if a.State == "present" {
		switch {
		case a.Backrefs && a.Regexp == nil:
			return nil, fail("regexp is required with backrefs=true")
		case a.Line == nil:
			return nil, fail("line is required with state=present")
		}
		return e.present(ctx)
	}
	if a.Regexp == nil && a.Search == nil && a.Line == nil {
		return nil, fail("one of line, search_string, or regexp is required with state=absent")
	}
	return e.absent(ctx)
}

// covered hands back what only the Python module does.
func (e *lineEdit) covered() error {
	switch {
	case selinuxOn():
		return handBack("SELinux is on")
	case e.a.Path == "" || strings.IndexByte(e.a.Path, 0) >= 0:
		return handBack("an unusual path")
	}
	if err := usableMode(e.a.Mode); err != nil {
		return err
	}
	var err error
	e.format, err = validateFormat(e.a.Validate)
	return err
}

// latin1 gives every byte a character of its own, so that a pattern for text
// matches bytes.
func latin1(b []byte) string {
	for i, c := range b {
		if c >= 0x80 {
			r := make([]rune, 0, len(b))
			for _, c := range b[:i] {
				r = append(r, rune(c))
			}
			for _, c := range b[i:] {
				r = append(r, rune(c))
			}
			return string(r)
		}
	}
	return string(b)
}

// bytesOf undoes latin1.
func bytesOf(s string) []byte {
	b := make([]byte, 0, len(s))
	for _, r := range s {
		b = append(b, byte(r))
	}
	return b
}

// textFlags are inline flags that a pattern for bytes refuses, or reads otherwise.
var textFlags = rx.Lazy(`\(\?[a-zA-Z]*[uL]`)

// compileBytes reads a pattern for bytes. What is no pattern is the Python
// module's to complain about.
func compileBytes(pattern string) (*pyre.Regexp, error) {
	re, err := pyre.Compile(latin1([]byte(pattern)), pyre.ASCII)
	if err != nil {
		return nil, handBack("regular expression: %v", err)
	}
	if textFlags.MatchString(pattern) {
		return nil, handBack("the pattern may set flags that bytes do not have")
	}
	return re, nil
}

func search(re *pyre.Regexp, line []byte) (*pyre.Match, error) {
	m, err := re.Search(latin1(line))
	if err != nil {
		return nil, handBack("regular expression: %v", err)
	}
	return m, nil
}

func (e *lineEdit) read() error {
	b, err := e.readEdited(e.a.Path)
	if h, ok := err.(*HandBack); ok { //nolint:errorlint // made right there
		return h
	}
	if err != nil {
		return raise(asOSError(err, e.a.Path, true).Error())
	}
	for line := range bytes.Lines(b) {
		e.lines = append(e.lines, line)
	}
	return nil
}

func (e *lineEdit) text() string {
	if !e.Diff {
		return ""
	}
	return string(bytes.Join(e.lines, nil))
}

func (e *lineEdit) begin() error {
	e.diff = value.DictOf("before", e.text(), "after", "", "before_header", e.a.Path+" (content)", "after_header", e.a.Path+" (content)")
	if e.a.Regexp == nil {
		return nil
	}
	var err error
	e.regexp, err = compileBytes(*e.a.Regexp)
	return err
}

func bare(line []byte) []byte { return bytes.TrimRight(line, "\r\n") }

func (e *lineEdit) present(ctx context.Context) (Result, error) {
	a := e.a
	there := exists(e.p(a.Path))
	if there {
		if err := e.read(); err != nil {
			return nil, err
		}
	} else if !a.Create {
		return nil, fail("Destination "+a.Path+" does not exist !", "rc", int64(257))
	}
	if err := e.begin(); err != nil {
		return nil, err
	}
	msg, err := e.insert()
	if err != nil {
		return nil, err
	}
	if e.Diff {
		e.diff.Set("after", e.text())
	}
	if dir := dirname(a.Path); !there && dir != "" && !exists(e.p(dir)) && !e.Check {
		if err := e.makeAll(dir); err != nil {
			var at *os.PathError
			errors.As(err, &at)
			return nil, fail("Error creating " + dir + " (" + asOSError(err, at.Path, true).Error() + ")")
		}
	}
	backup := ""
	if msg != "" && !e.Check {
		if a.Backup && exists(e.p(a.Path)) {
			if backup, err = e.backupLocal(ctx, a.Path); err != nil {
				return nil, err
			}
		}
		if err := e.write(ctx); err != nil {
			return nil, err
		}
	}
	if e.Check && !exists(e.p(a.Path)) {
		return value.DictOf("changed", msg != "", "msg", msg, "backup", backup, "diff", e.diff), nil
	}
	return e.finishEdit(ctx, msg != "", msg, value.DictOf("backup", backup))
}

// matchAt finds the line that regexp or search_string is about: the last, or
// with firstmatch the first. match is nil for search_string.
func (e *lineEdit) matchAt() (at int, match *pyre.Match, err error) {
	at = -1
	for i, line := range e.lines {
		switch {
		case e.regexp != nil:
			m, err := search(e.regexp, line)
			if err != nil {
				return 0, nil, err
			}
			if m == nil {
				continue
			}
			at, match = i, m
		case e.a.Search != nil && bytes.Contains(line, []byte(*e.a.Search)):
			at = i
		default:
			continue
		}
		if e.a.FirstMatch {
			break
		}
	}
	return at, match, nil
}

// insert changes the lines and says what it did, "" for nothing.
func (e *lineEdit) insert() (string, error) {
	a := e.a
	line := []byte(*a.Line)
	after, before := opt(a.InsertAfter), opt(a.InsertBefore)
	if after == nil && before == nil {
		after = "EOF"
	}
	at, match, err := e.matchAt()
	if err != nil {
		return "", err
	}
	ins := -1
	matched := at >= 0
	if !matched {
		if at, ins, err = e.insertAt(line, after, before); err != nil {
			return "", err
		}
	}
	ended := append(append([]byte(nil), line...), '\n')
	switch {
	case at >= 0:
		fresh := line
		if a.Backrefs && match != nil {
			tmpl, err := e.regexp.Template(latin1(line))
			if err != nil {
				return "", handBack("line as a replacement: %v", err)
			}
			var b strings.Builder
			tmpl.Expand(&b, match)
			fresh = bytesOf(b.String())
		}
		if !bytes.HasSuffix(fresh, []byte("\n")) {
			fresh = append(append([]byte(nil), fresh...), '\n')
		}
		if a.Regexp == nil && a.Search == nil { // the line is there as it is
			if bytes.Equal(e.lines[at], fresh) {
				return "", nil
			}
		}
		if bytes.Equal(e.lines[at], fresh) {
			return "", nil
		}
		e.lines[at] = fresh
		return "line replaced", nil
	case a.Backrefs:
		return "", nil
	case before == "BOF" || after == "BOF":
		e.lines = append([][]byte{ended}, e.lines...)
	case after == "EOF" || ins == -1:
		if n := len(e.lines); n > 0 && !bytes.HasSuffix(e.lines[n-1], []byte("\n")) && !bytes.HasSuffix(e.lines[n-1], []byte("\r")) {
			e.lines = append(e.lines, []byte("\n"))
		}
		e.lines = append(e.lines, ended)
	case after != nil && after != "":
		if ins == len(e.lines) {
			if bytes.Equal(bare(e.lines[ins-1]), line) {
				return "", nil
			}
			e.lines = append(e.lines, ended)
			break
		}
		if bytes.Equal(bare(e.lines[ins]), line) {
			return "", nil
		}
		e.put(ins, ended)
	default:
		e.put(ins, ended)
	}
	return "line added", nil
}

func (e *lineEdit) put(at int, line []byte) {
	e.lines = append(e.lines, nil)
	copy(e.lines[at+1:], e.lines[at:])
	e.lines[at] = line
}

// insertAt looks for the very line, and for where insertafter or insertbefore
// point; -1 where there is none.
func (e *lineEdit) insertAt(line []byte, after, before any) (at, ins int, err error) {
	at, ins = -1, -1
	var re *pyre.Regexp
	if s, ok := after.(string); ok && s != "BOF" && s != "EOF" {
		re, err = compileBytes(s)
	} else if s, ok := before.(string); ok && s != "BOF" {
		re, err = compileBytes(s)
	}
	if err != nil {
		return 0, 0, err
	}
	isAfter := after != nil && after != ""
	isBefore := before != nil && before != ""
	for i, cur := range e.lines {
		if bytes.Equal(line, bare(cur)) {
			at = i
			continue
		}
		if re == nil {
			continue
		}
		m, err := search(re, cur)
		if err != nil {
			return 0, 0, err
		}
		if m == nil {
			continue
		}
		if isAfter {
			ins = i + 1
			if e.a.FirstMatch {
				break
			}
		}
		if isBefore {
			ins = i
			if e.a.FirstMatch {
				break
			}
		}
	}
	return at, ins, nil
}

func (e *lineEdit) absent(ctx context.Context) (Result, error) {
	a := e.a
	if !exists(e.p(a.Path)) {
		return value.DictOf("changed", false, "msg", "file not present"), nil
	}
	if err := e.read(); err != nil {
		return nil, err
	}
	if err := e.begin(); err != nil {
		return nil, err
	}
	var kept [][]byte
	found := int64(0)
	for _, line := range e.lines {
		gone := false
		switch {
		case e.regexp != nil:
			m, err := search(e.regexp, line)
			if err != nil {
				return nil, err
			}
			gone = m != nil
		case a.Search != nil:
			gone = bytes.Contains(line, []byte(*a.Search))
		default:
			gone = bytes.Equal([]byte(*a.Line), bare(line))
		}
		if gone {
			found++
		} else {
			kept = append(kept, line)
		}
	}
	e.lines = kept
	if e.Diff {
		e.diff.Set("after", e.text())
	}
	backup, msg := "", ""
	if found > 0 {
		msg = fmt.Sprintf("%d line(s) removed", found)
		if !e.Check {
			var err error
			if a.Backup {
				if backup, err = e.backupLocal(ctx, a.Path); err != nil {
					return nil, err
				}
			}
			if err := e.write(ctx); err != nil {
				return nil, err
			}
		}
	}
	return e.finishEdit(ctx, found > 0, msg, value.DictOf("found", found, "backup", backup))
}

// finishEdit sets the file's attributes and makes the result.
func (e *lineEdit) finishEdit(ctx context.Context, changed bool, msg string, res *value.Dict) (Result, error) {
	attr := value.NewDict(4)
	changed, msg, err := e.attributesAfter(ctx, &e.a.fileCommon, e.a.Path, changed, msg, attr)
	if err != nil {
		return nil, err
	}
	attr.Set("before_header", e.a.Path+" (file attributes)")
	attr.Set("after_header", e.a.Path+" (file attributes)")
	res.Set("changed", changed)
	res.Set("msg", msg)
	res.Set("diff", value.ListOf(e.diff, attr))
	return res, nil
}

// write puts the lines in the place of the file.
func (e *lineEdit) write(ctx context.Context) error {
	a := e.a
	return e.install(ctx, &edited{bytes.Join(e.lines, nil), a.Path, a.Validate, e.format, a.Unsafe})
}
