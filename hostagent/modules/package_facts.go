package modules

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"volant/wire/value"
)

type packageFactsArgs struct {
	Manager  []string `arg:"manager,default=auto"`
	Strategy string   `arg:"strategy,default=first,choices=first|all"`
}

// managersBefore are programs whose package managers the module tries before
// rpm, by the order of their names.
var managersBefore = []string{"apk", "apt", "apt-get", "aptitude", "pacman", "pkg", "pkg_info", "qlist"}

// rpmNames are what rpm's packages are asked for by.
var rpmNames = map[string]bool{"rpm": true, "dnf": true, "dnf5": true, "yum": true, "zypper": true}

// packageFacts lists the packages of dpkg as apt's library tells of them, or
// those of rpm; other package managers are left to the Python module.
func packageFacts(ctx context.Context, c *call, a *packageFactsArgs) (Result, error) {
	apt, rpm := len(a.Manager) > 0, len(a.Manager) > 0
	for _, m := range a.Manager {
		l := strings.ToLower(m)
		apt = apt && (l == "auto" || l == "apt")
		rpm = rpm && rpmNames[l]
		if !apt && !rpm {
			return nil, handBack("the package manager %s", m)
		}
	}
	if a.Strategy != "first" || len(a.Manager) == 0 {
		return nil, handBack("every package manager is asked for")
	}
	if !rpm && len(a.Manager) == 1 && strings.EqualFold(a.Manager[0], "auto") && !slices.ContainsFunc(managersBefore, func(m string) bool {
		_, there := c.binPath(m)
		return there
	}) {
		rpm = true
	}
	if rpm {
		packages, err := rpmFacts.get(ctx, c)
		if err != nil && ctx.Err() == nil {
			err = handBack("%v", err)
		}
		if err != nil {
			return nil, err
		}
		return value.DictOf("ansible_facts", value.DictOf("packages", packages.Clone())), nil
	}
	if _, ok := c.binPath("apk"); ok {
		return nil, handBack("there is apk")
	}
	packages, err := aptPackages.get(ctx, c)
	if err != nil {
		if h := (*HandBack)(nil); errors.As(err, &h) {
			return nil, err
		}
		return nil, handBack("%v", err)
	}
	return value.DictOf("ansible_facts", value.DictOf("packages", packages.Clone())), nil
}

// debPackage is a paragraph of dpkg's status or of a package list.
type debPackage struct {
	name, status, arch, version, section string
	hash                                 string // of what tells two builds of a version apart
}

// hashedFields are those by which apt tells builds of one version apart.
var hashedFields = []string{"Installed-Size", "Depends", "Pre-Depends", "Conflicts", "Breaks", "Replaces"}

// readDeb calls each with every paragraph whose Package wanted takes.
func readDeb(r io.Reader, wanted func(string) bool, each func(*debPackage)) error {
	s := bufio.NewScanner(r)
	s.Buffer(make([]byte, 256<<10), 16<<20)
	var p debPackage
	var hashed [6]string
	take, in := false, -1
	end := func() {
		if take && p.name != "" {
			var b strings.Builder
			for i, v := range hashed {
				if v == "" {
					continue
				}
				b.WriteByte(byte('0' + i))
				for _, r := range []byte(v) {
					if r != ' ' && r != '\t' && r != '=' {
						b.WriteByte(lowerByte(r))
					}
				}
			}
			p.hash = b.String()
			each(&p)
		}
		p, hashed, take, in = debPackage{}, [6]string{}, false, -1
	}
	for s.Scan() {
		line := s.Bytes()
		switch {
		case len(line) == 0:
			end()
		case hasField(line, "Package:"):
			p.name = field(line, "Package:")
			take = wanted(p.name)
		case !take:
		case line[0] == ' ' || line[0] == '\t':
			if in >= 0 {
				hashed[in] += string(line)
			}
		case hasField(line, "Status:"):
			p.status, in = field(line, "Status:"), -1
		case hasField(line, "Architecture:"):
			p.arch, in = field(line, "Architecture:"), -1
		case hasField(line, "Version:"):
			p.version, in = field(line, "Version:"), -1
		case hasField(line, "Section:"):
			p.section, in = field(line, "Section:"), -1
		default:
			in = slices.IndexFunc(hashedFields, func(f string) bool { return hasField(line, f+":") })
			if in >= 0 {
				hashed[in] = field(line, hashedFields[in]+":")
			}
		}
	}
	end()
	return s.Err()
}

func lowerByte(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		c += 'a' - 'A'
	}
	return c
}

// aptPackages is what apt knows of the installed packages, read once per change.
var aptPackages aptPackagesCache

type aptPackagesCache struct {
	mu    sync.Mutex // guards the rest, and is held while it is read
	seen  string
	facts *value.Dict
}

// aptIndex is a package list that apt uses, and the origin its release names.
type aptIndex struct{ file, origin string }

func (a *aptPackagesCache) get(ctx context.Context, c *call) (*value.Dict, error) {
	installed, err := dpkg.installed()
	if err != nil {
		return nil, err
	}
	if !installed.native("python3-apt") || !exists("/usr/bin/python3") {
		return nil, errors.New("python3-apt is not installed")
	}
	indexes, err := c.aptIndexes(ctx)
	if err != nil {
		return nil, err
	}
	seen := ""
	indexes = slices.DeleteFunc(indexes, func(x aptIndex) bool { return !exists(x.file) }) // not fetched yet
	for _, x := range append([]aptIndex{{dpkgStatus, ""}}, indexes...) {
		info, err := os.Stat(x.file)
		if err != nil {
			return nil, fmt.Errorf("looking at %s: %w", x.file, err)
		}
		seen += x.file + x.origin + identity(info) + "\n"
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.facts != nil && a.seen == seen {
		return a.facts, nil
	}
	facts, err := aptFacts(ctx, indexes)
	if err != nil {
		return nil, err
	}
	a.seen, a.facts = seen, facts
	return facts, nil
}

// aptIndexes asks apt for the package lists of its sources, in their order.
func (c *call) aptIndexes(ctx context.Context) ([]aptIndex, error) {
	bin, ok := c.binPath("apt-get")
	if !ok {
		return nil, errors.New("there is no apt-get")
	}
	r, err := c.run(ctx, &command{argv: []string{bin, "indextargets", "--format", "$(FILENAME)|$(ORIGIN)", "Created-By: Packages"}})
	if err != nil || r.rc != 0 {
		return nil, errors.New("apt-get does not tell its package lists")
	}
	var out []aptIndex
	for line := range strings.Lines(string(r.stdout)) {
		file, origin, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "|")
		if !ok {
			return nil, errors.New("an odd answer of apt-get")
		}
		out = append(out, aptIndex{file, origin})
	}
	return out, nil
}

// aptFacts puts together what is installed and where it may be had.
func aptFacts(ctx context.Context, indexes []aptIndex) (*value.Dict, error) {
	var all []*debPackage
	byKey := map[string]*debPackage{}
	names := map[string]bool{}
	own := ""
	f, err := os.Open(dpkgStatus)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	odd := ""
	key := func(p *debPackage) string { return p.name + " " + p.arch + " " + p.version }
	err = readDeb(f, func(string) bool { return true }, func(p *debPackage) {
		if strings.HasSuffix(p.status, " not-installed") || strings.HasSuffix(p.status, " config-files") {
			return
		}
		if !strings.HasSuffix(p.status, " ok installed") {
			odd = p.name
			return
		}
		q := *p
		all, names[q.name], byKey[key(&q)] = append(all, &q), true, &q
		if q.name == "dpkg" {
			own = q.arch
		}
	})
	switch {
	case err != nil:
		return nil, fmt.Errorf("reading dpkg's status: %w", err)
	case odd != "":
		return nil, handBack("%s is not installed in full", odd)
	case own == "":
		return nil, errors.New("dpkg's status does not tell the architecture")
	}
	origins := map[string]string{}
	for _, x := range indexes {
		err := readIndex(ctx, x.file, func(n string) bool { return names[n] }, func(p *debPackage) {
			have := byKey[key(p)]
			switch {
			case have == nil:
			case have.hash != p.hash:
				odd = p.name
			default:
				if o, seen := origins[key(p)]; !seen {
					origins[key(p)] = x.origin
					have.section = p.section
				} else if o != x.origin {
					odd = p.name
				}
			}
		})
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", x.file, err)
		}
	}
	if odd != "" {
		return nil, handBack("there are several builds of %s", odd)
	}
	slices.SortFunc(all, func(a, b *debPackage) int { return strings.Compare(a.name, b.name) })
	facts := value.NewDict(len(all))
	for _, p := range all {
		name := p.name
		if p.arch != own && p.arch != "all" {
			name += ":" + p.arch
		}
		facts.Set(name, value.ListOf(value.DictOf("name", name, "version", p.version, "arch", p.arch, "category", p.section,
			"origin", origins[key(p)], "source", "apt")))
	}
	return facts, nil
}

// readIndex reads a package list, having apt unpack one that is compressed.
func readIndex(ctx context.Context, file string, wanted func(string) bool, each func(*debPackage)) error {
	if !slices.ContainsFunc([]string{".lz4", ".xz", ".gz", ".bz2", ".zst", ".lzma"}, func(s string) bool { return strings.HasSuffix(file, s) }) {
		f, err := os.Open(file)
		if err != nil {
			return err
		}
		defer f.Close()
		return readDeb(f, wanted, each)
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/usr/lib/apt/apt-helper", "cat-file", file)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return err
	}
	err = readDeb(out, wanted, each)
	if err != nil {
		cancel()
	}
	return errors.Join(err, cmd.Wait())
}
