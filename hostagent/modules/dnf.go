package modules

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"volant/wire/rx"
	"volant/wire/value"
)

// yumArgs are the options that dnf and dnf5 have in common.
type yumArgs struct {
	AllowDowngrade   bool     `arg:"allow_downgrade,default=no"`
	Allowerasing     bool     `arg:"allowerasing,default=no"`
	Autoremove       bool     `arg:"autoremove,default=no"`
	Best             *bool    `arg:"best"`
	Bugfix           bool     `arg:"bugfix,default=no"`
	Cacheonly        bool     `arg:"cacheonly,default=no"`
	ConfFile         *string  `arg:"conf_file"`
	DisableExcludes  *string  `arg:"disable_excludes"`
	DisableGPGCheck  bool     `arg:"disable_gpg_check,default=no"`
	DisablePlugin    []string `arg:"disable_plugin,default="`
	Disablerepo      []string `arg:"disablerepo,default="`
	DownloadOnly     bool     `arg:"download_only,default=no"`
	DownloadDir      *string  `arg:"download_dir"`
	EnablePlugin     []string `arg:"enable_plugin,default="`
	Enablerepo       []string `arg:"enablerepo,default="`
	Exclude          []string `arg:"exclude,default="`
	Installroot      string   `arg:"installroot,default=/"`
	InstallRepoquery bool     `arg:"install_repoquery,default=yes"`
	InstallWeakDeps  bool     `arg:"install_weak_deps,default=yes"`
	List             *string  `arg:"list"`
	Name             []string `arg:"name,default=,alias=pkg"`
	Nobest           *bool    `arg:"nobest"`
	Releasever       *string  `arg:"releasever"`
	Security         bool     `arg:"security,default=no"`
	SkipBroken       bool     `arg:"skip_broken,default=no"`
	State            *string  `arg:"state,choices=absent|installed|latest|present|removed"`
	UpdateCache      bool     `arg:"update_cache,default=no,alias=expire-cache"`
	UpdateOnly       bool     `arg:"update_only,default=no"`
	ValidateCerts    bool     `arg:"validate_certs,default=yes"`
	SSLVerify        bool     `arg:"sslverify,default=yes"`
	LockTimeout      int64    `arg:"lock_timeout,default=30"`
}

type dnfArgs struct {
	yumArgs
	UseBackend string `arg:"use_backend,default=auto,choices=auto|dnf|yum|yum4|dnf4|dnf5"`
}

type dnf5Args struct {
	yumArgs
	AutoInstallModuleDeps bool `arg:"auto_install_module_deps,default=yes"`
}

var yumRules = []rule{oneOf("name", "list", "update_cache"), exclusive("name", "list"), exclusive("best", "nobest")}

// Both modules answer for packages that are installed, or absent, as asked.
var (
	dnfModule = current(native(func(ctx context.Context, c *call, a *dnfArgs) (Result, error) {
		return c.nothingToDo(ctx, &a.yumArgs, dnf4)
	}, yumRules...))
	dnf5Module = current(native(func(ctx context.Context, c *call, a *dnf5Args) (Result, error) {
		return c.nothingToDo(ctx, &a.yumArgs, dnf5)
	}, yumRules...))
)

// current hands back arguments whose use is deprecated, of which the Python
// module tells.
func current(m Module) Module {
	return func(ctx context.Context, env *Env, args *value.Dict) (Result, error) {
		if args.Has("install_repoquery") {
			return nil, handBack("install_repoquery is deprecated")
		}
		return m(ctx, env, args)
	}
}

// dnfKind is what the two generations of dnf do not have in common.
type dnfKind struct {
	binding string   // the package without which the Python module does nothing
	config  []string // files that may take packages out of sight, as patterns
	missing string   // what the result says of a package that is not there to be removed
	release bool     // tells when it cannot find the distribution's version
}

var (
	dnf4 = &dnfKind{binding: "python3-dnf", missing: "No match for argument: ", release: true,
		config: []string{"/etc/dnf/dnf.conf", "/etc/dnf/plugins/versionlock.list"}}
	dnf5 = &dnfKind{binding: "python3-libdnf5",
		config: []string{"/etc/dnf/dnf.conf", "/etc/dnf/libdnf5.conf.d/*.conf", "/usr/share/dnf5/libdnf.conf.d/*.conf", "/etc/dnf/versionlock.toml"}}
)

// nothingToDo answers without a look at any repository, which is what takes
// the Python modules their seconds.
func (c *call) nothingToDo(ctx context.Context, a *yumArgs, kind *dnfKind) (Result, error) {
	if why := a.beyond(); why != "" {
		return nil, handBack("%s", why)
	}
	if os.Geteuid() != 0 {
		return nil, handBack("the user is not root")
	}
	if why := c.hiding(kind.config); why != "" {
		return nil, handBack("%s", why)
	}
	installed, err := rpmDB.installed(ctx, c)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, handBack("%v", err)
	case !installed.names[kind.binding] && !debHas(kind.binding):
		return nil, handBack("%s is not installed", kind.binding)
	case kind.release && !slices.ContainsFunc(releasePackages, func(p string) bool { return installed.provides[p] }):
		return nil, handBack("no package tells the distribution's version")
	}
	absent := a.State != nil && (*a.State == "absent" || *a.State == "removed")
	results := value.ListOf()
	for _, name := range a.Name {
		name = strings.TrimFunc(name, pySpace)
		switch {
		case !onlyPackage(name):
			return nil, handBack("%q is no plain package name", name)
		case !absent && !installed.names[name]:
			return nil, handBack("%s is not installed", name)
		case absent && (installed.names[name] || installed.provides[name]):
			return nil, handBack("%s is installed", name)
		case absent && kind.missing != "":
			results.Items = append(results.Items, kind.missing+name)
		}
	}
	return value.DictOf("msg", "Nothing to do", "changed", false, "results", results, "rc", int64(0)), nil
}

// beyond says what makes the task more than leaving packages as they are, or
// lets them be looked up in another way.
func (a *yumArgs) beyond() string {
	comma := func(s string) bool { return strings.Contains(s, ",") }
	switch {
	case len(a.Name) == 0 || a.List != nil:
		return "no package is named"
	case a.State != nil && *a.State == "latest":
		return "the latest version is asked for"
	case a.Autoremove || a.UpdateOnly || a.Bugfix || a.Security:
		return "it may be more than leaving packages as they are"
	case a.UpdateCache || a.Cacheonly || a.DownloadOnly || a.DownloadDir != nil:
		return "the repositories are to be looked at"
	case a.ConfFile != nil || a.Releasever != nil || a.Installroot != "/":
		return "another system's packages are meant, or its settings"
	case len(a.Exclude) > 0 || a.DisableExcludes != nil || len(a.EnablePlugin) > 0 || len(a.DisablePlugin) > 0:
		return "packages may be out of sight"
	case slices.ContainsFunc(a.Enablerepo, comma) || slices.ContainsFunc(a.Disablerepo, comma):
		return "a list of repositories within another"
	}
	return ""
}

// releasePackages are what dnf knows the distribution's own package by.
var releasePackages = []string{"system-release(releasever)", "system-release", "distribution-release(releasever)",
	"distribution-release", "redhat-release", "suse-release"}

var packageName = rx.Lazy(`^[A-Za-z0-9][A-Za-z0-9+._-]*$`)

// onlyPackage reports whether a text can only be a package's name, not one
// with a version or an architecture, nor a file's.
func onlyPackage(s string) bool {
	if !packageName.MatchString(s) || strings.HasSuffix(s, ".rpm") || s == "gpg-pubkey" { // dnf does not count keys
		return false
	}
	if i := strings.LastIndexByte(s, '.'); i >= 0 && rpmArchs[s[i+1:]] {
		return false
	}
	parts := strings.Split(s, "-")
	last := parts[len(parts)-1]
	if len(parts) > 1 && (last == "" || isDigit(last[0])) {
		return false // a name and a version
	}
	if len(parts) > 2 { // a name, a version and a release, which has a number
		version := parts[len(parts)-2]
		return version == "" || !isDigit(version[0]) || !strings.ContainsFunc(last, func(r rune) bool { return r >= '0' && r <= '9' })
	}
	return true
}

func isDigit(b byte) bool { return b >= '0' && b <= '9' }

// rpmArchs are rpm's architectures, which may follow a name.
var rpmArchs = map[string]bool{"noarch": true, "src": true, "nosrc": true, "x86_64": true, "x86_64_v2": true, "i386": true, "i486": true,
	"i586": true, "i686": true, "athlon": true, "amd64": true, "ia32e": true, "aarch64": true, "armv7l": true, "armv7hl": true, "armv7hnl": true,
	"armv6l": true, "armv6hl": true, "armv5tel": true, "armv8l": true, "ppc": true, "ppc64": true, "ppc64le": true, "ppc64p7": true, "s390": true,
	"s390x": true, "riscv64": true, "riscv32": true, "loongarch64": true, "mips": true, "mipsel": true, "mips64": true, "mips64el": true,
	"sparc": true, "sparc64": true, "alpha": true, "ia64": true, "sh4": true, "m68k": true}

var hidingLine = rx.Lazy(`(?m)^[ \t]*(exclude|excludepkgs|includepkgs|installroot)[ \t]*[=:]`)

// hiding says which of dnf's files may take packages out of sight.
func (c *call) hiding(patterns []string) string {
	for _, p := range patterns {
		files, _ := filepath.Glob(p)
		for _, f := range files {
			b, err := c.readEdited(f)
			switch {
			case err != nil:
				return "reading " + f
			case strings.Contains(f, "versionlock"):
				for line := range strings.Lines(string(b)) {
					if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
						return f + " locks versions"
					}
				}
			case hidingLine.Match(b):
				return f + " takes packages out of sight"
			}
		}
	}
	return ""
}

// debHas reports whether dpkg installed the package: a host of Debian's may
// have dnf as well.
func debHas(name string) bool {
	p, err := dpkg.installed()
	return err == nil && p.native(name)
}
