package modules

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"volant/wire/value"
)

// distributions are the files by which hosts tell what they are.
var distributions = []struct {
	name     string
	files    map[string]string
	handBack bool
	lsb      bool // lsb_release is asked, where there is one
}{
	{name: "Debian 11", files: map[string]string{"os-release": `PRETTY_NAME="Debian GNU/Linux 11 (bullseye)"|NAME="Debian GNU/Linux"|VERSION_ID="11"|VERSION="11 (bullseye)"|VERSION_CODENAME=bullseye|ID=debian|`, "debian_version": "11.9|"}},
	{name: "Debian 13", files: map[string]string{"os-release": `PRETTY_NAME="Debian GNU/Linux 13 (trixie)"|NAME="Debian GNU/Linux"|VERSION_ID="13"|VERSION="13 (trixie)"|VERSION_CODENAME=trixie|DEBIAN_VERSION_FULL=13.1|ID=debian|`, "debian_version": "13.1|"}},
	{name: "Debian testing", lsb: true, files: map[string]string{"os-release": `PRETTY_NAME="Debian GNU/Linux forky/sid"|NAME="Debian GNU/Linux"|VERSION_CODENAME=forky|ID=debian|`, "debian_version": "forky/sid|"}},
	{name: "Ubuntu 20.04", files: map[string]string{"os-release": `NAME="Ubuntu"|VERSION="20.04.6 LTS (Focal Fossa)"|ID=ubuntu|ID_LIKE=debian|PRETTY_NAME="Ubuntu 20.04.6 LTS"|VERSION_ID="20.04"|VERSION_CODENAME=focal|UBUNTU_CODENAME=focal|`,
		"debian_version": "bullseye/sid|", "lsb-release": `DISTRIB_ID=Ubuntu|DISTRIB_RELEASE=20.04|DISTRIB_CODENAME=focal|DISTRIB_DESCRIPTION="Ubuntu 20.04.6 LTS"|`}},
	{name: "Ubuntu 24.04", files: map[string]string{"os-release": `PRETTY_NAME="Ubuntu 24.04.1 LTS"|NAME="Ubuntu"|VERSION_ID="24.04"|VERSION="24.04.1 LTS (Noble Numbat)"|VERSION_CODENAME=noble|ID=ubuntu|ID_LIKE=debian|UBUNTU_CODENAME=noble|LOGO=ubuntu-logo|`,
		"debian_version": "trixie/sid|", "lsb-release": `DISTRIB_ID=Ubuntu|DISTRIB_RELEASE=24.04|DISTRIB_CODENAME=noble|DISTRIB_DESCRIPTION="Ubuntu 24.04.1 LTS"|`}},
	{name: "Mint", files: map[string]string{"os-release": `NAME="Linux Mint"|VERSION="21.3 (Virginia)"|ID=linuxmint|ID_LIKE="ubuntu debian"|PRETTY_NAME="Linux Mint 21.3"|VERSION_ID="21.3"|VERSION_CODENAME=virginia|UBUNTU_CODENAME=jammy|`, "debian_version": "bookworm/sid|"}},
	{name: "Raspbian", files: map[string]string{"os-release": `PRETTY_NAME="Raspbian GNU/Linux 11 (bullseye)"|NAME="Raspbian GNU/Linux"|VERSION_ID="11"|VERSION="11 (bullseye)"|VERSION_CODENAME=bullseye|ID=raspbian|ID_LIKE=debian|`, "debian_version": "11.9|"}},
	{name: "Kali", files: map[string]string{"os-release": `PRETTY_NAME="Kali GNU/Linux Rolling"|NAME="Kali GNU/Linux"|VERSION_ID="2024.1"|VERSION="2024.1"|VERSION_CODENAME=kali-rolling|ID=kali|ID_LIKE=debian|`, "debian_version": "kali-rolling|"}},
	{name: "Devuan", files: map[string]string{"os-release": `PRETTY_NAME="Devuan GNU/Linux 5 (daedalus)"|NAME="Devuan GNU/Linux"|VERSION_ID="5"|VERSION="5 (daedalus)"|VERSION_CODENAME="daedalus"|ID=devuan|ID_LIKE=debian|`, "debian_version": "12.0|"}},
	{name: "Pop", files: map[string]string{"os-release": `NAME="Pop!_OS"|VERSION="22.04 LTS"|ID=pop|ID_LIKE="ubuntu debian"|PRETTY_NAME="Pop!_OS 22.04 LTS"|VERSION_ID="22.04"|VERSION_CODENAME=jammy|UBUNTU_CODENAME=jammy|`, "debian_version": "bookworm/sid|"}},
	{name: "RHEL 8", files: map[string]string{"os-release": `NAME="Red Hat Enterprise Linux"|VERSION="8.9 (Ootpa)"|ID="rhel"|ID_LIKE="fedora"|VERSION_ID="8.9"|PLATFORM_ID="platform:el8"|PRETTY_NAME="Red Hat Enterprise Linux 8.9 (Ootpa)"|`,
		"redhat-release": "Red Hat Enterprise Linux release 8.9 (Ootpa)|", "system-release": "Red Hat Enterprise Linux release 8.9 (Ootpa)|"}},
	{name: "RHEL 9", files: map[string]string{"os-release": `NAME="Red Hat Enterprise Linux"|VERSION="9.4 (Plow)"|ID="rhel"|ID_LIKE="fedora"|VERSION_ID="9.4"|PRETTY_NAME="Red Hat Enterprise Linux 9.4 (Plow)"|`,
		"redhat-release": "Red Hat Enterprise Linux release 9.4 (Plow)|"}},
	{name: "Rocky 9", files: map[string]string{"os-release": `NAME="Rocky Linux"|VERSION="9.4 (Blue Onyx)"|ID="rocky"|ID_LIKE="rhel centos fedora"|VERSION_ID="9.4"|PRETTY_NAME="Rocky Linux 9.4 (Blue Onyx)"|`,
		"redhat-release": "Rocky Linux release 9.4 (Blue Onyx)|", "rocky-release": "Rocky Linux release 9.4 (Blue Onyx)|", "system-release": "Rocky Linux release 9.4 (Blue Onyx)|"}},
	{name: "Alma 8", files: map[string]string{"os-release": `NAME="AlmaLinux"|VERSION="8.10 (Cerulean Leopard)"|ID="almalinux"|ID_LIKE="rhel centos fedora"|VERSION_ID="8.10"|PRETTY_NAME="AlmaLinux 8.10 (Cerulean Leopard)"|`,
		"redhat-release": "AlmaLinux release 8.10 (Cerulean Leopard)|", "system-release": "AlmaLinux release 8.10 (Cerulean Leopard)|"}},
	{name: "Oracle 9", lsb: true, files: map[string]string{"os-release": `NAME="Oracle Linux Server"|VERSION="9.4"|ID="ol"|ID_LIKE="fedora"|VERSION_ID="9.4"|PRETTY_NAME="Oracle Linux Server 9.4"|`,
		"oracle-release": "Oracle Linux Server release 9.4|", "redhat-release": "Red Hat Enterprise Linux release 9.4 (Plow)|"}},
	{name: "Fedora 41", files: map[string]string{"os-release": `NAME="Fedora Linux"|VERSION="41 (Server Edition)"|ID=fedora|VERSION_ID=41|VERSION_CODENAME=""|PRETTY_NAME="Fedora Linux 41 (Server Edition)"|VARIANT_ID=server|`,
		"fedora-release": "Fedora release 41 (Forty One)|", "redhat-release": "Fedora release 41 (Forty One)|", "system-release": "Fedora release 41 (Forty One)|"}},
	{name: "CentOS Stream 9", lsb: true, handBack: true, files: map[string]string{"os-release": `NAME="CentOS Stream"|VERSION="9"|ID="centos"|ID_LIKE="rhel fedora"|VERSION_ID="9"|PRETTY_NAME="CentOS Stream 9"|`,
		"centos-release": "CentOS Stream release 9|", "redhat-release": "CentOS Stream release 9|"}},
	{name: "Amazon 2", lsb: true, files: map[string]string{"os-release": `NAME="Amazon Linux"|VERSION="2"|ID="amzn"|ID_LIKE="centos rhel fedora"|VERSION_ID="2"|PRETTY_NAME="Amazon Linux 2"|`, "system-release": "Amazon Linux release 2 (Karoo)|"}},
	{name: "Amazon 2023", lsb: true, files: map[string]string{"os-release": `NAME="Amazon Linux"|VERSION="2023"|ID="amzn"|ID_LIKE="fedora"|VERSION_ID="2023"|PRETTY_NAME="Amazon Linux 2023.5.20240819"|`, "system-release": "Amazon Linux release 2023.5.20240819 (Amazon Linux)|"}},
	{name: "Leap", lsb: true, files: map[string]string{"os-release": `NAME="openSUSE Leap"|VERSION="15.6"|ID="opensuse-leap"|ID_LIKE="suse opensuse"|VERSION_ID="15.6"|PRETTY_NAME="openSUSE Leap 15.6"|`}},
	{name: "Tumbleweed", lsb: true, files: map[string]string{"os-release": `NAME="openSUSE Tumbleweed"|ID="opensuse-tumbleweed"|ID_LIKE="opensuse suse"|VERSION_ID="20240801"|PRETTY_NAME="openSUSE Tumbleweed"|`}},
	{name: "SLES 15", lsb: true, files: map[string]string{"os-release": `NAME="SLES"|VERSION="15-SP5"|VERSION_ID="15.5"|PRETTY_NAME="SUSE Linux Enterprise Server 15 SP5"|ID="sles"|ID_LIKE="suse"|`}},
	{name: "Alpine", lsb: true, files: map[string]string{"os-release": `NAME="Alpine Linux"|ID=alpine|VERSION_ID=3.20.1|PRETTY_NAME="Alpine Linux v3.20"|`, "alpine-release": "3.20.1|"}},
	{name: "Arch", lsb: true, files: map[string]string{"os-release": `NAME="Arch Linux"|PRETTY_NAME="Arch Linux"|ID=arch|BUILD_ID=rolling|`, "arch-release": ""}},
	{name: "Manjaro", handBack: true, files: map[string]string{"os-release": `NAME="Manjaro Linux"|PRETTY_NAME="Manjaro Linux"|ID=manjaro|ID_LIKE=arch|BUILD_ID=rolling|`, "arch-release": "Manjaro Linux|",
		"lsb-release": `DISTRIB_ID="ManjaroLinux"|DISTRIB_RELEASE="24.0.0"|DISTRIB_CODENAME="Wynsdey"|`}},
	{name: "Gentoo", lsb: true, files: map[string]string{"os-release": `NAME=Gentoo|ID=gentoo|PRETTY_NAME="Gentoo Linux"|VERSION_ID="2.15"|`, "gentoo-release": "Gentoo Base System release 2.15|"}},
	{name: "Flatcar", lsb: true, files: map[string]string{"os-release": `NAME="Flatcar Container Linux by Kinvolk"|ID=flatcar|ID_LIKE=coreos|VERSION=3815.2.5|VERSION_ID=3815.2.5|PRETTY_NAME="Flatcar Container Linux by Kinvolk 3815.2.5 (Oklo)"|`}},
	{name: "unknown", lsb: true, files: map[string]string{"os-release": `NAME="My Linux"|ID=mine|VERSION_ID=1.2|PRETTY_NAME="My Linux 1.2"|`}},
}

// TestDistributionFacts has both setups look at the files of other
// distributions in the place of the host's own.
func TestDistributionFacts(t *testing.T) {
	if !inSandbox(t) {
		return
	}
	d := systemWide(t)
	d.python = "/usr/bin/python3"
	if !exists(d.python) {
		t.Skip("there is no system python3")
	}
	var cases []diffCase
	for _, x := range distributions {
		setup := func(t *testing.T, _ string) {
			for _, pattern := range []string{"/etc/*-release", "/etc/debian_version", "/etc/*_version", "/etc/os-release"} {
				files, _ := filepath.Glob(pattern)
				for _, f := range files {
					must(t, os.RemoveAll(f))
				}
			}
			for name, text := range x.files {
				must(t, os.WriteFile("/etc/"+name, []byte(strings.ReplaceAll(text, "|", "\n")), 0o644))
			}
		}
		if exists("/usr/bin/lsb_release") && x.lsb {
			x.handBack = true
		}
		cases = append(cases, diffCase{name: x.name, args: value.DictOf("gather_subset", value.ListOf("!all", "!min", "distribution")),
			setup: setup, handBack: x.handBack, once: true})
	}
	d.test(t, "setup", cases) // with what lsb_release may add, where it is installed
	d.env = append(slices.DeleteFunc(d.env, func(v string) bool { return strings.HasPrefix(v, "PATH=") }), "PATH=/usr/local/none")
	for i := range cases {
		cases[i].name += " without lsb_release"
		cases[i].handBack = distributions[i].handBack
		cases[i].handBackCheck = false
	}
	d.test(t, "setup", cases)
}
