package modules

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"volant/wire/argspec"
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

// apt answers for what needs no work: packages that are installed, or absent,
// as asked, and a cache that is fresh. Everything else is the Python module's,
// handed back before anything was touched.
func apt(_ context.Context, c *call, a *aptArgs) (Result, error) {
	if a.Upgrade == "no" { // the module goes on with None, and shows that
		c.params.Set("upgrade", nil)
	}
	release := a.DefaultRelease != nil && *a.DefaultRelease != ""
	if a.Clean || a.Deb != nil || a.Upgrade != "no" || release || a.State == "latest" || a.State == "build-dep" || a.State == "fixed" {
		return nil, handBack("it may be more than leaving packages as they are")
	}
	packages, err := dpkg.installed()
	if err != nil {
		return nil, handBack("%v", err)
	}
	if !packages.native("python3-apt") {
		return nil, handBack("python3-apt is not installed")
	}
	stamp := aptCacheTime()
	if a.UpdateCache != nil && *a.UpdateCache || a.CacheValidTime != 0 {
		if stamp.Add(time.Duration(a.CacheValidTime) * time.Second).Before(c.now()) {
			return nil, handBack("the package lists are to be updated")
		}
		if len(a.Package) == 0 {
			return value.DictOf("changed", false, "cache_updated", false, "cache_update_time", stamp.Unix()), nil
		}
	}
	if len(a.Package) == 0 {
		return nil, handBack("no package is named")
	}
	for _, name := range a.Package {
		name = strings.TrimSpace(name)
		switch {
		case name == "" || strings.ContainsAny(name, "*?[]!=<>:"):
			return nil, handBack("%q is no plain package name", name)
		case a.State == "absent":
			if packages[name] != nil {
				return nil, handBack("%s is known to dpkg", name)
			}
		case !packages.native(name):
			return nil, handBack("%s is not installed", name)
		}
	}
	if a.State == "absent" {
		return value.DictOf("changed", false), nil
	}
	if !c.Check {
		auto, err := autoInstalled(a.Package)
		if err != nil {
			return nil, handBack("%v", err)
		}
		if auto {
			return nil, handBack("a package is to be marked as installed by hand")
		}
	}
	return value.DictOf("changed", false, "cache_updated", false, "cache_update_time", stamp.Unix()), nil
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

// dpkgPackages maps a package to the architectures it is installed for, `all`
// and the host's own as "". A package that is known in another state maps to
// an empty set.
type dpkgPackages map[string]map[string]bool

// native reports whether the package is installed for the host's architecture.
func (p dpkgPackages) native(name string) bool { return p[name][""] }

// dpkg is the database of installed packages, read once per change.
var dpkg dpkgCache

type dpkgCache struct {
	mu       sync.Mutex
	stamp    string
	packages dpkgPackages
}

const dpkgStatus = "/var/lib/dpkg/status"

// maxStatus bounds the database that is read; beyond it Python decides.
const maxStatus = 256 << 20

func (c *dpkgCache) installed() (dpkgPackages, error) {
	// Packages that dpkg has begun to change are in files of their own.
	if pending, err := os.ReadDir("/var/lib/dpkg/updates"); err == nil && len(pending) > 0 {
		return nil, errors.New("dpkg is at work")
	}
	info, err := os.Stat(dpkgStatus)
	if err != nil {
		return nil, fmt.Errorf("looking at dpkg's status: %w", err)
	}
	if info.Size() > maxStatus {
		return nil, errors.New("dpkg's status is too large")
	}
	now := identity(info)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.packages != nil && c.stamp == now {
		return c.packages, nil
	}
	packages, err := readDpkg(dpkgStatus)
	if err != nil {
		return nil, err
	}
	c.packages, c.stamp = packages, now
	return packages, nil
}

// readDpkg parses the status file: Package, Status and Architecture of each paragraph.
func readDpkg(path string) (dpkgPackages, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("reading dpkg's status: %w", err)
	}
	defer f.Close()
	type entry struct{ name, status, arch string }
	var all []entry
	var e entry
	own := ""
	end := func() {
		if e.name != "" {
			all = append(all, e)
			if e.name == "dpkg" {
				own = e.arch
			}
		}
		e = entry{}
	}
	s := bufio.NewScanner(f)
	s.Buffer(make([]byte, 64<<10), 4<<20)
	for s.Scan() {
		line := s.Bytes()
		switch {
		case len(line) == 0:
			end()
		case line[0] == ' ' || line[0] == '\t':
		case hasField(line, "Package:"):
			e.name = field(line, "Package:")
		case hasField(line, "Status:"):
			e.status = field(line, "Status:")
		case hasField(line, "Architecture:"):
			e.arch = field(line, "Architecture:")
		}
	}
	if err := s.Err(); err != nil {
		return nil, fmt.Errorf("reading dpkg's status: %w", err)
	}
	end()
	if own == "" {
		return nil, errors.New("dpkg's status does not tell the architecture")
	}
	packages := make(dpkgPackages, len(all))
	for _, e := range all {
		archs := packages[e.name]
		if archs == nil {
			archs = make(map[string]bool, 1)
			packages[e.name] = archs
		}
		if strings.HasSuffix(e.status, " ok installed") {
			if e.arch == own || e.arch == "all" {
				e.arch = ""
			}
			archs[e.arch] = true
		}
	}
	return packages, nil
}

func hasField(line []byte, name string) bool {
	return len(line) > len(name) && string(line[:len(name)]) == name
}

func field(line []byte, name string) string { return strings.TrimSpace(string(line[len(name):])) }
