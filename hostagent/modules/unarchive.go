package modules

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"volant/hostagent/python"
	"volant/wire/rx"
	"volant/wire/shlex"
	"volant/wire/value"
)

type unarchiveArgs struct {
	Src       string   `arg:"src,required,type=path"`
	Dest      string   `arg:"dest,required,type=path"`
	RemoteSrc bool     `arg:"remote_src,default=no"`
	Creates   *string  `arg:"creates,type=path"`
	ListFiles bool     `arg:"list_files,default=no"`
	KeepNewer bool     `arg:"keep_newer,default=no"`
	Exclude   []string `arg:"exclude,default="`
	Include   []string `arg:"include,default="`
	ExtraOpts []string `arg:"extra_opts,default="`
	Validate  bool     `arg:"validate_certs,default=yes"`
	Buffer    int64    `arg:"io_buffer_size,default=65536"`
	Copy      bool     `arg:"copy,default=yes"`
	Decrypt   bool     `arg:"decrypt,default=yes"`
	fileCommon
}

// tarKind is a kind of archive that tar unpacks: the Python module's name for
// it, tar's option, and how a file of it begins.
type tarKind struct {
	handler, option string
	magic           []byte
	at              int
}

// What is not gzip is TarArchive to the Python module: tar finds out by itself.
var tarKinds = []tarKind{
	{"TgzArchive", "-z", []byte{0x1f, 0x8b}, 0}, {"TarArchive", "", []byte("ustar"), 257}, {"TarArchive", "", []byte("BZh"), 0},
	{"TarArchive", "", []byte{0xfd, '7', 'z', 'X', 'Z', 0}, 0}, {"TarArchive", "", []byte{0x28, 0xb5, 0x2f, 0xfd}, 0},
}

// tarball is an archive at work.
type tarball struct {
	*call
	ctx  context.Context
	a    *unarchiveArgs
	kind tarKind
	bin  string
	src  string
	env  []string
	ours []string // exclude, without the slashes at the end
}

// unarchive is the unarchive module for archives of tar, which tar compares
// and unpacks; zip is left to the Python module.
func unarchive(ctx context.Context, c *call, a *unarchiveArgs) (Result, error) {
	t := &tarball{call: c, ctx: ctx, a: a}
	if err := t.look(); err != nil {
		return nil, err
	}
	if c.Check {
		return nil, &skip{"remote module (" + c.Name + ") does not support check mode when using gtar"}
	}
	files, err := t.list()
	if err != nil {
		return nil, err
	}
	same, err := t.same()
	if err != nil {
		return nil, err
	}
	res := value.DictOf("handler", t.kind.handler, "dest", a.Dest, "src", t.src, "changed", !same)
	if !same {
		if err := t.unpack(res); err != nil {
			return nil, err
		}
	}
	changed, err := t.attributes(files, !same)
	if err != nil {
		return nil, err
	}
	res.Set("changed", changed)
	if a.ListFiles {
		l := value.ListOf()
		for _, f := range files {
			l.Items = append(l.Items, f)
		}
		res.Set("files", l)
	}
	return res, nil
}

// look sees what the archive is.
func (t *tarball) look() error {
	a := t.a
	switch {
	case selinuxOn():
		return handBack("SELinux is on")
	case !filepath.IsAbs(a.Dest) || filepath.Clean(a.Dest) != strings.TrimRight(a.Dest, "/") && a.Dest != "/":
		return handBack("an unusual dest")
	}
	if err := usableMode(a.Mode); err != nil {
		return err
	}
	var st syscall.Stat_t
	err := syscall.Stat(t.p(a.Src), &st)
	switch {
	case err != nil && !a.RemoteSrc:
		return fail("Source '" + a.Src + "' failed to transfer")
	case err != nil && strings.Contains(a.Src, "://"):
		return handBack("the archive is to be downloaded")
	case err != nil:
		return fail("Source '" + a.Src + "' does not exist")
	case syscall.Access(t.p(a.Src), 4) != nil:
		return fail("Source '" + a.Src + "' not readable")
	}
	if syscall.Access(a.Dest, 1) != nil {
		return handBack("dest cannot be entered")
	}
	t.src = filepath.Clean(t.p(a.Src))
	switch {
	case st.Size == 0:
		return fail("Invalid archive '" + t.src + "', the file is 0 bytes")
	case !isDir(a.Dest):
		return fail("Destination '" + a.Dest + "' is not a directory")
	}
	f, err := os.Open(t.src)
	if err != nil {
		return handBack("reading the archive: %v", err)
	}
	defer f.Close()
	head := make([]byte, 512)
	n, _ := io.ReadFull(f, head)
	at := slices.IndexFunc(tarKinds, func(k tarKind) bool { return n >= k.at && bytes.HasPrefix(head[k.at:n], k.magic) })
	if at < 0 {
		return handBack("no archive of tar's")
	}
	t.kind = tarKinds[at]
	return t.tool()
}

// tool finds GNU tar.
func (t *tarball) tool() error {
	ok := false
	if t.bin, ok = t.binPath("gtar"); !ok {
		if t.bin, ok = t.binPath("tar"); !ok {
			return handBack("there is no tar")
		}
	}
	r, err := t.run(t.ctx, &command{argv: []string{t.bin, "--version"}})
	if err != nil || !bytes.HasPrefix(r.stdout, []byte("tar")) || !bytes.Contains(r.stdout, []byte("GNU")) {
		return handBack("tar is not GNU's")
	}
	l := t.parsable(t.ctx)
	t.env = []string{"LANG=" + l, "LC_ALL=" + l, "LC_MESSAGES=" + l, "LANGUAGE=" + l}
	for _, e := range t.a.Exclude {
		t.ours = append(t.ours, strings.TrimRight(e, "/"))
	}
	return nil
}

// words is tar's command line for an operation.
func (t *tarball) words(op string) []string {
	a := t.a
	w := []string{t.bin, op, "-C", t.dest()}
	if t.kind.option != "" {
		w = append(w, t.kind.option)
	}
	if len(a.ExtraOpts) > 0 {
		w = append(append(w, "--show-transformed-names"), a.ExtraOpts...)
	}
	if op != "--list" {
		if opted(a.Owner) != "" {
			w = append(w, "--owner="+shlex.Quote(*a.Owner))
		}
		if opted(a.Group) != "" {
			w = append(w, "--group="+shlex.Quote(*a.Group))
		}
		if a.KeepNewer {
			w = append(w, "--keep-newer-files")
		}
	}
	for _, e := range t.ours {
		w = append(w, "--exclude="+e)
	}
	return append(append(w, "-f", t.src), a.Include...)
}

func (t *tarball) dest() string { return filepath.Clean(t.a.Dest) }

func (t *tarball) tar(op string) (*ran, []string, error) {
	argv := t.words(op)
	r, err := t.run(t.ctx, &command{argv: argv, dir: t.dest(), env: t.env})
	if err != nil {
		return nil, nil, commandFailed(err, argv)
	}
	return r, argv, nil
}

// list is the names in the archive, without those that are excluded.
func (t *tarball) list() ([]string, error) {
	r, _, err := t.tar("--list")
	if err != nil {
		return nil, err
	}
	if r.rc != 0 || bytes.IndexByte(r.stdout, '\\') >= 0 {
		return nil, handBack("tar does not list the archive plainly")
	}
	var out []string
	for _, name := range python.SplitLines(string(r.stdout)) {
		name = strings.TrimPrefix(name, "/")
		if !slices.ContainsFunc(t.ours, func(e string) bool { return fnmatch(e, name) }) {
			out = append(out, name)
		}
	}
	if len(out) == 0 {
		return nil, handBack("there are no files in the archive")
	}
	return out, nil
}

var (
	tarEmpty   = rx.Lazy(`: : Warning: Cannot stat: No such file or directory$`)
	tarDiffers = rx.Lazy(`: (Mod time differs|Warning: Cannot stat: No such file or directory|Symlink differs|Contents differ|Size differs)$|: Invalid (owner|group)`)
)

// same has tar compare the archive with what is there; what the task sets
// itself does not count.
func (t *tarball) same() (bool, error) {
	r, _, err := t.tar("--diff")
	if err != nil {
		return false, err
	}
	root := os.Getuid() == 0
	for _, l := range append(python.SplitLines(string(r.stdout)), python.SplitLines(string(r.stderr))...) {
		switch {
		case tarEmpty.MatchString(l):
		case root && opted(t.a.Owner) == "" && strings.HasSuffix(l, ": Uid differs"),
			root && opted(t.a.Group) == "" && strings.HasSuffix(l, ": Gid differs"),
			!value.Truth(t.a.Mode) && strings.HasSuffix(l, ": Mode differs"), tarDiffers.MatchString(l):
			return false, nil
		}
	}
	return true, nil
}

func (t *tarball) unpack(res Result) error {
	r, argv, err := t.tar("--extract")
	if err != nil {
		return err
	}
	cmd := value.ListOf()
	for _, w := range argv {
		cmd.Items = append(cmd.Items, w)
	}
	got := value.DictOf("cmd", cmd, "rc", int64(r.rc), "out", string(r.stdout), "err", string(r.stderr))
	if r.rc != 0 {
		return fail("failed to unpack "+t.src+" to "+t.a.Dest, "handler", t.kind.handler, "dest", t.a.Dest, "src", t.src, "extract_results", got)
	}
	res.Set("extract_results", got)
	return nil
}

// attributes gives what came out of the archive, and the top folders, the
// attributes asked for.
func (t *tarball) attributes(files []string, changed bool) (bool, error) {
	at := t.commonArgs(&t.a.fileCommon, t.a.Dest, false)
	var tops []string
	var err error
	for _, f := range files {
		at.path = pyJoin(t.dest(), f)
		if changed, err = t.setAttrs(t.ctx, at, changed, nil); err != nil {
			return changed, err
		}
		if top, _, ok := strings.Cut(f, "/"); ok && !slices.Contains(tops, top) {
			tops = append(tops, top)
		}
	}
	for _, f := range tops {
		at.path = t.a.Dest + "/" + f
		if changed, err = t.setAttrs(t.ctx, at, changed, nil); err != nil {
			return changed, err
		}
	}
	return changed, nil
}
