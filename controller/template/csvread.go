package template

// csvRows reads text as Python's csv module does in its excel dialect: a quote
// inside a field is text, and so is what follows a closing quote. Empty lines
// are no rows. read is called for each row until it returns false.
func csvRows(text string, sep rune, read func(row []string) bool) {
	const (
		start = iota // of a field
		plain
		quoted
		closing // a quote within quotes: its end, or the first of two
	)
	var (
		row   []string
		field []rune
		state = start
	)
	endField := func() {
		row = append(row, string(field))
		field = field[:0]
		state = start
	}
	any := false // of the row has been read
	endRow := func() bool {
		if !any {
			return true
		}
		endField()
		ok := read(row)
		row, any = nil, false
		return ok
	}
	prev := rune(0)
	for _, r := range text {
		eol := r == '\n' || r == '\r'
		if r == '\n' && prev == '\r' && state == start && !any {
			prev = r
			continue
		}
		prev = r
		switch {
		case state == quoted && r == '"':
			state = closing
		case state == quoted:
			field = append(field, r)
		case state == closing && r == '"':
			field = append(field, r)
			state = quoted
		case eol:
			if !endRow() {
				return
			}
			continue
		case r == sep:
			any = true
			endField()
		case state == start && r == '"':
			state = quoted
		default:
			field = append(field, r)
			state = plain
		}
		any = true
	}
	if any {
		endRow()
	}
}
