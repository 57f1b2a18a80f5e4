package modules

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
)

// dpkgPackages is what dpkg has of a package, by architecture: `all` and the
// host's own are "".
type dpkgPackages map[string]map[string]dpkgPackage

// dpkgPackage is one package: its state (installed, config-files,
// not-installed, else odd) and version.
type dpkgPackage struct{ state, version string }

const dpkgInstalled = "installed"

// native reports whether the package is installed for the host's architecture.
func (p dpkgPackages) native(name string) bool { return p[name][""].state == dpkgInstalled }

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

// readDpkg parses the status file: Package, Status, Version and Architecture
// of each paragraph.
func readDpkg(path string) (dpkgPackages, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("reading dpkg's status: %w", err)
	}
	defer f.Close()
	type entry struct {
		name, arch string
		dpkgPackage
	}
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
			e.state = dpkgState(field(line, "Status:"))
		case hasField(line, "Version:"):
			e.version = field(line, "Version:")
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
			archs = make(map[string]dpkgPackage, 1)
			packages[e.name] = archs
		}
		if e.arch == own || e.arch == "all" {
			e.arch = ""
		}
		if archs[e.arch].state != dpkgInstalled {
			archs[e.arch] = e.dpkgPackage
		}
	}
	return packages, nil
}

// dpkgState is the state that a Status field ends with.
func dpkgState(status string) string {
	for _, s := range []string{dpkgInstalled, "config-files", "not-installed"} {
		if strings.HasSuffix(status, " ok "+s) {
			return s
		}
	}
	return "odd"
}

func hasField(line []byte, name string) bool {
	return len(line) > len(name) && string(line[:len(name)]) == name
}

func field(line []byte, name string) string { return strings.TrimSpace(string(line[len(name):])) }
