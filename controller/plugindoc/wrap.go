package plugindoc

import (
	"strings"
	"unicode/utf8"

	"volant/wire/value"
)

// filled is Python's textwrap.fill without breaking words: first and rest are
// the indents. maxLines 0 has no bound; beyond it the text ends in "[...]".
func filled(text string, width int, first, rest string, maxLines int) string {
	text = strings.Map(func(r rune) rune {
		if r == '\n' || r == '\r' || r == '\v' || r == '\f' {
			return ' '
		}
		return r
	}, value.ExpandTabs(text, 8))
	chunks := chunksOf(text)
	var lines []string
	for len(chunks) > 0 {
		indent := rest
		if len(lines) == 0 {
			indent = first
		}
		room := width - utf8.RuneCountInString(indent)
		if len(lines) > 0 && strings.TrimSpace(chunks[0]) == "" {
			chunks = chunks[1:]
			if len(chunks) == 0 {
				break
			}
		}
		n, length := 0, 0
		for n < len(chunks) {
			c := utf8.RuneCountInString(chunks[n])
			if length+c > room && n > 0 {
				break
			}
			length += c
			n++
			if length > room {
				break
			}
		}
		line := chunks[:n]
		chunks = chunks[n:]
		if n > 0 && strings.TrimSpace(line[n-1]) == "" {
			line = line[:n-1]
		}
		if len(line) == 0 {
			continue
		}
		more := len(chunks) > 1 || len(chunks) == 1 && strings.TrimSpace(chunks[0]) != ""
		if maxLines > 0 && len(lines)+1 == maxLines && more {
			return strings.Join(append(lines, truncated(line, room, indent)), "\n")
		}
		lines = append(lines, indent+strings.Join(line, ""))
	}
	return strings.Join(lines, "\n")
}

const placeholder = " [...]"

// truncated is the last line of a text that goes on.
func truncated(line []string, room int, indent string) string {
	for len(line) > 0 {
		text := strings.Join(line, "")
		if strings.TrimSpace(line[len(line)-1]) != "" && utf8.RuneCountInString(text)+len(placeholder) <= room {
			return indent + text + placeholder
		}
		line = line[:len(line)-1]
	}
	return indent + strings.TrimLeft(placeholder, " ")
}

// chunksOf splits text into words and the spaces between them.
func chunksOf(text string) []string {
	var out []string
	for start := 0; start < len(text); {
		space := text[start] == ' '
		end := start + 1
		for end < len(text) && (text[end] == ' ') == space {
			end++
		}
		out = append(out, text[start:end])
		start = end
	}
	return out
}

// wrap fills each paragraph of a text. extra is how far the first line starts
// to the right of first, where something else stands already.
func wrap(text string, width int, first, rest string, extra int) string {
	var out []string
	for _, p := range strings.Split(text, "\n\n") {
		pad := strings.Repeat(" ", extra)
		lines := filled(p, width, first+pad, rest, 0)
		if extra > 0 {
			lines = strings.TrimPrefix(lines, pad)
		}
		out = append(out, lines)
		first, extra = rest, 0
	}
	return strings.Join(out, "\n")
}
