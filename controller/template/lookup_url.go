package template

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
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
	if parsed, err := url.Parse(u); err == nil && parsed.Scheme == "file" {
		return l.Scope.readFile(parsed.Path)
	}
	req, err := http.NewRequestWithContext(l.Scope.ctx, http.MethodGet, u, nil)
	if err != nil || req.URL.Host == "" {
		return nil, failf("Failed lookup url for %s : <urlopen error unknown url type: %s>", u, strings.SplitN(u, ":", 2)[0])
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
		return nil, failf("Received HTTP error for %s : HTTP Error %d: %s", u, resp.StatusCode, strings.TrimSpace(strings.TrimPrefix(resp.Status, fmt.Sprint(resp.StatusCode))))
	}
	return readAll(resp.Body, maxFile)
}

func urlError(u string, err error) error {
	var cert *tls.CertificateVerificationError
	var op *net.OpError
	switch {
	case errors.As(err, &cert):
		return failf("Error validating the server's certificate for %s: %s", u, cert.Err)
	case errors.As(err, &op):
		return failf("Failed lookup url for %s : <urlopen error %s>", u, op.Err)
	}
	return failf("Failed lookup url for %s : <urlopen error %s>", u, err)
}
