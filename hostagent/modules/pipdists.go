package modules

import (
	"bufio"
	"io"
	"os"
	"path/filepath"
	"strings"

	"volant/wire/rx"
)

// pipOptions are settings of pip by which its list shows other packages, or in
// another way; as variables and in files.
var (
	pipEnvironment = rx.Lazy(`^PIP_(LOCAL|USER|PATH|EXCLUDE|NOT_REQUIRED|OUTDATED|UPTODATE|EDITABLE|FORMAT|TARGET|PREFIX|ROOT|PYTHON|CONFIG_FILE)=`)
	pipSettings    = rx.Lazy(`(?mi)^\s*\[(list|freeze)\]|^\s*(local|user|path|exclude|not-required|outdated|uptodate|editable|format|target|prefix|root|python)\s*[=:]`)
	// pipEasy is a line of requirements that names a package of an index.
	pipEasy = rx.Lazy(`^(#.*|[A-Za-z0-9][A-Za-z0-9._-]*\s*(\[[^\]]*\])?\s*([<>=!~;#\\ ].*)?|\s*--hash=\S+.*)?$`)
)

// pipList is the versions of packages, by canonical name, that pip would list.
type pipList map[string]string

// plainSettings reports whether no setting of pip leads it to other packages;
// files are those that settings are read from.
func (p *pipTask) plainSettings() (files []string, plain bool) {
	for _, kv := range p.Environ {
		if pipEnvironment.MatchString(kv) {
			return nil, false
		}
	}
	home, config := p.Getenv("HOME"), p.Getenv("XDG_CONFIG_HOME")
	if config == "" {
		config = home + "/.config"
	}
	files = []string{"/etc/pip.conf", "/etc/xdg/pip/pip.conf", home + "/.pip/pip.conf", config + "/pip/pip.conf", filepath.Join(p.python, "pip.conf")}
	for _, f := range files {
		b, err := p.readEdited(f)
		if isHandBack(err) || pipSettings.Match(b) {
			return nil, false
		}
	}
	return files, true
}

// easyRequirements reports whether the file of requirements, if any, names
// nothing but packages of an index.
func (p *pipTask) easyRequirements() bool {
	if opted(p.a.Requirements) == "" {
		return true
	}
	b, err := p.readEdited(join(p.dir, *p.a.Requirements))
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

// listable reports whether reading the directories of packages tells how a
// list of pip's changes.
func (p *pipTask) listable() bool {
	_, plain := p.plainSettings()
	return plain && len(p.path) > 0 && p.easyRequirements()
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
