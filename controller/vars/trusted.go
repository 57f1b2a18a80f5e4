package vars

import (
	"strings"

	"volant/controller/template"
	"volant/wire/value"
)

// A fact that everyday roles choose files by is no longer the host's word when
// it is one of the values below: it could not have been chosen freely.

// closed are the facts whose values come from a closed table: the names that
// ansible-core's own detection gives.
var closed = map[string]words{
	"system": set("Linux FreeBSD OpenBSD NetBSD DragonFly Darwin SunOS AIX HP-UX"),
	"os_family": set("Debian RedHat Suse Archlinux Alpine Gentoo Mandrake Slackware Solaris AIX FreeBSD OpenBSD NetBSD DragonFly " +
		"HP-UX Darwin ClearLinux Altlinux SMGL Void"),
	"distribution": set("AIX ALP-Dolomite Alibaba AlmaLinux Alpine Altlinux Amazon Amzn Anolis Antergos Archlinux Ascendos CentOS ClearLinux "+
		"CloudLinux Coreos Debian Deepin Devuan DragonFly DragonFlyBSD DragonflyBSD EulerOS EuroLinux Fedora Flatcar FreeBSD Funtoo Gentoo HP-UX HPUX "+
		"Kali Kylin LinuxMint MIRACLE MacOSX Mandrake Mandriva Manjaro Neon NetBSD Nexenta NixOS OEL OSMC OVS OmniOS OpenBSD OpenIndiana OpenWrt "+
		"OracleLinux PSBM Parrot Pop!_OS RHEL Raspbian RedHat Rocky SL-Micro SLC SLED SLES SLES_SAP SMGL SUSE_LINUX Scientific Slackware SmartOS "+
		"Solaris SteamOS SuSE TencentOS TrueOS Ubuntu Uos VMwareESX Virtuozzo Void XenServer openEuler openSUSE NA").with(
		"Clear Linux Mix", "Clear Linux OS", "Cumulus Linux", "KDE neon", "Kylin Linux Advanced Server", "Linux Mint", "Linux Mint Debian Edition",
		"Pardus GNU/Linux", "Source Mage GNU/Linux", "openSUSE Leap", "openSUSE MicroOS", "openSUSE Tumbleweed"),
	"distribution_file_variety": set("Alpine Altlinux Amazon Archlinux CentOS ClearLinux Coreos Debian Flatcar Gentoo Mandriva NA OpenWrt OracleLinux " +
		"RedHat SMGL SUSE Slackware VMwareESX"),
	"distribution_release": set("lenny squeeze wheezy jessie stretch buster bullseye bookworm trixie forky duke sid "+ // Debian
		"lucid precise quantal raring saucy trusty utopic vivid wily xenial yakkety zesty artful bionic cosmic disco eoan focal groovy hirsute "+
		"impish jammy kinetic lunar mantic noble oracular plucky questing resolute "+ // Ubuntu
		"ascii beowulf chimaera daedalus excalibur kali-rolling parrot una vanessa vera victoria virginia wilma xia zara elsie faye ulyana ulyssa uma "+
		"Core Final Stream Santiago Maipo Ootpa Plow Coughlan NA").with(
		"Green Obsidian", "Blue Onyx", "Red Quartz", "Cerulean Leopard", "Heliotrope Lion", "Lavender Lion", "Midnight Oncilla", "Moss Jungle Cat",
		"Purple Lion", "Purple Manul", "Sapphire Caracal", "Seafoam Ocelot", "Shamrock Pampas Cat", "Stone Smilodon", "Teal Serval", "Turquoise Kodkod"),
	"architecture":           machines,
	"userspace_architecture": machines,
	"machine":                machines,
	"userspace_bits":         set("32 64"),
	"pkg_mgr": set("apt dnf dnf5 yum zypper pacman apk portage pkgng pkg5 homebrew macports swupd xbps rpm_ostree atomic_container " +
		"openbsd_pkg pkgin slackpkg urpmi apt_rpm nix opkg bundle sorcery installp swdepot svr4pkg unknown"),
	"service_mgr":         set("systemd openrc upstart sysvinit runit s6 service launchd smf svc bsdinit sysv src openwrt_init dinit simpleinit_msb systemstarter"),
	"virtualization_role": set("guest host NA"),
	"virtualization_type": set("KubeVirt NA RHEV RHV VMware VirtualPC bhyve container containerd docker ibm_systemz kvm linux_vserver lxc oVirt openstack " +
		"openvz parallels podman powervm_lx86 uml virtualbox xen"),
}

var machines = set("x86_64 i386 i486 i586 i686 aarch64 arm64 armv5tel armv6l armv7l armv8l ppc64 ppc64le s390x riscv64 mips mips64 amd64 loongarch64")

// versions are the facts that may hold digits and dots.
var versions = map[string]bool{
	"distribution_version": true, "distribution_major_version": true, "distribution_minor_version": true, "distribution_release": true,
	"python_version": true,
}

type words map[string]bool

func set(list string) words {
	w := words{}
	for _, s := range strings.Fields(list) {
		w[s] = true
	}
	return w
}

func (w words) with(more ...string) words {
	for _, s := range more {
		w[s] = true
	}
	return w
}

// trustedFact reports whether a fact, named without prefix, has a value that
// the host did not choose freely.
func trustedFact(name string, v any) bool {
	s, ok := v.(string)
	if !ok {
		return false
	}
	if closed[name][s] {
		return true
	}
	return versions[name] && s != "" && len(s) < 16 && strings.Trim(s, "0123456789.") == "" && !strings.Contains(s, "..") && s[0] != '.'
}

// variable is ansible_facts, each of its values marked or not.
func (f *factSet) variable() *template.Facts {
	return &template.Facts{Dict: f.named, Trusted: func(name string, v any) bool { return f.ownNamed[name] || trustedFact(name, v) }}
}

// FactsOver is the variable ansible_facts with what a result says on top of
// what it was; marked is that of the result.
func FactsOver(old any, facts *value.Dict, marked bool) *template.Facts {
	fresh := Named(facts)
	out := &template.Facts{Dict: value.NewDict(fresh.Len())}
	below := func(string, any) bool { return false }
	switch old := old.(type) {
	case *value.Dict:
		out.Dict.Update(old)
	case *template.Facts:
		out.Dict.Update(old.Dict)
		below = old.Trusted
	}
	out.Dict.Update(fresh)
	out.Trusted = func(name string, v any) bool {
		if fresh.Has(name) {
			return !marked || trustedFact(name, v)
		}
		return below(name, v)
	}
	return out
}
