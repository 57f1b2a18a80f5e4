package union

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/fxamacker/cbor/v2"

	"volant/stage"
)

// cacheHead begins the cache's file; it changes when what is kept per file
// changes.
const cacheHead = "volant union 2\n"

// maxCached bounds how many files are remembered. Beyond it only those of the
// present run are kept.
const maxCached = 20000

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

// cache remembers facts by path: only speed depends on it. Its file is the head
// and then, for each path, the path and its record, both with their length in
// front. A run needs few of the records, so each is decoded when asked for.
type cache struct {
	path string

	mu      sync.Mutex        // guards what follows
	records map[string][]byte // not decoded yet
	files   map[string]*fact
	dirty   bool
	paths   map[stage.Hash]string // where a blob's content is
	texts   map[stage.Hash][]byte // content that is in no file
	routes  map[string]routed     // by file
}

// routed is what a file of redirects said when it was last looked at.
type routed struct {
	*routing
	when time.Time
}

// routingFor is how long a file of redirects is taken to be as it was: every task
// of every host asks for three.
const routingFor = time.Second

func openCache(dir string) *cache {
	c := &cache{files: make(map[string]*fact), paths: make(map[stage.Hash]string), texts: make(map[stage.Hash][]byte), routes: make(map[string]routed)}
	if dir == "" {
		return c
	}
	c.path = filepath.Join(dir, "union.cache")
	if b, err := os.ReadFile(c.path); err == nil {
		c.records = readRecords(b)
	}
	return c
}

// readRecords splits the cache's file; nil when it is none of ours or damaged.
func readRecords(b []byte) map[string][]byte {
	b, ok := bytes.CutPrefix(b, []byte(cacheHead))
	if !ok {
		return nil
	}
	next := func() []byte {
		n, used := binary.Uvarint(b)
		if used <= 0 || n > uint64(len(b)-used) {
			b = nil
			return nil
		}
		piece := b[used : used+int(n)]
		b = b[used+int(n):]
		return piece
	}
	records := make(map[string][]byte, 4096)
	for len(b) > 0 {
		path := next()
		record := next()
		if path == nil || record == nil {
			return nil
		}
		records[string(path)] = record
	}
	return records
}

// known is what is remembered of a path, nil for nothing. The caller holds mu.
func (c *cache) known(path string) *fact {
	if f := c.files[path]; f != nil {
		return f
	}
	record, ok := c.records[path]
	if !ok {
		return nil
	}
	delete(c.records, path)
	f := new(fact)
	if cbor.Unmarshal(record, f) != nil {
		return nil
	}
	c.files[path] = f
	return f
}

// save writes the cache when it changed.
func (c *cache) save() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.path == "" || !c.dirty {
		return nil
	}
	b := []byte(cacheHead)
	put := func(path string, record []byte) {
		b = append(binary.AppendUvarint(b, uint64(len(path))), path...)
		b = append(binary.AppendUvarint(b, uint64(len(record))), record...)
	}
	for path, f := range c.files {
		record, err := cbor.Marshal(f)
		if err != nil {
			return fmt.Errorf("writing the union's cache: %w", err)
		}
		put(path, record)
	}
	if len(c.files)+len(c.records) <= maxCached {
		for path, record := range c.records {
			put(path, record)
		}
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
	f := c.known(path)
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
	now := time.Now()
	c.mu.Lock()
	known := c.routes[path]
	c.mu.Unlock()
	if known.routing != nil && now.Sub(known.when) < routingFor {
		return known.routing, nil
	}
	r, err := c.routingNow(path)
	if err == nil {
		c.mu.Lock()
		c.routes[path] = routed{r, now}
		c.mu.Unlock()
	}
	return r, err
}

func (c *cache) routingNow(path string) (*routing, error) {
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
	c.texts[h] = b
	c.mu.Unlock()
	return stage.ManifestFile{Hash: h, Size: int64(len(b))}
}
