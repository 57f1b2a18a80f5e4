package vars

import (
	"os"
	"path/filepath"
	"strings"
	"time"

	"volant/controller/fault"
	"volant/wire/value"
)

// Cache keeps facts between runs. It is called by one goroutine at a time for
// a host.
type Cache interface {
	// Get returns the facts of a host, or nil.
	Get(host string) *value.Dict
	Set(host string, facts *value.Dict)
	Delete(host string)
}

// JSONFiles is the reference's jsonfile cache: a file per host, which either
// program reads. What it holds is JSON in JSON.
type JSONFiles struct {
	Dir     string
	Prefix  string
	Timeout time.Duration // 0 keeps them for ever
	Sink    fault.Sink
}

var _ Cache = (*JSONFiles)(nil)

const (
	maxFacts = 64 << 20 // of a cached file
	// schema begins the names of files, so that other releases of the reference
	// with another form have their own beside them; payload is the only key.
	schema  = "s1_"
	payload = "__payload__"
)

func (c *JSONFiles) path(host string) (string, bool) {
	name := c.Prefix + schema + host
	if host == "" || strings.ContainsRune(name, filepath.Separator) || name == "." || name == ".." {
		return "", false
	}
	return filepath.Join(c.Dir, name), true
}

// Get implements Cache.
func (c *JSONFiles) Get(host string) *value.Dict {
	path, ok := c.path(host)
	if !ok {
		return nil
	}
	st, err := os.Stat(path)
	if err != nil || st.Size() > maxFacts {
		return nil
	}
	if c.Timeout > 0 && time.Since(st.ModTime()) > c.Timeout {
		return nil
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	v, err := decodeFacts(b)
	if err != nil {
		fault.Warn(c.Sink, "error in 'jsonfile' cache plugin while trying to read %s : b%s. Most likely a corrupt file, so erasing and failing.", path, value.Repr(err.Error()))
		_ = os.Remove(path)
		return nil
	}
	return v
}

// Set implements Cache.
func (c *JSONFiles) Set(host string, facts *value.Dict) {
	path, ok := c.path(host)
	if !ok {
		return
	}
	if err := c.write(path, facts); err != nil {
		fault.Warn(c.Sink, "error in 'jsonfile' cache plugin while trying to write to '%s' : %s", path, err)
	}
}

func (c *JSONFiles) write(path string, facts *value.Dict) error {
	if err := os.MkdirAll(c.Dir, 0o777); err != nil {
		return err
	}
	b, err := encodeFacts(facts)
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(c.Dir, ".facts-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // already renamed unless something failed
	if _, err := f.Write(b); err != nil {
		f.Close()
		return err
	}
	if err := f.Chmod(0o644); err != nil { // whoever shares the cache reads it
		f.Close()
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// Delete implements Cache.
func (c *JSONFiles) Delete(host string) {
	if path, ok := c.path(host); ok {
		_ = os.Remove(path)
	}
}
