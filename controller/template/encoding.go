package template

import (
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/encoding/unicode/utf32"

	"volant/wire/value"
)

// codec finds an encoding by Python's name for it; nil is UTF-8.
func codec(name string) (encoding.Encoding, error) {
	n := strings.ToLower(strings.NewReplacer("_", "-", " ", "-").Replace(name))
	switch n {
	case "", "utf-8", "utf8", "u8":
		return nil, nil
	case "ascii", "us-ascii", "646":
		return asciiCodec{}, nil
	case "latin-1", "latin1", "iso-8859-1", "iso8859-1", "8859", "cp819", "l1":
		return charmap.ISO8859_1, nil
	case "utf-16":
		return unicode.UTF16(unicode.LittleEndian, unicode.UseBOM), nil
	case "utf-16le", "utf-16-le":
		return unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM), nil
	case "utf-16be", "utf-16-be":
		return unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM), nil
	case "utf-32":
		return utf32.UTF32(utf32.LittleEndian, utf32.UseBOM), nil
	case "utf-32le", "utf-32-le":
		return utf32.UTF32(utf32.LittleEndian, utf32.IgnoreBOM), nil
	case "utf-32be", "utf-32-be":
		return utf32.UTF32(utf32.BigEndian, utf32.IgnoreBOM), nil
	case "utf-8-sig", "utf8-sig":
		return unicode.UTF8BOM, nil
	case "cp437":
		return charmap.CodePage437, nil
	case "cp850":
		return charmap.CodePage850, nil
	}
	if strings.HasPrefix(n, "cp125") {
		n = "windows-" + n[2:]
	}
	if strings.HasPrefix(n, "iso8859-") {
		n = "iso-" + n[3:]
	}
	e, err := htmlindex.Get(n)
	if err != nil {
		return nil, value.Raise("LookupError", "unknown encoding: %s", name)
	}
	return e, nil
}

// asciiCodec is 7-bit text.
type asciiCodec struct{ encoding.Encoding }

// encode is Python's s.encode(name); bytes that are not UTF-8 stand for
// themselves.
func encode(s, name string) ([]byte, error) {
	e, err := codec(name)
	if err != nil || e == nil {
		return []byte(s), err
	}
	limit := rune(0)
	switch e {
	case charmap.ISO8859_1:
		limit = 256
	case asciiCodec{}:
		limit = 128
	}
	if limit > 0 {
		out := make([]byte, 0, len(s))
		pos := 0
		for i, r := range s {
			switch {
			case r == utf8.RuneError && s[i] != 0xEF: // a raw byte
				out = append(out, s[i])
			case r >= limit:
				return nil, encodeError(limit, r, pos)
			default:
				out = append(out, byte(r))
			}
			pos++
		}
		return out, nil
	}
	out, err := e.NewEncoder().Bytes([]byte(s))
	if err != nil {
		return nil, cannotMap(e, s, name)
	}
	return out, nil
}

// cannotMap is the error about the first character of s that e has no bytes for.
func cannotMap(e encoding.Encoding, s, name string) error {
	why := "illegal multibyte sequence"
	if _, ok := e.(*charmap.Charmap); ok {
		name, why = "charmap", "character maps to <undefined>" // what Python's tables all say
	}
	enc := e.NewEncoder()
	pos := 0
	for _, r := range s {
		if _, err := enc.String(string(r)); err != nil {
			return value.Raise("UnicodeEncodeError", "'%s' codec can't encode character '%s' in position %d: %s", name, value.EscapeRune(r), pos, why)
		}
		pos++
	}
	return value.Raise("UnicodeEncodeError", "'%s' codec can't encode the text", name)
}

func encodeError(limit rune, r rune, pos int) error {
	codecName := "latin-1"
	if limit == 128 {
		codecName = "ascii"
	}
	return value.Raise("UnicodeEncodeError", "'%s' codec can't encode character '%s' in position %d: ordinal not in range(%d)", codecName, value.EscapeRune(r), pos, limit)
}

// decode is Python's b.decode(name); what is not UTF-8 is kept as it is.
func decode(b []byte, name string) (string, error) {
	e, err := codec(name)
	if err != nil || e == nil {
		return string(b), err
	}
	if e == (asciiCodec{}) {
		return string(b), nil
	}
	out, err := e.NewDecoder().Bytes(b)
	if err != nil {
		return "", value.Raise("UnicodeDecodeError", "'%s' codec can't decode bytes", name)
	}
	return string(out), nil
}
