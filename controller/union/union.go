package union

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"volant/stage"
	"volant/wire"
)

// Union resolves module names for one run and knows every file they need. It
// is safe for concurrent use.
type Union struct {
	opt   Options
	cache *cache

	baseOnce sync.Once
	base     *stage.Manifest
	baseHash stage.Hash
	baseHas  map[string]bool // paths in base
	baseErr  error

	mu    sync.Mutex // guards built, dirs and subdirs
	built map[buildKey]*built
	dirs  map[string]map[string]string // library directory -> name -> file

	subdirs map[string][]string // library directory -> what may be a library within it
}

type buildKey struct {
	path, fqn string
	utils     string
}

// built is the part of a Module that depends on files only.
type built struct {
	native bool // a native may stand in
	once   sync.Once
	mod    Module
	err    error
}

// New returns a Union for the installed core. It reads only its cache.
func New(opt Options) *Union {
	return &Union{opt: opt, cache: openCache(opt.CacheDir), built: make(map[buildKey]*built), dirs: make(map[string]map[string]string), subdirs: make(map[string][]string)}
}

// Core returns the core the union was made for.
func (u *Union) Core() *Core { return u.opt.Core }

// Save keeps what was learned of files for the next run.
func (u *Union) Save() error { return u.cache.save() }

// Content of the packages above module_utils: they only say that other parts
// of the same package may be elsewhere on the path.
func namespaceInit(version string) []byte {
	b := "from pkgutil import extend_path\n__path__ = extend_path(__path__, __name__)\n"
	if version != "" {
		b += "__version__ = '" + version + "'\n__author__ = 'Ansible, Inc.'\n"
	}
	return []byte(b)
}

// Base returns the manifest of the core's module_utils and its hash.
func (u *Union) Base() (*stage.Manifest, stage.Hash, error) {
	u.baseOnce.Do(func() {
		u.base, u.baseErr = u.buildBase()
		if u.baseErr != nil {
			return
		}
		u.baseHash = u.cache.generated(u.base.Encode()).Hash
		u.baseHas = make(map[string]bool, len(u.base.Files))
		for _, f := range u.base.Files {
			u.baseHas[f.Path] = true
		}
	})
	return u.base, u.baseHash, u.baseErr
}

func (u *Union) buildBase() (*stage.Manifest, error) {
	m := new(stage.Manifest)
	add := func(path string, b []byte) {
		f := u.cache.generated(b)
		f.Path = path
		m.Files = append(m.Files, f)
	}
	add("ansible/__init__.py", namespaceInit(u.opt.Core.Version))
	add("ansible/module_utils/__init__.py", namespaceInit(""))
	root := filepath.Join(u.opt.Core.Path, "module_utils")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			switch d.Name() {
			case "__pycache__", "csharp", "powershell":
				return filepath.SkipDir
			}
			return nil
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if !strings.HasSuffix(rel, ".py") || rel == "__init__.py" {
			return nil
		}
		f, err := u.cache.file(path)
		if err != nil {
			return err
		}
		m.Files = append(m.Files, stage.ManifestFile{Path: "ansible/module_utils/" + filepath.ToSlash(rel), Hash: f.Hash, Size: f.Size})
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("reading ansible-core's module_utils: %w", err)
	}
	m.Sort()
	return m, nil
}

// Open returns the content of a blob that a manifest of this union names, or
// of such a manifest itself. An unknown hash is an error that wraps
// fs.ErrNotExist.
func (u *Union) Open(h stage.Hash) (io.ReadCloser, error) {
	u.cache.mu.Lock()
	b, inMemory := u.cache.texts[h]
	path, onDisk := u.cache.paths[h]
	u.cache.mu.Unlock()
	switch {
	case inMemory:
		return io.NopCloser(bytes.NewReader(b)), nil
	case onDisk:
		f, err := os.Open(path)
		if err != nil {
			return nil, fmt.Errorf("opening a union file: %w", err)
		}
		return f, nil
	}
	return nil, fmt.Errorf("opening union file %s: %w", h, fs.ErrNotExist)
}

var _ stage.Opener = (*Union)(nil)

// Python is what a Task says of m for the Python path. The interpreter and
// other settings of the host are the caller's to fill in.
func (u *Union) Python(m *Module) (*wire.Python, error) {
	_, base, err := u.Base()
	if err != nil {
		return nil, err
	}
	return &wire.Python{
		Base: base, Extra: m.ExtraHash, FQN: m.FQN, File: m.File, Style: uint8(m.Style),
		Shebang: m.Shebang, Core: u.opt.Core.Version,
	}, nil
}
