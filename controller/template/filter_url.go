package template

import (
	"strconv"
	"strings"
	"unicode"

	"volant/controller/jinja"
	"volant/wire/value"
)

var urlFilters = map[string]*jinja.Plugin{
	"urldecode": def("unquote_plus(string, encoding='utf-8', errors='replace')", urldecode),
	"urlsplit":  def("split_url(value, query='', alias='urlsplit')", urlsplitFilter),
}

func urldecode(_ *jinja.Context, a []any) (any, error) {
	in, ok := value.Text(a[0])
	if !ok {
		return nil, value.Raise("AttributeError", "'%s' object has no attribute 'replace'", lazyName(a[0]))
	}
	in = strings.ReplaceAll(in, "+", " ")
	var b strings.Builder
	for i := 0; i < len(in); i++ {
		if in[i] == '%' && i+2 < len(in) {
			if v, err := strconv.ParseUint(in[i+1:i+3], 16, 8); err == nil {
				b.WriteByte(byte(v))
				i += 2
				continue
			}
		}
		b.WriteByte(in[i])
	}
	return strings.ToValidUTF8(b.String(), "\uFFFD"), nil
}

// splitURL are the parts of Python's urlsplit.
type splitURL struct{ scheme, netloc, path, query, fragment string }

const schemeChars = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-."

func parseURL(u string) (splitURL, error) {
	var out splitURL
	u = strings.TrimLeftFunc(u, func(r rune) bool { return r <= ' ' })
	u = strings.NewReplacer("\t", "", "\r", "", "\n", "").Replace(u)
	if i := strings.IndexByte(u, ':'); i > 0 && u[0] < 128 && unicode.IsLetter(rune(u[0])) && strings.Trim(u[:i], schemeChars) == "" {
		out.scheme, u = strings.ToLower(u[:i]), u[i+1:]
	}
	if strings.HasPrefix(u, "//") {
		u = u[2:]
		i := strings.IndexAny(u, "/?#")
		if i < 0 {
			i = len(u)
		}
		out.netloc, u = u[:i], u[i:]
		if strings.Contains(out.netloc, "[") != strings.Contains(out.netloc, "]") {
			return out, value.ValueErrorf("Invalid IPv6 URL")
		}
	}
	if i := strings.IndexByte(u, '#'); i >= 0 {
		u, out.fragment = u[:i], u[i+1:]
	}
	if i := strings.IndexByte(u, '?'); i >= 0 {
		u, out.query = u[:i], u[i+1:]
	}
	out.path = u
	return out, nil
}

func (u splitURL) userInfo() (user, password any, host string) {
	i := strings.LastIndexByte(u.netloc, '@')
	if i < 0 {
		return nil, nil, u.netloc
	}
	name, pass, ok := strings.Cut(u.netloc[:i], ":")
	if ok {
		return name, pass, u.netloc[i+1:]
	}
	return name, nil, u.netloc[i+1:]
}

func (u splitURL) hostPort() (host, port any, err error) {
	_, _, info := u.userInfo()
	var h, p string
	if i := strings.IndexByte(info, '['); i >= 0 {
		inner, after, _ := strings.Cut(info[i+1:], "]")
		h = inner
		_, p, _ = strings.Cut(after, ":")
	} else {
		h, p, _ = strings.Cut(info, ":")
	}
	if h != "" {
		addr, zone, ok := strings.Cut(h, "%")
		h = strings.ToLower(addr)
		if ok {
			h += "%" + zone
		}
		host = h
	}
	if p == "" {
		return host, nil, nil
	}
	if strings.Trim(p, "0123456789") != "" {
		return host, nil, value.ValueErrorf("Port could not be cast to integer value as %s", value.Repr(p))
	}
	n, err := strconv.ParseInt(p, 10, 64)
	if err != nil || n > 65535 {
		return host, nil, value.ValueErrorf("Port out of range 0-65535")
	}
	return host, n, nil
}

func urlsplitFilter(_ *jinja.Context, a []any) (any, error) {
	in, text := value.Text(a[0])
	switch {
	case !text && !value.Hashable(a[0]):
		return nil, value.TypeErrorf("unhashable type: '%s'", lazyName(a[0]))
	case !text && value.Truth(a[0]): // what is empty gives the parts of no bytes
		return nil, value.Raise("AttributeError", "'%s' object has no attribute 'decode'", lazyName(a[0]))
	}
	u, err := parseURL(in)
	if err != nil {
		return nil, err
	}
	host, port, err := u.hostPort()
	if err != nil {
		return nil, err
	}
	user, pass, _ := u.userInfo()
	out := value.DictOf("fragment", u.fragment, "hostname", host, "netloc", u.netloc, "password", pass, "path", u.path,
		"port", port, "query", u.query, "scheme", u.scheme, "username", user)
	part, _ := value.Text(a[1])
	if part == "" {
		return out, nil
	}
	v, ok := out.Get(part)
	if !ok {
		alias, _ := value.Text(a[2])
		return nil, value.ValueErrorf("%s: unknown URL component: %s", alias, part)
	}
	if _, isText := v.(string); isText && !text {
		return []byte{}, nil
	}
	return v, nil
}
