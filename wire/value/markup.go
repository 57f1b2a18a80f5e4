package value

import "strings"

// Markup is text that is HTML already, as `safe`, `escape` and `tojson` give
// it: a str to everything, but what is joined to it or formatted into it is
// escaped.
type Markup string

var htmlEscapes = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "'", "&#39;", `"`, "&#34;")

// Escape writes the characters that mean something in HTML as entities.
func Escape(s string) string {
	if !strings.ContainsAny(s, `&<>'"`) {
		return s
	}
	return htmlEscapes.Replace(s)
}

// ToMarkup is the text of v, escaped unless it is Markup.
func ToMarkup(v any) Markup {
	if m, ok := v.(Markup); ok {
		return m
	}
	return Markup(Escape(Str(v)))
}

// addMarkup is a + b of which one at least is Markup.
func addMarkup(a, b any) (any, error) {
	_, aText := Text(a)
	_, bText := Text(b)
	if !aText || !bText {
		return nil, unsupported("+", a, b)
	}
	x, y := ToMarkup(a), ToMarkup(b)
	if len(x)+len(y) > MaxText {
		return nil, errText()
	}
	return x + y, nil
}

// mulMarkup is m * n.
func mulMarkup(m Markup, n any) (any, error) {
	if !IsInt(n) {
		return nil, TypeErrorf("'%s' object cannot be interpreted as an integer", TypeName(n))
	}
	s, err := Mul(string(m), n)
	if err != nil {
		return nil, err
	}
	return Markup(s.(string)), nil
}

// Percent is m % args: what is formatted in is escaped.
func (m Markup) Percent(args any) (any, error) {
	s, err := percentFormat(string(m), args, true)
	if err != nil {
		return nil, err
	}
	return Markup(s), nil
}
