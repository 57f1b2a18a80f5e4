package jinja

import (
	"math/rand/v2"
	"regexp"
	"sort"
	"strings"
	"unicode"

	"volant/wire/value"
)

var (
	urlHTTP = regexp.MustCompile(`(?i)^((https?://|www\.)(([\w%-]+\.)+)?([a-z]{2,63}|xn--[\w%]{2,59})|([\w%-]{2,63}\.)+(com|net|int|edu|gov|org|info|mil)|(https?://)((([\d]{1,3})(\.[\d]{1,3}){3})|(\[([\da-f]{0,4}:){2}([\da-f]{0,4}:?){1,6}\])))(:[\d]{1,5})?([/?#]\S*)?$`)
	urlMail = regexp.MustCompile(`^\S+@\w[\w.-]*\.\w+$`)
	urlLead = regexp.MustCompile(`^([(<]|&lt;)+`)
	urlTail = regexp.MustCompile(`([)>.,\n]|&gt;)+$`)
	urlSep  = regexp.MustCompile(`\s+`)
	scheme  = regexp.MustCompile(`^([\w.+-]{2,}:(/){0,2})$`)
)

func urlizeFilter(c *Context, a []any) (any, error) {
	s, err := c.Str(a[0])
	if err != nil {
		return nil, err
	}
	rel := map[string]bool{"noopener": true}
	if r, ok := value.Text(a[4]); ok {
		for _, p := range strings.Fields(r) {
			rel[p] = true
		}
	}
	if value.Truth(a[2]) {
		rel["nofollow"] = true
	}
	var rels []string
	for p := range rel {
		rels = append(rels, p)
	}
	sort.Strings(rels)
	attrs := ` rel="` + Escape(strings.Join(rels, " ")) + `"`
	if t, ok := value.Text(a[3]); ok && t != "" {
		attrs += ` target="` + Escape(t) + `"`
	}
	var schemes []string
	if a[5] != nil {
		items, err := c.Items(a[5])
		if err != nil {
			return nil, err
		}
		for _, it := range items {
			sc := value.Str(it)
			if !scheme.MatchString(sc) {
				return nil, value.Raise("FilterArgumentError", "%s is not a valid URI scheme prefix.", value.Repr(sc))
			}
			schemes = append(schemes, sc)
		}
	}
	limit := -1
	if a[1] != nil {
		if limit, err = wantInt(a[1]); err != nil {
			return nil, err
		}
	}
	short := func(x string) string {
		if limit >= 0 && value.RuneLen(x) > limit {
			return strings.Join(runes(x)[:limit], "") + "..."
		}
		return x
	}
	text := Escape(s)
	var b strings.Builder
	at := 0
	for _, m := range append(urlSep.FindAllStringIndex(text, -1), []int{len(text), len(text)}) {
		b.WriteString(link(text[at:m[0]], attrs, short, schemes))
		b.WriteString(text[m[0]:m[1]])
		at = m[1]
	}
	return b.String(), nil
}

// link turns one word into a link if it looks like one.
func link(mid, attrs string, short func(string) string, schemes []string) string {
	head := urlLead.FindString(mid)
	mid = mid[len(head):]
	tail := urlTail.FindString(mid)
	mid = mid[:len(mid)-len(tail)]
	for _, p := range [][2]string{{"(", ")"}, {"<", ">"}, {"&lt;", "&gt;"}} {
		n := strings.Count(mid, p[0])
		if n <= strings.Count(mid, p[1]) {
			continue
		}
		for range min(n, strings.Count(tail, p[1])) {
			end := strings.Index(tail, p[1]) + len(p[1])
			mid, tail = mid+tail[:end], tail[end:]
		}
	}
	switch {
	case urlHTTP.MatchString(mid):
		href := mid
		if !strings.HasPrefix(mid, "https://") && !strings.HasPrefix(mid, "http://") {
			href = "https://" + mid
		}
		mid = `<a href="` + href + `"` + attrs + ">" + short(mid) + "</a>"
	case strings.HasPrefix(mid, "mailto:") && urlMail.MatchString(mid[7:]):
		mid = `<a href="` + mid + `">` + mid[7:] + "</a>"
	case strings.Contains(mid, "@") && !strings.HasPrefix(mid, "www.") && !strings.HasPrefix(mid, "@") && !strings.Contains(mid, ":") && urlMail.MatchString(mid):
		mid = `<a href="mailto:` + mid + `">` + mid + "</a>"
	default:
		for _, sc := range schemes {
			if mid != sc && strings.HasPrefix(mid, sc) {
				mid = `<a href="` + mid + `"` + attrs + ">" + mid + "</a>"
			}
		}
	}
	return head + mid + tail
}

const lorem = `a ac accumsan ad adipiscing aenean aliquam aliquet amet ante aptent arcu at auctor augue bibendum blandit class
commodo condimentum congue consectetuer consequat cras cubilia curabitur cursus dapibus diam dictum dignissim dis dolor donec dui
duis egestas eget eleifend elementum elit enim erat eros est et etiam eu euismod facilisi fames faucibus felis fermentum feugiat
fringilla fusce gravida habitant hac hendrerit iaculis id imperdiet in inceptos integer interdum ipsum justo lacinia lacus laoreet
lectus leo libero ligula lobortis lorem luctus maecenas magna mattis mauris metus mi molestie mollis montes morbi nam nec neque
nibh nisi nisl non nulla nunc odio orci ornare pede pellentesque per pharetra phasellus placerat porta posuere potenti praesent
pretium primis proin pulvinar purus quam quis rhoncus risus rutrum sagittis sapien scelerisque sed sem semper sit sociis sodales
suscipit tellus tempor tempus tincidunt tortor tristique turpis ullamcorper ultrices urna ut varius vehicula vel velit venenatis
vestibulum vitae vivamus viverra volutpat vulputate`

func lipsum(c *Context, a []any) (any, error) {
	var n [3]int
	for i, k := range []int{0, 2, 3} {
		var err error
		if n[i], err = wantInt(a[k]); err != nil {
			return nil, err
		}
	}
	if n[1] >= n[2] {
		return nil, value.ValueErrorf("empty range for randrange() (%d, %d, %d)", n[1], n[2], n[2]-n[1])
	}
	if n[0] > 0 && n[2] > 0 && n[0] > c.run.limits.Output/16/n[2] {
		return nil, &LimitError{"output", c.run.limits.Output}
	}
	all := strings.Fields(lorem)
	var out []string
	for range n[0] {
		var p []string
		capital, comma, stop := true, 0, 0
		for i := range n[1] + rand.IntN(n[2]-n[1]) {
			w := all[rand.IntN(len(all))]
			if capital {
				w, capital = capitalize(w), false
			}
			if i-(3+rand.IntN(5)) > comma {
				comma = i
				stop += 2
				w += ","
			}
			if i-(10+rand.IntN(10)) > stop {
				comma, stop = i, i
				w += "."
				capital = true
			}
			p = append(p, w)
		}
		s := strings.TrimSuffix(strings.Join(p, " "), ",")
		if !strings.HasSuffix(s, ".") {
			s += "."
		}
		if value.Truth(a[1]) {
			s = "<p>" + s + "</p>"
		}
		out = append(out, s)
	}
	if value.Truth(a[1]) {
		return strings.Join(out, "\n"), nil
	}
	return strings.Join(out, "\n\n"), nil
}

func wordWrap(_ *Context, a []any) (any, error) {
	s, ok := value.Text(a[0])
	if !ok {
		return nil, value.Raise("AttributeError", "'%s' object has no attribute 'splitlines'", typeName(a[0]))
	}
	w, err := wantInt(a[1])
	if err != nil {
		return nil, err
	}
	sep := "\n"
	if a[3] != nil {
		if sep, err = wantText(a[3], "wrapstring"); err != nil {
			return nil, err
		}
	}
	lines := splitLines(s, false)
	if w <= 0 && len(lines) > 0 {
		return nil, value.ValueErrorf("invalid width %d (must be > 0)", w)
	}
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = strings.Join(WrapText(l, w, value.Truth(a[2]), value.Truth(a[4])), sep)
	}
	return joined(out, sep)
}

// WrapText is Python's textwrap.wrap of one paragraph, tabs and white space
// left as they are.
func WrapText(s string, width int, breakWords, breakHyphens bool) []string {
	chunks := wrapChunks(s, breakHyphens)
	var lines []string
	for len(chunks) > 0 {
		if len(lines) > 0 && strings.TrimSpace(chunks[0]) == "" {
			chunks = chunks[1:]
			if len(chunks) == 0 {
				break
			}
		}
		var cur []string
		n := 0
		for len(chunks) > 0 {
			l := value.RuneLen(chunks[0])
			if n+l > width {
				break
			}
			cur = append(cur, chunks[0])
			n += l
			chunks = chunks[1:]
		}
		if len(chunks) > 0 && value.RuneLen(chunks[0]) > width {
			switch {
			case breakWords:
				rs := runes(chunks[0])
				room := max(width-n, 1)
				end := room
				if breakHyphens && len(rs) > room {
					part := strings.Join(rs[:room], "")
					if h := strings.LastIndexByte(part, '-'); h > 0 && strings.Trim(part[:h], "-") != "" {
						end = value.RuneLen(part[:h]) + 1
					}
				}
				if width-n < 1 && len(cur) > 0 {
					end = 0
				}
				if end > 0 {
					cur = append(cur, strings.Join(rs[:end], ""))
					chunks[0] = strings.Join(rs[end:], "")
				}
			case len(cur) == 0:
				cur = append(cur, chunks[0])
				chunks = chunks[1:]
			}
		}
		if len(cur) > 0 && strings.TrimSpace(cur[len(cur)-1]) == "" {
			cur = cur[:len(cur)-1]
		}
		if len(cur) > 0 {
			lines = append(lines, strings.Join(cur, ""))
		}
	}
	return lines
}

// wrapChunks splits text into pieces that stay together.
func wrapChunks(s string, hyphens bool) []string {
	var out []string
	rs := []rune(s)
	blank := func(r rune) bool { return r == ' ' || r >= '\t' && r <= '\r' }
	letter := unicode.IsLetter
	from := 0
	cut := func(i int) {
		if i > from {
			out = append(out, string(rs[from:i]))
			from = i
		}
	}
	for i := 1; i < len(rs); i++ {
		switch {
		case blank(rs[i]) != blank(rs[i-1]):
			cut(i)
		case !hyphens || rs[i-1] != '-' || blank(rs[i]):
		case i >= 3 && i-3 >= from && rs[i-2] != '-' && letter(rs[i-2]) && (letter(rs[i-3]) || i >= 4 && rs[i-3] == '-' && letter(rs[i-4])) &&
			letter(rs[i]) && i+1 < len(rs) && (letter(rs[i+1]) || rs[i+1] == '-' && i+2 < len(rs) && letter(rs[i+2])):
			cut(i)
		case i >= 2 && rs[i-2] == '-' && (letter(rs[i]) || unicode.IsDigit(rs[i]) || rs[i] == '_') && i >= 3:
			cut(i)
		}
	}
	cut(len(rs))
	return out
}
