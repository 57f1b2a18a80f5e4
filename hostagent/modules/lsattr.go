package modules

import (
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"volant/wire/value"
)

// attrFlag is one inode flag with lsattr's letter, in its order of output.
type attrFlag struct {
	bit    uint32
	letter byte
}

var attrFlags = []attrFlag{
	{0x1, 's'}, {0x2, 'u'}, {0x8, 'S'}, {0x10000, 'D'}, {0x10, 'i'}, {0x20, 'a'}, {0x40, 'd'}, {0x80, 'A'}, {0x4, 'c'},
	{0x800, 'E'}, {0x4000, 'j'}, {0x1000, 'I'}, {0x8000, 't'}, {0x20000, 'T'}, {0x80000, 'e'}, {0x800000, 'C'}, {0x2000000, 'x'},
	{0x40000000, 'F'}, {0x10000000, 'N'}, {0x20000000, 'P'}, {0x100000, 'V'}, {0x400, 'm'},
}

// attrNames are the words the reference has for letters.
var attrNames = map[byte]string{
	'A': "noatime", 'a': "append", 'c': "compressed", 'C': "nocow", 'd': "nodump", 'D': "dirsync", 'e': "extents", 'E': "encrypted",
	'h': "blocksize", 'i': "immutable", 'I': "indexed", 'j': "journalled", 'N': "inline", 's': "zero", 'S': "synchronous", 't': "notail",
	'T': "blockroot", 'u': "undelete", 'X': "compressedraw", 'Z': "compresseddirty",
}

// attributes is what lsattr -d, with version also -v, says of a path.
type attributes struct {
	version string
	flags   string
}

// words are the attributes' names.
func (a attributes) words() *value.List {
	l := value.ListOf()
	for i := range len(a.flags) {
		if w, ok := attrNames[a.flags[i]]; ok {
			l.Items = append(l.Items, w)
		}
	}
	return l
}

// fileAttributes asks the kernel what lsattr would; ok is false where lsattr
// is not installed or fails.
func (e *Env) fileAttributes(path string, version bool) (attributes, bool) {
	if _, ok := e.binPath("lsattr"); !ok {
		return attributes{}, false
	}
	path = e.p(path)
	var st unix.Stat_t
	if unix.Lstat(path, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFREG && st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return attributes{}, false
	}
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
	if err != nil {
		return attributes{}, false
	}
	defer unix.Close(fd)
	bits, err := unix.IoctlGetInt(fd, unix.FS_IOC_GETFLAGS)
	if err != nil {
		return attributes{}, false
	}
	var a attributes
	if version {
		v, err := unix.IoctlGetInt(fd, 0x80087601) // FS_IOC_GETVERSION
		if err != nil {
			return attributes{}, false
		}
		a.version = strconv.FormatUint(uint64(uint32(v)), 10)
	}
	var b strings.Builder
	for _, f := range attrFlags {
		if uint32(bits)&f.bit != 0 {
			b.WriteByte(f.letter)
		}
	}
	a.flags = b.String()
	return a, true
}

// searched is where programs are looked for: PATH, then the sbin directories
// that are not on it.
func (e *Env) searched() []string {
	dirs := strings.Split(e.Getenv("PATH"), ":")
	for _, d := range []string{"/sbin", "/usr/sbin", "/usr/local/sbin"} {
		if !slices.Contains(dirs, d) && exists(d) {
			dirs = append(dirs, d)
		}
	}
	return dirs
}

// binPath is get_bin_path: a program on PATH or in an sbin directory.
func (e *Env) binPath(name string) (string, bool) {
	for _, dir := range e.searched() {
		if dir == "" {
			continue
		}
		p := pyJoin(dir, name)
		var st unix.Stat_t
		if unix.Stat(p, &st) == nil && st.Mode&unix.S_IFMT != unix.S_IFDIR && st.Mode&0o111 != 0 {
			return p, true
		}
	}
	return "", false
}

// needBin is binPath of a program that the module cannot do without.
func (e *Env) needBin(name string) (string, error) {
	if p, ok := e.binPath(name); ok {
		return p, nil
	}
	return "", fail("Failed to find required executable \"" + name + "\" in paths: " + strings.Join(e.searched(), ":"))
}
