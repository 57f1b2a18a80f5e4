package fault

import (
	"bufio"
	"errors"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"unicode/utf8"

	"volant/wire/value"
)

const (
	contextLines = 2   // lines shown above the one at fault
	maxWidth     = 120 // of an excerpt's line
	truncation   = "..."
)

// context is the Origin line and the excerpt below it, or empty.
func (e *Error) context() string {
	if e.Pos.IsZero() {
		if e.Excerpt == "" {
			return ""
		}
		return "Origin: <unknown>\n\n" + Shorten(e.Excerpt)
	}
	head := "Origin: " + e.Pos.String()
	if e.Redacted {
		return head + "\n\n(source not shown: content redacted)"
	}
	body := excerpt(e.Pos)
	if !strings.HasPrefix(e.Pos.File, "/") && e.Excerpt != "" {
		body = Shorten(e.Excerpt)
	}
	if body == "" {
		return head
	}
	return head + "\n\n" + body
}

// Origin is the Origin block of a position, for warnings about it.
func Origin(pos value.Pos) string { return (&Error{Pos: pos}).context() }

// Shorten collapses white space and cuts text at a word, as the excerpt of a
// value without a position.
func Shorten(text string) string {
	words := strings.Fields(text)
	all := strings.Join(words, " ")
	if utf8.RuneCountInString(all) <= maxWidth {
		return all
	}
	out := ""
	for _, w := range words {
		next := w
		if out != "" {
			next = out + " " + w
		}
		if utf8.RuneCountInString(next)+len(" [...]") > maxWidth {
			break
		}
		out = next
	}
	if out == "" {
		return "[...]"
	}
	return out + " [...]"
}

// excerpt is the line at pos with two before it and a marker below.
func excerpt(pos value.Pos) string {
	if pos.Line < 1 || !strings.HasPrefix(pos.File, "/") {
		return ""
	}
	text, err := readLines(pos.File, pos.Line)
	if err != nil {
		return "(source not shown: " + reason(err) + ")"
	}
	first := max(0, pos.Line-1-contextLines)
	if len(text) > 0 && strings.HasPrefix(text[0], "$ANSIBLE_VAULT;") {
		return "(source not shown: content encrypted)"
	}
	if len(text) < pos.Line {
		return "(source not shown: file truncated)"
	}
	label := len(strconv.Itoa(pos.Line))
	width := maxWidth - label - 1
	usable := width
	var b strings.Builder
	last := ""
	for n := first + 1; n <= pos.Line; n++ {
		line := []rune(strings.ReplaceAll(text[n-1], "\t", " "))
		if len(line) > width {
			line = append(line[:width-len(truncation)], []rune(truncation)...)
			usable = width - len(truncation)
		}
		num := strconv.Itoa(n)
		b.WriteString(strings.Repeat(" ", label-len(num)) + num)
		if len(line) > 0 {
			b.WriteString(" " + string(line))
		}
		b.WriteByte('\n')
		last = string(line)
	}
	pad := strings.Repeat(" ", label) + " "
	switch {
	case pos.Column >= 1 && pos.Column <= usable:
		mark := "column " + strconv.Itoa(pos.Column)
		at := pos.Column - 1
		if at+2+len(mark) > width {
			b.WriteString(pad + strings.Repeat(" ", at-len(mark)-1) + mark + " ^")
		} else {
			b.WriteString(pad + strings.Repeat(" ", at) + "^ " + mark)
		}
	case pos.Column == 0:
		b.WriteString(pad + strings.Repeat("^", utf8.RuneCountInString(last)))
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// reason names a read error as the reference does.
func reason(err error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "FileNotFoundError"
	case errors.Is(err, fs.ErrPermission):
		return "PermissionError"
	}
	return "OSError"
}

// readLines returns the first n lines of a file, fewer when it has fewer.
func readLines(path string, n int) ([]string, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() {
		return nil, errors.New("not a file")
	}
	var out []string
	r := bufio.NewReader(f)
	for len(out) < n {
		s, err := r.ReadString('\n')
		if s != "" {
			s = strings.TrimSuffix(strings.TrimSuffix(s, "\n"), "\r")
			out = append(out, s)
		}
		if err != nil {
			break
		}
	}
	return out, nil
}
