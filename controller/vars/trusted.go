package vars

import (
	"strings"

	"volant/controller/template"
	"volant/wire/value"
)

// A fact that everyday roles choose files by is no longer the host's word when
// it is one of the values below: it could not have been chosen freely.

// closed are the facts whose values come from a closed table.
var closed = map[string]map[string]bool{
	"system": set("Linux FreeBSD OpenBSD NetBSD DragonFly Darwin SunOS AIX HP-UX"),
	"os_family": set("Debian RedHat Suse Archlinux Alpine Gentoo Mandrake Slackware Solaris AIX FreeBSD OpenBSD NetBSD DragonFly " +
		"HP-UX Darwin ClearLinux Altlinux SMGL Void"),
	"distribution": set("Debian Ubuntu Raspbian Devuan Kali Parrot LinuxMint Pop!_OS Neon Deepin RedHat CentOS Fedora Rocky AlmaLinux "+
		"OracleLinux Amazon Scientific CloudLinux Virtuozzo EuroLinux Kylin openEuler Anolis SLES SLES_SAP SLED openSUSE SUSE_LINUX "+
		"Archlinux Manjaro Antergos Alpine Gentoo Funtoo Slackware Void FreeBSD OpenBSD NetBSD MacOSX Solaris SmartOS OmniOS "+
		"Altlinux ClearLinux Flatcar TencentOS Uos NixOS").with("openSUSE Leap", "openSUSE Tumbleweed", "Linux Mint", "Linux Mint Debian Edition"),
	"distribution_release": set("jessie stretch buster bullseye bookworm trixie forky sid trusty xenial bionic focal jammy noble oracular plucky questing " +
		"Core Final Maipo Ootpa Plow Coughlan NA"),
	"architecture": set("x86_64 i386 i486 i586 i686 aarch64 arm64 armv6l armv7l armv8l ppc64 ppc64le s390x riscv64 mips64 amd64 loongarch64"),
	"pkg_mgr": set("apt dnf dnf5 yum zypper pacman apk portage pkgng pkg5 homebrew macports swupd xbps rpm_ostree atomic_container " +
		"openbsd_pkg pkgin slackpkg urpmi apt_rpm nix unknown"),
	"service_mgr": set("systemd openrc upstart sysvinit runit s6 service launchd smf svc bsdinit sysv"),
}

// versions are the facts that may hold digits and dots.
var versions = map[string]bool{"distribution_version": true, "distribution_major_version": true}

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
	if versions[name] {
		return s != "" && len(s) < 16 && strings.Trim(s, "0123456789.") == "" && !strings.Contains(s, "..") && s[0] != '.'
	}
	return closed[name][s]
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
