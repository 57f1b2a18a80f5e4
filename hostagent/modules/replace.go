package modules

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"volant/wire/pyre"
	"volant/wire/value"
)

type replaceArgs struct {
	Path     string  `arg:"path,required,type=path,alias=dest|destfile|name"`
	Regexp   string  `arg:"regexp,required"`
	Replace  string  `arg:"replace,default="`
	After    *string `arg:"after"`
	Before   *string `arg:"before"`
	Backup   bool    `arg:"backup,default=no"`
	Validate *string `arg:"validate"`
	Encoding string  `arg:"encoding,default=utf-8"`
	fileCommon
}

// replacement is one run of replace.
type replacement struct {
	*call
	a       *replaceArgs
	pattern string // of the section that before and after frame; empty: the whole
	section *pyre.Regexp
	regexp  *pyre.Regexp
	with    *pyre.Replacement
}

func replaceModule(ctx context.Context, c *call, a *replaceArgs) (Result, error) {
	r := &replacement{call: c, a: a}
	format, err := r.prepare()
	if err != nil {
		return nil, err
	}
	if isDir(c.p(a.Path)) {
		return nil, fail("Path "+a.Path+" is a directory !", "rc", int64(256))
	}
	if !exists(c.p(a.Path)) {
		return nil, fail("Path "+a.Path+" does not exist !", "rc", int64(257))
	}
	b, err := c.readEdited(a.Path)
	if h, ok := err.(*HandBack); ok { //nolint:errorlint // made right there
		return nil, h
	}
	if err != nil {
		return nil, raise("Unable to read the contents of "+value.Repr(a.Path)+".", asOSError(err, a.Path, false).Error())
	}
	if !utf8.Valid(b) {
		return nil, handBack("the file is not UTF-8")
	}
	text := string(b)
	res := value.DictOf("rc", int64(0))
	from, to := 0, len(text)
	if r.section != nil {
		m, err := r.section.Search(text)
		if err != nil {
			return nil, handBack("regular expression: %v", err)
		}
		if m == nil {
			res.Set("msg", "Pattern for before/after params did not match the given file: "+r.pattern)
			res.Set("changed", false)
			return res, nil
		}
		n, _ := r.section.GroupIndex("subsection")
		if from, to = m.Span(n); from < 0 {
			return nil, handBack("the section took no part in the match")
		}
	}
	fresh, count, err := r.substitute(text[from:to])
	if err != nil {
		return nil, err
	}
	msg := ""
	if count > 0 && fresh != text[from:to] {
		fresh = text[:from] + fresh + text[to:]
		msg = fmt.Sprintf("%d replacements made", count)
		if c.Diff {
			res.Set("diff", value.DictOf("before_header", a.Path, "before", text, "after_header", a.Path, "after", fresh))
		}
		if !c.Check {
			if a.Backup {
				backup, err := c.backupLocal(ctx, a.Path)
				if err != nil {
					return nil, err
				}
				res.Set("backup_file", backup)
			}
			if err := c.install(ctx, &edited{[]byte(fresh), a.Path, a.Validate, format, a.Unsafe}); err != nil {
				return nil, err
			}
		}
	}
	changed, msg, err := c.attributesAfter(ctx, &a.fileCommon, a.Path, msg != "", msg, nil)
	if err != nil {
		return nil, err
	}
	res.Set("msg", msg)
	res.Set("changed", changed)
	return res, nil
}

// prepare reads the patterns; what is none is the Python module's to complain about.
func (r *replacement) prepare() (func(string) string, error) {
	a := r.a
	switch {
	case selinuxOn():
		return nil, handBack("SELinux is on")
	case a.Path == "" || strings.IndexByte(a.Path, 0) >= 0:
		return nil, handBack("an unusual path")
	case a.Encoding != "utf-8":
		return nil, handBack("an encoding of its own")
	}
	if err := usableMode(a.Mode); err != nil {
		return nil, err
	}
	set := func(s *string) bool { return s != nil && *s != "" }
	switch {
	case set(a.After) && set(a.Before):
		r.pattern = *a.After + "(?P<subsection>.*?)" + *a.Before
	case set(a.After):
		r.pattern = *a.After + "(?P<subsection>.*)"
	case set(a.Before):
		r.pattern = "(?P<subsection>.*)" + *a.Before
	}
	var err error
	if r.pattern != "" {
		if r.section, err = pyre.Compile(r.pattern, pyre.DotAll); err != nil {
			return nil, handBack("regular expression: %v", err)
		}
	}
	if r.regexp, err = pyre.Compile(a.Regexp, pyre.MultiLine); err != nil {
		return nil, handBack("regular expression: %v", err)
	}
	if r.with, err = r.regexp.Template(a.Replace); err != nil {
		return nil, handBack("replace: %v", err)
	}
	return validateFormat(a.Validate)
}

// substitute is re.subn.
func (r *replacement) substitute(s string) (string, int, error) {
	matches, err := r.regexp.All(s, 0)
	if err != nil {
		return "", 0, handBack("regular expression: %v", err)
	}
	var b strings.Builder
	at := 0
	for _, m := range matches {
		start, end := m.Span(0)
		b.WriteString(s[at:start])
		r.with.Expand(&b, m)
		at = end
	}
	b.WriteString(s[at:])
	return b.String(), len(matches), nil
}
