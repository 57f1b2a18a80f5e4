package modules

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"volant/wire/rx"
)

// aptPackage is what apt knows of a package by name.
type aptPackage struct {
	installed, candidate string // versions; empty: none
	versions             []aptVersion
}

// aptVersion is a version that apt knows, newest first, and how much it is wanted.
type aptVersion struct {
	version  string
	priority int
	phased   bool
}

// maxAptNames is how many names one question to apt-cache has.
const maxAptNames = 500

// lookUp asks apt-cache for packages by name. What it does not know is not in known.
func (m *aptTask) lookUp(names []string) error {
	m.known = map[string]*aptPackage{}
	if len(names) == 0 {
		return nil
	}
	for some := range slices.Chunk(names, maxAptNames) {
		if err := m.ask(some, m.known); err != nil {
			return err
		}
	}
	for _, n := range names {
		k := m.known[n]
		if state := m.packages[n][""].state; state == "odd" || k != nil && (k.installed != "") != (state == dpkgInstalled) {
			return handBack("%s is not installed in full", n)
		}
	}
	return nil
}

func (m *aptTask) aptCache(args ...string) (string, error) {
	bin, ok := m.binPath("apt-cache")
	if !ok {
		return "", handBack("there is no apt-cache")
	}
	r, err := m.run(m.ctx, &command{argv: append([]string{bin}, args...), env: m.env})
	switch {
	case err != nil && m.ctx.Err() != nil:
		return "", err
	case err != nil:
		return "", handBack("apt-cache does not run: %v", err)
	case r.rc != 0:
		return "", handBack("apt-cache failed: %s", firstLine(r.stderr))
	}
	return string(r.stdout), nil
}

// parseAptPolicy reads what apt-cache says of packages:
//
//	hello:
//	  Installed: (none)
//	  Candidate: 2.10-3
//	  Version table:
//	 *** 2.10-3 500
//	        500 http://deb.debian.org/debian bookworm/main amd64 Packages
func parseAptPolicy(text string) (map[string]*aptPackage, bool) {
	out := map[string]*aptPackage{}
	var p *aptPackage
	table := false
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case line == "":
		case line[0] != ' ':
			name, ok := strings.CutSuffix(line, ":")
			if !ok {
				return nil, false
			}
			p, table = &aptPackage{}, false
			out[name] = p
		case p == nil:
			return nil, false
		case !table:
			label, v, _ := strings.Cut(strings.TrimSpace(line), ":")
			v = strings.TrimSpace(v)
			if v == "(none)" {
				v = ""
			}
			switch label {
			case "Installed":
				p.installed = v
			case "Candidate":
				p.candidate = v
			case "Version table":
				table = true
			case "Package pin":
			default:
				return nil, false
			}
		case strings.HasPrefix(line, "        "): // where the version may be had
		default:
			words := strings.Fields(strings.TrimPrefix(line, " ***"))
			if len(words) < 2 {
				return nil, false
			}
			priority, err := strconv.Atoi(words[1])
			if err != nil {
				return nil, false
			}
			p.versions = append(p.versions, aptVersion{words[0], priority, len(words) > 2})
		}
	}
	return out, true
}

// status is how a package stands to what is asked for, as the module finds it.
func (m *aptTask) status(s *aptSpec) (*aptStatus, error) {
	k := m.known[s.name]
	if k == nil || len(k.versions) == 0 {
		return m.virtual(s, k != nil)
	}
	best := k.candidate
	if s.cmp == "=" {
		if err := m.unpinned(s.name); err != nil {
			return nil, err
		}
		var err error
		if best, err = k.best(s); err != nil {
			return nil, err
		}
	} else if opted(m.a.DefaultRelease) != "" {
		if err := m.unpinned(s.name); err != nil {
			return nil, err
		}
	}
	st := &aptStatus{installed: k.installed != ""}
	if !st.installed {
		st.installable = best
		return st, nil
	}
	st.matches = s.takes(k.installed)
	if best != "" && best != k.installed && s.takes(best) {
		st.installable = best
	}
	return st, nil
}

// virtual is status of a name that no package has. Where packages provide it,
// apt chooses among them, but not where the only one is installed.
func (m *aptTask) virtual(s *aptSpec, mentioned bool) (*aptStatus, error) {
	missing := fail("No package matching '" + s.name + "' is available")
	if !mentioned {
		return nil, missing
	}
	out, err := m.aptCache("showpkg", s.name)
	if err != nil {
		return nil, err
	}
	offers, ok := parseProviders(out)
	if !ok {
		return nil, handBack("an odd answer of apt-cache")
	}
	var names []string
	for _, o := range offers {
		if strings.Contains(o[0], ":") {
			return nil, handBack("%s is provided for another architecture", s.name)
		}
		names = append(names, o[0])
	}
	if len(names) == 0 {
		return nil, missing
	}
	known := map[string]*aptPackage{}
	if err := m.ask(names, known); err != nil {
		return nil, err
	}
	var provide []string
	for _, o := range offers {
		if k := known[o[0]]; k != nil && k.candidate == o[1] && !slices.Contains(provide, o[0]) {
			provide = append(provide, o[0])
		}
	}
	switch len(provide) {
	case 0:
		return nil, missing
	case 1:
		only := *s
		only.name = provide[0]
		m.known[only.name] = known[only.name]
		if state := m.packages[only.name][""].state; state == "odd" {
			return nil, handBack("%s is not installed in full", only.name)
		}
		st, err := m.status(&only)
		if err != nil || st.installed {
			return st, err
		}
	}
	return &aptStatus{any: true}, nil
}

// parseProviders reads from apt-cache showpkg which packages, in which
// versions, provide a name.
func parseProviders(text string) ([][2]string, bool) {
	_, text, ok := strings.Cut(text, "\nReverse Provides:")
	if !ok {
		return nil, false
	}
	_, text, _ = strings.Cut(text, "\n")
	var out [][2]string
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) < 2 {
			return out, len(words) == 0
		}
		out = append(out, [2]string{words[0], words[1]})
	}
	return out, true
}

// best is the version that apt would take once a version is asked for, which
// outranks all but what is pinned higher.
func (k *aptPackage) best(s *aptSpec) (string, error) {
	version, priority := "", -1
	for _, v := range k.versions {
		p := v.priority
		if p > 1000 {
			return "", handBack("%s is pinned", s.name)
		}
		if fnmatch(s.version, v.version) {
			if v.phased || p < 0 {
				return "", handBack("%s is offered to some hosts only, or to none", s.name)
			}
			p = 1001
		}
		if p == 0 || p <= priority || k.installed != "" && p < 1000 && compareDeb(v.version, k.installed) < 0 {
			continue
		}
		version, priority = v.version, p
	}
	if version != "" && fnmatch(s.version, version) {
		return version, nil
	}
	return "", nil
}

var plainPinned = rx.Lazy(`^[a-z0-9][a-z0-9+.-]*$`)

// unpinned reports, by handing back, that apt's preferences may say something
// of a package by its name.
func (m *aptTask) unpinned(name string) error {
	if m.ownAptDirs() {
		return handBack("apt's directories are set in its configuration")
	}
	files, _ := filepath.Glob("/etc/apt/preferences.d/*")
	for _, f := range append(files, "/etc/apt/preferences") {
		b, err := m.readEdited(f)
		if isHandBack(err) {
			return err
		}
		if err != nil {
			if os.IsNotExist(err) {
				continue
			}
			return handBack("%s cannot be read", f)
		}
		for line := range strings.Lines(string(b)) {
			field, v, _ := strings.Cut(line, ":")
			if !strings.EqualFold(strings.TrimSpace(field), "package") {
				if line[0] == ' ' || line[0] == '\t' { // names may go on here
					return handBack("preferences of several lines")
				}
				continue
			}
			for _, w := range strings.Fields(v) {
				if w == name || w != "*" && !plainPinned.MatchString(w) {
					return handBack("preferences for %s", w)
				}
			}
		}
	}
	return nil
}

// allNames are the names of all packages, in order.
func (m *aptTask) allNames() ([]string, error) {
	if m.foreign() {
		return nil, handBack("packages of several architectures")
	}
	out, err := m.aptCache("pkgnames")
	if err != nil {
		return nil, err
	}
	names := strings.Fields(out)
	slices.Sort(names)
	return slices.Compact(names), nil
}
