package facts

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"volant/wire/rx"
	"volant/wire/value"
)

func distributionFacts(r *run) (*value.Dict, error) { return r.system.distribution() }

// osFamilies maps distributions to their family, the reference's OS_FAMILY_MAP.
var osFamilies = func() map[string]string {
	names := map[string]string{}
	for family, list := range map[string][]string{
		"RedHat": {"RedHat", "RHEL", "Fedora", "CentOS", "Scientific", "SLC", "Ascendos", "CloudLinux", "PSBM", "OracleLinux",
			"OVS", "OEL", "Amazon", "Amzn", "Virtuozzo", "XenServer", "Alibaba", "EulerOS", "openEuler", "AlmaLinux", "Rocky",
			"TencentOS", "EuroLinux", "Kylin Linux Advanced Server", "MIRACLE"},
		"Debian": {"Debian", "Ubuntu", "Raspbian", "Neon", "KDE neon", "Linux Mint", "SteamOS", "Devuan", "Kali", "Cumulus Linux",
			"Pop!_OS", "Parrot", "Pardus GNU/Linux", "Uos", "Deepin", "OSMC", "Linux Mint Debian Edition"},
		"Suse": {"SuSE", "SLES", "SLED", "openSUSE", "openSUSE Tumbleweed", "SLES_SAP", "SUSE_LINUX", "openSUSE Leap",
			"ALP-Dolomite", "SL-Micro", "openSUSE MicroOS"},
		"Archlinux": {"Archlinux", "Antergos", "Manjaro"},
		"Mandrake":  {"Mandrake", "Mandriva"},
		"Slackware": {"Slackware"}, "Altlinux": {"Altlinux"}, "SMGL": {"SMGL"}, "Gentoo": {"Gentoo", "Funtoo"},
		"Alpine": {"Alpine"}, "ClearLinux": {"Clear Linux OS", "Clear Linux Mix"},
	} {
		for _, n := range list {
			names[n] = family
		}
	}
	return names
}()

// distFile is a file that tells a distribution, tried in order; empty ones
// count only where empty is set.
type distFile struct {
	path, name string
	empty      bool
	parse      func(d *distro, data string) (*value.Dict, bool)
}

// distFiles in the reference's order. A nil parse searches the file for the
// distribution's words.
var distFiles = []distFile{
	{path: "/etc/altlinux-release", name: "Altlinux"},
	{path: "/etc/oracle-release", name: "OracleLinux"},
	{path: "/etc/slackware-version", name: "Slackware", parse: handed},
	{path: "/etc/centos-release", name: "CentOS", parse: parseCentOS},
	{path: "/etc/redhat-release", name: "RedHat"},
	{path: "/etc/vmware-release", name: "VMwareESX", empty: true},
	{path: "/etc/openwrt_release", name: "OpenWrt", parse: handed},
	{path: "/etc/os-release", name: "Amazon", parse: parseAmazon},
	{path: "/etc/system-release", name: "Amazon", parse: parseAmazon},
	{path: "/etc/alpine-release", name: "Alpine", parse: parseAlpine},
	{path: "/etc/arch-release", name: "Archlinux", empty: true},
	{path: "/etc/os-release", name: "Archlinux", parse: parseArch},
	{path: "/etc/os-release", name: "SUSE", parse: parseSUSE},
	{path: "/etc/SuSE-release", name: "SUSE", parse: handed},
	{path: "/etc/gentoo-release", name: "Gentoo", parse: nobody},
	{path: "/etc/os-release", name: "Debian", parse: parseDebian},
	{path: "/etc/lsb-release", name: "Debian", parse: parseDebian},
	{path: "/etc/lsb-release", name: "Mandriva", parse: parseMandriva},
	{path: "/etc/sourcemage-release", name: "SMGL"},
	{path: "/usr/lib/os-release", name: "ClearLinux", parse: parseClear},
	{path: "/etc/coreos/update.conf", name: "Coreos", parse: nobody},
	{path: "/etc/os-release", name: "Flatcar", parse: parseFlatcar},
	{path: "/etc/os-release", name: "NA", parse: parseNA},
}

// searchWords are the words that tell a distribution in its release file.
var searchWords = map[string]string{
	"OracleLinux": "Oracle Linux", "RedHat": "Red Hat", "Altlinux": "ALT", "SMGL": "Source Mage GNU/Linux",
}

// distro is what is known while the files are tried.
type distro struct {
	run    *run
	path   string
	facts  *value.Dict
	handed string
}

// handed leaves a distribution that is rare or old to Python.
func handed(d *distro, _ string) (*value.Dict, bool) {
	d.handed = "the distribution of " + d.path + " is read by Python"
	return nil, false
}

func nobody(*distro, string) (*value.Dict, bool) { return nil, false }

func distribution(r *run) (*value.Dict, error) {
	u, err := uname()
	if err != nil {
		return nil, err
	}
	facts := value.DictOf("distribution", u.system, "distribution_release", u.release, "distribution_version", u.version)
	if err := guess(facts, r.tool("lsb_release") != ""); err != nil {
		return nil, err
	}
	d := &distro{run: r, facts: facts}
	for _, f := range distFiles {
		info, err := os.Stat(f.path)
		if err != nil || !info.Mode().IsRegular() || info.Size() == 0 && !f.empty {
			continue
		}
		if f.empty {
			facts.Update(value.DictOf("distribution", f.name, "distribution_file_path", f.path, "distribution_file_variety", f.name))
			break
		}
		d.path = f.path
		data := strings.Trim(read(f.path, ""), `\'"`)
		var got *value.Dict
		ok := false
		if f.parse == nil {
			got, ok = bySearch(f.name, data), true
		} else {
			got, ok = f.parse(d, data)
		}
		if d.handed != "" {
			return nil, &HandBack{Reason: d.handed}
		}
		if ok {
			facts.Update(value.DictOf("distribution", f.name, "distribution_file_path", f.path,
				"distribution_file_variety", f.name, "distribution_file_parsed", true))
			facts.Update(got)
			break
		}
	}
	name, _ := facts.Str("distribution")
	family := osFamilies[name]
	if family == "" {
		family = name
	}
	facts.Set("os_family", family)
	return facts, nil
}

// osRelease reads /etc/os-release, or the vendor's copy.
func osRelease() map[string]string {
	out := map[string]string{}
	text := lines("/etc/os-release")
	if text == nil {
		text = lines("/usr/lib/os-release")
	}
	for _, line := range text {
		k, v, ok := strings.Cut(strings.TrimSpace(line), "=")
		if !ok || strings.HasPrefix(k, "#") {
			continue
		}
		if len(v) >= 2 && (v[0] == '"' || v[0] == '\'') && v[len(v)-1] == v[0] {
			v = v[1 : len(v)-1]
		}
		out[strings.ToLower(k)] = v
	}
	return out
}

// idAliases are the distro library's normalised ids.
var idAliases = map[string]string{"ol": "oracle", "opensuse-leap": "opensuse"}

// guess is what the distro library says: id, version, code name. What
// os-release does not tell, it asks lsb_release for, where there is one.
func guess(facts *value.Dict, lsbRelease bool) error {
	rel := osRelease()
	id := strings.ReplaceAll(strings.ToLower(rel["id"]), " ", "_")
	if a, ok := idAliases[id]; ok {
		id = a
	}
	if id == "" {
		return &HandBack{Reason: "there is no os-release with an ID"}
	}
	name := strings.ToUpper(id[:1]) + strings.ToLower(id[1:])
	switch name {
	case "Amzn":
		name = "Amazon"
	case "Rhel":
		name = "Redhat"
	}
	version := rel["version_id"]
	if version == "" && lsbRelease {
		return &HandBack{Reason: "the version of " + id + " is lsb_release's"}
	}
	if version == "" || id == "centos" {
		// The library goes on to lsb_release and release files here.
		if id != "debian" && id != "arch" {
			return &HandBack{Reason: "the version of " + id + " is read by Python"}
		}
	}
	if id == "debian" {
		precise := read("/etc/debian_version", "")
		if strings.Count(precise, ".") > strings.Count(version, ".") || version == "" {
			version = precise
		}
	}
	code := rel["version_codename"]
	if code == "" {
		code = rel["ubuntu_codename"]
	}
	var release any = code
	if _, has := rel["version_codename"]; !has && code == "" {
		m := codeName.FindStringSubmatch(rel["version"])
		if m == nil && lsbRelease {
			return &HandBack{Reason: "the code name of " + id + " is lsb_release's"}
		}
		release = "NA"
		if m != nil {
			release = strings.TrimSpace(m[1] + m[2])
		}
	}
	major, _, _ := strings.Cut(version, ".")
	orNA := func(s string) string {
		if s == "" {
			return "NA"
		}
		return s
	}
	facts.Update(value.DictOf("distribution", orNA(name), "distribution_version", orNA(version),
		"distribution_release", release, "distribution_major_version", orNA(major)))
	return nil
}

func bySearch(name, data string) *value.Dict {
	if words := searchWords[name]; strings.Contains(data, words) {
		return value.DictOf("distribution", name, "distribution_file_search_string", words)
	}
	first := ""
	if f := strings.Fields(data); len(f) > 0 {
		first = f[0]
	}
	return value.DictOf("distribution", first)
}

// codeName is a code name in a version such as "12 (bookworm)".
var codeName = rx.Lazy(`\((\D+)\)|,\s*(\D+)`)

// find returns the first group of pattern in data.
func find(pattern, data string) (string, bool) {
	m := regexp.MustCompile(pattern).FindStringSubmatch(data)
	if m == nil {
		return "", false
	}
	return m[1], true
}

func parseCentOS(_ *distro, data string) (*value.Dict, bool) {
	switch {
	case strings.Contains(data, "CentOS Stream"):
		return value.DictOf("distribution_release", "Stream"), true
	case strings.Contains(data, "TencentOS Server"):
		return value.DictOf("distribution", "TencentOS"), true
	}
	return nil, false
}

func parseAmazon(d *distro, data string) (*value.Dict, bool) {
	if !strings.Contains(data, "Amazon") {
		return nil, false
	}
	out := value.DictOf("distribution", "Amazon")
	if d.path == "/etc/os-release" {
		if v, ok := find(`VERSION_ID="(.*)"`, data); ok {
			major, minor, has := strings.Cut(v, ".")
			if !has {
				minor = "NA"
			}
			out.Update(value.DictOf("distribution_version", v, "distribution_major_version", major, "distribution_minor_version", minor))
		}
		return out, true
	}
	version := "NA"
	for _, w := range strings.Fields(data) {
		if strings.Trim(w, "0123456789") == "" {
			version = w
			break
		}
	}
	out.Set("distribution_version", version)
	return out, true
}

func parseAlpine(_ *distro, data string) (*value.Dict, bool) {
	return value.DictOf("distribution", "Alpine", "distribution_version", data), true
}

func parseArch(_ *distro, data string) (*value.Dict, bool) {
	if strings.Contains(data, "Arch Linux") {
		return value.DictOf("distribution", "Archlinux"), true
	}
	return nil, false
}

func parseSUSE(_ *distro, data string) (*value.Dict, bool) {
	low := strings.ToLower(data)
	if !strings.Contains(low, "suse") {
		return nil, false
	}
	out := value.NewDict(4)
	for _, line := range strings.Split(data, "\n") {
		if v, ok := find(`^NAME=(.*)`, line); ok {
			out.Set("distribution", strings.Trim(v, `"`))
		}
		if v, ok := find(`^VERSION_ID="?([0-9]+\.?[0-9]*)"?`, line); ok {
			major, _, _ := strings.Cut(v, ".")
			out.Set("distribution_version", v)
			out.Set("distribution_major_version", major)
		}
		minor, ok := find(`^VERSION_ID="?[0-9]+\.?([0-9]*)"?`, line)
		switch {
		case strings.Contains(low, "open"):
			if ok {
				out.Set("distribution_release", minor)
			}
		case strings.Contains(low, "enterprise") && ok:
			if minor == "" {
				minor = "0"
			}
			out.Set("distribution_release", minor)
		}
	}
	if variant, ok := find(`(?m)^VARIANT_ID="?([^"\n]*)"?`, data); ok {
		switch variant {
		case "server-sap", "sles-sap":
			out.Set("distribution", "SLES_SAP")
		case "transactional":
			out.Set("distribution", "SL-Micro")
		}
	} else if target, err := filepath.EvalSymlinks("/etc/products.d/baseproduct"); err == nil {
		switch {
		case strings.HasSuffix(target, "SLES_SAP.prod"):
			out.Set("distribution", "SLES_SAP")
		case strings.HasSuffix(target, "SL-Micro.prod"):
			out.Set("distribution", "SL-Micro")
		}
	}
	return out, true
}

// parseDebian covers Debian and what descends from it.
func parseDebian(d *distro, data string) (*value.Dict, bool) {
	out := value.NewDict(4)
	has := func(words ...string) bool {
		for _, w := range words {
			if strings.Contains(data, w) {
				return true
			}
		}
		return false
	}
	set := func(fact, pattern string) string {
		v, ok := find(pattern, data)
		if ok {
			out.Set(fact, v)
		}
		return v
	}
	major := func(v string) {
		if v != "" {
			m, _, _ := strings.Cut(v, ".")
			out.Set("distribution_major_version", m)
		}
	}
	switch {
	case has("Debian", "Raspbian"):
		out.Set("distribution", "Debian")
		set("distribution_release", `PRETTY_NAME=[^(]+ \(?([^)]+?)\)`)
		if r, _ := d.facts.Str("distribution_release"); r == "NA" && has("Debian") {
			d.handed = "the release of this Debian is read by Python"
			return nil, false
		}
		for _, line := range lines("/etc/debian_version") {
			if minor, ok := find(`\d+\.(\d+)`, line); ok {
				out.Set("distribution_minor_version", minor)
			}
		}
	case has("Ubuntu"):
		out.Set("distribution", "Ubuntu")
	case has("SteamOS"):
		out.Set("distribution", "SteamOS")
	case has("Kali", "Parrot"):
		name := "Parrot"
		if has("Kali") {
			name = "Kali"
		}
		out.Set("distribution", name)
		set("distribution_release", `DISTRIB_RELEASE=(.*)`)
	case has("Devuan"):
		out.Set("distribution", "Devuan")
		set("distribution_release", `PRETTY_NAME="?[^("]+ \(?([^) "]+)\)?`)
		if v := set("distribution_version", `VERSION_ID="(.*)"`); v != "" {
			out.Set("distribution_major_version", v)
		}
	case has("Cumulus"):
		out.Set("distribution", "Cumulus Linux")
		major(set("distribution_version", `VERSION_ID=(.*)`))
		set("distribution_release", `VERSION="(.*)"`)
	case has("Mint"):
		out.Set("distribution", "Linux Mint")
		major(set("distribution_version", `VERSION_ID="(.*)"`))
	case has("UOS", "Uos", "uos"), has("Deepin", "deepin"):
		out.Set("distribution", "Deepin")
		if has("UOS", "Uos", "uos") {
			out.Set("distribution", "Uos")
		}
		set("distribution_release", `VERSION_CODENAME="?([^"]+)"?`)
		major(set("distribution_version", `VERSION_ID="(.*)"`))
	case has("LMDE"):
		out.Set("distribution", "Linux Mint Debian Edition")
	default:
		return nil, false
	}
	return out, true
}

func parseMandriva(_ *distro, data string) (*value.Dict, bool) {
	if !strings.Contains(data, "Mandriva") {
		return nil, false
	}
	out := value.DictOf("distribution", "Mandriva")
	if v, ok := find(`DISTRIB_RELEASE="(.*)"`, data); ok {
		out.Set("distribution_version", v)
	}
	if v, ok := find(`DISTRIB_CODENAME="(.*)"`, data); ok {
		out.Set("distribution_release", v)
	}
	return out, true
}

func parseClear(_ *distro, data string) (*value.Dict, bool) {
	out := value.NewDict(4)
	if name, ok := find(`NAME="(.*)"`, data); ok {
		if !strings.Contains(name, "Clear Linux") {
			return nil, false
		}
		out.Set("distribution", name)
	}
	if v, ok := find(`VERSION_ID=(.*)`, data); ok {
		out.Set("distribution_major_version", v)
		out.Set("distribution_version", v)
	}
	if v, ok := find(`ID=(.*)`, data); ok {
		out.Set("distribution_release", v)
	}
	return out, true
}

func parseFlatcar(_ *distro, data string) (*value.Dict, bool) {
	if osRelease()["id"] != "flatcar" {
		return nil, false
	}
	out := value.NewDict(2)
	if v, ok := find(`VERSION=(.*)`, data); ok {
		v = strings.Trim(v, `"`)
		major, _, _ := strings.Cut(v, ".")
		out.Set("distribution_major_version", major)
		out.Set("distribution_version", v)
	}
	return out, true
}

func parseNA(d *distro, data string) (*value.Dict, bool) {
	out := value.NewDict(2)
	for _, line := range strings.Split(data, "\n") {
		if v, ok := find(`^NAME=(.*)`, line); ok {
			out.Set("distribution", strings.Trim(v, `"`))
		}
		if v, ok := find(`^VERSION=(.*)`, line); ok {
			if have, _ := d.facts.Str("distribution_version"); have == "NA" {
				out.Set("distribution_version", strings.Trim(v, `"`))
			}
		}
	}
	return out, true
}
