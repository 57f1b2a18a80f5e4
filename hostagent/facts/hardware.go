package facts

import (
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"volant/wire/value"
)

// hardware joins the collectors of processors, memory, firmware, disks and
// mounts; they run side by side.
func hardware(r *run) (*value.Dict, error) {
	if exists("/proc/sysinfo") || exists("/proc/xen") {
		return nil, &HandBack{Reason: "hardware of this kind is read by Python"}
	}
	parts := []func(*run) (*value.Dict, error){processors, memory, firmware, blockDevices, uptime, volumes, mounts}
	found, errs := make([]*value.Dict, len(parts)), make([]error, len(parts))
	var wg sync.WaitGroup
	for i, part := range parts {
		wg.Go(func() { found[i], errs[i] = part(r) })
	}
	wg.Wait()
	out := value.NewDict(64)
	for i := range parts {
		if errs[i] != nil {
			return nil, errs[i]
		}
		out.Update(found[i])
	}
	return out, nil
}

func memory(*run) (*value.Dict, error) {
	out := value.NewDict(5)
	kb := map[string]any{}
	for _, line := range lines("/proc/meminfo") {
		key, rest, _ := strings.Cut(line, ":")
		switch key {
		case "MemTotal", "SwapTotal", "MemFree", "SwapFree", "Buffers", "Cached", "SwapCached":
			f := strings.Fields(rest)
			if len(f) == 0 {
				continue
			}
			n, err := strconv.ParseInt(f[0], 10, 64)
			if err != nil {
				return nil, fmt.Errorf("reading /proc/meminfo: %w", err)
			}
			kb[key] = n / 1024
			switch key {
			case "MemTotal", "SwapTotal", "MemFree", "SwapFree":
				out.Set(strings.ToLower(key)+"_mb", n/1024)
			}
		}
	}
	if len(kb) == 0 {
		return out, nil
	}
	diff := func(a, b any) any {
		x, ok := a.(int64)
		y, ok2 := b.(int64)
		if !ok || !ok2 {
			return nil
		}
		return x - y
	}
	var free any
	if c, ok := kb["Cached"].(int64); ok {
		f, ok := kb["MemFree"].(int64)
		b, ok2 := kb["Buffers"].(int64)
		if ok && ok2 {
			free = c + f + b
		}
	}
	out.Set("memory_mb", value.DictOf(
		"real", value.DictOf("total", kb["MemTotal"], "used", diff(kb["MemTotal"], kb["MemFree"]), "free", kb["MemFree"]),
		"nocache", value.DictOf("free", free, "used", diff(kb["MemTotal"], free)),
		"swap", value.DictOf("total", kb["SwapTotal"], "free", kb["SwapFree"], "used", diff(kb["SwapTotal"], kb["SwapFree"]), "cached", kb["SwapCached"])))
	return out, nil
}

// processors counts as the reference does (hardware/linux.py get_cpu_facts),
// its mixing of cores and sockets included.
func processors(*run) (*value.Dict, error) {
	cpuinfo := lines("/proc/cpuinfo")
	if cpuinfo == nil {
		return value.NewDict(0), nil
	}
	out := value.NewDict(8)
	list := value.ListOf()
	out.Set("processor", list)
	count, vendors, models, numbers := 0, 0, 0, 0
	socket, core := "0", "0"
	sockets, cores := value.NewDict(2), value.NewDict(8)
	for _, line := range cpuinfo {
		key, val, _ := strings.Cut(line, ":")
		key, val = strings.TrimSpace(key), strings.TrimSpace(val)
		number := func() int64 { n, _ := strconv.ParseInt(val, 10, 64); return n }
		switch key {
		case "flags":
			out.Set("flags", value.Strings(strings.Fields(val)...))
		case "model name", "Processor", "vendor_id", "cpu", "Vendor", "processor":
			list.Items = append(list.Items, val)
			switch key {
			case "vendor_id":
				vendors++
			case "model name":
				models++
			case "processor":
				numbers++
			}
			count++
		case "physical id":
			socket = val
			if !sockets.Has(socket) {
				sockets.Set(socket, int64(1))
			}
		case "core id":
			core = val
			if !sockets.Has(core) {
				cores.Set(core, int64(1))
			}
		case "cpu cores":
			sockets.Set(socket, number())
		case "siblings":
			cores.Set(core, number())
		case "ncpus active":
			count = int(number())
		}
	}
	if vendors > 0 && vendors == models {
		count = vendors
	}
	u, err := uname()
	if err != nil {
		return nil, err
	}
	for _, p := range []string{"armv", "aarch", "ppc"} {
		if strings.HasPrefix(u.machine, p) {
			count = numbers
		}
	}
	total := int64(count)
	if sockets.Len() > 0 {
		total = int64(sockets.Len())
	}
	perSocket := int64(1)
	if sockets.Len() > 0 {
		if _, v := sockets.At(0); v.(int64) != 0 {
			perSocket = v.(int64)
		}
	}
	siblings := int64(1)
	if cores.Len() > 0 {
		_, v := cores.At(0)
		siblings = v.(int64)
	}
	threads := int64(math.RoundToEven(float64(siblings) / float64(perSocket)))
	out.Set("processor_count", total)
	out.Set("processor_cores", perSocket)
	out.Set("processor_threads_per_core", threads)
	out.Set("processor_vcpus", threads*total*perSocket)
	usable := int64(numbers)
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err == nil {
		usable = int64(set.Count())
	}
	out.Set("processor_nproc", usable)
	return out, nil
}

// chassisTypes are the form factors by their number in the firmware.
var chassisTypes = []string{
	"Unknown", "Other", "Unknown", "Desktop", "Low Profile Desktop", "Pizza Box", "Mini Tower", "Tower", "Portable", "Laptop",
	"Notebook", "Hand Held", "Docking Station", "All In One", "Sub Notebook", "Space-saving", "Lunch Box", "Main Server Chassis",
	"Expansion Chassis", "Sub Chassis", "Bus Expansion Chassis", "Peripheral Chassis", "RAID Chassis", "Rack Mount Chassis",
	"Sealed-case PC", "Multi-system", "CompactPCI", "AdvancedTCA", "Blade", "Blade Enclosure", "Tablet", "Convertible",
	"Detachable", "IoT Gateway", "Embedded PC", "Mini PC", "Stick PC",
}

// firmwareFacts: fact, file below /sys/devices/virtual/dmi/id, dmidecode's name.
var firmwareFacts = [][3]string{
	{"bios_date", "bios_date", "bios-release-date"}, {"bios_vendor", "bios_vendor", "bios-vendor"},
	{"bios_version", "bios_version", "bios-version"}, {"board_asset_tag", "board_asset_tag", "baseboard-asset-tag"},
	{"board_name", "board_name", "baseboard-product-name"}, {"board_serial", "board_serial", "baseboard-serial-number"},
	{"board_vendor", "board_vendor", "baseboard-manufacturer"}, {"board_version", "board_version", "baseboard-version"},
	{"chassis_asset_tag", "chassis_asset_tag", "chassis-asset-tag"}, {"chassis_serial", "chassis_serial", "chassis-serial-number"},
	{"chassis_vendor", "chassis_vendor", "chassis-manufacturer"}, {"chassis_version", "chassis_version", "chassis-version"},
	{"form_factor", "chassis_type", "chassis-type"}, {"product_name", "product_name", "system-product-name"},
	{"product_serial", "product_serial", "system-serial-number"}, {"product_uuid", "product_uuid", "system-uuid"},
	{"product_version", "product_version", "system-version"}, {"system_vendor", "sys_vendor", "system-manufacturer"},
}

func firmware(r *run) (*value.Dict, error) {
	const dir = "/sys/devices/virtual/dmi/id/"
	out := value.NewDict(len(firmwareFacts))
	sys := exists(dir + "product_name")
	dmidecode := ""
	if !sys {
		dmidecode = r.tool("dmidecode")
	}
	for _, f := range firmwareFacts {
		switch {
		case sys:
			v := read(dir+f[1], "NA")
			if f[0] == "form_factor" && v != "NA" {
				n, err := strconv.Atoi(v)
				if err != nil {
					return nil, fmt.Errorf("reading the chassis type: %w", err)
				}
				if n >= 0 && n < len(chassisTypes) {
					v = chassisTypes[n]
				} else {
					v = "unknown (" + v + ")"
				}
			}
			out.Set(f[0], v)
		case dmidecode == "":
			out.Set(f[0], "NA")
		default:
			text, ok := r.command(dmidecode, "-s", f[2])
			if !ok {
				out.Set(f[0], "NA")
				continue
			}
			var b strings.Builder
			for _, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
				if !strings.HasPrefix(line, "#") {
					b.WriteString(line)
				}
			}
			out.Set(f[0], b.String())
		}
	}
	return out, nil
}

func uptime(*run) (*value.Dict, error) {
	text, _, _ := strings.Cut(read("/proc/uptime", ""), " ")
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return value.NewDict(0), nil //nolint:nilerr // absent, as in the reference
	}
	return value.DictOf("uptime_seconds", int64(f)), nil
}

// volumes are LVM's, for root where its tools are installed.
func volumes(r *run) (*value.Dict, error) {
	vgs := r.tool("vgs")
	if vgs == "" || os.Getuid() != 0 {
		return value.DictOf("lvm", "N/A"), nil
	}
	rows := func(bin string, n int) [][]string {
		if bin == "" {
			return nil
		}
		out, _ := r.command(bin, "--noheadings", "--nosuffix", "--units", "g", "--separator", ",")
		var all [][]string
		for _, line := range strings.Split(strings.TrimSpace(out), "\n") {
			if items := strings.Split(strings.TrimSpace(line), ","); len(items) >= n {
				all = append(all, items)
			}
		}
		return all
	}
	groups, logical, physical := value.NewDict(4), value.NewDict(4), value.NewDict(4)
	for _, f := range rows(vgs, 4) {
		groups.Set(f[0], value.DictOf("size_g", f[len(f)-2], "free_g", f[len(f)-1], "num_lvs", f[2], "num_pvs", f[1]))
	}
	for _, f := range rows(r.tool("lvs"), 4) {
		logical.Set(f[0], value.DictOf("size_g", f[3], "vg", f[1]))
	}
	for _, f := range rows(r.tool("pvs"), 6) {
		name := f[0]
		if strings.HasPrefix(name, "/dev/dm-") {
			if dm, ok := r.command(r.tool("dmsetup"), "info", "-C", "--noheadings", "-o", "name", name); ok {
				name = "/dev/mapper/" + strings.TrimRight(dm, " \n")
			}
		}
		physical.Set(name, value.DictOf("size_g", f[4], "free_g", f[5], "vg", f[1]))
	}
	return value.DictOf("lvm", value.DictOf("lvs", logical, "vgs", groups, "pvs", physical)), nil
}
