package modules

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"volant/wire/pyjson"
	"volant/wire/rx"
	"volant/wire/value"
)

type uriArgs struct {
	urlCommon
	Username      *string     `arg:"url_username,alias=user"`
	Password      *string     `arg:"url_password,nolog,alias=password"`
	Dest          *string     `arg:"dest,type=path"`
	Body          any         `arg:"body"`
	BodyFormat    string      `arg:"body_format,default=raw,choices=form-urlencoded|json|raw|form-multipart"`
	Src           *string     `arg:"src,type=path"`
	Method        string      `arg:"method,default=GET"`
	ReturnContent bool        `arg:"return_content,default=no"`
	Follow        string      `arg:"follow_redirects,default=safe,choices=all|no|none|safe|urllib2|yes"`
	Creates       *string     `arg:"creates,type=path"`
	Removes       *string     `arg:"removes,type=path"`
	StatusCode    *value.List `arg:"status_code,elements=int,default=200"`
	Timeout       int64       `arg:"timeout,default=30"`
	Headers       *value.Dict `arg:"headers,default={}"`
	UnixSocket    *string     `arg:"unix_socket,type=path"`
	RemoteSrc     bool        `arg:"remote_src,default=no"`
	CAPath        *string     `arg:"ca_path,type=path"`
	Unredirected  []string    `arg:"unredirected_headers,default="`
	Decompress    bool        `arg:"decompress,default=yes"`
	Ciphers       []string    `arg:"ciphers"`
	UseNetrc      bool        `arg:"use_netrc,default=yes"`
	fileCommon
}

var methodWord = rx.Lazy(`^[A-Z]+$`)

// uri is the uri module for what watches a service: questions that change
// nothing, and their answers but redirects. Whatever else goes on is left to
// the Python module, which asks again.
func uri(ctx context.Context, c *call, a *uriArgs) (Result, error) {
	if c.Check {
		return nil, c.noCheck()
	}
	method := strings.ToUpper(a.Method)
	if !methodWord.MatchString(method) {
		return nil, fail("Parameter 'method' needs to be a single word in uppercase, like GET or POST.")
	}
	switch {
	case method != http.MethodGet && method != http.MethodHead || a.Body != nil || a.Src != nil || a.BodyFormat != "raw":
		return nil, handBack("a request that may change something")
	case a.Dest != nil || a.UnixSocket != nil || a.CAPath != nil || len(a.Ciphers) > 0 || len(a.Unredirected) > 0 || a.Follow == "yes" || a.Follow == "no":
		return nil, handBack("options out of the ordinary")
	case a.Username != nil || a.Password != nil:
		return nil, handBack("a request with credentials")
	}
	if a.Creates != nil && exists(c.p(*a.Creates)) {
		return value.DictOf("stdout", "skipped, since '"+*a.Creates+"' exists", "changed", false), nil
	}
	if a.Removes != nil && !exists(c.p(*a.Removes)) {
		return value.DictOf("stdout", "skipped, since '"+*a.Removes+"' does not exist", "changed", false), nil
	}
	w := &web{call: c, a: &a.urlCommon, headers: a.Headers, limit: time.Duration(a.Timeout) * time.Second, netrc: a.UseNetrc}
	if err := w.plain(); err != nil {
		return nil, err
	}
	q := &question{a: a, res: value.DictOf("redirected", false, "url", a.URL)}
	return q.ask(ctx, w, method)
}

// question is one run of uri.
type question struct {
	a   *uriArgs
	res Result
}

var errRedirect = errors.New("redirected")

func (q *question) ask(ctx context.Context, w *web, method string) (Result, error) {
	extra := http.Header{}
	if q.a.Force {
		extra.Set("Cache-Control", "no-cache")
	}
	started := time.Now()
	r, err := w.do(ctx, method, extra, func(*http.Request, []*http.Request) error { return errRedirect })
	var content string
	var wait net.Error
	switch {
	case err == nil:
		defer r.Body.Close()
		if content, err = q.answered(r); err != nil {
			return nil, err
		}
	case errors.Is(err, syscall.ECONNREFUSED):
		q.res.Set("msg", "Request failed: <urlopen error [Errno 111] Connection refused>")
		q.res.Set("status", int64(-1))
	case errors.As(err, &wait) && wait.Timeout() && ctx.Err() == nil && strings.HasPrefix(q.a.URL, "http:") && !dialling(err):
		q.res.Set("msg", "Connection failure: timed out")
		q.res.Set("status", int64(-1))
	default:
		return nil, handBack("the request failed")
	}
	q.res.Set("elapsed", int64(time.Since(started)/time.Second))
	q.res.Set("changed", false)
	if q.a.ReturnContent {
		q.res.Set("content", content)
	}
	status, _ := q.res.Lookup("status").(int64)
	if q.wanted(status) {
		return q.res, nil
	}
	msg, _ := q.res.Str("msg")
	q.res.Delete("msg")
	return nil, &failure{msg: fmt.Sprintf("Status code was %d and not %s: %s", status, value.Repr(q.a.StatusCode), msg), extra: q.res}
}

// wanted reports whether status_code names the status.
func (q *question) wanted(status int64) bool {
	return slices.Contains(q.a.StatusCode.Items, any(status))
}

// dialling reports whether the connection was not made in time.
func dialling(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}

// ownNames are the keys of the result that no header may be mistaken for.
var ownNames = map[string]bool{
	"redirected": true, "elapsed": true, "changed": true, "json": true, "content": true, "body": true, "path": true, "failed": true,
	"status": true, "msg": true, "url": true, "cookies": true, "cookies_string": true, "location": true, "warnings": true, "deprecations": true,
	"invocation": true, "exception": true, "skipped": true, "rc": true, "ansible_facts": true,
}

// answered takes over the answer's headers, and its content where that is of
// interest.
func (q *question) answered(r *http.Response) (string, error) {
	bad := r.StatusCode >= 400
	if !bad && (r.StatusCode < 200 || r.StatusCode >= 300) || r.StatusCode == http.StatusUnauthorized || r.Header.Get("Content-Encoding") != "" || len(r.Header["Set-Cookie"]) > 0 {
		return "", handBack("the server answers %s in a way of its own", r.Status)
	}
	if len(r.TransferEncoding) > 0 {
		r.Header.Set("Transfer-Encoding", strings.Join(r.TransferEncoding, ", "))
	}
	if r.Close && r.ProtoMinor == 1 { // net/http takes the header away
		r.Header.Set("Connection", "close")
	}
	for name, values := range r.Header {
		text := strings.Join(values, ", ")
		if bad {
			text = values[len(values)-1]
		}
		key := strings.ReplaceAll(strings.ToLower(name), "-", "_")
		if ownNames[key] || strings.IndexFunc(text, func(c rune) bool { return c > '~' }) >= 0 {
			return "", handBack("a header like no other: %s", name)
		}
		q.res.Set(key, text)
	}
	q.res.Set("status", int64(r.StatusCode))
	if bad {
		q.res.Set("msg", fmt.Sprintf("HTTP Error %d: %s", r.StatusCode, strings.TrimSpace(strings.TrimPrefix(r.Status, strconv.Itoa(r.StatusCode)))))
	} else {
		length := r.Header.Get("Content-Length")
		if length == "" {
			length = "unknown"
		}
		q.res.Set("msg", "OK ("+length+" bytes)")
		q.res.Set("cookies", value.NewDict(0))
		q.res.Set("cookies_string", "")
	}
	json, err := isJSON(r.Header.Get("Content-Type"))
	if err != nil {
		return "", err
	}
	unread := !json && !q.a.ReturnContent && q.wanted(int64(r.StatusCode))
	if unread && !bad {
		return "", nil
	}
	b, err := io.ReadAll(io.LimitReader(r.Body, maxContent+1))
	if err != nil || len(b) > maxContent || !utf8.Valid(b) {
		return "", handBack("the answer is cut off, too long or no UTF-8")
	}
	if unread { // of an error the module's library has read it already
		q.res.Set("body", string(b))
	}
	if json {
		if v, err := pyjson.DecodeString(string(b)); err == nil {
			q.res.Set("json", v)
		}
	}
	return string(b), nil
}

// maxContent bounds, in bytes, what of an answer is held in memory.
const maxContent = 16 << 20

// isJSON reports whether the module tries to read an answer of that type as
// JSON; types in a way of their own are handed back.
func isJSON(contentType string) (bool, error) {
	if contentType == "" {
		return false, nil
	}
	kind, params, err := mime.ParseMediaType(contentType)
	if cs := strings.ToLower(params["charset"]); err != nil || strings.Contains(kind, ",") || cs != "" && cs != "utf-8" && cs != "us-ascii" {
		return false, handBack("the answer's type %s", contentType)
	}
	_, sub, _ := strings.Cut(kind, "/")
	if _, suffix, ok := strings.Cut(sub, "+"); ok {
		sub = suffix
	}
	return sub == "json" || sub == "javascript", nil
}
