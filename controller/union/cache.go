package union

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/fxamacker/cbor/v2"

	"volant/stage"
)

// cacheVersion changes when what is kept per file changes.
const cacheVersion = 1

// fact is what is known of a file's content, good while size and time stay.
type fact struct {
	Size    int64      `json:"s"`
	ModTime int64      `json:"t"`
	Hash    stage.Hash `json:"h"`
	// Scan results by the name the file was scanned under.
	Scanned map[string][]string `json:"i,omitempty"` // optional imports begin with "?"
	Style   Style               `json:"y,omitempty"`
	Shebang string              `json:"b,omitempty"`
	Routing *routing            `json:"r,omitempty"`
}

// cacheFile is the analysis cache on disk: only speed depends on it.
type cacheFile struct {
	Version int              `json:"version"`
	Files   map[string]*fact `json:"files"`
}

// cache remembers facts by path.
type cache struct {
	path string

	mu    sync.Mutex // guards what follows
	files map[string]*fact
	dirty bool
	paths map[stage.Hash]string // where a blob's content is
	bytes map[stage.Hash][]byte // content that is in no file
}

func openCache(dir string) *cache {
	c := &cache{files: make(map[string]*fact), paths: make(map[stage.Hash]string), bytes: make(map[stage.Hash][]byte)}
	if dir == "" {
		return c
	}
	c.path = filepath.Join(dir, "union.cbor")
	b, err := os.ReadFile(c.path)
	if err != nil {
		return c
	}
	var f cacheFile
	if cbor.Unmarshal(b, &f) == nil && f.Version == cacheVersion && f.Files != nil {
		c.files = f.Files
	}
	return c
}

// save writes the cache when it changed.
func (c *cache) save() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.path == "" || !c.dirty {
		return nil
	}
	b, err := cbor.Marshal(cacheFile{cacheVersion, c.files})
	if err != nil {
		return fmt.Errorf("writing the union's cache: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(c.path), 0o700); err != nil {
		return fmt.Errorf("writing the union's cache: %w", err)
	}
	f, err := os.CreateTemp(filepath.Dir(c.path), ".union-*")
	if err != nil {
		return fmt.Errorf("writing the union's cache: %w", err)
	}
	defer os.Remove(f.Name()) // gone already when all went well
	_, err = f.Write(b)
	if err = errors.Join(err, f.Close(), os.Rename(f.Name(), c.path)); err != nil {
		return fmt.Errorf("writing the union's cache: %w", err)
	}
	c.dirty = false
	return nil
}

// maxModuleFile bounds a file of the union.
const maxModuleFile = 256 << 20

// file returns the facts of path, reading it only when it changed.
func (c *cache) file(path string) (*fact, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() || st.Size() > maxModuleFile {
		return nil, fmt.Errorf("reading %s: not a file of usable size", path)
	}
	c.mu.Lock()
	f := c.files[path]
	c.mu.Unlock()
	if f != nil && f.Size == st.Size() && f.ModTime == st.ModTime().UnixNano() {
		c.mu.Lock()
		c.paths[f.Hash] = path
		c.mu.Unlock()
		return f, nil
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	f = &fact{Size: int64(len(b)), ModTime: st.ModTime().UnixNano(), Hash: stage.HashBytes(b), Style: classify(b), Shebang: shebangOf(b)}
	c.mu.Lock()
	c.files[path], c.paths[f.Hash], c.dirty = f, path, true
	c.mu.Unlock()
	return f, nil
}

// imports returns what the file imports when it is known as fqn.
func (c *cache) imports(path, fqn string, isPkg bool) ([]imported, error) {
	f, err := c.file(path)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	scanned, ok := f.Scanned[fqn]
	c.mu.Unlock()
	if !ok {
		b, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", path, err)
		}
		scanned = []string{}
		for _, im := range scanImports(b, fqn, isPkg) {
			name := im.name
			if im.optional {
				name = "?" + name
			}
			scanned = append(scanned, name)
		}
		c.mu.Lock()
		if f.Scanned == nil {
			f.Scanned = make(map[string][]string)
		}
		f.Scanned[fqn] = scanned
		c.dirty = true
		c.mu.Unlock()
	}
	out := make([]imported, len(scanned))
	for i, s := range scanned {
		if s != "" && s[0] == '?' {
			out[i] = imported{s[1:], true}
		} else {
			out[i] = imported{s, false}
		}
	}
	return out, nil
}

// routing returns a meta/runtime.yml's content.
func (c *cache) routing(path string) (*routing, error) {
	f, err := c.file(path)
	if err != nil {
		if os.IsNotExist(err) {
			return new(routing), nil
		}
		return nil, err
	}
	c.mu.Lock()
	r := f.Routing
	c.mu.Unlock()
	if r != nil {
		return r, nil
	}
	if r, err = readRouting(path); err != nil {
		return nil, err
	}
	c.mu.Lock()
	f.Routing, c.dirty = r, true
	c.mu.Unlock()
	return r, nil
}

// generated remembers content that is in no file.
func (c *cache) generated(b []byte) stage.ManifestFile {
	h := stage.HashBytes(b)
	c.mu.Lock()
	c.bytes[h] = b
	c.mu.Unlock()
	return stage.ManifestFile{Hash: h, Size: int64(len(b))}
}
