package template

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"syscall"
	"time"

	"volant/wire/value"
)

var urlLookups = map[string]*Lookup{"url": {Run: urlLookup}}

func urlLookup(l *LookupCall) ([]any, error) {
	client, err := l.httpClient()
	if err != nil {
		return nil, err
	}
	split, err := l.flag("split_lines", true)
	if err != nil {
		return nil, err
	}
	var out []any
	for _, term := range l.Terms {
		u := value.Str(term)
		body, err := l.fetchURL(client, u)
		if err != nil {
			return nil, err
		}
		if !split {
			out = append(out, string(body))
			continue
		}
		for _, line := range splitLines(string(body)) {
			out = append(out, line)
		}
	}
	return out, nil
}

// setting is an option that may also come from a variable or the environment.
func (l *LookupCall) setting(name string) any {
	if v, ok := l.Opts.Get(name); ok {
		return v
	}
	if v, ok, err := l.Scope.Resolve("ansible_lookup_url_" + name); err == nil && ok {
		return v
	}
	if v, ok := l.Scope.e.opt.Getenv("ANSIBLE_LOOKUP_URL_" + strings.ToUpper(name)); ok {
		return v
	}
	return nil
}

func (l *LookupCall) httpClient() (*http.Client, error) {
	verify, err := l.flag("validate_certs", true)
	if err != nil {
		return nil, err
	}
	proxy, err := l.flag("use_proxy", true)
	if err != nil {
		return nil, err
	}
	tr := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: !verify}} //nolint:gosec // the operator asked for it
	if proxy {
		tr.Proxy = http.ProxyFromEnvironment
	}
	if ca, ok := value.Text(l.setting("ca_path")); ok && ca != "" {
		pem, err := os.ReadFile(ca)
		if err != nil {
			return nil, osError(err, ca)
		}
		tr.TLSClientConfig.RootCAs = x509.NewCertPool()
		tr.TLSClientConfig.RootCAs.AppendCertsFromPEM(pem)
	}
	if sock, ok := value.Text(l.setting("unix_socket")); ok && sock != "" {
		tr.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", sock)
		}
	}
	timeout := 10.0
	if v := l.setting("timeout"); v != nil {
		if s, ok := value.Text(v); ok {
			if n, err := toInt(s); err == nil {
				timeout = float64(n)
			}
		} else if f, err := real(v); err == nil {
			timeout = f
		}
	}
	follow := "urllib2"
	if s, ok := value.Text(l.setting("follow_redirects")); ok {
		follow = s
	}
	return &http.Client{
		Transport: tr,
		Timeout:   time.Duration(timeout * float64(time.Second)),
		CheckRedirect: func(_ *http.Request, via []*http.Request) error {
			if follow == "no" || follow == "none" || len(via) >= 10 {
				return http.ErrUseLastResponse
			}
			return nil
		},
	}, nil
}

func (l *LookupCall) fetchURL(client *http.Client, u string) ([]byte, error) {
	parsed, err := url.Parse(u)
	switch {
	case err != nil || parsed.Scheme == "":
		return nil, value.ValueErrorf("unknown url type: %s", value.Repr(u))
	case parsed.Scheme == "file":
		if !exists(parsed.Path) {
			return nil, urlFailure(u, "[Errno 2] No such file or directory: "+value.Repr(parsed.Path))
		}
		return l.Scope.readFile(parsed.Path)
	case parsed.Scheme != "http" && parsed.Scheme != "https":
		return nil, urlFailure(u, "unknown url type: "+parsed.Scheme)
	case parsed.Host == "":
		return nil, urlFailure(u, "no host given")
	}
	req, err := http.NewRequestWithContext(l.Scope.ctx, http.MethodGet, u, nil)
	if err != nil {
		return nil, value.ValueErrorf("unknown url type: %s", value.Repr(u))
	}
	req.Header.Set("User-Agent", "ansible-httpget")
	if agent, ok := value.Text(l.setting("http_agent")); ok {
		req.Header.Set("User-Agent", agent)
	}
	if h, ok := l.Opts.Lookup("headers").(*value.Dict); ok {
		for k, v := range h.All() {
			req.Header.Set(value.Str(k), value.Str(v))
		}
	}
	if force := l.setting("force"); force != nil && truth(l.C, force) {
		req.Header.Set("Cache-Control", "no-cache")
	}
	user, err := l.text("username", "")
	if err != nil {
		return nil, err
	}
	pass, err := l.text("password", "")
	if err != nil {
		return nil, err
	}
	if user != "" {
		req.SetBasicAuth(user, pass)
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, urlError(u, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode >= 300 {
		status := fmt.Sprintf("HTTP Error %d: %s", resp.StatusCode, strings.TrimSpace(strings.TrimPrefix(resp.Status, fmt.Sprint(resp.StatusCode))))
		return nil, failWhile("Received HTTP error for %s : %s", u, status)
	}
	return readAll(resp.Body, maxFile)
}

// urlFailure is a request that Python's urllib could not make.
func urlFailure(u, why string) error {
	return failWhile("Failed lookup url for %s : <urlopen error %s>", u, why)
}

// urlError is the error of a request in the words of Python's urllib, which
// wraps what happens while it connects and not what happens later.
func urlError(u string, err error) error {
	var (
		cert    *tls.CertificateVerificationError
		record  tls.RecordHeaderError
		dns     *net.DNSError
		op      *net.OpError
		code    syscall.Errno
		timeout interface{ Timeout() bool }
	)
	dialing := errors.As(err, &op) && op.Op == "dial"
	switch {
	case errors.As(err, &cert):
		return failWhile("Error validating the server's certificate for %s: %s", u, cert.Err)
	case errors.As(err, &record):
		return urlFailure(u, "[SSL: WRONG_VERSION_NUMBER] wrong version number (_ssl.c:1006)")
	case errors.As(err, &dns) && dns.IsNotFound:
		return urlFailure(u, "[Errno -2] Name or service not known")
	case errors.As(err, &dns):
		return urlFailure(u, "[Errno -3] Temporary failure in name resolution")
	case errors.As(err, &timeout) && timeout.Timeout() && dialing:
		return urlFailure(u, "timed out")
	case errors.As(err, &timeout) && timeout.Timeout():
		return failf("timed out")
	case errors.As(err, &code):
		if dialing {
			return urlFailure(u, value.Errno(code))
		}
		return failf("%s", value.Errno(code))
	case errors.Is(err, io.EOF):
		return failf("Remote end closed connection without response")
	}
	return urlFailure(u, err.Error())
}
