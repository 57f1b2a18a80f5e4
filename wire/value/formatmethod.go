package value

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// Fields are what the replacement fields of FormatText refer to.
type Fields struct {
	Pos     []any
	MapOnly bool                                     // only keys may be referred to (format_map)
	Key     func(name string) (any, bool)            // keyword or mapping key
	Attr    func(v any, name string) (any, error)    // {0.name}
	Item    func(v any, key any) (any, error)        // {0[key]}
	Text    func(v any, conv byte) (string, error)   // !s !r !a
	Spec    func(v any, spec string) (string, error) // format(v, spec)
}

// FormatText is Python's format.format(...).
func FormatText(format string, f *Fields) (string, error) {
	auto := 0 // next automatic field number; -1 once manual ones are used
	return formatText2(format, f, &auto, 2)
}

func formatText2(format string, f *Fields, auto *int, depth int) (string, error) {
	if depth < 0 {
		return "", ValueErrorf("Max string recursion exceeded")
	}
	var b strings.Builder
	for i := 0; i < len(format); {
		c := format[i]
		switch {
		case c == '{' && i+1 < len(format) && format[i+1] == '{', c == '}' && i+1 < len(format) && format[i+1] == '}':
			b.WriteByte(c)
			i += 2
		case c == '}':
			return "", ValueErrorf("Single '}' encountered in format string")
		case c != '{':
			j := strings.IndexAny(format[i:], "{}")
			if j < 0 {
				j = len(format) - i
			}
			b.WriteString(format[i : i+j])
			i += j
		default:
			if i+1 >= len(format) {
				return "", ValueErrorf("Single '{' encountered in format string")
			}
			level, j := 1, i+1
			bracket := false
			for ; j < len(format) && level > 0; j++ {
				switch format[j] {
				case '[':
					bracket = true
				case ']':
					bracket = false
				case '{':
					if !bracket {
						level++
					}
				case '}':
					if !bracket {
						level--
					}
				}
			}
			if level > 0 {
				return "", ValueErrorf("expected '}' before end of string")
			}
			t, err := f.field(format[i+1:j-1], auto, depth)
			if err != nil {
				return "", err
			}
			b.WriteString(t)
			i = j
		}
		if b.Len() > MaxText {
			return "", errText()
		}
	}
	return b.String(), nil
}

func (f *Fields) field(text string, auto *int, depth int) (string, error) {
	name, conv, spec := text, byte(0), ""
	bracket := false
scan:
	for i := range len(text) {
		switch text[i] {
		case '[':
			bracket = true
		case ']':
			bracket = false
		case '!', ':':
			if bracket {
				continue
			}
			name = text[:i]
			rest := text[i:]
			if rest[0] == '!' {
				if len(rest) < 2 {
					return "", ValueErrorf("end of string while looking for conversion specifier")
				}
				conv = rest[1]
				rest = rest[2:]
				if rest != "" && rest[0] != ':' {
					return "", ValueErrorf("expected ':' after conversion specifier")
				}
			}
			if rest != "" {
				spec = rest[1:]
			}
			break scan
		}
	}
	v, err := f.lookup(name, auto)
	if err != nil {
		return "", err
	}
	if conv != 0 {
		if conv != 's' && conv != 'r' && conv != 'a' {
			return "", ValueErrorf("Unknown conversion specifier '%c'", conv)
		}
		if v, err = f.Text(v, conv); err != nil {
			return "", err
		}
	}
	if strings.ContainsAny(spec, "{}") {
		if spec, err = formatText2(spec, f, auto, depth-1); err != nil {
			return "", err
		}
	}
	return f.Spec(v, spec)
}

func (f *Fields) lookup(name string, auto *int) (any, error) {
	end := strings.IndexAny(name, ".[")
	if end < 0 {
		end = len(name)
	}
	first, rest := name[:end], name[end:]
	var v any
	index := -1
	if first == "" {
		if *auto < 0 {
			return nil, ValueErrorf("cannot switch from manual field specification to automatic field numbering")
		}
		index = *auto
		*auto++
	} else if n, err := strconv.Atoi(first); err == nil && first[0] >= '0' && first[0] <= '9' {
		if *auto > 0 {
			return nil, ValueErrorf("cannot switch from automatic field numbering to manual field specification")
		}
		*auto = -1
		index = n
	}
	if index >= 0 {
		if f.MapOnly {
			return nil, ValueErrorf("Format string contains positional fields")
		}
		if index >= len(f.Pos) {
			return nil, Raise("IndexError", "Replacement index %d out of range for positional args tuple", index)
		}
		v = f.Pos[index]
	} else {
		var ok bool
		if v, ok = f.Key(first); !ok {
			return nil, &Exception{"KeyError", Repr(first)}
		}
	}
	var err error
	for rest != "" {
		if rest[0] == '.' {
			end := strings.IndexAny(rest[1:], ".[")
			if end < 0 {
				end = len(rest) - 1
			}
			attr := rest[1 : end+1]
			if attr == "" {
				return nil, ValueErrorf("Empty attribute in format string")
			}
			if v, err = f.Attr(v, attr); err != nil {
				return nil, err
			}
			rest = rest[end+1:]
			continue
		}
		if rest[0] != '[' {
			return nil, ValueErrorf("Only '.' or '[' may follow ']' in format field specifier")
		}
		end := strings.IndexByte(rest, ']')
		if end < 0 {
			return nil, ValueErrorf("Missing ']' in format string")
		}
		key := rest[1:end]
		if key == "" {
			return nil, ValueErrorf("Empty attribute in format string")
		}
		var k any = key
		if n, err := strconv.ParseInt(key, 10, 64); err == nil && key[0] != '-' && key[0] != '+' {
			k = n
		}
		if v, err = f.Item(v, k); err != nil {
			return nil, err
		}
		rest = rest[end+1:]
	}
	return v, nil
}

// RuneLen is the length of text as Python counts it.
func RuneLen(s string) int { return utf8.RuneCountInString(s) }
