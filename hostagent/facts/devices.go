package facts

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strconv"
	"strings"

	"volant/wire/rx"
	"volant/wire/value"
)

// links are names of block devices by kind of link and device.
type links map[string]map[string][]string

// linkKinds in the order the reference lists them.
var linkKinds = []string{"ids", "uuids", "labels", "masters"}

func (l links) of(device string) *value.Dict {
	d := value.NewDict(4)
	for _, kind := range linkKinds {
		d.Set(kind, value.Strings(l[kind][device]...))
	}
	return d
}

func (l links) facts() *value.Dict {
	d := value.NewDict(4)
	for _, kind := range linkKinds {
		devices := value.NewDict(len(l[kind]))
		names := make([]string, 0, len(l[kind]))
		for n := range l[kind] {
			names = append(names, n)
		}
		sort.Strings(names)
		for _, n := range names {
			devices.Set(n, value.Strings(l[kind][n]...))
		}
		d.Set(kind, devices)
	}
	return d
}

// deviceLinks reads /dev/disk and who is built on whom.
func deviceLinks() links {
	l := links{}
	for kind, dir := range map[string]string{"ids": "/dev/disk/by-id", "uuids": "/dev/disk/by-uuid", "labels": "/dev/disk/by-label"} {
		l[kind] = map[string][]string{}
		entries, _ := os.ReadDir(dir) // sorted by name
		for _, e := range entries {
			if target, err := os.Readlink(filepath.Join(dir, e.Name())); err == nil {
				device := filepath.Base(target)
				l[kind][device] = append(l[kind][device], e.Name())
			}
		}
	}
	l["masters"] = map[string][]string{}
	slaves, _ := filepath.Glob("/sys/block/*/slaves/*")
	for _, p := range slaves {
		parts := strings.Split(p, "/")
		device, target := parts[3], parts[5]
		l["masters"][target] = append(l["masters"][target], device)
	}
	return l
}

var (
	pciPath   = rx.Lazy(`.+/([a-f0-9]{4}:[a-f0-9]{2}:[0|1][a-f0-9]\.[0-7])/`)
	scheduler = rx.Lazy(`^.*?(\[(.*)\])`)
	sgSerial  = rx.Lazy(`(?:Unit serial|Serial) number:\s+(\w+)`)
)

// blockDevices describes every disk and its partitions, loop devices included.
func blockDevices(r *run) (*value.Dict, error) {
	entries, err := os.ReadDir("/sys/block")
	if err != nil {
		return value.DictOf("devices", value.NewDict(0)), nil //nolint:nilerr // as the reference
	}
	wwns := map[string]string{}
	byID, _ := os.ReadDir("/dev/disk/by-id")
	for _, e := range byID {
		if wwn, ok := strings.CutPrefix(e.Name(), "wwn-"); ok {
			if target, err := os.Readlink("/dev/disk/by-id/" + e.Name()); err == nil {
				wwns[filepath.Base(target)] = wwn
			}
		}
	}
	all := deviceLinks()
	devices := value.NewDict(len(entries))
	sgInq := r.tool("sg_inq")
	var pci func() string
	pci = func() string {
		text := ""
		if lspci := r.tool("lspci"); lspci != "" {
			text, _ = r.command(lspci, "-D")
		}
		pci = func() string { return text }
		return text
	}
	for _, e := range entries {
		d, name, err := r.blockDevice(e.Name(), all, sgInq)
		if err != nil {
			return nil, err
		}
		if d == nil {
			continue
		}
		if wwn, ok := wwns[name]; ok {
			d.Set("wwn", wwn)
		}
		target, _ := os.Readlink("/sys/block/" + e.Name())
		d.Set("host", "")
		if m := pciPath.FindStringSubmatch("/sys/block/" + target); m != nil {
			for _, line := range strings.Split(pci(), "\n") {
				if rest, ok := strings.CutPrefix(line, m[1]); ok && rest != "" && (rest[0] == ' ' || rest[0] == '\t') {
					d.Set("host", rest[1:])
				}
			}
		}
		devices.Set(name, d)
	}
	return value.DictOf("devices", devices, "device_links", all.facts()), nil
}

func (r *run) blockDevice(block string, all links, sgInq string) (*value.Dict, string, error) {
	virtual := int64(1)
	target, err := os.Readlink("/sys/block/" + block)
	if err != nil {
		info, statErr := os.Lstat("/sys/block/" + block)
		if statErr != nil || !info.IsDir() {
			return nil, "", nil
		}
		target = block // a kernel that has directories here
		entries, _ := os.ReadDir("/sys/block/" + block)
		for _, e := range entries {
			if strings.Contains(e.Name(), "device") {
				virtual = 0
			}
		}
	}
	dir := filepath.Join("/sys/block", target)
	name := filepath.Base(dir)
	d := value.DictOf("virtual", virtual, "links", all.of(block))
	for _, key := range []string{"vendor", "model", "sas_address", "sas_device_handle"} {
		d.Set(key, content(dir+"/device/"+key))
	}
	serial := ""
	if sgInq != "" {
		if out, ok := r.command(sgInq, "/dev/"+block); ok {
			if m := sgSerial.FindStringSubmatch(out); m != nil {
				serial = m[1]
			}
		}
	} else {
		serial = read("/sys/block/"+block+"/device/serial", "")
	}
	if serial != "" {
		d.Set("serial", serial)
	}
	d.Set("removable", content(dir+"/removable"))
	if read(dir+"/queue/discard_max_hw_bytes", "") == "0" {
		d.Set("support_discard", "0")
	} else {
		d.Set("support_discard", content(dir+"/queue/discard_granularity"))
	}
	parts, err := partitions(dir, name, all)
	if err != nil {
		return nil, "", err
	}
	d.Set("partitions", parts)
	d.Set("rotational", content(dir+"/queue/rotational"))
	mode := ""
	if m := scheduler.FindStringSubmatch(read(dir+"/queue/scheduler", "")); m != nil {
		mode = m[2]
	}
	d.Set("scheduler_mode", mode)
	if err := sizes(d, dir, nil); err != nil {
		return nil, "", err
	}
	d.Set("holders", holders(dir))
	return d, name, nil
}

// sizes sets sectors, sectorsize and size; missing is what an absent size is.
func sizes(d *value.Dict, dir string, missing any) error {
	var sector any = read(dir+"/queue/logical_block_size", "")
	if sector == "" {
		sector = any(int64(512))
		if s := read(dir+"/queue/hw_sector_size", ""); s != "" {
			sector = s
		}
	}
	d.Set("sectorsize", sector)
	bytes := int64(512)
	if s, ok := sector.(string); ok {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil || n <= 0 {
			return fmt.Errorf("reading the sector size of %s: %q", dir, s)
		}
		bytes = n
	}
	text := read(dir+"/size", "")
	if text == "" && missing == nil {
		return fmt.Errorf("%s has no size", dir)
	}
	n := int64(0)
	if text != "" {
		var err error
		if n, err = strconv.ParseInt(text, 10, 64); err != nil {
			return fmt.Errorf("reading the size of %s: %w", dir, err)
		}
	}
	sectors := n * 512 / bytes
	d.Set("sectors", sectors)
	d.Set("size", humanSize(float64(sectors)*float64(bytes)))
	return nil
}

func partitions(dir, disk string, all links) (*value.Dict, error) {
	out := value.NewDict(4)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return out, nil //nolint:nilerr // the device went away meanwhile
	}
	name := regexp.MustCompile("(" + regexp.QuoteMeta(disk) + `[p]?\d+)`)
	for _, e := range entries {
		m := name.FindStringSubmatch(e.Name())
		if m == nil {
			continue
		}
		part := m[1]
		sub := dir + "/" + part
		p := value.DictOf("links", all.of(part))
		start := content(sub + "/start")
		if start == nil {
			start = int64(0)
		}
		p.Set("start", start)
		if err := sizes(p, sub, int64(0)); err != nil {
			return nil, err
		}
		var uuid any
		for kind, devices := range all {
			if kind == "uuids" && len(devices[part]) > 0 {
				uuid = devices[part][0]
			}
		}
		p.Set("uuid", uuid)
		p.Set("holders", holders(sub))
		out.Set(part, p)
	}
	return out, nil
}

// holders are the device-mapper names built on a device.
func holders(dir string) *value.List {
	l := value.ListOf()
	entries, _ := os.ReadDir(dir + "/holders")
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "dm-") {
			l.Items = append(l.Items, read(dir+"/holders/"+e.Name()+"/dm/name", e.Name()))
		}
	}
	return l
}

// humanSize is the reference's bytes_to_human.
func humanSize(n float64) string {
	for _, s := range []struct {
		unit  string
		limit float64
	}{{"YB", 1 << 80}, {"ZB", 1 << 70}, {"EB", 1 << 60}, {"PB", 1 << 50}, {"TB", 1 << 40}, {"GB", 1 << 30}, {"MB", 1 << 20}, {"KB", 1 << 10}} {
		if n >= s.limit {
			return fmt.Sprintf("%.2f %s", n/s.limit, s.unit)
		}
	}
	return fmt.Sprintf("%.2f Bytes", n)
}
