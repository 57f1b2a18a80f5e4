package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

const proxyPort = 3142

// servePackageCmd is the hosts' only way to packages: an HTTP proxy on the
// bridge's address that fetches from the lab's Debian mirror, nothing else, and
// keeps package files (whose names never change their content) between labs.
type servePackageCmd struct {
	dirFlag
}

// Run serves until a signal.
func (c *servePackageCmd) Run(ctx context.Context) error {
	l, err := loadLab(c.Dir)
	if err != nil {
		return err
	}
	cache, err := cacheDir()
	if err != nil {
		return err
	}
	mirror, err := url.Parse(l.Mirror)
	if err != nil {
		return fmt.Errorf("reading mirror: %w", err)
	}
	p := &packageProxy{mirror: mirror, dir: filepath.Join(cache, "packages"), client: &http.Client{Timeout: 10 * time.Minute}}
	srv := &http.Server{Addr: net.JoinHostPort(l.gateway(), strconv.Itoa(proxyPort)), Handler: p, ReadHeaderTimeout: 10 * time.Second}
	context.AfterFunc(ctx, func() { _ = srv.Close() })
	if err := srv.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

type packageProxy struct {
	mirror *url.URL
	dir    string
	client *http.Client
}

// ServeHTTP answers a proxy request for the mirror's host.
func (p *packageProxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	clean := path.Clean("/" + r.URL.Path)
	if (r.Method != http.MethodGet && r.Method != http.MethodHead) || r.URL.Hostname() != p.mirror.Hostname() ||
		!strings.HasPrefix(clean, p.mirror.Path+"/") {
		http.Error(w, "this proxy serves only "+p.mirror.String(), http.StatusForbidden)
		return
	}
	// Package files and indices named by their hash never change; anything else is asked for anew.
	if strings.HasSuffix(clean, ".deb") || strings.Contains(clean, "/by-hash/") {
		p.serveKept(w, r, clean)
		return
	}
	p.pass(w, r, clean)
}

func (p *packageProxy) upstream(r *http.Request, clean string) (*http.Request, error) {
	u := *p.mirror
	u.Path = clean
	return http.NewRequestWithContext(r.Context(), r.Method, u.String(), nil)
}

func (p *packageProxy) serveKept(w http.ResponseWriter, r *http.Request, clean string) {
	file := filepath.Join(p.dir, p.mirror.Hostname(), filepath.FromSlash(clean))
	if !exists(file) {
		if status, err := p.keep(r, clean, file); err != nil {
			http.Error(w, err.Error(), status)
			return
		}
	}
	http.ServeFile(w, r, file)
}

// keep fetches clean into file, through a name of its own so that hosts asking at once do not mix.
func (p *packageProxy) keep(r *http.Request, clean, file string) (int, error) {
	req, err := p.upstream(r, clean)
	if err != nil {
		return http.StatusBadRequest, err
	}
	req.Method = http.MethodGet
	resp, err := p.client.Do(req)
	if err != nil {
		return http.StatusBadGateway, fmt.Errorf("fetching %s: %w", req.URL, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return resp.StatusCode, fmt.Errorf("fetching %s: %s", req.URL, resp.Status)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return http.StatusInternalServerError, err
	}
	tmp, err := os.CreateTemp(filepath.Dir(file), ".part-*")
	if err != nil {
		return http.StatusInternalServerError, err
	}
	defer os.Remove(tmp.Name()) // gone already when it was renamed
	_, err = io.Copy(tmp, resp.Body)
	if err := errors.Join(err, tmp.Chmod(0o644), tmp.Close()); err != nil {
		return http.StatusBadGateway, fmt.Errorf("fetching %s: %w", req.URL, err)
	}
	return 0, os.Rename(tmp.Name(), file)
}

func (p *packageProxy) pass(w http.ResponseWriter, r *http.Request, clean string) {
	req, err := p.upstream(r, clean)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	for _, h := range []string{"If-Modified-Since", "If-None-Match", "Range", "If-Range"} {
		if v := r.Header.Get(h); v != "" {
			req.Header.Set(h, v)
		}
	}
	resp, err := p.client.Do(req)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer resp.Body.Close()
	for _, h := range []string{"Content-Type", "Content-Length", "Content-Range", "Last-Modified", "Etag", "Date"} {
		if v := resp.Header.Get(h); v != "" {
			w.Header().Set(h, v)
		}
	}
	w.WriteHeader(resp.StatusCode)
	_, _ = io.Copy(w, resp.Body) // the host sees a short body and asks again
}

// startProxy starts the package proxy and waits until it listens.
func (l *lab) startProxy() error {
	if l.Server.alive() {
		return nil
	}
	var err error
	if l.Server, err = l.startDaemon("packages.log", "serve-package", "--dir", l.Dir); err != nil {
		return err
	}
	if err := l.save(); err != nil {
		return err
	}
	addr := net.JoinHostPort(l.gateway(), strconv.Itoa(proxyPort))
	for range 100 {
		if c, err := net.DialTimeout("tcp", addr, time.Second); err == nil {
			return c.Close()
		}
		time.Sleep(30 * time.Millisecond)
	}
	return fmt.Errorf("the package proxy does not answer on %s; see %s", addr, l.path("run", "packages.log"))
}

// plainHTTP is the mirror as hosts are told it: the proxy does TLS for them.
func plainHTTP(mirror string) string {
	if rest, ok := strings.CutPrefix(mirror, "https://"); ok {
		return "http://" + rest
	}
	return mirror
}
