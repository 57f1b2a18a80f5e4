package modules

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"volant/wire/value"
)

func TestURIIsThePythonModule(t *testing.T) {
	mux := http.NewServeMux()
	answer := func(path, kind, body string, code int, headers ...string) {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			h := w.Header()
			h["Date"] = []string{"Sun, 29 Nov 2026 00:00:00 GMT"}
			h["Content-Type"] = nil
			if kind != "" {
				h.Set("Content-Type", kind)
			}
			for i := 0; i < len(headers); i += 2 {
				h.Add(headers[i], headers[i+1])
			}
			w.WriteHeader(code)
			fmt.Fprint(w, body)
		})
	}
	const doc = `{"a": [1, 2.50, "\u00e9"], "b": null, "a b": true}`
	answer("/text", "text/plain", "hello\n", 200, "X-Two", "a", "X-Two", "b")
	answer("/json", "application/json", doc, 200)
	answer("/charset", "application/json; charset=UTF-8", doc, 200)
	answer("/suffix", "application/problem+json", doc, 400, "X-Two", "a", "X-Two", "b")
	answer("/script", "text/javascript", "[1]", 200)
	answer("/broken", "application/json", `{"a": `, 200)
	answer("/latin", "text/plain; charset=iso-8859-1", "\xe9", 200)
	answer("/untyped", "", "x", 200)
	answer("/empty", "text/html", "", 204)
	answer("/none", "text/html", "<p>none</p>", 404)
	answer("/teapot", "text/plain", "short and stout", 418)
	answer("/broke", "application/json", `{"error": "x"}`, 503, "Retry-After", "5")
	answer("/private", "text/plain", "no", 401, "WWW-Authenticate", `Basic realm="x"`)
	answer("/cookie", "text/plain", "c", 200, "Set-Cookie", "k=v; Path=/")
	answer("/odd", "text/plain", "c", 200, "Status", "mine")
	mux.Handle("/moved", http.RedirectHandler("/text", http.StatusFound))
	mux.HandleFunc("/chunked", func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["Date"] = nil
		w.(http.Flusher).Flush()
		fmt.Fprint(w, "in pieces")
	})
	mux.HandleFunc("/echo", func(w http.ResponseWriter, r *http.Request) {
		w.Header()["Date"] = nil
		r.Header.Del("Connection")
		fmt.Fprintf(w, "%s %v", r.Method, r.Header)
	})
	end := make(chan struct{})
	mux.HandleFunc("/hang", func(http.ResponseWriter, *http.Request) { <-end })
	s := httptest.NewServer(mux)
	defer s.Close()
	defer close(end)
	arg := func(path string, kv ...any) *value.Dict {
		a := value.DictOf("url", s.URL+path)
		a.Update(value.DictOf(kv...))
		return a
	}
	d := newDiffer(t)
	d.sampled = true
	d.env = append(d.env, "HOME=/nonexistent")
	var cases []diffCase
	for _, path := range []string{"/text", "/json", "/charset", "/suffix", "/script", "/broken", "/untyped", "/empty", "/none", "/teapot", "/broke", "/chunked", "/echo"} {
		cases = append(cases,
			diffCase{name: path, args: arg(path), once: true},
			diffCase{name: path + " with content", args: arg(path, "return_content", true), once: true},
			diffCase{name: path + " wanted, unread", args: arg(path, "status_code", value.ListOf(int64(200), int64(404), int64(418), int64(500), int64(503))), once: true},
			diffCase{name: path + " wanted", args: arg(path, "status_code", value.ListOf(int64(200), int64(404), "503"), "return_content", path == "/none"), once: true})
	}
	d.test(t, "uri", append(cases, []diffCase{
		{name: "head", args: arg("/json", "method", "HEAD", "return_content", true), once: true},
		{name: "head of what is not there", args: arg("/none", "method", "head"), once: true},
		{name: "headers", args: arg("/echo", "headers", value.DictOf("X-Mine", "yes", "Accept", "a/b"), "http_agent", "me", "return_content", true, "force", true), once: true},
		{name: "refused", args: arg("", "url", "http://127.0.0.1:1/x"), once: true},
		{name: "refused, wanted", args: arg("", "url", "http://127.0.0.1:1/x", "status_code", int64(-1), "return_content", true), once: true},
		{name: "no answer", args: arg("/hang", "timeout", int64(1)), once: true},
		{name: "creates", args: arg("/text", "creates", "/etc"), once: true},
		{name: "removes", args: arg("/text", "removes", "/nonexistent"), once: true},
		{name: "creates and removes", args: arg("/text", "creates", "/nonexistent", "removes", "/etc"), once: true},
		{name: "bad method", args: arg("/text", "method", "GET x"), once: true},
		{name: "body and src", args: arg("/text", "body", "x", "src", "y"), once: true},
		{name: "unknown", args: arg("/text", "bodies", "x"), once: true},
		{name: "no url", args: value.DictOf("method", "GET"), once: true},
		{name: "moved", args: arg("/moved"), handBack: true, once: true},
		{name: "cookies", args: arg("/cookie"), handBack: true, once: true},
		{name: "private", args: arg("/private"), handBack: true, once: true},
		{name: "latin", args: arg("/latin", "return_content", true), handBack: true, once: true},
		{name: "a header of ours", args: arg("/odd"), handBack: true, once: true},
		{name: "post", args: arg("/echo", "method", "POST", "body", "x"), handBack: true, once: true},
		{name: "credentials", args: arg("/text", "user", "a", "password", "bcd"), handBack: true, once: true},
		{name: "dest", args: arg("/text", "dest", "@D/f"), handBack: true, once: true},
		{name: "no scheme", args: arg("", "url", "example"), handBack: true, once: true},
	}...))
}

// TestURIBoundsAnswers: an answer without end is not gathered without end.
func TestURIBoundsAnswers(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		piece := strings.Repeat("x", 1<<20)
		for range 2 * maxContent >> 20 {
			if _, err := fmt.Fprint(w, piece); err != nil {
				return
			}
		}
	}))
	defer s.Close()
	started := time.Now()
	if _, err := alone(t, "uri", t.TempDir(), nil, value.DictOf("url", s.URL, "return_content", true)); !isHandBack(err) || time.Since(started) > time.Minute {
		t.Errorf("%v after %v", err, time.Since(started))
	}
}
