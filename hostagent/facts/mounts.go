package facts

import (
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"volant/wire/rx"
	"volant/wire/value"
)

var (
	octal   = rx.Lazy(`\\[0-9]{3}`)
	udevID  = rx.Lazy(`ID_FS_UUID=(.*)\n`)
	maxHung = 64 // mounts that may hang at once before the rest is not asked
)

func unescape(s string) string {
	return octal.ReplaceAllStringFunc(s, func(m string) string {
		n, err := strconv.ParseUint(m[1:], 8, 32)
		if err != nil {
			return m
		}
		return string(rune(n))
	})
}

// mounts describes mounted file systems that have a device. Each is asked on
// its own, so that one that hangs delays only its own answer.
func mounts(r *run) (*value.Dict, error) {
	source := "/etc/mtab"
	if !exists(source) {
		source = "/proc/mounts"
	}
	binds := bindMounts()
	uuids := r.diskUUIDs()
	type mount struct {
		info *value.Dict
		size chan *value.Dict
	}
	var order []string
	all := map[string]*mount{}
	for _, line := range lines(source) {
		f := strings.Fields(line)
		if len(f) < 6 {
			continue
		}
		for i := range f {
			f[i] = unescape(f[i])
		}
		device, point, kind, options := f[0], f[1], f[2], f[3]
		if !strings.HasPrefix(device, "/") && !strings.HasPrefix(device, `\`) && !strings.Contains(device, ":/") || kind == "none" {
			continue
		}
		if binds[point] && !strings.Contains(options, `bind"`) {
			options += ",bind"
		}
		dump, _ := strconv.ParseInt(f[4], 10, 64)
		pass, _ := strconv.ParseInt(f[5], 10, 64)
		if all[point] == nil {
			order = append(order, point)
		}
		m := &mount{
			info: value.DictOf("mount", point, "device", device, "fstype", kind, "options", options, "dump", dump, "passno", pass),
			size: make(chan *value.Dict, 1),
		}
		all[point] = m
		// A statfs of a dead server cannot be interrupted: its goroutine ends
		// when the kernel lets it, and the facts do not wait for it.
		select {
		case hung <- struct{}{}:
			go func() {
				defer func() { <-hung }()
				m.size <- mountSize(point)
			}()
		default:
			m.size = nil
		}
	}
	list := &value.List{Items: make([]any, 0, len(order))}
	deadline := time.NewTimer(r.req.Timeout)
	defer deadline.Stop()
	over := false
	for _, point := range order {
		m := all[point]
		device, _ := m.info.Str("device")
		var size *value.Dict
		if m.size != nil && !over {
			select {
			case size = <-m.size:
			case <-deadline.C:
				over = true
			case <-r.ctx.Done():
				return nil, r.ctx.Err()
			}
		} else if m.size != nil {
			select {
			case size = <-m.size:
			default:
			}
		}
		if size == nil {
			r.warn("Timeout exceeded when getting mount info for %s", point)
			m.info.Set("note", "Could not get extra information due to timeout")
		} else {
			m.info.Update(size)
			uuid, ok := uuids[device]
			if !ok {
				uuid = r.udevUUID(device)
			}
			m.info.Set("uuid", uuid)
		}
		list.Items = append(list.Items, m.info)
	}
	return value.DictOf("mounts", list), nil
}

// hung bounds the goroutines that wait for file systems, over all gatherings.
var hung = make(chan struct{}, maxHung)

func mountSize(point string) *value.Dict {
	var st unix.Statfs_t
	if err := unix.Statfs(point, &st); err != nil {
		return value.NewDict(0)
	}
	n := func(v uint64) int64 { return int64(v) }
	fragment := int64(st.Frsize)
	if fragment == 0 {
		fragment = int64(st.Bsize)
	}
	return value.DictOf(
		"size_total", fragment*n(st.Blocks), "size_available", fragment*n(st.Bavail),
		"block_size", int64(st.Bsize), "block_total", n(st.Blocks), "block_available", n(st.Bavail),
		"block_used", n(st.Blocks)-n(st.Bavail),
		"inode_total", n(st.Files), "inode_available", n(st.Ffree), "inode_used", n(st.Files)-n(st.Ffree))
}

// bindMounts are the mount points that show a part of a file system, what
// findmnt writes as SOURCE[PART].
func bindMounts() map[string]bool {
	out := map[string]bool{}
	for _, line := range lines("/proc/self/mountinfo") {
		f := strings.Fields(line)
		if len(f) > 4 && f[3] != "/" {
			out[unescape(f[4])] = true
		}
	}
	return out
}

// diskUUIDs maps device paths to file system UUIDs as lsblk lists them.
func (r *run) diskUUIDs() map[string]string {
	out := map[string]string{}
	lsblk := r.tool("lsblk")
	if lsblk == "" {
		return out
	}
	text, ok := r.command(lsblk, "--list", "--noheadings", "--paths", "--output", "NAME,UUID", "--exclude", "2")
	if !ok {
		return out
	}
	for _, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		i := strings.LastIndexAny(line, " \t")
		if i < 0 {
			continue
		}
		name := strings.TrimSpace(line[:i])
		if _, had := out[name]; !had {
			out[name] = line[i+1:]
		}
	}
	return out
}

func (r *run) udevUUID(device string) string {
	udevadm := r.tool("udevadm")
	if udevadm == "" {
		return "N/A"
	}
	out, ok := r.command(udevadm, "info", "--query", "property", "--name", device)
	if m := udevID.FindStringSubmatch(out); ok && m != nil {
		return m[1]
	}
	return "N/A"
}
