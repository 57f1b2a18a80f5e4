package facts

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"volant/wire/value"
)

func apparmor(*run) (*value.Dict, error) {
	status := "disabled"
	if exists("/sys/kernel/security/apparmor") {
		status = "enabled"
	}
	return value.DictOf("apparmor", value.DictOf("status", status)), nil
}

// capabilities is what capsh prints of the process's own; the odd splitting is
// the reference's (system/caps.py).
func capabilities(r *run) (*value.Dict, error) {
	none := value.DictOf("system_capabilities_enforced", "N/A", "system_capabilities", "N/A")
	capsh := r.tool("capsh")
	if capsh == "" {
		return none, nil
	}
	out, ok := r.command(capsh, "--print")
	if !ok {
		return none, nil
	}
	enforced, caps := "NA", value.ListOf()
	for _, line := range strings.Split(out, "\n") {
		rest, ok := strings.CutPrefix(line, "Current:")
		if !ok {
			continue
		}
		before, _, _ := strings.Cut(rest, ":")
		if strings.TrimSpace(before) == "=ep" {
			enforced = "False"
			continue
		}
		enforced, caps = "True", value.ListOf()
		parts := strings.Split(line, "=")
		if len(parts) < 2 {
			return nil, fmt.Errorf("capsh printed %q", line)
		}
		for _, c := range strings.Split(parts[1], ",") {
			caps.Items = append(caps.Items, strings.TrimSpace(c))
		}
	}
	return value.DictOf("system_capabilities_enforced", enforced, "system_capabilities", caps), nil
}

func chroot(r *run) (*value.Dict, error) {
	var root, init unix.Stat_t
	if r.getenv("debian_chroot") != "" {
		return value.DictOf("is_chroot", true), nil
	}
	if err := unix.Stat("/", &root); err != nil {
		return nil, fmt.Errorf("looking at /: %w", err)
	}
	if err := unix.Stat("/proc/1/root/.", &init); err == nil {
		return value.DictOf("is_chroot", root.Ino != init.Ino || root.Dev != init.Dev), nil
	}
	// Not root, or no /proc: the root of a file system has a known inode.
	ino := uint64(2)
	var fs unix.Statfs_t
	if err := unix.Statfs("/", &fs); err == nil && r.tool("stat") != "" {
		switch int64(fs.Type) {
		case unix.BTRFS_SUPER_MAGIC:
			ino = 256
		case unix.XFS_SUPER_MAGIC:
			ino = 128
		}
	}
	return value.DictOf("is_chroot", root.Ino != ino), nil
}

// cmdline reads /proc/cmdline as shlex in non-POSIX mode splits it: quotes
// group and are kept.
func cmdline(*run) (*value.Dict, error) {
	data := read("/proc/cmdline", "")
	if data == "" {
		return value.NewDict(0), nil
	}
	last, all := value.NewDict(16), value.NewDict(16)
	words, ok := nonPosixWords(data)
	if !ok { // an open quote: the reference keeps what came before it
		return value.DictOf("cmdline", last, "proc_cmdline", all), nil
	}
	for _, w := range words {
		k, v, has := strings.Cut(w, "=")
		if !has {
			last.Set(k, true)
			all.Set(k, true)
			continue
		}
		last.Set(k, v)
		switch old, had := all.Get(k); {
		case !had:
			all.Set(k, v)
		default:
			if l, ok := old.(*value.List); ok {
				l.Items = append(l.Items, v)
			} else {
				all.Set(k, value.ListOf(old, v))
			}
		}
	}
	return value.DictOf("cmdline", last, "proc_cmdline", all), nil
}

func nonPosixWords(s string) ([]string, bool) {
	var words []string
	var b strings.Builder
	quote := rune(0)
	for _, c := range s {
		switch {
		case quote != 0:
			b.WriteRune(c)
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
			b.WriteRune(c)
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			if b.Len() > 0 {
				words = append(words, b.String())
				b.Reset()
			}
		default:
			b.WriteRune(c)
		}
	}
	if b.Len() > 0 {
		words = append(words, b.String())
	}
	return words, quote == 0
}

// dateTime has local times; the zone is the host's, TZ of the sub-task's
// environment included.
func dateTime(r *run) (*value.Dict, error) {
	now := time.Now()
	if r.host.Now != nil {
		now = r.host.Now()
	}
	zone := localZone(r.getenv("TZ"))
	t, utc := now.In(zone), now.UTC()
	epoch := strconv.FormatInt(now.Unix(), 10)
	name, _ := t.Zone()
	// %W: weeks that begin on Monday.
	week := (t.YearDay() + 6 - (int(t.Weekday())+6)%7) / 7
	return value.DictOf("date_time", value.DictOf(
		"year", t.Format("2006"), "month", t.Format("01"), "weekday", t.Format("Monday"),
		"weekday_number", strconv.Itoa(int(t.Weekday())), "weeknumber", fmt.Sprintf("%02d", week),
		"day", t.Format("02"), "hour", t.Format("15"), "minute", t.Format("04"), "second", t.Format("05"),
		"epoch", epoch, "epoch_int", epoch, "date", t.Format("2006-01-02"), "time", t.Format("15:04:05"),
		"iso8601_micro", utc.Format("2006-01-02T15:04:05.000000Z"), "iso8601", utc.Format("2006-01-02T15:04:05Z"),
		"iso8601_basic", strings.Replace(t.Format("20060102T150405.000000"), ".", "", 1),
		"iso8601_basic_short", t.Format("20060102T150405"),
		"tz", name, "tz_dst", summerZone(t), "tz_offset", t.Format("-0700"))), nil
}

// localZone reads the zone anew: an agent lives longer than a change of it.
func localZone(tz string) *time.Location {
	if tz != "" {
		if loc, err := time.LoadLocation(strings.TrimPrefix(tz, ":")); err == nil {
			return loc
		}
	}
	if data, err := os.ReadFile("/etc/localtime"); err == nil {
		name := ""
		if link, err := os.Readlink("/etc/localtime"); err == nil {
			if _, after, ok := strings.Cut(link, "zoneinfo/"); ok {
				name = after
			}
		}
		if loc, err := time.LoadLocationFromTZData(name, data); err == nil {
			return loc
		}
	}
	return time.UTC
}

// summerZone is time.tzname[1]: the name of the zone in the other half of the
// year where it differs, else the same.
func summerZone(t time.Time) string {
	standard, offset := t.Zone()
	for month := 1; month <= 12; month++ {
		name, off := time.Date(t.Year(), time.Month(month), 1, 0, 0, 0, 0, t.Location()).Zone()
		if off > offset || off < offset && t.IsDST() {
			if t.IsDST() {
				return standard
			}
			return name
		}
	}
	return standard
}

func dns(*run) (*value.Dict, error) {
	out := value.NewDict(4)
	for _, line := range lines("/etc/resolv.conf") {
		words := strings.Fields(line)
		if len(words) == 0 || strings.HasPrefix(line, "#") || strings.HasPrefix(line, ";") {
			continue
		}
		switch rest := words[1:]; words[0] {
		case "nameserver":
			l, ok := out.Lookup("nameservers").(*value.List)
			if !ok {
				l = value.ListOf()
				out.Set("nameservers", l)
			}
			l.Items = append(l.Items, value.Strings(rest...).Items...)
		case "domain":
			if len(rest) > 0 {
				out.Set("domain", rest[0])
			}
		case "search", "sortlist":
			out.Set(words[0], value.Strings(rest...))
		case "options":
			opts := value.NewDict(len(rest))
			for _, o := range rest {
				k, v, _ := strings.Cut(o, ":")
				if v == "" {
					opts.Set(k, true)
				} else {
					opts.Set(k, v)
				}
			}
			out.Set("options", opts)
		}
	}
	return value.DictOf("dns", out), nil
}

func environment(r *run) (*value.Dict, error) {
	env := value.NewDict(len(r.host.Environ))
	for _, kv := range r.host.Environ {
		if k, v, ok := strings.Cut(kv, "="); ok && k != "" {
			env.Set(k, v)
		}
	}
	return value.DictOf("env", env), nil
}

func fips(*run) (*value.Dict, error) {
	return value.DictOf("fips", read("/proc/sys/crypto/fips_enabled", "") == "1"), nil
}

func fibreChannel(*run) (*value.Dict, error) {
	wwns := value.ListOf()
	files, _ := filepath.Glob("/sys/class/fc_host/*/port_name")
	for _, f := range files {
		for _, line := range lines(f) {
			if line = strings.TrimRight(line, " \t\n"); len(line) >= 2 {
				wwns.Items = append(wwns.Items, line[2:])
			}
		}
	}
	return value.DictOf("fibre_channel_wwn", wwns), nil
}

func iscsi(*run) (*value.Dict, error) {
	iqn := ""
	for _, line := range lines("/etc/iscsi/initiatorname.iscsi") {
		if v, ok := strings.CutPrefix(line, "InitiatorName="); ok {
			iqn = v
			break
		}
	}
	return value.DictOf("iscsi_iqn", iqn), nil
}

func nvme(*run) (*value.Dict, error) {
	nqn := ""
	for _, line := range lines("/etc/nvme/hostnqn") {
		if strings.HasPrefix(line, "nqn.") {
			nqn = line
			break
		}
	}
	return value.DictOf("hostnqn", nqn), nil
}

func loadAverage(*run) (*value.Dict, error) {
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		return value.NewDict(0), nil //nolint:nilerr // absent, as in the reference
	}
	avg := func(i int) float64 { return float64(info.Loads[i]) / (1 << 16) }
	return value.DictOf("loadavg", value.DictOf("1m", avg(0), "5m", avg(1), "15m", avg(2))), nil
}

// local reads facts.d. Files that must be run or parsed as INI are left to Python.
func local(r *run) (*value.Dict, error) {
	found := value.NewDict(0)
	if r.req.FactPath != "" {
		files, _ := filepath.Glob(r.req.FactPath + "/*.fact")
		if len(files) > 0 {
			return nil, &HandBack{Reason: "there are local facts in " + r.req.FactPath}
		}
	}
	return value.DictOf("local", found), nil
}

func sshKeys(*run) (*value.Dict, error) {
	out := value.NewDict(8)
	for _, dir := range []string{"/etc/ssh", "/etc/openssh", "/etc"} {
		for _, algo := range []string{"dsa", "rsa", "ecdsa", "ed25519"} {
			name := "ssh_host_key_" + algo + "_public"
			if out.Has(name) {
				return out, nil
			}
			words := strings.Fields(read(dir+"/ssh_host_"+algo+"_key.pub", ""))
			if len(words) >= 2 {
				out.Set(name, words[1])
				out.Set(name+"_keytype", words[0])
			}
		}
	}
	return out, nil
}

// selinux answers for hosts where it is off; the rest is read through the
// library by Python.
func selinux(*run) (*value.Dict, error) {
	if exists("/sys/fs/selinux/enforce") {
		return nil, &HandBack{Reason: "SELinux is enabled"}
	}
	for _, dir := range []string{"/usr/lib64", "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/lib64", "/lib/*", "/usr/lib/*", "/lib", "/usr/lib"} {
		if found, _ := filepath.Glob(dir + "/libselinux.so.1"); len(found) > 0 {
			return value.DictOf("selinux_python_present", true, "selinux", value.DictOf("status", "disabled")), nil
		}
	}
	return value.DictOf("selinux", value.DictOf("status", "Missing selinux Python library"), "selinux_python_present", false), nil
}

// systemd has the version line of systemctl, kept while the binary is the same.
func systemd(r *run) (*value.Dict, error) {
	bin := r.tool("systemctl")
	if bin == "" || !bootedWithSystemd() {
		return value.NewDict(0), nil
	}
	out, err := r.remember("systemctl", []string{bin}, func() (string, error) {
		out, ok := r.command(bin, "--version")
		if !ok {
			return "", fmt.Errorf("%s --version failed", bin)
		}
		return out, nil
	})
	if err != nil {
		return value.NewDict(0), nil //nolint:nilerr // absent, as in the reference
	}
	all := strings.Split(out, "\n")
	words := strings.Split(out, " ")
	if len(all) < 2 || len(words) < 2 {
		return nil, fmt.Errorf("systemctl printed %q", out)
	}
	version, err := strconv.Atoi(words[1])
	if err != nil {
		return nil, fmt.Errorf("reading the version of systemd: %w", err)
	}
	return value.DictOf("systemd", value.DictOf("features", all[1], "version", int64(version))), nil
}

func bootedWithSystemd() bool {
	return exists("/run/systemd/system/") || exists("/dev/.run/systemd/") || exists("/dev/.systemd/")
}

// userFacts is the entry of the user the sub-task runs as. Users who are in no
// local file are left to Python, which asks the name service.
func userFacts(r *run) (*value.Dict, error) {
	name := ""
	for _, v := range []string{"LOGNAME", "USER", "LNAME", "USERNAME"} {
		if name = r.getenv(v); name != "" {
			break
		}
	}
	uid := strconv.Itoa(os.Getuid())
	byName, byID := passwdEntry(name, uid)
	if name == "" && byID != nil {
		name = byID[0]
	}
	entry := byName
	if entry == nil {
		entry = byID
	}
	if entry == nil {
		return nil, &HandBack{Reason: "user " + name + " is not in /etc/passwd"}
	}
	number := func(s string) int64 { n, _ := strconv.ParseInt(s, 10, 64); return n }
	return value.DictOf("user_id", name, "user_uid", number(entry[2]), "user_gid", number(entry[3]),
		"user_gecos", entry[4], "user_dir", entry[5], "user_shell", entry[6],
		"real_user_id", int64(syscall.Getuid()), "effective_user_id", int64(syscall.Geteuid()),
		"real_group_id", int64(syscall.Getgid()), "effective_group_id", int64(syscall.Getgid())), nil
}

func passwdEntry(name, uid string) (byName, byID []string) {
	for _, line := range lines("/etc/passwd") {
		f := strings.Split(line, ":")
		if len(f) != 7 {
			continue
		}
		if f[0] == name && byName == nil {
			byName = f
		}
		if f[2] == uid && byID == nil {
			byID = f
		}
	}
	return byName, byID
}

// lsb has what lsb_release says, kept while the files it reads are the same.
func lsb(r *run) (*value.Dict, error) {
	out := value.NewDict(5)
	if bin := r.tool("lsb_release"); bin != "" {
		text, err := r.remember("lsb", []string{bin, "/etc/os-release", "/etc/lsb-release", "/etc/debian_version", "/etc/apt/sources.list"}, func() (string, error) {
			text, ok := r.command(bin, "-a")
			if !ok {
				return "", fmt.Errorf("%s -a failed", bin)
			}
			return text, nil
		})
		if err == nil {
			readLSB(out, text, ":", []string{"LSB Version:", "release", "Distributor ID:", "id", "Description:", "description", "Release:", "release", "Codename:", "codename"})
		}
	}
	if out.Len() == 0 && exists("/etc/lsb-release") {
		readLSB(out, read("/etc/lsb-release", ""), "=", []string{"DISTRIB_ID", "id", "DISTRIB_RELEASE", "release", "DISTRIB_DESCRIPTION", "description", "DISTRIB_CODENAME", "codename"})
	}
	if release, ok := out.Str("release"); ok {
		major, _, _ := strings.Cut(release, ".")
		out.Set("major_release", major)
	}
	for i := range out.Len() {
		k, v := out.At(i)
		out.Set(k, strings.Trim(v.(string), `\'"`))
	}
	return value.DictOf("lsb", out), nil
}

// readLSB takes the values behind sep of lines that hold a label.
func readLSB(out *value.Dict, text, sep string, labels []string) {
	for _, line := range strings.Split(text, "\n") {
		_, v, ok := strings.Cut(line, sep)
		if !ok {
			continue
		}
		for i := 0; i < len(labels); i += 2 {
			if strings.Contains(line, labels[i]) {
				out.Set(labels[i+1], strings.TrimSpace(v))
				break
			}
		}
	}
}
