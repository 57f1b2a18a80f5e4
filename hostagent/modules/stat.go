package modules

import (
	"context"
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"volant/wire/value"
)

type statArgs struct {
	Path       string `arg:"path,required,type=path,alias=dest|name"`
	Follow     bool   `arg:"follow,default=no"`
	Checksum   bool   `arg:"get_checksum,default=yes"`
	Mime       bool   `arg:"get_mime,default=yes,alias=mime|mime_type|mime-type"`
	Attributes bool   `arg:"get_attributes,default=yes,alias=attr|attributes"`
	Algorithm  string `arg:"checksum_algorithm,default=sha1,choices=md5|sha1|sha224|sha256|sha384|sha512,alias=checksum|checksum_algo"`
}

func statModule(ctx context.Context, c *call, a *statArgs) (Result, error) {
	path := c.p(a.Path)
	var st syscall.Stat_t
	var err error
	if a.Follow {
		err = syscall.Stat(path, &st)
	} else {
		err = syscall.Lstat(path, &st)
	}
	if err == syscall.ENOENT {
		return value.DictOf("changed", false, "stat", value.DictOf("exists", false)), nil
	}
	if err != nil {
		e := asOSError(err, a.Path, true)
		return nil, failBecause(e, strerror(e.errno))
	}
	out := statDict(a.Path, &st)
	readable := syscall.Access(path, unix.R_OK) == nil
	out.Set("readable", readable)
	out.Set("writeable", syscall.Access(path, unix.W_OK) == nil)
	out.Set("executable", syscall.Access(path, unix.X_OK) == nil)
	if st.Mode&syscall.S_IFMT == syscall.S_IFLNK {
		out.Set("lnk_source", realpath(path))
		target, err := os.Readlink(path)
		if err != nil {
			return nil, raise(asOSError(err, a.Path, true).Error())
		}
		out.Set("lnk_target", target)
	}
	if n, ok := users.name(st.Uid); ok {
		out.Set("pw_name", n)
	}
	if n, ok := groups.name(st.Gid); ok {
		out.Set("gr_name", n)
	}
	if a.Checksum && readable && st.Mode&syscall.S_IFMT == syscall.S_IFREG {
		if a.Algorithm == "md5" && fipsOn() {
			return nil, handBack("md5 with FIPS mode on")
		}
		sum, err := digest(ctx, path, a.Algorithm)
		if err != nil {
			return nil, raise(asOSError(err, a.Path, true).Error())
		}
		out.Set("checksum", sum)
	}
	if a.Mime {
		c.mime(ctx, out, a.Path)
	}
	if a.Attributes {
		out.Set("version", nil)
		out.Set("attributes", value.ListOf())
		out.Set("attr_flags", "")
		if at, ok := c.fileAttributes(a.Path, true); ok {
			out.Set("version", at.version)
			out.Set("attributes", at.words())
			out.Set("attr_flags", at.flags)
		}
	}
	return value.DictOf("changed", false, "stat", out), nil
}

func (c *call) mime(ctx context.Context, out *value.Dict, path string) {
	out.Set("mimetype", "unknown")
	out.Set("charset", "unknown")
	file, ok := c.binPath("file")
	if !ok {
		return
	}
	r, err := c.run(ctx, &command{argv: []string{file, "--mime-type", "--mime-encoding", path}})
	if err != nil || r.rc != 0 {
		return
	}
	text := string(r.stdout)
	i := strings.LastIndexByte(text, ':')
	if i < 0 {
		return
	}
	parts := strings.Split(text[i+1:], ";")
	if len(parts) != 2 {
		return
	}
	out.Set("mimetype", strings.TrimSpace(parts[0]))
	if _, charset, ok := strings.Cut(parts[1], "="); ok {
		charset, _, _ = strings.Cut(charset, "=")
		out.Set("charset", strings.TrimSpace(charset))
	}
}

// seconds is a time as Python's float.
func seconds(t syscall.Timespec) float64 { return float64(t.Sec) + 1e-9*float64(t.Nsec) }

func statDict(path string, st *syscall.Stat_t) *value.Dict {
	kind := st.Mode & syscall.S_IFMT
	d := value.NewDict(40)
	d.Set("exists", true)
	d.Set("path", path)
	d.Set("mode", fmt.Sprintf("%04o", st.Mode&0o7777))
	d.Set("isdir", kind == syscall.S_IFDIR)
	d.Set("ischr", kind == syscall.S_IFCHR)
	d.Set("isblk", kind == syscall.S_IFBLK)
	d.Set("isreg", kind == syscall.S_IFREG)
	d.Set("isfifo", kind == syscall.S_IFIFO)
	d.Set("islnk", kind == syscall.S_IFLNK)
	d.Set("issock", kind == syscall.S_IFSOCK)
	d.Set("uid", int64(st.Uid))
	d.Set("gid", int64(st.Gid))
	d.Set("size", st.Size)
	d.Set("inode", int64(st.Ino))
	d.Set("dev", int64(st.Dev))
	d.Set("nlink", int64(st.Nlink))
	d.Set("atime", seconds(st.Atim))
	d.Set("mtime", seconds(st.Mtim))
	d.Set("ctime", seconds(st.Ctim))
	for _, p := range []struct {
		name string
		bit  uint32
	}{
		{"wusr", 0o200}, {"rusr", 0o400}, {"xusr", 0o100}, {"wgrp", 0o20}, {"rgrp", 0o40}, {"xgrp", 0o10},
		{"woth", 0o2}, {"roth", 0o4}, {"xoth", 0o1}, {"isuid", 0o4000}, {"isgid", 0o2000},
	} {
		d.Set(p.name, st.Mode&p.bit != 0)
	}
	d.Set("blocks", st.Blocks)
	d.Set("block_size", int64(st.Blksize))
	d.Set("device_type", int64(st.Rdev))
	return d
}

// realpath is os.path.realpath: what cannot be resolved stays as it is.
func realpath(path string) string {
	if !filepath.IsAbs(path) {
		if wd, err := os.Getwd(); err == nil {
			path = filepath.Join(wd, path)
		}
	}
	links := 0
	rest := strings.Split(path, "/")
	real := ""
	for len(rest) > 0 {
		part := rest[0]
		rest = rest[1:]
		switch part {
		case "", ".":
			continue
		case "..":
			real = real[:max(strings.LastIndexByte(real, '/'), 0)]
			continue
		}
		next := real + "/" + part
		target, err := os.Readlink(next)
		if err != nil || links > 40 {
			real = next
			continue
		}
		links++
		if strings.HasPrefix(target, "/") {
			real = ""
		}
		rest = append(strings.Split(target, "/"), rest...)
	}
	if real == "" {
		return "/"
	}
	return real
}

var hashes = map[string]func() hash.Hash{
	"md5": md5.New, "sha1": sha1.New, "sha224": sha256.New224, "sha256": sha256.New, "sha384": sha512.New384, "sha512": sha512.New,
}

// copyBuffers are used by everything that streams a file.
var copyBuffers = sync.Pool{New: func() any { return new([128 << 10]byte) }}

// digest is the hash of a file's content in hexadecimal; it ends with ctx.
func digest(ctx context.Context, path, algorithm string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := hashes[algorithm]()
	b := copyBuffers.Get().(*[128 << 10]byte)
	defer copyBuffers.Put(b)
	for {
		n, err := f.Read(b[:])
		h.Write(b[:n])
		if err == io.EOF {
			return hex.EncodeToString(h.Sum(nil)), nil
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return "", err
		}
	}
}

// fipsOn reports whether the kernel is in FIPS mode, in which md5 is refused.
func fipsOn() bool {
	b, err := os.ReadFile("/proc/sys/crypto/fips_enabled")
	return err == nil && strings.TrimSpace(string(b)) == "1"
}
