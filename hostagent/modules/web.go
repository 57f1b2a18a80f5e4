package modules

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"volant/wire/value"
)

// urlCommon are the options of every module that asks a web server.
type urlCommon struct {
	URL        string  `arg:"url,required"`
	Force      bool    `arg:"force,default=no"`
	Agent      string  `arg:"http_agent,default=ansible-httpget"`
	UseProxy   bool    `arg:"use_proxy,default=yes"`
	Validate   bool    `arg:"validate_certs,default=yes"`
	ForceBasic bool    `arg:"force_basic_auth,default=no"`
	ClientCert *string `arg:"client_cert,type=path"`
	ClientKey  *string `arg:"client_key,type=path"`
	GSSAPI     bool    `arg:"use_gssapi,default=no"`
}

// web is a request that takes no more than HTTP.
type web struct {
	*call
	a       *urlCommon
	headers *value.Dict
	limit   time.Duration // of each read and write
	netrc   bool          // use_netrc
}

// plain hands back requests that take more than HTTP.
func (w *web) plain() error {
	a := w.a
	u, err := url.Parse(a.URL)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || strings.ContainsAny(a.URL, " \t\r\n"):
		return handBack("no plain URL")
	case a.ClientCert != nil || a.ClientKey != nil || a.GSSAPI || a.ForceBasic:
		return handBack("a request with credentials")
	}
	for _, v := range []string{"http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"} {
		if w.Getenv(v) != "" {
			return handBack("there is %s", v)
		}
	}
	if u.Scheme == "https" && (w.Getenv("SSL_CERT_FILE") != "" || w.Getenv("SSL_CERT_DIR") != "") {
		return handBack("certificates of its own")
	}
	if w.netrc && (w.Getenv("NETRC") != "" || exists(w.args().ExpandPath("~/.netrc"))) {
		return handBack("there is a .netrc")
	}
	return nil
}

// do asks the server, with the headers of the task on top of extra.
func (w *web) do(ctx context.Context, method string, extra http.Header, redirect func(*http.Request, []*http.Request) error) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, w.a.URL, nil)
	if err != nil {
		return nil, err
	}
	req.Header = extra
	req.Header.Set("Accept-Encoding", "identity")
	req.Header.Set("User-Agent", w.a.Agent)
	req.Header.Set("Connection", "close")
	if w.headers != nil {
		for k, v := range w.headers.All() {
			req.Header.Set(value.Str(k), value.Str(v))
		}
		if h := req.Header.Get("Host"); h != "" {
			return nil, errors.New("a Host of its own")
		}
	}
	client := &http.Client{CheckRedirect: redirect, Transport: &http.Transport{
		DisableCompression: true, DisableKeepAlives: true, ResponseHeaderTimeout: w.limit, TLSHandshakeTimeout: w.limit,
		DialContext:     patient(w.limit),
		TLSClientConfig: &tls.Config{InsecureSkipVerify: !w.a.Validate}, // the task's validate_certs
	}}
	return client.Do(req)
}

// patientConn waits no longer than limit for each read and write, as a socket of Python's with a timeout.
type patientConn struct {
	net.Conn
	limit time.Duration
}

func (c *patientConn) Read(b []byte) (int, error) {
	if err := c.SetReadDeadline(time.Now().Add(c.limit)); err != nil {
		return 0, err
	}
	return c.Conn.Read(b)
}

func (c *patientConn) Write(b []byte) (int, error) {
	if err := c.SetWriteDeadline(time.Now().Add(c.limit)); err != nil {
		return 0, err
	}
	return c.Conn.Write(b)
}

// patient dials connections that are patient for limit; without one, for ever.
func patient(limit time.Duration) func(ctx context.Context, network, addr string) (net.Conn, error) {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := (&net.Dialer{Timeout: limit}).DialContext(ctx, network, addr)
		if err != nil || limit <= 0 {
			return c, err
		}
		return &patientConn{c, limit}, nil
	}
}
