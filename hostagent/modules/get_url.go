package modules

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"volant/wire/rx"
	"volant/wire/value"
)

type getURLArgs struct {
	urlCommon
	Username     *string     `arg:"url_username,alias=username"`
	Password     *string     `arg:"url_password,nolog,alias=password"`
	Dest         string      `arg:"dest,required,type=path"`
	Backup       bool        `arg:"backup,default=no"`
	Checksum     string      `arg:"checksum,default="`
	Timeout      int64       `arg:"timeout,default=10"`
	Headers      *value.Dict `arg:"headers"`
	TmpDest      *string     `arg:"tmp_dest,type=path"`
	Unredirected []string    `arg:"unredirected_headers,default="`
	Decompress   bool        `arg:"decompress,default=yes"`
	Ciphers      []string    `arg:"ciphers"`
	UseNetrc     bool        `arg:"use_netrc,default=yes"`
	fileCommon
}

// download is one run of get_url.
type download struct {
	*call
	ctx                 context.Context
	a                   *getURLArgs
	res                 Result
	dest                string
	algorithm, checksum string
	force               bool
	since               time.Time // of the file that is there
}

// getURL is the get_url module: what is there already, and plain downloads by
// HTTP. A request that does not go well is left to the Python module, which
// makes it again.
func getURL(ctx context.Context, c *call, a *getURLArgs) (Result, error) {
	d := &download{call: c, ctx: ctx, a: a, dest: a.Dest, force: a.Force}
	d.res = value.DictOf("changed", false, "checksum_dest", nil, "checksum_src", nil, "dest", a.Dest, "elapsed", int64(0), "url", a.URL)
	if selinuxOn() {
		return nil, handBack("SELinux is on")
	}
	if err := usableMode(a.Mode); err != nil {
		return nil, err
	}
	if err := d.sum(); err != nil {
		return nil, err
	}
	if !isDir(d.p(d.dest)) && exists(d.p(d.dest)) {
		if done, err := d.there(); done || err != nil {
			return d.res, err
		}
	}
	if a.Username != nil || a.Password != nil {
		return nil, handBack("a request with credentials")
	}
	if len(a.Ciphers) > 0 || len(a.Unredirected) > 0 || a.TmpDest != nil {
		return nil, handBack("options out of the ordinary")
	}
	w := &web{call: c, a: &a.urlCommon, headers: a.Headers, limit: time.Duration(a.Timeout) * time.Second, netrc: a.UseNetrc}
	if err := w.plain(); err != nil {
		return nil, err
	}
	return d.fetch(w)
}

// failed ends the module with what it has so far.
func (d *download) failed(msg string, kv ...any) error {
	f := &failure{msg: msg, extra: value.DictOf(kv...)}
	f.extra.Update(d.res)
	return f
}

var (
	notInSum = rx.Lazy(`[^0-9A-Za-z]+`)
	hexText  = rx.Lazy(`^[0-9a-f]+$`)
)

// sum reads the checksum that is wanted.
func (d *download) sum() error {
	if d.a.Checksum == "" {
		return nil
	}
	algorithm, sum, ok := strings.Cut(d.a.Checksum, ":")
	if !ok {
		return d.failed("The checksum parameter has to be in format <algorithm>:<checksum>")
	}
	if strings.Contains(sum, ":") || strings.Contains(sum, "_") || strings.IndexFunc(sum, func(r rune) bool { return r > 126 }) >= 0 {
		return handBack("the checksum is somewhere else, or odd")
	}
	if hashes[algorithm] == nil || algorithm == "md5" && fipsOn() {
		return handBack("the checksum's algorithm")
	}
	sum = strings.ToLower(notInSum.ReplaceAllString(sum, ""))
	if !hexText.MatchString(sum) {
		return d.failed("The checksum format is invalid")
	}
	d.algorithm, d.checksum = algorithm, sum
	return nil
}

// there sees whether the file that is there will do.
func (d *download) there() (bool, error) {
	var st syscall.Stat_t
	if err := syscall.Stat(d.p(d.dest), &st); err != nil {
		return false, handBack("looking at dest: %v", err)
	}
	d.since = time.Unix(st.Mtim.Sec, 0).UTC()
	if d.force || d.checksum == "" {
		return false, nil
	}
	have, err := digest(d.ctx, d.p(d.dest), d.algorithm)
	if err != nil {
		return false, handBack("the checksum of dest: %v", err)
	}
	if have != d.checksum {
		d.force = true // what the server has may be older
		return false, nil
	}
	changed, err := d.setAttrs(d.ctx, d.commonArgs(&d.a.fileCommon, d.dest, false), false, nil)
	if err != nil {
		return false, err
	}
	d.res.Set("changed", changed)
	d.res.Set("msg", "file already exists")
	if changed {
		d.res.Set("msg", "file already exists but file attributes changed")
	}
	return true, nil
}

// request asks the server; what it does not answer in full is an error.
func (d *download) request(w *web) (*http.Response, error) {
	method := http.MethodGet
	if d.Check {
		method = http.MethodHead
	}
	extra := http.Header{}
	switch {
	case d.force:
		extra.Set("Cache-Control", "no-cache")
	case !d.since.IsZero():
		extra.Set("If-Modified-Since", d.since.Format(http.TimeFormat))
	}
	return w.do(d.ctx, method, extra, func(next *http.Request, via []*http.Request) error {
		next.Method = http.MethodGet // also of a HEAD, as Python has it
		if len(via) >= 10 {
			return errors.New("too many redirects")
		}
		return nil
	})
}

func (d *download) fetch(w *web) (Result, error) {
	started := time.Now()
	r, err := d.request(w)
	if err != nil {
		return nil, handBack("the request failed")
	}
	defer r.Body.Close()
	elapsed := func() int64 { return int64(time.Since(started) / time.Second) }
	if r.StatusCode == http.StatusNotModified {
		return value.DictOf("url", d.a.URL, "dest", d.dest, "changed", false, "msg", "HTTP Error 304: "+strings.TrimPrefix(r.Status, "304 "),
			"status_code", int64(304), "elapsed", elapsed()), nil
	}
	if r.StatusCode != http.StatusOK || r.Header.Get("Content-Encoding") != "" {
		return nil, handBack("the server answers %s", r.Status)
	}
	toDir := isDir(d.p(d.dest))
	if toDir {
		name := filepath.Base(r.Request.URL.Path)
		if r.Header.Get("Content-Disposition") != "" || name == "" || name == "." || name == "/" || strings.HasSuffix(r.Request.URL.Path, "/") || r.Request.URL.RawPath != "" {
			return nil, handBack("the server may name the file")
		}
		d.dest = pyJoin(d.dest, name)
	}
	tmp, err := tempFileIn(d.tmpdir(), "tmp", "")
	if err != nil {
		return nil, handBack("a temporary file: %v", err)
	}
	defer os.Remove(tmp.Name()) // moved away when all went well
	n, err := io.Copy(tmp, r.Body)
	if err = errors.Join(err, tmp.Close()); err != nil || !d.Check && r.ContentLength >= 0 && n != r.ContentLength {
		return nil, handBack("the download broke off")
	}
	d.res.Set("elapsed", elapsed())
	d.res.Set("src", tmp.Name())
	d.res.Set("dest", d.dest)
	length := r.Header.Get("Content-Length")
	if length == "" {
		length = "unknown"
	}
	msg := "OK (" + length + " bytes)"
	if err := d.compare(tmp.Name()); err != nil {
		return nil, err
	}
	src, dest := d.res.Lookup("checksum_src"), d.res.Lookup("checksum_dest")
	if d.Check {
		d.res.Set("changed", src != dest)
		d.res.Set("msg", msg)
		return d.res, nil
	}
	if err := d.install(tmp.Name(), src != dest); err != nil {
		return nil, err
	}
	d.res.Set("msg", msg)
	d.res.Set("status_code", int64(r.StatusCode))
	return d.res, nil
}

// compare takes the checksums of what came and what is there.
func (d *download) compare(tmp string) error {
	sum, err := digest(d.ctx, tmp, "sha1")
	if err != nil {
		return handBack("the checksum: %v", err)
	}
	d.res.Set("checksum_src", sum)
	p, dir := d.p(d.dest), dirname(d.dest)
	switch {
	case exists(p) && syscall.Access(p, 2) != nil:
		return d.failed("Destination " + d.dest + " is not writable")
	case exists(p) && syscall.Access(p, 4) != nil:
		return d.failed("Destination " + d.dest + " is not readable")
	case exists(p):
		if !isFile(p) {
			return handBack("dest is no file")
		}
		if sum, err = digest(d.ctx, p, "sha1"); err != nil {
			return handBack("the checksum of dest: %v", err)
		}
		d.res.Set("checksum_dest", sum)
	case !exists(d.p(dir)):
		return d.failed("Destination " + dir + " does not exist")
	case syscall.Access(d.p(dir), 2) != nil:
		return d.failed("Destination " + dir + " is not writable")
	}
	return nil
}

func (d *download) install(tmp string, changed bool) error {
	if d.checksum != "" {
		have, err := digest(d.ctx, tmp, d.algorithm)
		if err != nil {
			return handBack("the checksum: %v", err)
		}
		if have != d.checksum {
			return d.failed(fmt.Sprintf("The checksum for %s did not match %s; it was %s.", tmp, d.checksum, have))
		}
	}
	backup := ""
	if changed {
		failed := func(err error) error {
			return d.failed("failed to copy " + tmp + " to " + d.dest + ": " + err.Error())
		}
		if d.a.Backup && exists(d.p(d.dest)) {
			var err error
			if backup, err = d.backupLocal(d.ctx, d.dest); err != nil {
				return failed(err)
			}
		}
		m := &mover{call: d.call, unsafe: d.a.Unsafe, raised: func(err error, path string) error { return asOSError(err, path, true) }}
		if err := m.atomicMove(tmp, tmp, d.dest, true); err != nil {
			return failed(err)
		}
	}
	changed, err := d.setAttrs(d.ctx, d.commonArgs(&d.a.fileCommon, d.dest, false), changed, nil)
	if err != nil {
		return err
	}
	d.res.Set("changed", changed)
	var md5 any
	if !fipsOn() {
		if md5, err = digest(d.ctx, d.p(d.dest), "md5"); err != nil {
			return raise(asOSError(err, d.dest, false).Error())
		}
	}
	d.res.Set("md5sum", md5)
	if backup != "" {
		d.res.Set("backup_file", backup)
	}
	return nil
}
