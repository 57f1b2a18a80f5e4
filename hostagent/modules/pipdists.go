package modules

import (
	"bufio"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// pipOptions are settings of pip by which its list shows other packages, or in
// another way; as variables and in files.
var (
	pipEnvironment = regexp.MustCompile(`^PIP_(LOCAL|USER|PATH|EXCLUDE|NOT_REQUIRED|OUTDATED|UPTODATE|EDITABLE|FORMAT|TARGET|PREFIX|ROOT|PYTHON|CONFIG_FILE)=`)
	pipSettings    = regexp.MustCompile(`(?mi)^\s*\[(list|freeze)\]|^\s*(local|user|path|exclude|not-required|outdated|uptodate|editable|format|target|prefix|root|python)\s*[=:]`)
	// pipEasy is a line of requirements that names a package of an index.
	pipEasy = regexp.MustCompile(`^(#.*|[A-Za-z0-9][A-Za-z0-9._-]*\s*(\[[^\]]*\])?\s*([<>=!~;#\\ ].*)?|\s*--hash=\S+.*)?$`)
)

// pipList is the versions of packages, by canonical name, that pip would list.
type pipList map[string]string

// listable reports whether reading the directories of packages tells how a
// list of pip's changes: neither settings of pip nor the requirements lead
// elsewhere.
func (p *pipTask) listable() bool {
	for _, kv := range p.Environ {
		if pipEnvironment.MatchString(kv) {
			return false
		}
	}
	config := p.Getenv("XDG_CONFIG_HOME")
	if config == "" {
		config = p.Getenv("HOME") + "/.config"
	}
	for _, f := range []string{"/etc/pip.conf", "/etc/xdg/pip/pip.conf", p.Getenv("HOME") + "/.pip/pip.conf", config + "/pip/pip.conf", filepath.Join(p.venv, "pip.conf")} {
		b, err := p.readEdited(f)
		if isHandBack(err) || pipSettings.Match(b) {
			return false
		}
	}
	b, err := p.readEdited(join(p.dir, opted(p.a.Requirements)))
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(b)) {
		if !pipEasy.MatchString(strings.TrimRight(line, "\r\n \t")) {
			return false
		}
	}
	return true
}

// pipInstalled reads what is installed in directories of packages; the first
// directory counts. It is nil where there is something that is not plain.
func pipInstalled(dirs []string) pipList {
	all := pipList{}
	for _, dir := range dirs {
		entries, err := os.ReadDir(dir)
		if err != nil {
			continue // it need not be there
		}
		for _, e := range entries {
			path := filepath.Join(dir, e.Name())
			var name, version string
			switch filepath.Ext(e.Name()) {
			case ".dist-info":
				name, version = packageMetadata(filepath.Join(path, "METADATA"))
			case ".egg-info":
				if isDir(path) {
					path = filepath.Join(path, "PKG-INFO")
				}
				name, version = packageMetadata(path)
			case ".egg-link", ".egg":
				return nil
			default:
				continue
			}
			if name == "" || version == "" {
				return nil
			}
			if name = canonicalPip(name); all[name] == "" {
				all[name] = version
			}
		}
	}
	return all
}

// maxMetadata bounds the headers of a package's metadata.
const maxMetadata = 1 << 20

// packageMetadata reads name and version from a package's metadata.
func packageMetadata(path string) (name, version string) {
	f, err := os.Open(path)
	if err != nil {
		return "", ""
	}
	defer f.Close()
	s := bufio.NewScanner(io.LimitReader(f, maxMetadata))
	s.Buffer(make([]byte, 4<<10), maxMetadata)
	for s.Scan() && len(s.Bytes()) > 0 && (name == "" || version == "") {
		line := s.Bytes()
		switch {
		case hasField(line, "Name:"):
			name = field(line, "Name:")
		case hasField(line, "Version:"):
			version = field(line, "Version:")
		}
	}
	return name, version
}
