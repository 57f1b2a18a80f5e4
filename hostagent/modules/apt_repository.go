package modules

import (
	"context"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"volant/wire/rx"
	"volant/wire/value"
)

type aptRepositoryArgs struct {
	Repo          string  `arg:"repo,required"`
	State         string  `arg:"state,default=present,choices=absent|present"`
	Mode          any     `arg:"mode,type=raw"`
	Update        bool    `arg:"update_cache,default=yes,alias=update-cache"`
	Retries       int64   `arg:"update_cache_retries,default=5"`
	MaxDelay      int64   `arg:"update_cache_retry_max_delay,default=12"`
	Filename      *string `arg:"filename"`
	InstallPython bool    `arg:"install_python_apt,default=yes"`
	Validate      bool    `arg:"validate_certs,default=yes"`
	Codename      *string `arg:"codename"`
}

// aptSource is a line of a list of sources.
type aptSource struct {
	valid, enabled bool
	source         string
}

// parseAptSource reads a line; rest is what of it an error shows.
func parseAptSource(line string) (s aptSource, rest string) {
	line = strings.TrimFunc(line, pySpace)
	s.enabled = !strings.HasPrefix(line, "#")
	line = strings.TrimPrefix(line, "#")
	if i := strings.IndexByte(line, '#'); i > 0 {
		line = line[:i]
	}
	words := strings.FieldsFunc(line, pySpace)
	s.source = strings.TrimFunc(line, pySpace)
	if len(words) > 0 && (words[0] == "deb" || words[0] == "deb-src") {
		s.valid, s.source = true, strings.Join(words, " ")
	}
	return s, line
}

// aptRepository is the apt_repository module where the sources are as asked.
func aptRepository(_ context.Context, c *call, a *aptRepositoryArgs) (Result, error) {
	packages, err := dpkg.installed()
	switch {
	case err != nil:
		return nil, handBack("%v", err)
	case !packages.native("python3-apt"):
		return nil, handBack("python3-apt is not installed")
	case strings.HasPrefix(a.Repo, "ppa:"):
		return nil, handBack("a PPA")
	case c.ownAptDirs():
		return nil, handBack("apt's directories are set in its configuration")
	case a.Repo == "":
		return nil, fail("Please set argument 'repo' to a non-empty value")
	}
	_, key := c.binPath("apt-key")
	if _, gpg := c.binPath("gpg"); !key && !gpg {
		return nil, handBack("there is neither apt-key nor gpg")
	}
	all, err := c.aptSources()
	if err != nil {
		return nil, err
	}
	want, rest := parseAptSource(a.Repo)
	if !want.valid || !want.enabled {
		return nil, fail("Invalid repository string: " + rest)
	}
	found := false
	for _, s := range all {
		if !s.valid || s.source != want.source {
			continue
		}
		found = found || s.enabled || a.State == "present"
		if a.State == "present" && !s.enabled {
			return nil, handBack("a source is to be enabled")
		}
	}
	if found != (a.State == "present") {
		return nil, handBack("the sources are to change")
	}
	return value.DictOf("changed", false, "repo", a.Repo, "sources_added", value.ListOf(), "sources_removed", value.ListOf(), "state", a.State,
		"diff", value.ListOf()), nil
}

// aptDirs is how apt's configuration sets where its lists of sources are.
var aptDirs = rx.Lazy(`(?i)\bdir::etc|\bdir\s*\{`)

// ownAptDirs reports whether apt may look for its lists elsewhere.
func (c *call) ownAptDirs() bool {
	files, _ := filepath.Glob("/etc/apt/apt.conf.d/*")
	for _, f := range append(files, "/etc/apt/apt.conf") {
		if b, err := c.readEdited(f); isHandBack(err) || aptDirs.Match(b) {
			return true
		}
	}
	return c.Getenv("APT_CONFIG") != ""
}

// aptSources reads the lists of sources in the old form.
func (c *call) aptSources() ([]aptSource, error) {
	files, _ := filepath.Glob("/etc/apt/sources.list.d/*.list")
	if isFile("/etc/apt/sources.list") {
		files = append([]string{"/etc/apt/sources.list"}, files...)
	}
	var all []aptSource
	for _, f := range files {
		if strings.HasPrefix(filepath.Base(f), ".") {
			continue
		}
		b, err := c.readEdited(f)
		if err != nil || !utf8.Valid(b) {
			return nil, handBack("%s cannot be read", f)
		}
		for line := range strings.Lines(string(b)) {
			s, _ := parseAptSource(line)
			all = append(all, s)
		}
	}
	return all, nil
}
