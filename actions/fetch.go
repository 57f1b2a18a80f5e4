package actions

import (
	"context"
	"crypto/md5"  //nolint:gosec // the result's md5sum is part of the contract
	"crypto/sha1" //nolint:gosec // the checksum playbooks compare
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"volant/wire/value"
)

// fetch brings a file of the host to the controller, under dest and nowhere else.
func fetch(ctx context.Context, r *Run) (Result, error) {
	if r.Check {
		return nil, &Skip{Msg: "check mode not (yet) supported for this module"}
	}
	src, dest, err := fetchPaths(r)
	if err != nil {
		return nil, err
	}
	if src, err = expandUser(ctx, r, src); err != nil {
		return nil, err
	}
	failMissing := option(r.Args, "fail_on_missing", true)
	have, err := remoteStat(ctx, r, src, true, true)
	switch {
	case err != nil && isNotReached(err):
		return nil, err
	case err != nil && !r.Become:
		res := value.DictOf("changed", false, "file", src)
		if failMissing {
			res.Set("failed", true)
			res.Set("msg", err.Error())
		} else {
			res.Set("msg", err.Error()+", ignored")
		}
		return res, nil
	case err == nil && have.exists && have.isDir && !r.Become:
		const msg = "remote file is a directory, fetch cannot work on directories"
		if failMissing {
			return value.DictOf("failed", true, "changed", false, "msg", msg), nil
		}
		return value.DictOf("msg", msg+", not transferring, ignored"), nil
	}
	if sum := have.checksum; err != nil || sum == "" || sum == "1" {
		return fetchUnread(ctx, r, src, dest, failMissing)
	}
	target, err := fetchTarget(r, src, dest)
	if err != nil {
		return nil, err
	}
	return fetchFile(ctx, r, src, target, have.checksum)
}

func fetchPaths(r *Run) (src, dest string, err error) {
	s, d := r.Args.Lookup("src"), r.Args.Lookup("dest")
	src, srcOK := value.Text(s)
	dest, destOK := value.Text(d)
	switch {
	case s == nil || d == nil:
		err = Fail("src and dest are required")
	case !destOK:
		err = Fail("Invalid type supplied for dest option, it must be a string")
	case !srcOK:
		err = Fail("Invalid type supplied for source option, it must be a string")
	case r.Marked("dest"):
		err = Fail("the 'dest' of this task was named by a managed host, and a controller path a host chose is never written")
	}
	return src, dest, err
}

// fetchUnread deals with what stat gave no checksum of: slurp says why, in the
// words the result shows, or gives the content after all.
func fetchUnread(ctx context.Context, r *Run, src, dest string, failMissing bool) (Result, error) {
	got, err := r.Host.Module(ctx, "ansible.legacy.slurp", value.DictOf("src", src))
	if err != nil {
		return nil, err
	}
	if got.Bool("failed") {
		res := value.NewDict(6)
		if failMissing {
			res.Update(got)
		} else {
			res.Set("file", src)
			res.Set("changed", false)
		}
		switch msg, _ := got.Str("msg"); {
		case strings.Contains(msg, "not found"):
			res.Set("msg", "the remote file does not exist, not transferring, ignored")
		case strings.HasPrefix(strings.ToLower(msg), "source is a directory"):
			res.Set("msg", "remote file is a directory, fetch cannot work on directories")
		}
		return res, nil
	}
	text, _ := got.Str("content")
	data, err := base64.StdEncoding.DecodeString(strings.Map(dropSpace, text))
	if err != nil {
		return nil, Fail("the content the host sent is no base64: %v", err)
	}
	target, err := fetchTarget(r, src, dest)
	if err != nil {
		return nil, err
	}
	sum := sha1.Sum(data) //nolint:gosec // see import
	remote := hex.EncodeToString(sum[:])
	local, localMD5, err := target.sums()
	if err != nil {
		return nil, err
	}
	if local == remote {
		return unfetched(src, target, local, localMD5), nil
	}
	w, err := target.create()
	if err != nil {
		return nil, err
	}
	if _, err = w.Write(data); err != nil {
		return nil, w.Close(err)
	}
	return fetched(r, src, target, w, remote)
}

// fetchFile streams the file when the controller's copy differs.
func fetchFile(ctx context.Context, r *Run, src string, target *fetchDest, remote string) (Result, error) {
	local, localMD5, err := target.sums()
	if err != nil {
		return nil, err
	}
	if local == remote {
		return unfetched(src, target, local, localMD5), nil
	}
	w, err := target.create()
	if err != nil {
		return nil, err
	}
	if err := r.Host.Get(ctx, src, w); err != nil {
		_ = w.discard()
		return nil, err
	}
	return fetched(r, src, target, w, remote)
}

func unfetched(src string, target *fetchDest, sum, md5sum string) Result {
	return value.DictOf("changed", false, "md5sum", md5sum, "file", src, "dest", target.path, "checksum", sum)
}

// fetched checks what was written and puts it in place. A file that does not
// match is thrown away, where the reference leaves it.
func fetched(r *Run, src string, target *fetchDest, w *fetchWriter, remote string) (Result, error) {
	sum, md5sum := hex.EncodeToString(w.sha1.Sum(nil)), hex.EncodeToString(w.md5.Sum(nil))
	if option(r.Args, "validate_checksum", true) && sum != remote {
		_ = w.discard()
		return value.DictOf("failed", true, "md5sum", md5sum, "msg", "checksum mismatch", "file", src, "dest", target.path,
			"remote_md5sum", nil, "checksum", sum, "remote_checksum", remote), nil
	}
	if err := w.commit(); err != nil {
		return nil, Fail("Failed to fetch the file. %v", err)
	}
	return value.DictOf("changed", true, "md5sum", md5sum, "dest", target.path, "remote_md5sum", nil,
		"checksum", sum, "remote_checksum", remote), nil
}

// fetchDest is where a fetched file goes: name below root, which the playbook
// named. Nothing below root is reached through a symbolic link.
type fetchDest struct {
	root, name string
	path       string // root/name, as the result shows it
}

// fetchTarget builds the destination without touching the file system and
// refuses one outside dest.
func fetchTarget(r *Run, src, dest string) (*fetchDest, error) {
	abs := func(p string) string {
		if !strings.HasPrefix(p, "/") {
			p = path.Join(r.Controller.Basedir(), p)
		}
		return path.Clean(p)
	}
	if !option(r.Args, "flat", false) {
		if r.HostnameMarked || r.Hostname == "" || r.Hostname == "." || r.Hostname == ".." || strings.Contains(r.Hostname, "/") {
			return nil, Fail("the inventory_hostname '%s' is not one path component, and fetch files what it fetches under it", r.Hostname)
		}
		root := abs(dest)
		name := path.Join(r.Hostname, src)
		full := path.Join(root, name)
		// A name with .. in it must not reach what other hosts' files are kept under either.
		if rel := path.Clean(r.Hostname + "/" + src); !strings.HasPrefix(rel, r.Hostname+"/") || !strings.HasPrefix(full, strings.TrimSuffix(root, "/")+"/") {
			return nil, Fail("the fetched path %s is outside '%s'", full, dest)
		}
		return &fetchDest{root: root, name: name, path: full}, nil
	}
	info, statErr := os.Stat(abs(dest))
	isDir := statErr == nil && info.IsDir()
	if isDir && !strings.HasSuffix(dest, "/") {
		return nil, Fail("dest is an existing directory, use a trailing slash if you want to fetch src into that directory")
	}
	if strings.HasSuffix(dest, "/") {
		base := path.Base(src)
		if base == "." || base == ".." || base == "/" {
			return nil, Fail("the fetched path %s is outside '%s'", path.Join(dest, base), dest)
		}
		full := path.Join(abs(dest), base)
		if info, err := os.Stat(full); err == nil && info.IsDir() {
			return nil, Fail("calculated dest '%s' is an existing directory, use another path that does not point to an existing directory", dest+base)
		}
		return &fetchDest{root: abs(dest), name: base, path: full}, nil
	}
	full := abs(dest)
	return &fetchDest{root: path.Dir(full), name: path.Base(full), path: full}, nil
}

// sums returns the SHA-1 and MD5 of the file there now, empty when there is none.
func (d *fetchDest) sums() (sum, md5sum string, err error) {
	root, err := os.OpenRoot(d.root)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return "", "", nil
		}
		return "", "", fmt.Errorf("opening dest: %w", err)
	}
	defer root.Close()
	if err := d.noLinks(root); err != nil {
		return "", "", err
	}
	f, err := root.Open(d.name)
	if err != nil {
		return "", "", nil //nolint:nilerr // not readable counts as different
	}
	defer f.Close()
	h, m := sha1.New(), md5.New() //nolint:gosec // see import
	if _, err := io.Copy(io.MultiWriter(h, m), f); err != nil {
		return "", "", nil //nolint:nilerr // a directory, say: creating will say so
	}
	return hex.EncodeToString(h.Sum(nil)), hex.EncodeToString(m.Sum(nil)), nil
}

// noLinks refuses a symbolic link at any component below the root.
func (d *fetchDest) noLinks(root *os.Root) error {
	parts := strings.Split(d.name, "/")
	for i := range parts {
		p := path.Join(parts[:i+1]...)
		if info, err := root.Lstat(p); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return Fail("the fetched path %s goes through the symbolic link %s", d.path, filepath.Join(d.root, p))
		}
	}
	return nil
}

// fetchWriter writes beside the destination and renames when complete.
type fetchWriter struct {
	dest *fetchDest
	root *os.Root
	file *os.File
	tmp  string
	sha1 hash.Hash
	md5  hash.Hash
}

func (d *fetchDest) create() (*fetchWriter, error) {
	if err := os.MkdirAll(d.root, 0o755); err != nil {
		return nil, Fail("making %s: %v", d.root, err)
	}
	root, err := os.OpenRoot(d.root)
	if err != nil {
		return nil, Fail("opening %s: %v", d.root, err)
	}
	w := &fetchWriter{dest: d, root: root, sha1: sha1.New(), md5: md5.New()} //nolint:gosec // see import
	if err := d.noLinks(root); err != nil {
		root.Close()
		return nil, err
	}
	if dir := path.Dir(d.name); dir != "." {
		if err := root.MkdirAll(dir, 0o755); err != nil {
			root.Close()
			return nil, Fail("making %s: %v", path.Join(d.root, dir), err)
		}
	}
	mode := fs.FileMode(0o666)
	exclusive := os.O_CREATE | os.O_EXCL | os.O_WRONLY
	old, statErr := root.Stat(d.name)
	if statErr == nil {
		mode = 0o600
	}
	for i := range 100 {
		w.tmp = fmt.Sprintf("%s.volant-%d-%d", d.name, os.Getpid(), i)
		if w.file, err = root.OpenFile(w.tmp, exclusive, mode); err == nil || !errors.Is(err, fs.ErrExist) {
			break
		}
	}
	if err != nil {
		root.Close()
		return nil, Fail("Failed to fetch the file. %v", err)
	}
	if statErr == nil { // a replaced file keeps its mode
		if err := w.file.Chmod(old.Mode().Perm()); err != nil {
			return nil, errors.Join(Fail("keeping the mode of %s: %v", d.path, err), w.discard())
		}
	}
	return w, nil
}

// Write takes the next piece of the file.
func (w *fetchWriter) Write(p []byte) (int, error) {
	n, err := w.file.Write(p)
	w.sha1.Write(p[:n])
	w.md5.Write(p[:n])
	return n, err
}

// Close ends the stream: with an error the file is thrown away. A complete one
// is put in place by commit, after its checksum was compared.
func (w *fetchWriter) Close(err error) error {
	if err != nil {
		return errors.Join(err, w.discard())
	}
	return nil
}

func (w *fetchWriter) commit() error {
	defer w.root.Close()
	if err := w.file.Close(); err != nil {
		_ = w.root.Remove(w.tmp)
		return err
	}
	if err := w.root.Rename(w.tmp, w.dest.name); err != nil {
		_ = w.root.Remove(w.tmp)
		return err
	}
	return nil
}

// discard removes what was written; a second call does nothing.
func (w *fetchWriter) discard() error {
	if w.root == nil {
		return nil
	}
	err := errors.Join(w.file.Close(), w.root.Remove(w.tmp), w.root.Close())
	w.root = nil
	return err
}
