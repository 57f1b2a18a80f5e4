package jinja

import (
	"encoding/hex"
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"volant/wire/value"
)

// encode is str.encode for the encodings templates meet.
func encode(_ *Context, recv any, a []any) (any, error) {
	enc, err := wantText(a[0], "encode() argument 'encoding'")
	if err != nil {
		return nil, err
	}
	mode, err := wantText(a[1], "encode() argument 'errors'")
	if err != nil {
		return nil, err
	}
	return Encode(value.Str(recv), enc, mode)
}

func codec(name string) string {
	return strings.NewReplacer("_", "", "-", "", " ", "").Replace(strings.ToLower(name))
}

// Encode is Python's str.encode. Undecodable bytes in s pass with
// surrogateescape and fail with strict.
func Encode(s, encoding, mode string) ([]byte, error) {
	limit := rune(0)
	switch codec(encoding) {
	case "utf8", "u8", "utf", "cp65001":
		if mode == "surrogateescape" || utf8.ValidString(s) {
			return []byte(s), nil
		}
		limit = utf8.MaxRune
	case "ascii", "usascii", "646":
		limit = 0x7f
	case "latin1", "iso88591", "l1", "latin", "cp819", "88591":
		limit = 0xff
	case "utf16", "u16", "utf16le", "utf16be":
		big := strings.HasSuffix(codec(encoding), "be")
		var out []byte
		if !strings.HasSuffix(codec(encoding), "e") {
			out = append(out, 0xff, 0xfe)
		}
		for _, u := range utf16.Encode([]rune(s)) {
			if big {
				out = append(out, byte(u>>8), byte(u))
			} else {
				out = append(out, byte(u), byte(u>>8))
			}
		}
		return out, nil
	case "utf32", "u32", "utf32le", "utf32be":
		big := strings.HasSuffix(codec(encoding), "be")
		var out []byte
		if !strings.HasSuffix(codec(encoding), "e") {
			out = append(out, 0xff, 0xfe, 0, 0)
		}
		for _, r := range s {
			if big {
				out = append(out, byte(r>>24), byte(r>>16), byte(r>>8), byte(r))
			} else {
				out = append(out, byte(r), byte(r>>8), byte(r>>16), byte(r>>24))
			}
		}
		return out, nil
	default:
		return nil, value.Raise("LookupError", "unknown encoding: %s", encoding)
	}
	var out []byte
	for i, n := 0, 0; i < len(s); n++ {
		r, w := utf8.DecodeRuneInString(s[i:])
		bad := r == utf8.RuneError && w == 1
		switch {
		case !bad && r <= limit && limit == utf8.MaxRune:
			out = utf8.AppendRune(out, r)
		case !bad && r <= limit:
			out = append(out, byte(r))
		case mode == "surrogateescape" && bad:
			out = append(out, s[i])
		case mode == "ignore":
		case mode == "replace":
			out = append(out, '?')
		case mode == "xmlcharrefreplace":
			out = fmt.Appendf(out, "&#%d;", r)
		case mode == "backslashreplace":
			switch {
			case bad:
				out = fmt.Appendf(out, `\udc%02x`, s[i])
			case r < 0x100:
				out = fmt.Appendf(out, `\x%02x`, r)
			case r < 0x10000:
				out = fmt.Appendf(out, `\u%04x`, r)
			default:
				out = fmt.Appendf(out, `\U%08x`, r)
			}
		default:
			ch, name, why := "'"+value.EscapeRune(r)+"'", "ascii", "ordinal not in range(128)"
			switch limit {
			case 0xff:
				name, why = "latin-1", "ordinal not in range(256)"
			case utf8.MaxRune:
				name, why, ch = "utf-8", "surrogates not allowed", fmt.Sprintf(`'\udc%02x'`, s[i])
			}
			return nil, value.Raise("UnicodeEncodeError", "'%s' codec can't encode character %s in position %d: %s", name, ch, n, why)
		}
		i += w
	}
	return out, nil
}

// Decode is Python's bytes.decode.
func Decode(b []byte, encoding, mode string) (string, error) {
	switch codec(encoding) {
	case "utf8", "u8", "utf":
		if utf8.Valid(b) || mode == "surrogateescape" {
			return string(b), nil
		}
	case "ascii", "usascii":
	case "latin1", "iso88591", "l1", "latin":
		var out strings.Builder
		for _, c := range b {
			out.WriteRune(rune(c))
		}
		return out.String(), nil
	case "utf16", "utf16le", "utf16be":
		big := strings.HasSuffix(codec(encoding), "be")
		if codec(encoding) == "utf16" && len(b) >= 2 {
			if b[0] == 0xfe && b[1] == 0xff {
				big, b = true, b[2:]
			} else if b[0] == 0xff && b[1] == 0xfe {
				b = b[2:]
			}
		}
		u := make([]uint16, len(b)/2)
		for i := range u {
			u[i] = uint16(b[2*i]) | uint16(b[2*i+1])<<8
			if big {
				u[i] = uint16(b[2*i+1]) | uint16(b[2*i])<<8
			}
		}
		return string(utf16.Decode(u)), nil
	default:
		return "", value.Raise("LookupError", "unknown encoding: %s", encoding)
	}
	ascii := strings.HasPrefix(codec(encoding), "a") || strings.HasPrefix(codec(encoding), "us")
	var out strings.Builder
	for i := 0; i < len(b); {
		r, w := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && w == 1 || ascii && b[i] >= 0x80 {
			w = 1
			switch mode {
			case "ignore":
			case "replace":
				out.WriteRune(utf8.RuneError)
			case "surrogateescape":
				out.WriteByte(b[i])
			case "backslashreplace":
				fmt.Fprintf(&out, `\x%02x`, b[i])
			default:
				name, why := "utf-8", "invalid start byte"
				if ascii {
					name, why = "ascii", "ordinal not in range(128)"
				} else if b[i] >= 0xc2 && b[i] <= 0xf4 {
					why = "invalid continuation byte"
					if i+1 >= len(b) {
						why = "unexpected end of data"
					}
				}
				return "", value.Raise("UnicodeDecodeError", "'%s' codec can't decode byte 0x%02x in position %d: %s", name, b[i], i, why)
			}
		} else {
			out.WriteRune(r)
		}
		i += w
	}
	return out.String(), nil
}

// viaText runs a text method on bytes: they are taken as latin-1, so that
// every byte is one character.
func viaText(name string) func(*Context, any, Args) (any, error) {
	m := strMethods[name]
	return func(c *Context, recv any, a Args) (any, error) {
		conv := func(v any) any {
			switch x := v.(type) {
			case []byte:
				s, _ := Decode(x, "latin1", "")
				return s
			case string: // Python refuses text where bytes are wanted
				return &nativeFunc{}
			}
			return v
		}
		as := Args{Pos: make([]any, len(a.Pos))}
		for i, v := range a.Pos {
			if as.Pos[i] = conv(v); name == "join" {
				items, err := c.Items(v)
				if err != nil {
					return nil, err
				}
				l := &value.List{}
				for _, it := range items {
					l.Items = append(l.Items, conv(it))
				}
				as.Pos[i] = l
			}
		}
		for _, k := range a.Kw {
			as.Kw = append(as.Kw, Kwarg{k.Name, conv(k.Value)})
		}
		s, _ := Decode(recv.([]byte), "latin1", "")
		r, err := m.call(c, s, as)
		if err != nil {
			return nil, err
		}
		return toBytes(r), nil
	}
}

func toBytes(v any) any {
	switch x := v.(type) {
	case string:
		b, _ := Encode(x, "latin1", "replace")
		if b == nil {
			b = []byte{}
		}
		return b
	case *value.List:
		for i, e := range x.Items {
			x.Items[i] = toBytes(e)
		}
	case value.Tuple:
		for i, e := range x {
			x[i] = toBytes(e)
		}
	}
	return v
}

var bytesMethods = bytesTable()

func bytesTable() map[string]*method {
	t := methods(map[string]func(*Context, any, []any) (any, error){
		"decode(encoding='utf-8', errors='strict')": func(_ *Context, r any, a []any) (any, error) {
			enc, err := wantText(a[0], "decode() argument 'encoding'")
			if err != nil {
				return nil, err
			}
			mode, err := wantText(a[1], "decode() argument 'errors'")
			if err != nil {
				return nil, err
			}
			return Decode(r.([]byte), enc, mode)
		},
		"hex(sep='', bytes_per_sep=1)": func(_ *Context, r any, a []any) (any, error) {
			h := hex.EncodeToString(r.([]byte))
			sep, _ := value.Text(a[0])
			if sep == "" {
				return h, nil
			}
			var parts []string
			for i := 0; i < len(h); i += 2 {
				parts = append(parts, h[i:i+2])
			}
			return strings.Join(parts, sep), nil
		},
	})
	for _, name := range strings.Fields(`capitalize center count endswith expandtabs find index isalnum isalpha isascii isdigit islower
		isspace istitle isupper join ljust lower lstrip partition removeprefix removesuffix replace rfind rindex rjust rpartition rsplit
		rstrip split splitlines startswith strip swapcase title upper zfill`) {
		t[name] = &method{name: name, call: viaText(name)}
	}
	return t
}
