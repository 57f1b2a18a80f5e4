package facts

import (
	"os"
	"path/filepath"
	"strings"

	"volant/wire/rx"
	"volant/wire/value"
)

// guessing is the reference's walk over signs of virtualization: the first
// sign decides type and role, all of them count as technologies.
type guessing struct {
	kind, role  string
	found       bool
	guest, host *value.Set
}

func (g *guessing) asGuest(tech string) {
	g.guest.Add(tech)
	if !g.found {
		g.kind, g.role, g.found = tech, "guest", true
	}
}

// product is a sign that leaves the role as it was set before.
func (g *guessing) product(tech string) {
	g.guest.Add(tech)
	if !g.found {
		g.kind, g.found = tech, true
	}
}

func (g *guessing) asHost(tech string) {
	g.host.Add(tech)
	if !g.found {
		g.kind, g.role, g.found = tech, "host", true
	}
}

var dockerGroup = rx.Lazy(`/docker(/|-[0-9a-f]+\.scope)`)

// biosVendors, systemVendors and products tell a hypervisor by firmware text.
var (
	biosVendors = map[string]string{
		"Xen": "xen", "innotek GmbH": "virtualbox", "Amazon EC2": "kvm", "DigitalOcean": "kvm", "Hetzner": "kvm", "Linode": "kvm",
	}
	systemVendors = map[string]string{
		"QEMU": "kvm", "Amazon EC2": "kvm", "DigitalOcean": "kvm", "Google": "kvm", "Scaleway": "kvm", "Nutanix": "kvm",
		"KubeVirt": "KubeVirt", "Microsoft Corporation": "VirtualPC", "Parallels Software International Inc.": "parallels",
		"OpenStack Foundation": "openstack",
	}
	kvmProducts       = map[string]bool{"KVM": true, "KVM Server": true, "Bochs": true, "AHV": true, "CloudStack KVM Hypervisor": true}
	openstackProducts = map[string]bool{"OpenStack Compute": true, "OpenStack Nova": true}
)

func virtual(r *run) (*value.Dict, error) {
	if exists("/proc/xen") || exists("/proc/vz") {
		return nil, &HandBack{Reason: "Xen and OpenVZ are told by Python"}
	}
	g := &guessing{guest: value.SetOf(), host: value.SetOf()}
	for _, line := range lines("/proc/1/cgroup") {
		if dockerGroup.MatchString(line) {
			g.asGuest("docker")
		}
		if strings.Contains(line, "/lxc/") || strings.Contains(line, "/machine.slice/machine-lxc") {
			g.asGuest("lxc")
		}
		if strings.Contains(line, "/system.slice/containerd.service") {
			g.asGuest("containerd")
		}
	}
	for _, v := range strings.Split(read("/proc/1/environ", ""), "\x00") {
		if strings.Contains(v, "container=lxc") {
			g.asGuest("lxc")
		}
		if strings.Contains(v, "container=podman") {
			g.asGuest("podman")
		}
		if strings.HasPrefix(v, "container=") && len(v) > len("container=") {
			g.asGuest("container")
		}
	}
	manager := read("/run/systemd/container", "")
	if manager != "" {
		g.asGuest(manager)
	}
	if exists("/.dockerenv") || exists("/.dockerinit") {
		g.asGuest("docker")
	}
	if manager != "" || g.guest.Has("docker") || g.guest.Has("lxc") || g.guest.Has("podman") || g.guest.Has("containerd") {
		g.guest.Add("container")
	}
	if !g.found {
		g.role = "guest"
	}
	g.firmware()
	if !g.found {
		g.role = ""
	}
	for _, line := range lines("/proc/self/status") {
		if id, ok := strings.CutPrefix(line, "VxID:"); ok && strings.TrimSpace(id) != "" {
			if strings.HasPrefix(strings.TrimSpace(id), "0") {
				g.asHost("linux_vserver")
			} else {
				g.asGuest("linux_vserver")
			}
		}
	}
	for _, line := range lines("/proc/cpuinfo") {
		switch {
		case strings.HasPrefix(line, "model name") && strings.Contains(line, "QEMU Virtual CPU"):
			g.asGuest("kvm")
		case strings.HasPrefix(line, "vendor_id") && strings.Contains(line, "User Mode Linux"), strings.HasPrefix(line, "model name") && strings.Contains(line, "UML"):
			g.asGuest("uml")
		case strings.HasPrefix(line, "machine") && strings.Contains(line, "CHRP IBM pSeries"):
			g.asGuest("kvm")
		case strings.HasPrefix(line, "vendor_id") && strings.Contains(line, "PowerVM Lx86"):
			g.asGuest("powervm_lx86")
		case strings.HasPrefix(line, "vendor_id") && strings.Contains(line, "IBM/S390"):
			return nil, &HandBack{Reason: "virtualization on s390 is told by Python"}
		}
	}
	g.modules()
	if err := g.dmidecode(r); err != nil {
		return nil, err
	}
	if exists("/dev/kvm") {
		g.asHost("kvm")
	}
	if !g.found {
		g.kind, g.role = "NA", "NA"
	}
	return value.DictOf("virtualization_type", g.kind, "virtualization_role", g.role,
		"virtualization_tech_guest", value.ListOf(g.guest.Items()...), "virtualization_tech_host", value.ListOf(g.host.Items()...)), nil
}

func (g *guessing) firmware() {
	const dir = "/sys/devices/virtual/dmi/id/"
	product, vendor, family, bios := read(dir+"product_name", ""), read(dir+"sys_vendor", ""), read(dir+"product_family", ""), read(dir+"bios_vendor", "")
	if kvmProducts[product] {
		g.product("kvm")
	}
	if vendor == "oVirt" {
		g.product("oVirt")
	}
	if vendor == "Red Hat" {
		if family == "RHV" {
			g.product("RHV")
		} else if product == "RHEV Hypervisor" {
			g.product("RHEV")
		}
	}
	if strings.HasPrefix(product, "VMware") {
		g.product("VMware")
	}
	if openstackProducts[product] {
		g.product("openstack")
	}
	if tech := biosVendors[bios]; tech != "" {
		g.product(tech)
	}
	if tech := systemVendors[vendor]; tech != "" {
		g.product(tech)
	}
}

func (g *guessing) modules() {
	loaded := map[string]bool{}
	for _, line := range lines("/proc/modules") {
		name, _, _ := strings.Cut(line, " ")
		loaded[name] = true
	}
	if loaded["kvm"] {
		first := !g.found
		g.asHost("kvm")
		if info, err := os.Stat("/rhev/"); err == nil && info.IsDir() {
			comms, _ := filepath.Glob("/proc/[0-9]*/comm")
			for _, c := range comms {
				if name := read(c, ""); name == "vdsm" || name == "vdsmd" {
					g.host.Add("RHEV")
					if first {
						g.kind = "RHEV"
					}
					break
				}
			}
		}
	}
	if loaded["vboxdrv"] {
		g.asHost("virtualbox")
	}
	if loaded["virtio"] {
		g.host.Add("kvm")
		if !g.found {
			g.kind, g.role, g.found = "kvm", "guest", true
		}
	}
}

func (g *guessing) dmidecode(r *run) error {
	bin := r.tool("dmidecode")
	if bin == "" {
		return nil
	}
	out, ok := r.command(bin, "-s", "system-product-name")
	if !ok {
		return nil
	}
	var name strings.Builder
	for _, line := range strings.Split(out, "\n") {
		if !strings.HasPrefix(line, "#") {
			name.WriteString(strings.TrimSpace(line))
		}
	}
	if strings.HasPrefix(name.String(), "VMware") {
		g.asGuest("VMware")
	}
	if strings.Contains(out, "BHYVE") {
		g.asGuest("bhyve")
	}
	return nil
}
