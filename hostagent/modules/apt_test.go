package modules

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"volant/wire/value"
)

// debs are the packages of the repository that cases install from: their
// control files, and scripts by name.
var debs = []struct {
	control string
	files   map[string]string
}{
	{control: "Package: vt-plain\nVersion: 1.0"},
	{control: "Package: vt-plain\nVersion: 1.1"},
	{control: "Package: vt-plain\nVersion: 2.0"},
	{control: "Package: vt-dep\nVersion: 1.0-1\nDepends: vt-lib\nRecommends: vt-rec"},
	{control: "Package: vt-lib\nVersion: 1:0.5~rc1"},
	{control: "Package: vt-rec\nVersion: 1.0"},
	{control: "Package: vt-conf\nVersion: 1.0", files: map[string]string{"DEBIAN/conffiles": "/etc/vt-conf\n", "etc/vt-conf": "one\n"}},
	{control: "Package: vt-conf\nVersion: 2.0", files: map[string]string{"DEBIAN/conffiles": "/etc/vt-conf\n", "etc/vt-conf": "two\n"}},
	{control: "Package: vt-broken\nVersion: 1.0", files: map[string]string{"DEBIAN/postinst": "#!/bin/sh\necho out of order >&2\nexit 3\n"}},
	{control: "Package: vt-policy\nVersion: 1.0", files: map[string]string{"DEBIAN/postinst": "#!/bin/sh\n" +
		"cat /usr/sbin/policy-rc.d 2>&1; stat -c %a /usr/sbin/policy-rc.d 2>&1; env | grep -E '^(LC_|LANG|DEB)' | grep -v DEBCONF_RECONF | sort\nexit 0\n"}},
	{control: "Package: vt-pa\nVersion: 1.0\nProvides: vt-virtual"},
	{control: "Package: vt-pb\nVersion: 1.0\nProvides: vt-virtual, vt-single (= 3)"},
	{control: "Package: vt-old\nVersion: 1.0\nProvides: vt-former"},
	{control: "Package: vt-old\nVersion: 2.0"},
	{control: "Package: vt-unmet\nVersion: 1.0\nDepends: vt-nowhere"},
	{control: "Package: vt-against\nVersion: 1.0\nConflicts: vt-plain"},
	{control: "Package: vt-c++\nVersion: 1.0"},
}

// debRepository builds the packages and their list in a directory that
// everybody may read.
func debRepository(t *testing.T) string {
	t.Helper()
	repo, err := os.MkdirTemp("", "vt-debs-")
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(repo) })
	must(t, os.Chmod(repo, 0o755))
	var list strings.Builder
	for i, d := range debs {
		tree := filepath.Join(repo, "tree")
		control := d.control + "\nArchitecture: all\nMaintainer: Some One <one@example.org>\nDescription: for a test\n"
		files := map[string]string{"DEBIAN/control": control, "usr/share/vt/" + strconv.Itoa(i): d.control}
		for name, text := range d.files {
			files[name] = text
		}
		for name, text := range files {
			p := filepath.Join(tree, name)
			must(t, os.MkdirAll(filepath.Dir(p), 0o755))
			mode := os.FileMode(0o644)
			if strings.HasSuffix(name, "inst") {
				mode = 0o755
			}
			must(t, os.WriteFile(p, []byte(text), mode))
		}
		name := fmt.Sprintf("%d.deb", i)
		if out, err := exec.Command("dpkg-deb", "--build", "--root-owner-group", tree, filepath.Join(repo, name)).CombinedOutput(); err != nil {
			t.Skipf("no packages are built here: %v: %s", err, out)
		}
		must(t, os.RemoveAll(tree))
		b, err := os.ReadFile(filepath.Join(repo, name))
		must(t, err)
		fmt.Fprintf(&list, "%sFilename: ./%s\nSize: %d\nSHA256: %x\n\n", control, name, len(b), sha256.Sum256(b))
	}
	must(t, os.WriteFile(filepath.Join(repo, "Packages"), []byte(list.String()), 0o644))
	return repo
}

var (
	aptSpeed = regexp.MustCompile(`Fetched (\S+ k?B) in \S+ \(\S+ k?B/s\)`)
	aptPause = regexp.MustCompile(`Sleeping for [01] seconds`)
	aptStamp = regexp.MustCompile(`(cache_update_time = )(\d+)`)
	aptGone  = regexp.MustCompile(`/tmp/apt-dpkg-install-\w+|^/var/lib/apt/lists/.*`)
)

// aptVolatile replaces how fast apt was, and when what has just been done was done.
func aptVolatile(s string) string {
	s = aptPause.ReplaceAllString(s, "Sleeping for some seconds")
	s = aptGone.ReplaceAllString(aptSpeed.ReplaceAllString(s, "Fetched $1"), "some file")
	m := aptStamp.FindStringSubmatchIndex(s)
	if m == nil {
		return s
	}
	if n, err := strconv.ParseInt(s[m[4]:m[5]], 10, 64); err == nil && time.Since(time.Unix(n, 0)) < 10*time.Minute {
		return s[:m[4]] + "now"
	}
	return s
}

// TestAptIsThePythonModule installs, upgrades and removes packages of a
// repository of its own. That takes seconds a case: it runs where
// VOLANT_TEST_APT is set, and where every case is asked for.
func TestAptIsThePythonModule(t *testing.T) {
	if os.Getenv("VOLANT_TEST_APT") == "" && !everyCase {
		t.Skip("slow: set VOLANT_TEST_APT to run it")
	}
	if exec.Command("/usr/bin/python3", "-c", "import apt").Run() != nil {
		t.Skip("needs python3-apt")
	}
	everyCase = true
	if !inSandbox(t) {
		return
	}
	repo := debRepository(t)
	d := systemWide(t, "/usr")
	d.python = "/usr/bin/python3"
	d.volatile = aptVolatile
	base := "rm -rf /etc/apt /var/lib/apt /var/cache/apt; cp -a " + repo + "/etc/apt /etc; cp -a " + repo + "/lib/apt /var/lib; cp -a " + repo + "/cache/apt /var/cache\n"
	shell(`rm -rf /etc/apt/sources.list /etc/apt/sources.list.d /etc/apt/preferences.d/* /var/lib/apt/lists/* /var/lib/apt/extended_states /var/lib/apt/periodic
mkdir -p /var/lib/apt/lists
echo "deb [trusted=yes] file:`+repo+` ./" >/etc/apt/sources.list
apt-get clean
apt-get update -qq
touch -d 2024-02-03T04:05:06Z /var/lib/apt/lists
cd `+repo+`
mkdir etc lib cache
cp -a /etc/apt etc; cp -a /var/lib/apt lib; cp -a /var/cache/apt cache
`)(t, repo)
	get := "apt-get install -qqy --allow-downgrades "
	with := func(script string) func(*testing.T, string) { return shell(base + script) }
	l := func(items ...any) *value.List { return value.ListOf(items...) }
	a := func(kv ...any) *value.Dict { return value.DictOf(kv...) }
	name := func(n any, kv ...any) *value.Dict { return value.DictOf(append([]any{"name", n}, kv...)...) }
	fresh := int64(1 << 31)
	cases := []diffCase{
		{name: "installed", args: name("dpkg")},
		{name: "several, cache fresh", args: a("pkg", l("dpkg", " tar"), "cache_valid_time", fresh)},
		{name: "comma list, state", args: a("package", "dpkg,tar", "state", "present", "install_recommends", false)},
		{name: "absent is", args: name("no-such-package-here", "state", "absent")},
		{name: "only cache, fresh", args: a("update_cache", true, "cache_valid_time", fresh)},
		{name: "both", args: name("dpkg", "deb", "/x.deb")},
		{name: "no names", args: name(l())},
		{name: "nothing", args: a()},

		{name: "install", args: name("vt-plain")},
		{name: "install two, with dependencies", args: name(l("vt-dep", "vt-c++"))},
		{name: "one is there", args: name(l("vt-plain", "vt-rec")), setup: with(get + "vt-plain")},
		{name: "an older one is there", args: name("vt-plain"), setup: with(get + "vt-plain=1.0")},
		{name: "counted as automatic", args: name("vt-lib"), setup: with(get + "vt-dep")},
		{name: "configuration is left", args: name("vt-conf"), setup: with(get + "vt-conf; apt-get remove -qqy vt-conf")},
		{name: "latest, new", args: name("vt-plain", "state", "latest")},
		{name: "latest, is", args: name("vt-plain", "state", "latest"), setup: with(get + "vt-plain")},
		{name: "latest, older", args: name(l("vt-plain", "dpkg"), "state", "latest"), setup: with(get + "vt-plain=1.1")},
		{name: "latest, changed configuration", args: name("vt-conf", "state", "latest"), setup: with(get + "vt-conf=1.0; echo own >/etc/vt-conf")},
		{name: "latest, confnew", args: name("vt-conf", "state", "latest", "dpkg_options", "force-confnew"), setup: with(get + "vt-conf=1.0; echo own >/etc/vt-conf")},
		{name: "version", args: name("vt-plain=1.1")},
		{name: "version, is", args: name("vt-plain=1.1"), setup: with(get + "vt-plain=1.1")},
		{name: "version, latest, is", args: name("vt-plain=1.1", "state", "latest"), setup: with(get + "vt-plain=1.1")},
		{name: "version, newer there", args: name("vt-plain=1.0"), setup: with(get + "vt-plain=2.0")},
		{name: "version, downgrade", args: name("vt-plain=1.0", "allow_downgrade", true), setup: with(get + "vt-plain=2.0")},
		{name: "version, epoch", args: name("vt-lib=1:0.5~rc1")},
		{name: "version, not there", args: name("vt-plain=3.0")},
		{name: "version, not there, installed", args: name("vt-plain=3.0"), setup: with(get + "vt-plain")},
		{name: "begin of a version", args: name("vt-plain=1.*")},
		{name: "begin of a version, older there", args: name("vt-plain=1.*"), setup: with(get + "vt-plain=1.0")},
		{name: "begin of a version, newer there", args: name("vt-plain=1.*"), setup: with(get + "vt-plain=2.0")},
		{name: "begin of a version, latest", args: name("vt-plain=1.*", "state", "latest"), setup: with(get + "vt-plain=1.0")},
		{name: "begin of a version, none", args: name("vt-plain=4*")},
		{name: "at least", args: name("vt-plain>=1.1")},
		{name: "at least, is", args: name("vt-plain>=1.1"), setup: with(get + "vt-plain=1.1")},
		{name: "at least, latest", args: name("vt-plain>=1.1", "state", "latest"), setup: with(get + "vt-plain=1.1")},
		{name: "at least, older", args: name("vt-plain>=1.1"), setup: with(get + "vt-plain=1.0")},
		{name: "at least, never", args: name("vt-plain>=9")},
		{name: "two versions", args: name("vt-plain=1=2")},
		{name: "odd version", args: name("vt-plain=[12].0"), handBack: true},
		{name: "pinned", args: name("vt-plain"), setup: with("printf 'Package: vt-plain\\nPin: version 1.1\\nPin-Priority: 900\\n' >/etc/apt/preferences.d/x")},
		{name: "pinned, version", args: name("vt-plain=1.0"), handBack: true, setup: with("printf 'Package: vt-plain\\nPin: version 1.1\\nPin-Priority: 900\\n' >/etc/apt/preferences.d/x")},
		{name: "others pinned, version", args: name("vt-plain=1.0"), setup: with("printf 'Package: *\\nPin: release o=x\\nPin-Priority: 900\\n\\nPackage: vt-rec vt-lib\\nPin: version 1.1\\nPin-Priority: 900\\n' >/etc/apt/preferences.d/x")},
		{name: "never", args: name("vt-plain"), setup: with("printf 'Package: vt-plain\\nPin: version *\\nPin-Priority: -1\\n' >/etc/apt/preferences.d/x")},
		{name: "unknown", args: name("vt-nothing")},
		{name: "unknown among others", args: name(l("vt-plain", "vt-nothing", "vt-rec"))},
		{name: "unknown with regular expression", args: name("vt-pl.in")},
		{name: "only mentioned", args: name("vt-nowhere")},
		{name: "provided by two", args: name("vt-virtual")},
		{name: "provided by two, one is there", args: name("vt-virtual"), setup: with(get + "vt-pa")},
		{name: "provided by one", args: name("vt-single")},
		{name: "provided by one, is there", args: name("vt-single"), setup: with(get + "vt-pb")},
		{name: "provided by one, is there, latest", args: name("vt-single", "state", "latest"), setup: with(get + "vt-pb")},
		{name: "provided by an older version only", args: name("vt-former")},
		{name: "provided, version", args: name("vt-virtual=3")},
		{name: "provided, absent", args: name("vt-virtual", "state", "absent"), setup: with(get + "vt-pa")},
		{name: "pattern", args: name("vt-p*")},
		{name: "pattern, latest", args: name("vt-[pr]*", "state", "latest"), setup: with(get + "vt-plain=1.0 vt-rec")},
		{name: "pattern of nothing", args: name("vt-q*")},
		{name: "pattern, absent", args: name("vt-p?*", "state", "absent"), setup: with(get + "vt-plain vt-pa vt-rec")},
		{name: "pattern of nothing, absent", args: name("vt-q*", "state", "absent")},
		{name: "unmet", args: name("vt-unmet")},
		{name: "unmet among others", args: name(l("vt-plain", "vt-unmet"))},
		{name: "conflict", args: name("vt-against"), setup: with(get + "vt-plain")},
		{name: "conflict, nothing removed", args: name("vt-against", "fail_on_autoremove", true), setup: with(get + "vt-plain")},
		{name: "script fails", args: name("vt-broken"), once: true},
		{name: "held", args: name("vt-plain", "state", "latest"), setup: with(get + "vt-plain=1.0; apt-mark hold vt-plain")},
		{name: "held, change", args: name("vt-plain", "state", "latest", "allow_change_held_packages", true), setup: with(get + "vt-plain=1.0; apt-mark hold vt-plain")},
		{name: "only upgrade, new", args: name("vt-plain", "only_upgrade", true)},
		{name: "only upgrade, older", args: name(l("vt-plain", "vt-rec"), "only_upgrade", true, "state", "latest"), setup: with(get + "vt-plain=1.0")},
		{name: "no recommends", args: name("vt-dep", "install_recommends", false)},
		{name: "recommends", args: name("vt-dep", "install_recommends", true)},
		{name: "autoremove with it", args: name("vt-plain", "autoremove", true), setup: with(get + "vt-dep; dpkg --remove vt-dep")},
		{name: "unauthenticated, force", args: name("vt-plain", "allow_unauthenticated", true, "force", true)},
		{name: "lock timeout, options", args: name("vt-plain", "lock_timeout", int64(5), "dpkg_options", "force-confold")},
		{name: "no options", args: name("vt-plain", "dpkg_options", "")},
		{name: "odd options", args: name("vt-plain", "dpkg_options", "a b"), handBack: true},
		{name: "odd name", args: name("vt-plain/x"), handBack: true},
		{name: "other architecture", args: name("vt-plain:amd64"), handBack: true},
		{name: "empty name", args: name(""), handBack: true},
		{name: "fixed", args: name("vt-plain", "state", "fixed")},
		{name: "build-dep", args: name("vt-plain", "state", "build-dep")},
		{name: "policy", args: name("vt-policy", "policy_rc_d", int64(101))},
		{name: "policy, one is there", args: name("vt-policy", "policy_rc_d", int64(101)), setup: with("printf '#!/bin/sh\\nexit 5\\n' >/usr/sbin/policy-rc.d; chmod 750 /usr/sbin/policy-rc.d")},
		{name: "no policy", args: name("vt-policy")},
		{name: "release", args: name("vt-plain", "default_release", "nosuch"), either: true},

		{name: "absent", args: name("vt-plain", "state", "absent"), setup: with(get + "vt-plain")},
		{name: "absent, several", args: name(l("vt-plain", "vt-nothing", "vt-c++"), "state", "absent"), setup: with(get + "vt-plain vt-c++")},
		{name: "absent, others need it", args: name("vt-lib", "state", "absent"), setup: with(get + "vt-dep")},
		{name: "absent, version", args: name("vt-plain=2.0", "state", "absent"), setup: with(get + "vt-plain")},
		{name: "absent, another version", args: name("vt-plain=1.0", "state", "absent"), setup: with(get + "vt-plain")},
		{name: "absent, begin of a version", args: name("vt-plain=2*", "state", "absent"), setup: with(get + "vt-plain")},
		{name: "absent, at least", args: name("vt-plain>=1", "state", "absent"), setup: with(get + "vt-plain")},
		{name: "absent, configuration stays", args: name("vt-conf", "state", "absent"), setup: with(get + "vt-conf")},
		{name: "absent, configuration is left", args: name("vt-conf", "state", "absent"), setup: with(get + "vt-conf; apt-get remove -qqy vt-conf")},
		{name: "purge", args: name("vt-conf", "state", "absent", "purge", true), setup: with(get + "vt-conf")},
		{name: "purge, configuration is left", args: name("vt-conf", "state", "absent", "purge", true), setup: with(get + "vt-conf; apt-get remove -qqy vt-conf")},
		{name: "purge, is", args: name(l("vt-conf", "vt-plain"), "state", "absent", "purge", true)},
		{name: "absent, autoremove", args: name("vt-dep", "state", "absent", "autoremove", true), setup: with(get + "vt-dep")},
		{name: "absent, policy and force", args: name("vt-plain", "state", "absent", "policy_rc_d", int64(0), "force", true, "allow_change_held_packages", true), setup: with(get + "vt-plain")},
		{name: "absent, held", args: name("vt-plain", "state", "absent"), setup: with(get + "vt-plain; apt-mark hold vt-plain")},
		{name: "absent, essential", args: name("dpkg", "state", "absent")},
		{name: "no names, absent", args: name(l(), "state", "absent")},

		{name: "autoremove", args: a("autoremove", true), setup: with(get + "vt-dep; dpkg --remove vt-dep")},
		{name: "autoremove, purge", args: a("autoremove", true, "purge", true), setup: with(get + "vt-dep; dpkg --remove vt-dep")},
		{name: "autoremove, nothing", args: a("autoremove", true)},
		{name: "autoclean", args: a("autoclean", true, "autoremove", true)},
		{name: "clean", args: a("clean", true, "update_cache", true)},
		{name: "clean, package", args: name("vt-plain", "clean", true)},

		{name: "upgrade", args: a("upgrade", "yes"), setup: with(get + "vt-plain=1.0")},
		{name: "upgrade safe", args: a("upgrade", "safe"), setup: with(get + "vt-plain=1.0 vt-conf=1.0; echo own >/etc/vt-conf")},
		{name: "upgrade dist", args: a("upgrade", "dist", "autoremove", true), setup: with(get + "vt-plain=1.0 vt-dep; dpkg --remove vt-dep")},
		{name: "upgrade full", args: a("upgrade", "full", "force_apt_get", true, "allow_downgrade", true, "fail_on_autoremove", true), setup: with(get + "vt-plain=1.0")},
		{name: "upgrade, nothing", args: a("upgrade", true)},
		{name: "upgrade no", args: a("upgrade", "no")},
		{name: "upgrade fails", args: a("upgrade", "dist"), setup: with("dpkg -i " + repo + "/14.deb || true")},
		{name: "everything latest", args: name("*", "state", "latest"), setup: with(get + "vt-plain=1.0")},
		{name: "everything latest, more", args: name(l("*", "vt-plain"), "state", "latest")},
		{name: "everything present", args: name("*")},

		{name: "file, is", args: a("deb", repo+"/0.deb"), setup: with(get + "vt-plain=1.0")},
		{name: "files, are, update", args: a("deb", repo+"/0.deb,"+repo+"/5.deb", "update_cache", true, "cache_valid_time", fresh), setup: with(get + "vt-plain=1.0 vt-rec")},
		{name: "file", args: a("deb", repo+"/0.deb"), handBack: true, once: true},
		{name: "file, another version", args: a("deb", repo+"/2.deb"), handBack: true, once: true, setup: with(get + "vt-plain=1.0")},
		{name: "file, none", args: a("deb", repo+"/none.deb"), handBack: true},
		{name: "file, absent", args: a("deb", repo+"/0.deb", "state", "absent"), handBack: true},

		{name: "update", args: a("update_cache", true), once: true}, // a second update within a second does not show
		{name: "update, nothing there", args: a("update_cache", true), once: true, setup: with("rm -rf /var/lib/apt/lists/*; touch -d 2024-02-03T04:05:06Z /var/lib/apt/lists")},
		{name: "update, stale", args: a("cache_valid_time", int64(3600), "update_cache", true)},
		{name: "update, install", args: name("vt-plain", "update_cache", true), setup: with("rm -rf /var/lib/apt/lists/*; touch -d 2024-02-03T04:05:06Z /var/lib/apt/lists")},
		{name: "update, absent", args: name("vt-plain", "update_cache", true, "state", "absent"), setup: with(get + "vt-plain")},
		{name: "update, upgrade", args: a("update_cache", true, "upgrade", "dist", "cache_valid_time", int64(60)), setup: with(get + "vt-plain=1.0")},
		{name: "update, unknown", args: name("vt-nothing", "update_cache", true)},
		{name: "update, odd name", args: name("vt-plain:all", "update_cache", true), handBack: true},
		{name: "update, stamp", args: a("update_cache", true), setup: with("mkdir /var/lib/apt/periodic; touch -d 2024-03-04T05:06:07Z /var/lib/apt/periodic/update-success-stamp")},
		{name: "update fails", args: a("update_cache", true, "update_cache_retries", int64(2), "update_cache_retry_max_delay", int64(0)),
			setup: with("echo 'deb file:/nowhere x main' >>/etc/apt/sources.list")},
		{name: "update fails, package", args: name("vt-plain", "update_cache", true, "update_cache_retries", int64(1), "update_cache_retry_max_delay", int64(0)),
			setup: with("echo 'deb [trusted=yes] copy:/nowhere ./' >>/etc/apt/sources.list")},
		{name: "update reaches nobody", args: a("update_cache", true, "update_cache_retries", int64(1), "update_cache_retry_max_delay", int64(0)), once: true,
			setup: with("rm -f /etc/apt/apt.conf.d/*proxy*; echo 'deb http://127.0.0.1:9/debian x main' >>/etc/apt/sources.list")},
		{name: "update of two lists alike", args: a("update_cache", true, "update_cache_retries", int64(1)), once: true,
			setup: with("cp /etc/apt/sources.list /etc/apt/sources.list.d.list; mkdir -p /etc/apt/sources.list.d; cp /etc/apt/sources.list /etc/apt/sources.list.d/again.list")},
		{name: "update of a list that cannot be read", args: a("update_cache", true, "update_cache_retries", int64(1), "update_cache_retry_max_delay", int64(0)), handBack: true, once: true,
			setup: with("echo 'debt what' >>/etc/apt/sources.list")},
		{name: "install, a list that cannot be read", args: name("vt-plain"), handBack: true, setup: with("echo 'debt what' >>/etc/apt/sources.list")},
		{name: "upgrade, a list that cannot be read", args: a("upgrade", "dist"), handBack: true, setup: with("echo 'debt what' >>/etc/apt/sources.list; : >>/var/lib/dpkg/lock; : >>/var/lib/dpkg/lock-frontend")},
		{name: "valid for ages", args: a("cache_valid_time", int64(1<<40), "update_cache", true), handBack: true},
	}
	for i := range cases {
		if cases[i].setup == nil {
			cases[i].setup = with("")
		}
	}
	d.test(t, "apt", cases)
}

func TestAptHandsBack(t *testing.T) {
	for name, args := range map[string]*value.Dict{
		"architecture": value.DictOf("name", "dpkg:amd64"),
		"odd name":     value.DictOf("name", "dpkg/stable"),
		"odd version":  value.DictOf("name", "dpkg=1.[12]"),
		"quoted":       value.DictOf("name", "dpkg", "dpkg_options", "a'b"),
		"release":      value.DictOf("name", "dpkg", "default_release", "a b"),
		"deb":          value.DictOf("deb", "/x.deb"),
		"stale cache":  value.DictOf("update_cache", true, "update_cache_retries", int64(0)),
		"no apt":       value.DictOf("name", "no-such-package-here"),
	} {
		_, err := Table["apt"](t.Context(), &Env{Name: "apt", Umask: -1, Environ: []string{"PATH=/nowhere"}}, args)
		if !isHandBack(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestAptUnreached: apt-get counts lists that it could not fetch as updated; the
// Python module does not.
func TestAptUnreached(t *testing.T) {
	for text, want := range map[string]bool{
		"": false,
		"W: http://deb/dists/sid/InRelease: Key is stored in legacy trusted.gpg keyring\n":                              false,
		"W: Target Packages (Packages) is configured multiple times in /etc/apt/a.list:1 and b.list:1\n":                false,
		"W: Failed to fetch http://deb/InRelease  Unable to connect\n":                                                  true,
		"N: so\nW: Some index files failed to download. They have been ignored, or old ones used instead.\n":            true,
		"W: An error occurred during the signature verification. The repository is not updated\nW: Failed to fetch x\n": true,
	} {
		if got := unreached([]byte(text)); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func TestSplitAptSpec(t *testing.T) {
	for text, want := range map[string]aptSpec{
		"a":         {"a", "a", "", ""},
		"a=1.0":     {"a=1.0", "a", "=", "1.0"},
		"a>=1:2-3~": {"a>=1:2-3~", "a", ">=", "1:2-3~"},
		"a*=1.*":    {"a*=1.*", "a*", "=", "1.*"},
		"a=":        {"a=", "a", "=", ""},
	} {
		if got := splitAptSpec(text); got != want {
			t.Errorf("%s: %+v", text, got)
		}
	}
}

func TestAptErrors(t *testing.T) {
	for in, want := range map[string]string{
		"E: one\n":                       "E:one",
		"W: a\nN: b\nE: c\n   d\nN: e\n": "W:a, W:b, E:c\nd",
		"N: only\n":                      "",
		"text\n":                         "",
	} {
		if got, _ := aptErrors(nil, in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	_, left := aptErrors(nil, "E: one\nN: two\n")
	if got, left := aptErrors(left, "E: three\n"); got != "W:two, E:three" || len(left) > 0 {
		t.Errorf("%q, %q are left", got, left)
	}
}

func TestParseAptPolicy(t *testing.T) {
	got, ok := parseAptPolicy(`hello:
  Installed: (none)
  Candidate: 2.10-3
  Version table:
     2.10-3 500
        500 http://deb.example.org/debian bookworm/main amd64 Packages
tzdata:
  Installed: 2025b-0
  Candidate: 2025b-1
  Package pin: 2025b-1
  Version table:
     2025b-1 500 (phased 10%)
        500 http://deb.example.org/ubuntu noble/main amd64 Packages
 *** 2025b-0 100
        100 /var/lib/dpkg/status
awk:
  Installed: (none)
  Candidate: (none)
  Version table:
`)
	if !ok || len(got) != 3 {
		t.Fatalf("%v %v", got, ok)
	}
	h, z := got["hello"], got["tzdata"]
	if h.installed != "" || h.candidate != "2.10-3" || len(h.versions) != 1 || h.versions[0] != (aptVersion{"2.10-3", 500, false}) {
		t.Errorf("hello: %+v", h)
	}
	if z.installed != "2025b-0" || z.versions[0] != (aptVersion{"2025b-1", 500, true}) || z.versions[1] != (aptVersion{"2025b-0", 100, false}) {
		t.Errorf("tzdata: %+v", z)
	}
	for _, odd := range []string{"x\n", "  Installed: 1\n", "x:\n  What: 1\n", "x:\n  Version table:\n     1.0\n", "x:\n  Version table:\n     1.0 much\n"} {
		if _, ok := parseAptPolicy(odd); ok {
			t.Errorf("%q is taken", odd)
		}
	}
}

// TestAptIsAskedOnce asks apt-cache again only once what it tells from has changed.
func TestAptIsAskedOnce(t *testing.T) {
	bin := t.TempDir()
	must(t, os.WriteFile(bin+"/apt-cache", []byte("#!/bin/sh\necho x >>"+bin+"/calls\nshift\nfor n; do [ $n = none ] || printf '%s:\\n  Installed: (none)\\n  Candidate: 1\\n  Version table:\\n     1 500\\n' $n; done\n"), 0o755))
	m := &aptTask{ctx: t.Context(), call: &call{Env: &Env{Umask: -1, Environ: []string{"PATH=" + bin + ":/usr/bin:/bin"}}}, a: &aptArgs{}}
	if m.aptState() == "" {
		t.Skip("apt's own directories are set here")
	}
	aptKnown.known, aptKnown.state = nil, ""
	for i := range 3 {
		known := map[string]*aptPackage{}
		must(t, m.ask([]string{"vt-a", "none"}, known))
		if known["vt-a"] == nil || known["vt-a"].candidate != "1" || known["none"] != nil || len(known) != 1 {
			t.Errorf("time %d: %v", i, known)
		}
		if i == 1 {
			aptKnown.state = "of before"
		}
	}
	if b, err := os.ReadFile(bin + "/calls"); err != nil || string(b) != "x\nx\n" {
		t.Errorf("asked %q, %v", b, err)
	}
}

func TestAptBest(t *testing.T) {
	k := &aptPackage{versions: []aptVersion{{"2.0", 500, false}, {"1.1", 500, true}, {"1.0", 100, false}, {"0.9", -1, false}}}
	for spec, want := range map[string]string{"a=1.0": "1.0", "a=2.*": "2.0", "a=3": "", "a=1.1": "back", "a=0.9": "back"} {
		s := splitAptSpec(spec)
		got, err := k.best(&s)
		if isHandBack(err) {
			got = "back"
		}
		if got != want {
			t.Errorf("%s: %q, want %q", spec, got, want)
		}
	}
}

func TestCompareDeb(t *testing.T) {
	bin, err := exec.LookPath("dpkg")
	if err != nil {
		t.Skip("there is no dpkg to compare with")
	}
	versions := []string{"0", "1", "1.0", "1.00", "1.0-1", "1.0-0", "1.0-1+b1", "1:0", "0:1.0", "1.0~rc1", "1.0~rc1~", "1.0~", "1.0a", "1.0+", "1.0.", "1.10", "1.9",
		"1.0-1~deb12u1", "1.0-1.1", "2-1-1", "2-1-2", "10a2", "10a10", "1.0A", "1.0Z", "00.1", "1.0-", "1:"}
	for _, a := range versions {
		for _, b := range versions {
			op := map[bool]string{true: "lt", false: "ge"}[compareDeb(a, b) < 0]
			if strings.HasSuffix(a+" "+b, ":") || strings.HasSuffix(a, ":") || strings.HasSuffix(a, "-") || strings.HasSuffix(b, "-") {
				continue // dpkg does not take them
			}
			if exec.Command(bin, "--compare-versions", a, op, b).Run() != nil {
				t.Errorf("%s %s %s is wrong", a, op, b)
			}
		}
	}
}

func FuzzAptPolicy(f *testing.F) {
	f.Add("hello:\n  Installed: (none)\n  Candidate: 2.10-3\n  Version table:\n *** 2.10-3 500\n        500 http://x\n", "1.0~rc1", "1.0-1")
	f.Fuzz(func(t *testing.T, text, a, b string) {
		_, _ = parseAptPolicy(text)
		_, _ = parseProviders(text)
		if compareDeb(a, b) != -compareDeb(b, a) || compareDeb(a, a) != 0 {
			t.Errorf("%q and %q are in no order", a, b)
		}
	})
}
