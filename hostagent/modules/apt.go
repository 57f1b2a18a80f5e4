package modules

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"volant/wire/argspec"
	"volant/wire/rx"
	"volant/wire/value"
)

type aptArgs struct {
	State                    string   `arg:"state,default=present,choices=absent|build-dep|fixed|latest|present"`
	UpdateCache              *bool    `arg:"update_cache,alias=update-cache"`
	UpdateCacheRetries       int64    `arg:"update_cache_retries,default=5"`
	UpdateCacheRetryMaxDelay int64    `arg:"update_cache_retry_max_delay,default=12"`
	CacheValidTime           int64    `arg:"cache_valid_time,default=0"`
	Purge                    bool     `arg:"purge,default=no"`
	Package                  []string `arg:"package,alias=pkg|name"`
	Deb                      *string  `arg:"deb,type=path"`
	DefaultRelease           *string  `arg:"default_release,alias=default-release"`
	InstallRecommends        *bool    `arg:"install_recommends,alias=install-recommends"`
	Force                    bool     `arg:"force,default=no"`
	Upgrade                  string   `arg:"upgrade,choices=dist|full|no|safe|yes,default=no"`
	DpkgOptions              string   `arg:"dpkg_options"`
	Autoremove               bool     `arg:"autoremove,default=no"`
	Autoclean                bool     `arg:"autoclean,default=no"`
	FailOnAutoremove         bool     `arg:"fail_on_autoremove,default=no"`
	PolicyRcD                *int64   `arg:"policy_rc_d"`
	OnlyUpgrade              bool     `arg:"only_upgrade,default=no"`
	ForceAptGet              bool     `arg:"force_apt_get,default=no"`
	Clean                    bool     `arg:"clean,default=no"`
	AllowUnauthenticated     bool     `arg:"allow_unauthenticated,default=no,alias=allow-unauthenticated"`
	AllowDowngrade           bool     `arg:"allow_downgrade,default=no,alias=allow-downgrade|allow_downgrades|allow-downgrades"`
	AllowChangeHeld          bool     `arg:"allow_change_held_packages,default=no"`
	LockTimeout              int64    `arg:"lock_timeout,default=60"`
	AutoInstallModuleDeps    bool     `arg:"auto_install_module_deps,default=yes"`
}

// aptTask is one run of the apt module. What apt's library tells the Python
// module is read from dpkg's status and asked of apt-cache; what changes the
// host is done by the very apt-get command lines that the module runs.
type aptTask struct {
	*call
	ctx      context.Context
	a        *aptArgs
	aptGet   string
	env      []string // of what the module runs
	locale   string
	options  string // dpkg_options and lock_timeout, as a command line has them
	names    []string
	packages dpkgPackages
	known    map[string]*aptPackage // what apt-cache told, by name
	cache    []any                  // keys that results of an installation have
}

// Texts that go into a command line as they are: nothing in them needs quoting
// or is expanded.
var (
	plainDpkgOptions = rx.Lazy(`^[A-Za-z0-9_,.:/=-]*$`)
	plainRelease     = rx.Lazy(`^[A-Za-z0-9][A-Za-z0-9_.,/=+:-]*$`)
)

func apt(ctx context.Context, c *call, a *aptArgs) (Result, error) {
	m := &aptTask{call: c, ctx: ctx, a: a}
	if err := m.covered(); err != nil {
		return nil, err
	}
	stale := m.stale()
	if (a.Clean || stale && !c.Check) && len(m.names) > 0 && a.Upgrade == "no" {
		// What cannot be decided is to be handed back before anything changes.
		if _, err := m.plan(); isHandBack(err) {
			return nil, err
		}
	}
	if a.Clean {
		if res, err := m.clean(); err != nil || m.nothingMore() {
			return res, err
		}
	}
	if a.Upgrade == "no" { // the module goes on with None, and shows that
		c.params.Set("upgrade", nil)
	}
	stamp := aptCacheTime()
	updated := false
	if stale {
		var err error
		if updated, stamp, err = m.update(stamp); err != nil {
			return nil, err
		}
	}
	m.cache = []any{"cache_updated", updated, "cache_update_time", stamp.Unix()}
	if (a.UpdateCache != nil && *a.UpdateCache || a.CacheValidTime != 0) && m.nothingMore() {
		return value.DictOf(append([]any{"changed", updated}, m.cache...)...), nil
	}
	return m.act()
}

// nothingMore reports whether no package is named, nor is all to be upgraded.
func (m *aptTask) nothingMore() bool {
	return len(m.a.Package) == 0 && m.a.Upgrade == "no" && m.a.Deb == nil
}

// act is what the module does once the lists are as asked.
func (m *aptTask) act() (Result, error) {
	a := m.a
	if a.Upgrade != "no" {
		return m.upgrade(a.Upgrade)
	}
	if a.Deb != nil { // covered has seen that all are installed
		return value.DictOf("changed", false, "stdout", "", "stderr", "", "diff", ""), nil
	}
	if a.State == "latest" && len(m.names) < len(a.Package) {
		if len(m.names) > 0 {
			return nil, fail("unable to install additional packages when upgrading all installed packages")
		}
		return m.upgrade("yes")
	}
	for _, n := range m.names {
		if strings.Count(n, "=") > 1 {
			return nil, fail("invalid package spec: " + n)
		}
	}
	if len(m.names) == 0 && a.Autoclean {
		return m.cleanup("autoclean", "Del ")
	}
	if len(m.names) == 0 && a.Autoremove {
		return m.cleanup("autoremove", "The following packages will be REMOVED")
	}
	if a.State == "absent" {
		return m.remove()
	}
	return m.install()
}

// covered reports what is left to the Python module.
func (m *aptTask) covered() error {
	a := m.a
	release := opted(a.DefaultRelease)
	switch {
	case a.Deb != nil && a.State != "present":
		return handBack("a package from a file that is not to be present")
	case !plainDpkgOptions.MatchString(a.DpkgOptions):
		return handBack("dpkg_options that need quoting")
	case release != "" && !plainRelease.MatchString(release):
		return handBack("a release that needs quoting")
	case a.CacheValidTime > 1<<32 || a.CacheValidTime < -1<<32:
		return handBack("a cache_valid_time of centuries")
	}
	var err error
	if m.packages, err = dpkg.installed(); err != nil {
		return handBack("%v", err)
	}
	if !m.packages.native("python3-apt") {
		return handBack("python3-apt is not installed")
	}
	var ok bool
	if m.aptGet, ok = m.binPath("apt-get"); !ok || strings.ContainsAny(m.aptGet, " '\"\\$~") {
		return handBack("there is no apt-get, or its path needs quoting")
	}
	if _, aptitude := m.binPath("aptitude"); aptitude && !a.ForceAptGet && m.upgrades() {
		return handBack("there is aptitude, which upgrades")
	}
	for _, n := range a.Package {
		if n == "*" {
			continue
		}
		n = strings.TrimFunc(n, pySpace)
		if strings.Count(n, "=") < 2 && !aptSpecText.MatchString(n) {
			return handBack("%q is no plain package name", n)
		}
		m.names = append(m.names, n)
	}
	if release != "" && (a.State == "absent" || a.State == "build-dep" || len(m.names) == 0) {
		return handBack("default_release for more than an installation")
	}
	m.locale = m.parsable(m.ctx)
	m.env = []string{"DEBIAN_FRONTEND=noninteractive", "DEBIAN_PRIORITY=critical"}
	for _, k := range []string{"LANG", "LC_ALL", "LC_MESSAGES", "LC_CTYPE", "LANGUAGE"} {
		m.env = append(m.env, k+"="+m.locale)
	}
	var options []string
	for _, o := range strings.Split(a.DpkgOptions, ",") {
		options = append(options, `-o "Dpkg::Options::=--`+o+`"`)
	}
	if a.Deb != nil {
		if err := m.debs(strings.Split(*a.Deb, ",")); err != nil {
			return err
		}
	}
	m.options = fmt.Sprintf("%s -o DPkg::Lock::Timeout=%d", strings.Join(options, " "), a.LockTimeout)
	return nil
}

// plainDeb is a file's path that needs no quoting.
var plainDeb = rx.Lazy(`^/[A-Za-z0-9_./+:@-]+$`)

// debs hands back unless the packages in the files are installed, in their versions.
func (m *aptTask) debs(files []string) error {
	bin, ok := m.binPath("dpkg")
	if !ok || m.foreign() {
		return handBack("packages of several architectures")
	}
	for _, f := range files {
		if !plainDeb.MatchString(f) {
			return handBack("a package to be fetched, or a path that needs quoting")
		}
		r, err := m.run(m.ctx, &command{argv: []string{bin, "--field", f, "Package", "Version"}, env: m.env})
		if err != nil || r.rc != 0 {
			return handBack("%s cannot be read", f)
		}
		var name, version string
		for line := range strings.Lines(string(r.stdout)) {
			switch k, v, _ := strings.Cut(strings.TrimSpace(line), ": "); k {
			case "Package":
				name = v
			case "Version":
				version = v
			}
		}
		if !m.packages.native(name) || compareDeb(m.packages[name][""].version, version) != 0 {
			return handBack("%s is to be installed", f)
		}
	}
	return nil
}

// foreign reports whether dpkg may install packages of other architectures.
func (m *aptTask) foreign() bool {
	b, err := m.readEdited("/var/lib/dpkg/arch")
	return isHandBack(err) || len(strings.Fields(string(b))) > 1
}

// upgrades reports whether the task upgrades by aptitude where there is one.
func (m *aptTask) upgrades() bool {
	all := false
	for _, n := range m.a.Package {
		all = all || n == "*"
	}
	return m.a.Upgrade != "no" && m.a.Upgrade != "dist" || all && m.a.State == "latest"
}

// stale reports whether the package lists are to be updated.
func (m *aptTask) stale() bool {
	a := m.a
	if (a.UpdateCache == nil || !*a.UpdateCache) && a.CacheValidTime == 0 {
		return false
	}
	return aptCacheTime().Add(time.Duration(a.CacheValidTime) * time.Second).Before(m.now())
}

// update updates the package lists, and reports whether and when that showed.
// The Python module does it in its own process by apt's library, which is what
// apt-get does, and tries again where it fails.
func (m *aptTask) update(before time.Time) (bool, time.Time, error) {
	if m.Check {
		_, err := m.aptCache("policy", "apt") // it has to work, as the module's cache has
		return true, aptCacheTime(), err
	}
	switch {
	case m.a.UpdateCacheRetries < 1 || m.a.UpdateCacheRetryMaxDelay < 0 || m.a.UpdateCacheRetryMaxDelay > 1<<32:
		return false, before, handBack("an unusual number or delay of tries")
	case os.Geteuid() != 0:
		return false, before, handBack("only root updates the lists")
	case locked("/var/lib/apt/lists/lock"):
		return false, before, handBack("the lists are locked")
	}
	random := time.Duration(rand.IntN(1000)) * time.Millisecond
	why := ""
	var notices []string // that the attempt before left
	for i := range m.a.UpdateCacheRetries {
		r, err := m.run(m.ctx, &command{argv: []string{m.aptGet, "update", "-o", "quiet=0"}, env: []string{"LC_ALL=" + m.locale}})
		if err != nil {
			return false, before, err
		}
		// A server that is not reached is a failure without a word to apt's
		// library, and none to apt-get.
		why = ""
		if r.rc == 0 && !unreached(r.stderr) {
			after := aptCacheTime()
			return after.Unix() != before.Unix(), after, nil
		}
		if r.rc != 0 {
			why, notices = aptErrors(notices, string(r.stderr))
		}
		if i == 0 && (unreadableApt(r) || strings.Contains(why, "Could not get lock")) {
			return false, before, handBack("the lists cannot be used: %s", firstLine(r.stderr))
		}
		m.Warn("Failed to update cache after %d retries due to %s, retrying", i+1, why)
		limit := time.Duration(m.a.UpdateCacheRetryMaxDelay) * time.Second
		delay := limit + random
		if d := time.Second<<min(i, 32) + random; d <= limit {
			delay = d
		}
		select {
		case <-m.ctx.Done():
			return false, before, m.ctx.Err()
		case <-time.After(delay):
		}
		m.Warn("Sleeping for %d seconds, before attempting to refresh the cache again", int64(math.RoundToEven(delay.Seconds())))
	}
	return false, before, fail(fmt.Sprintf("Failed to update apt cache after %d retries: %s", m.a.UpdateCacheRetries, why))
}

// aptErrors is what apt-get said went wrong, as the exception of apt's library
// has it: what was left before and everything up to the last that is more than
// a notice. The notices after that are left for the next.
func aptErrors(before []string, text string) (why string, left []string) {
	all, last := before, 0
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		switch kind, rest, _ := strings.Cut(line, ": "); {
		case kind == "E" || kind == "W":
			all = append(all, kind+":"+rest)
			last = len(all)
		case kind == "N":
			all = append(all, "W:"+rest)
		case strings.HasPrefix(line, "   ") && len(all) > 0:
			all[len(all)-1] += "\n" + line[3:]
		}
	}
	return strings.Join(all[:last], ", "), slices.Clone(all[last:])
}

// unreached reports whether apt-get warned that it could not fetch a list, which
// is a failure to the Python module.
func unreached(stderr []byte) bool {
	for line := range bytes.Lines(stderr) {
		if bytes.HasPrefix(line, []byte("W: Failed to fetch ")) || bytes.HasPrefix(line, []byte("W: Some index files failed to download")) {
			return true
		}
	}
	return false
}

func firstLine(b []byte) string {
	line, _, _ := strings.Cut(strings.TrimSpace(string(b)), "\n")
	return line
}

// locked reports whether a process holds the lock on the file.
func locked(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false // it is made when it is taken
	}
	defer f.Close()
	l := unix.Flock_t{Type: unix.F_WRLCK}
	return unix.FcntlFlock(f.Fd(), unix.F_GETLK, &l) != nil || l.Type != unix.F_UNLCK
}

// aptDefaults gives dpkg_options its default, which holds a comma.
func aptDefaults() []rule {
	return []rule{
		exclusive("deb", "package", "upgrade"),
		oneOf("autoremove", "deb", "package", "update_cache", "upgrade"),
		option("dpkg_options", func(o *argspec.Option) { o.Default, o.HasDef = "force-confdef,force-confold", true }),
		option("upgrade", func(o *argspec.Option) { o.Default, o.HasDef = "no", true }),
	}
}

// aptCacheTime is when the package lists were last updated.
func aptCacheTime() time.Time {
	for _, p := range []string{"/var/lib/apt/periodic/update-success-stamp", "/var/lib/apt/lists"} {
		if info, err := os.Stat(p); err == nil {
			return info.ModTime()
		}
	}
	return time.Unix(0, 0)
}

// autoInstalled reports whether apt counts one of the packages as installed for
// others only.
func autoInstalled(names []string) (bool, error) {
	wanted := map[string]bool{}
	for _, n := range names {
		wanted[strings.TrimSpace(n)] = true
	}
	f, err := os.Open("/var/lib/apt/extended_states")
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("reading extended_states: %w", err)
	}
	defer f.Close()
	name := ""
	s := bufio.NewScanner(f)
	for s.Scan() {
		switch line := s.Text(); {
		case strings.HasPrefix(line, "Package: "):
			name = line[len("Package: "):]
		case line == "Auto-Installed: 1" && wanted[name]:
			return true, nil
		}
	}
	return false, s.Err()
}
