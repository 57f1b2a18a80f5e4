package modules

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// database is one of passwd and group, read again when the file changed.
type database struct {
	path, getent string

	mu   sync.Mutex // guards what follows
	seen string     // the file's identity when it was read
	byID map[uint32]string
	ids  map[string]uint32
	rest map[string][]string
}

var (
	users  = &database{path: "/etc/passwd", getent: "passwd"}
	groups = &database{path: "/etc/group", getent: "group"}
)

func (d *database) load() {
	st, err := os.Stat(d.path)
	if err != nil {
		d.byID, d.ids, d.rest = nil, nil, nil
		return
	}
	now := identity(st)
	if d.byID != nil && now == d.seen {
		return
	}
	b, err := os.ReadFile(d.path)
	if err != nil {
		return
	}
	d.seen = now
	d.byID, d.ids, d.rest = map[uint32]string{}, map[string]uint32{}, map[string][]string{}
	for line := range bytes.Lines(b) {
		d.add(strings.TrimRight(string(line), "\n"))
	}
}

// identity tells one content of a file from another without reading it.
func identity(st os.FileInfo) string {
	id := fmt.Sprintf("%d %d", st.Size(), st.ModTime().UnixNano())
	if sys, ok := st.Sys().(*syscall.Stat_t); ok {
		id += fmt.Sprintf(" %d %d.%d", sys.Ino, sys.Ctim.Sec, sys.Ctim.Nsec)
	}
	return id
}

func (d *database) add(line string) {
	f := strings.Split(line, ":")
	if len(f) < 3 || strings.HasPrefix(line, "#") {
		return
	}
	id, err := strconv.ParseUint(f[2], 10, 32)
	if err != nil {
		return
	}
	if _, taken := d.byID[uint32(id)]; !taken {
		d.byID[uint32(id)] = f[0]
	}
	if _, taken := d.ids[f[0]]; !taken {
		d.ids[f[0]] = uint32(id)
		d.rest[f[0]] = f
	}
}

// ask looks a name or number up where the name service has more than files.
func (d *database) ask(key string) []string {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, "getent", d.getent, key).Output()
	if err != nil {
		return nil
	}
	line, _, _ := strings.Cut(string(out), "\n")
	if f := strings.Split(line, ":"); len(f) >= 3 {
		return f
	}
	return nil
}

func (d *database) name(id uint32) (string, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.load()
	if n, ok := d.byID[id]; ok {
		return n, true
	}
	if onlyFiles(d.getent) {
		return "", false
	}
	if f := d.ask(strconv.FormatUint(uint64(id), 10)); f != nil {
		return f[0], true
	}
	return "", false
}

func (d *database) id(name string) (uint32, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.load()
	if id, ok := d.ids[name]; ok {
		return id, true
	}
	if onlyFiles(d.getent) || name == "" {
		return 0, false
	}
	if f := d.ask(name); f != nil && f[0] == name {
		if id, err := strconv.ParseUint(f[2], 10, 32); err == nil {
			return uint32(id), true
		}
	}
	return 0, false
}

// onlyFiles reports whether the name service of the database reads nothing
// but local files, and what is in also.
func onlyFiles(db string, also ...string) bool {
	b, err := os.ReadFile("/etc/nsswitch.conf")
	if err != nil {
		return true
	}
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		if len(f) > 0 && f[0] == db+":" {
			for _, s := range f[1:] {
				if s != "files" && !slices.Contains(also, s) {
					return false
				}
			}
			return true
		}
	}
	return true
}

// userName is the name of a user, or the number as text.
func userName(uid uint32) string {
	if n, ok := users.name(uid); ok {
		return n
	}
	return strconv.FormatUint(uint64(uid), 10)
}

// groupName is the name of a group, or the number as text.
func groupName(gid uint32) string {
	if n, ok := groups.name(gid); ok {
		return n
	}
	return strconv.FormatUint(uint64(gid), 10)
}

// entry is the record of a name, nil when there is none.
func (d *database) entry(name string) []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.load()
	if f, ok := d.rest[name]; ok {
		return f
	}
	if onlyFiles(d.getent) || name == "" {
		return nil
	}
	if f := d.ask(name); f != nil && f[0] == name {
		return f
	}
	return nil
}

// of is the groups that list a user, in the group file.
func (d *database) of(user string) map[string]bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.load()
	in := map[string]bool{}
	for name, f := range d.rest {
		if len(f) < 4 {
			continue
		}
		for _, m := range strings.Split(f[3], ",") {
			if m == user {
				in[name] = true
			}
		}
	}
	return in
}
