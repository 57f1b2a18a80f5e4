package modules

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"volant/wire/rx"
)

// aptSpecText is what may be asked for: a name or pattern of names, and a
// version or the beginning of one.
var aptSpecText = rx.Lazy(`^[a-z0-9*?\[\]!][a-z0-9+.*?\[\]!-]*(>?=[A-Za-z0-9.+:~-]+\*?)?$`)

// aptSpec is a package as it is asked for: by name, and perhaps version.
type aptSpec struct{ text, name, cmp, version string }

func splitAptSpec(text string) aptSpec {
	s := aptSpec{text: text, name: text}
	if i := strings.IndexByte(text, '='); i >= 0 {
		s.name, s.cmp, s.version = text[:i], "=", text[i+1:]
		if strings.HasSuffix(s.name, ">") {
			s.name, s.cmp = s.name[:i-1], ">="
		}
	}
	return s
}

// takes reports whether a version is one that is asked for.
func (s *aptSpec) takes(version string) bool {
	switch s.cmp {
	case "=":
		return fnmatch(s.version, version)
	case ">=":
		return compareDeb(version, s.version) >= 0
	}
	return true
}

// aptStatus is how a package stands to what is asked for.
type aptStatus struct {
	installed   bool
	matches     bool   // what is installed is as asked
	installable string // the version to install instead; empty: there is none
	any         bool   // apt chooses what to install
	files       bool   // files are left
}

// aptPlan is what is to be done.
type aptPlan struct {
	words   []string // packages, as the command line has them; none: nothing is to be done
	names   []string // packages that are to count as installed by hand
	refused string   // why it cannot be done
}

// plan decides what to install or to remove.
func (m *aptTask) plan() (*aptPlan, error) {
	specs, err := m.expand()
	if err != nil {
		return nil, err
	}
	if m.a.State == "absent" {
		return m.planRemoval(specs)
	}
	plan := &aptPlan{}
	if m.a.State == "build-dep" {
		for _, s := range specs {
			plan.words = append(plan.words, "'"+s.text+"'")
		}
		return plan, nil
	}
	var ask []string
	for _, s := range specs {
		if !m.settled(&s) {
			ask = append(ask, s.name)
		}
	}
	if opted(m.a.DefaultRelease) != "" && len(ask) == 0 {
		ask = append(ask, "apt") // it has to be a release
	}
	if err := m.lookUp(ask); err != nil {
		return nil, err
	}
	for _, s := range specs {
		plan.names = append(plan.names, s.name)
		if m.settled(&s) {
			continue
		}
		st, err := m.status(&s)
		if err != nil {
			return nil, err
		}
		word, refused := st.decide(&s, m.a.State == "latest", m.a.OnlyUpgrade)
		if refused {
			plan.refused = "no available installation candidate for " + s.text
			return plan, nil
		}
		if word != "" {
			plan.words = append(plan.words, "'"+word+"'")
		}
	}
	return plan, nil
}

// settled reports whether dpkg alone tells that nothing is to be done: the
// package is installed as asked, and no newer one is wanted.
func (m *aptTask) settled(s *aptSpec) bool {
	if !m.packages.native(s.name) {
		return false
	}
	version := m.packages[s.name][""].version
	if s.cmp == "=" {
		return version == s.version
	}
	return m.a.State != "latest" && s.takes(version)
}

// decide is what to give to apt-get for a package, empty where it is left as
// it is; refused: there is nothing that could be installed.
func (st *aptStatus) decide(s *aptSpec, latest, onlyUpgrade bool) (word string, refused bool) {
	can := st.any || st.installable != ""
	switch {
	case !st.installed && onlyUpgrade:
		return "", false
	case !st.matches && !can:
		return "", true
	case can && (!st.installed || latest || !st.matches):
		switch {
		case !st.any:
			return s.name + "=" + st.installable, false
		case s.version != "":
			return s.name + "=" + s.version, false
		}
		return s.name, false
	case st.matches && can && s.cmp == "=":
		return s.name + "=" + s.version, false
	}
	return "", false
}

// expand puts the names in for patterns of names.
func (m *aptTask) expand() ([]aptSpec, error) {
	var out []aptSpec
	var all []string
	for _, text := range m.names {
		s := splitAptSpec(text)
		if !strings.ContainsAny(s.name, "*?[]!") {
			out = append(out, s)
			continue
		}
		if all == nil {
			var err error
			if all, err = m.allNames(); err != nil {
				return nil, err
			}
		}
		n := len(out)
		for _, name := range all {
			if fnmatch(s.name, name) {
				out = append(out, aptSpec{text: name, name: name})
			}
		}
		if len(out) == n {
			return nil, fail("No package(s) matching '" + s.name + "' available")
		}
	}
	return out, nil
}

// planRemoval decides what to remove: what is installed as asked, and what has
// left its configuration where that goes, too.
func (m *aptTask) planRemoval(specs []aptSpec) (*aptPlan, error) {
	left := func(name string) bool { // configuration, of a package that is not installed
		p, known := m.packages[name][""]
		return m.a.Purge && known && p.state != dpkgInstalled && listed(name)
	}
	var ask []string
	for _, s := range specs {
		if st := m.packages[s.name][""].state; st == "odd" {
			return nil, handBack("%s is not installed in full", s.name)
		}
		if left(s.name) {
			ask = append(ask, s.name)
		}
	}
	if err := m.lookUp(ask); err != nil {
		return nil, err
	}
	plan := &aptPlan{}
	for _, s := range specs {
		p := m.packages[s.name][""]
		remove := p.state == dpkgInstalled && (m.a.Purge || s.takes(p.version))
		if left(s.name) {
			k := m.known[s.name]
			remove = k != nil && len(k.versions) > 0
		}
		if remove {
			plan.words = append(plan.words, "'"+s.text+"'")
		}
	}
	return plan, nil
}

// listed reports whether dpkg has a list of files of the package.
func listed(name string) bool {
	found, _ := filepath.Glob("/var/lib/dpkg/info/" + name + ":*.list")
	return slices.ContainsFunc(append(found, "/var/lib/dpkg/info/"+name+".list"), func(path string) bool {
		f, err := os.Open(path)
		if err == nil {
			f.Close()
		}
		return err == nil
	})
}
