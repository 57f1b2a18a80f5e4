package jinja

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxSource bounds the text of one template in bytes.
const maxSource = 32 << 20

// settings are Options with defaults filled in.
type settings struct {
	Options
	starts []start // tag starts, the longest first
}

type start struct {
	text string
	kind startKind
}

type startKind int

const (
	startBlock startKind = iota
	startVariable
	startComment
	startLineStatement
	startLineComment
)

func (o Options) settings() *settings {
	def := func(s *string, d string) {
		if *s == "" {
			*s = d
		}
	}
	def(&o.BlockStart, "{%")
	def(&o.BlockEnd, "%}")
	def(&o.VariableStart, "{{")
	def(&o.VariableEnd, "}}")
	def(&o.CommentStart, "{#")
	def(&o.CommentEnd, "#}")
	def(&o.NewlineSequence, "\n")
	s := &settings{Options: o}
	// Of starts of equal length the first here wins, as in Jinja2.
	all := []start{{o.VariableStart, startVariable}, {o.LineStatement, startLineStatement}, {o.LineComment, startLineComment}, {o.CommentStart, startComment}, {o.BlockStart, startBlock}}
	for _, st := range all {
		if st.text == "" {
			continue
		}
		i := 0
		for i < len(s.starts) && len(s.starts[i].text) >= len(st.text) {
			i++
		}
		s.starts = append(s.starts[:i], append([]start{st}, s.starts[i:]...)...)
	}
	return s
}

// lexer turns template text into tokens. An error becomes the last token, so
// that errors of the parser before it come first.
type lexer struct {
	*settings
	src       string
	pos       int
	line      int
	toks      []token
	lineStart bool     // the last match ended with a newline
	balance   []string // closers expected inside a tag
	next      []found  // of starts
}

// lex returns the tokens of source; state is "" for a template, "variable" for
// a bare expression.
func lex(source, state string, set *settings) []token {
	l := &lexer{settings: set, line: 1, lineStart: true}
	if len(source) > maxSource {
		l.fail("template is too long")
		return l.toks
	}
	if strings.IndexByte(source, '\r') >= 0 {
		source = strings.ReplaceAll(strings.ReplaceAll(source, "\r\n", "\n"), "\r", "\n")
	}
	if !set.KeepTrailingNewline {
		source = strings.TrimSuffix(source, "\n")
	}
	l.src = source
	ok := true
	if state == "variable" {
		ok = l.tag(startVariable, true)
	}
	for ok && l.pos < len(l.src) {
		ok = l.root()
	}
	if ok {
		l.emit(token{kind: kEOF})
	}
	return l.toks
}

func (l *lexer) emit(t token) {
	t.line = l.line
	l.toks = append(l.toks, t)
}

func (l *lexer) fail(format string, args ...any) bool {
	l.emit(token{kind: kError, err: fmt.Sprintf(format, args...)})
	return false
}

// skip moves to pos to, counting lines.
func (l *lexer) skip(to int) {
	l.line += strings.Count(l.src[l.pos:to], "\n")
	if to > l.pos {
		l.lineStart = l.src[to-1] == '\n'
	}
	l.pos = to
}

// data emits text and moves to pos to.
func (l *lexer) data(text string, to int) {
	if text != "" {
		if l.NewlineSequence != "\n" {
			text = strings.ReplaceAll(text, "\n", l.NewlineSequence)
		}
		l.emit(token{kind: kData, text: text})
	}
	l.skip(to)
}

// root lexes data up to the next tag, and the tag.
func (l *lexer) root() bool {
	at, st, head := l.find()
	if at < 0 {
		l.data(l.src[l.pos:], len(l.src))
		return true
	}
	text := l.src[l.pos:at]
	after := at + head
	sign := l.sign(after)
	after += len(sign)
	text = l.strip(text, sign, st.kind)
	if st.kind == startBlock {
		if end, ok := l.rawBegin(after); ok {
			l.data(text, at)
			l.skip(end)
			return l.raw()
		}
	}
	l.data(text, at)
	switch st.kind {
	case startComment:
		l.skip(after)
		return l.comment()
	case startLineComment:
		end := strings.IndexByte(l.src[after:], '\n')
		if end < 0 {
			end = len(l.src) - after
		}
		l.skip(after + end)
		return true
	case startVariable:
		l.emit(token{kind: kVariableBegin})
	default:
		l.emit(token{kind: kBlockBegin})
	}
	l.skip(after)
	return l.tag(st.kind, false)
}

// strip removes what whitespace control takes from the text before a tag.
func (l *lexer) strip(text, sign string, k startKind) string {
	switch {
	case sign == "-":
		return strings.TrimRightFunc(text, unicode.IsSpace)
	case sign != "+" && l.LstripBlocks && k != startVariable:
		last := strings.LastIndexByte(text, '\n') + 1
		if (last > 0 || l.lineStart) && strings.TrimSpace(text[last:]) == "" {
			return text[:last]
		}
	}
	return text
}

func (l *lexer) sign(at int) string {
	if at < len(l.src) && (l.src[at] == '-' || l.src[at] == '+') {
		return l.src[at : at+1]
	}
	return ""
}

// find returns where the next tag starts, which, and the length of its start.
func (l *lexer) find() (int, start, int) {
	best, which, head := -1, start{}, 0
	if l.next == nil {
		l.next = make([]found, len(l.starts))
		for i := range l.next {
			l.next[i].at = -1
		}
	}
	for i, st := range l.starts {
		f := &l.next[i]
		if !f.none && f.at < l.pos { // what is ahead was found before
			*f = l.seek(st)
		}
		if !f.none && (best < 0 || f.at < best) {
			best, which, head = f.at, st, f.n
		}
	}
	return best, which, head
}

// found is where a tag start comes next.
type found struct {
	at, n int
	none  bool // never again
}

func (l *lexer) seek(st start) found {
	at, n := -1, len(st.text)
	switch st.kind {
	case startLineStatement:
		at, n = l.findLine(st.text, false)
	case startLineComment:
		at, n = l.findLine(st.text, true)
	default:
		if i := strings.Index(l.src[l.pos:], st.text); i >= 0 {
			at = l.pos + i
		}
	}
	return found{at, n, at < 0}
}

// findLine finds a line prefix: at the start of a line after blanks, and for
// comments also behind text.
func (l *lexer) findLine(prefix string, comment bool) (at, n int) {
	for i := l.pos; i < len(l.src); {
		k := strings.Index(l.src[i:], prefix)
		if k < 0 {
			break
		}
		k += i
		j := k
		for j > l.pos && l.src[j-1] != '\n' && (l.src[j-1] == ' ' || l.src[j-1] == '\t' || l.src[j-1] == '\v' || comment && l.src[j-1] == '\f') {
			j--
		}
		if j == 0 || l.src[j-1] == '\n' || comment && !isSpaceByte(l.src[j-1]) {
			return j, k + len(prefix) - j
		}
		i = k + 1
	}
	return -1, 0
}

func isSpaceByte(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }

func (l *lexer) spaces(at int) int {
	for at < len(l.src) {
		r, n := utf8.DecodeRuneInString(l.src[at:])
		if !unicode.IsSpace(r) && !(r >= 0x1c && r <= 0x1f) {
			break
		}
		at += n
	}
	return at
}

// rawBegin reports whether a raw tag goes on at, and where it ends.
func (l *lexer) rawBegin(at int) (end int, ok bool) {
	at = l.spaces(at)
	if !strings.HasPrefix(l.src[at:], "raw") {
		return 0, false
	}
	at = l.spaces(at + 3)
	if strings.HasPrefix(l.src[at:], "-"+l.BlockEnd) {
		return l.spaces(at + 1 + len(l.BlockEnd)), true
	}
	if strings.HasPrefix(l.src[at:], l.BlockEnd) {
		return at + len(l.BlockEnd), true
	}
	return 0, false
}

// end matches the end of a comment, block or raw tag at: with + or -, and the
// newline that TrimBlocks takes.
func (l *lexer) end(at int, closer string) (int, bool) {
	switch {
	case strings.HasPrefix(l.src[at:], "+"+closer):
		return at + 1 + len(closer), true
	case strings.HasPrefix(l.src[at:], "-"+closer):
		return l.spaces(at + 1 + len(closer)), true
	case strings.HasPrefix(l.src[at:], closer):
		at += len(closer)
		if l.TrimBlocks && at < len(l.src) && l.src[at] == '\n' {
			at++
		}
		return at, true
	}
	return 0, false
}

func (l *lexer) raw() bool {
	for i := l.pos; ; {
		k := strings.Index(l.src[i:], l.BlockStart)
		if k < 0 {
			if l.pos >= len(l.src) { // as with comments
				return true
			}
			return l.fail("Missing end of raw directive")
		}
		k += i
		after := k + len(l.BlockStart)
		sign := l.sign(after)
		at := l.spaces(after + len(sign))
		if strings.HasPrefix(l.src[at:], "endraw") {
			if end, ok := l.end(l.spaces(at+len("endraw")), l.BlockEnd); ok {
				text := l.strip(l.src[l.pos:k], sign, startBlock)
				l.data(text, end)
				return true
			}
		}
		i = k + 1
	}
}

func (l *lexer) comment() bool {
	k := strings.Index(l.src[l.pos:], l.CommentEnd)
	if k < 0 {
		if l.pos >= len(l.src) { // nothing after the start: Jinja2 sees no comment to miss the end of
			return true
		}
		return l.fail("Missing end of comment tag")
	}
	k += l.pos
	at := k
	if k > l.pos && (l.src[k-1] == '-' || l.src[k-1] == '+') {
		at = k - 1
	}
	end, _ := l.end(at, l.CommentEnd)
	l.skip(end)
	return true
}

// tag lexes the inside of a tag up to its end.
func (l *lexer) tag(k startKind, bare bool) bool {
	// A bare expression has no variable_begin token, which is what turns the
	// escaping on in the reference.
	escape := l.EscapeBackslashes && k == startVariable && !bare
	for l.pos < len(l.src) {
		if len(l.balance) == 0 {
			if end, ok := l.tagEnd(k); ok {
				switch k {
				case startVariable:
					l.emit(token{kind: kVariableEnd})
				default:
					l.emit(token{kind: kBlockEnd})
				}
				l.skip(end)
				return true
			}
		}
		if at := l.spaces(l.pos); at > l.pos {
			l.skip(at)
			continue
		}
		if !l.lexeme(escape) {
			return false
		}
	}
	if k == startLineStatement && len(l.balance) == 0 {
		l.emit(token{kind: kBlockEnd})
	}
	return true
}

func (l *lexer) tagEnd(k startKind) (int, bool) {
	switch k {
	case startVariable:
		if strings.HasPrefix(l.src[l.pos:], "-"+l.VariableEnd) {
			return l.spaces(l.pos + 1 + len(l.VariableEnd)), true
		}
		if strings.HasPrefix(l.src[l.pos:], l.VariableEnd) {
			return l.pos + len(l.VariableEnd), true
		}
		return 0, false
	case startBlock:
		return l.end(l.pos, l.BlockEnd)
	}
	at := l.pos // a line statement ends with its line; blanks may hold newlines
	last := -1
	for at < len(l.src) && isSpaceByte(l.src[at]) {
		if l.src[at] == '\n' {
			last = at + 1
		}
		at++
	}
	if at == len(l.src) {
		return at, true
	}
	return last, last >= 0
}
