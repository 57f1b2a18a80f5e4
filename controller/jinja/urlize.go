package jinja

import (
	"sort"
	"strings"

	"volant/wire/rx"
	"volant/wire/value"
)

var (
	urlHTTP = rx.Lazy(`(?i)^((https?://|www\.)(([\w%-]+\.)+)?([a-z]{2,63}|xn--[\w%]{2,59})|([\w%-]{2,63}\.)+(com|net|int|edu|gov|org|info|mil)|(https?://)((([\d]{1,3})(\.[\d]{1,3}){3})|(\[([\da-f]{0,4}:){2}([\da-f]{0,4}:?){1,6}\])))(:[\d]{1,5})?([/?#]\S*)?$`)
	urlMail = rx.Lazy(`^\S+@\w[\w.-]*\.\w+$`)
	urlLead = rx.Lazy(`^([(<]|&lt;)+`)
	urlTail = rx.Lazy(`([)>.,\n]|&gt;)+$`)
	urlSep  = rx.Lazy(`\s+`)
	scheme  = rx.Lazy(`^([\w.+-]{2,}:(/){0,2})$`)
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
