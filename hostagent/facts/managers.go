package facts

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"volant/wire/value"
)

// packageManagers are looked for in this order; the last one found counts.
var packageManagers = []struct{ path, name string }{
	{"/usr/bin/rpm-ostree", "atomic_container"}, {"/usr/bin/yum", "dnf"}, {"/usr/bin/dnf-3", "dnf"}, {"/usr/bin/dnf5", "dnf5"},
	{"/usr/bin/apt-get", "apt"}, {"/usr/bin/zypper", "zypper"}, {"/usr/sbin/urpmi", "urpmi"}, {"/usr/bin/pacman", "pacman"},
	{"/bin/opkg", "opkg"}, {"/usr/pkg/bin/pkgin", "pkgin"}, {"/opt/local/bin/pkgin", "pkgin"}, {"/opt/tools/bin/pkgin", "pkgin"},
	{"/opt/local/bin/port", "macports"}, {"/usr/local/bin/brew", "homebrew"}, {"/opt/homebrew/bin/brew", "homebrew"},
	{"/sbin/apk", "apk"}, {"/usr/sbin/pkg", "pkgng"}, {"/usr/sbin/swlist", "swdepot"}, {"/usr/bin/emerge", "portage"},
	{"/usr/sbin/pkgadd", "svr4pkg"}, {"/usr/bin/pkg", "pkg5"}, {"/usr/bin/xbps-install", "xbps"}, {"/usr/local/sbin/pkg", "pkgng"},
	{"/usr/bin/swupd", "swupd"}, {"/usr/sbin/sorcery", "sorcery"}, {"/usr/bin/installp", "installp"},
}

func packageManager(r *run) (*value.Dict, error) {
	dist, err := r.system.distribution()
	if err != nil {
		return nil, err
	}
	family, _ := dist.Str("os_family")
	name := "unknown"
	for _, p := range packageManagers {
		if exists(p.path) && (family != "Altlinux" || p.path != "/usr/bin/pkg") {
			name = p.name
		}
	}
	switch {
	case family == "RedHat":
		name = redHatManager()
	case family == "Debian":
		name = "apt"
	case family == "Altlinux" && name == "apt":
		name = "apt_rpm"
	}
	if name == "apt" && exists("/usr/bin/rpm") {
		if _, ok := r.command("/usr/bin/rpm", "-q", "--whatprovides", "/usr/bin/apt-get"); ok {
			name = "apt_rpm"
		}
	}
	return value.DictOf("pkg_mgr", name), nil
}

func redHatManager() string {
	if exists("/run/ostree-booted") {
		return "atomic_container"
	}
	for _, p := range []string{"/usr/bin/dnf", "/usr/bin/microdnf"} {
		if exists(p) {
			if real, err := filepath.EvalSymlinks(p); err == nil && real == "/usr/bin/dnf5" {
				return "dnf5"
			}
			return "dnf"
		}
	}
	return "unknown"
}

// initNames translate the name of process 1.
var initNames = map[string]string{"procd": "openwrt_init", "runit-init": "runit", "svscan": "svc", "openrc-init": "openrc"}

func serviceManager(r *run) (*value.Dict, error) {
	dist, err := r.system.distribution()
	if err != nil {
		return nil, err
	}
	one := read("/proc/1/comm", "")
	if one == "" {
		link, err := os.Readlink("/sbin/init")
		if err != nil {
			return nil, fmt.Errorf("reading the name of process 1: %w", err)
		}
		one = link
	}
	one = strings.TrimSpace(filepath.Base(one))
	if one != "init" && !strings.HasSuffix(one, "sh") {
		if n, ok := initNames[one]; ok {
			one = n
		}
		return value.DictOf("service_mgr", one), nil
	}
	name, _ := dist.Str("distribution")
	target, _ := os.Readlink("/sbin/init")
	systemctl := r.tool("systemctl") != ""
	mgr := "service"
	switch {
	case name == "OpenWrt":
		mgr = "openwrt_init"
	case name == "SMGL":
		mgr = "simpleinit_msb"
	case systemctl && bootedWithSystemd():
		mgr = "systemd"
	case r.tool("initctl") != "" && exists("/etc/init/"):
		mgr = "upstart"
	case exists("/sbin/openrc"):
		mgr = "openrc"
	case systemctl && filepath.Base(target) == "systemd":
		mgr = "systemd"
	case exists("/etc/init.d/"):
		mgr = "sysvinit"
	case exists("/etc/dinit.d/"):
		mgr = "dinit"
	}
	return value.DictOf("service_mgr", mgr), nil
}
