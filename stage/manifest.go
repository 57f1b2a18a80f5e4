package stage

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
)

// Bounds on a manifest from outside.
const (
	maxManifestFiles = 20000
	maxManifestPath  = 1024
	maxManifestSize  = 64 << 20
)

// ManifestFile is one file of a Manifest.
type ManifestFile struct {
	Path string // slash-separated, relative, clean, such as "ansible/module_utils/basic.py"
	Hash Hash
	Size int64
}

// Manifest is a tree of content-addressed files: the ansible-core part of a
// union, or what one module needs beyond it. It is itself a blob, so a host
// that has laid it out once knows it by its Hash.
type Manifest struct{ Files []ManifestFile }

// Sort puts the files in the order that Encode needs: by path.
func (m *Manifest) Sort() {
	slices.SortFunc(m.Files, func(a, b ManifestFile) int { return cmp.Compare(a.Path, b.Path) })
}

// Encode returns the manifest as bytes that depend only on its files: per
// file a varint length and the path, the 32 bytes of the hash, a varint size.
// The files must be sorted.
func (m *Manifest) Encode() []byte {
	var b []byte
	for _, f := range m.Files {
		b = binary.AppendUvarint(b, uint64(len(f.Path)))
		b = append(b, f.Path...)
		b = append(b, f.Hash[:]...)
		b = binary.AppendUvarint(b, uint64(f.Size))
	}
	return b
}

// Hash names the manifest: the hash of its encoding.
func (m *Manifest) Hash() Hash { return HashBytes(m.Encode()) }

// DecodeManifest reads an encoded manifest that came from outside. Every path
// is checked: relative, clean, below the root, no duplicates, in order.
func DecodeManifest(b []byte) (*Manifest, error) {
	if len(b) > maxManifestSize {
		return nil, errors.New("manifest too long")
	}
	m := new(Manifest)
	last := ""
	for len(b) > 0 {
		if len(m.Files) == maxManifestFiles {
			return nil, errors.New("manifest has too many files")
		}
		n, w := binary.Uvarint(b)
		if w <= 0 || n == 0 || n > maxManifestPath || uint64(len(b)-w) < n+uint64(len(Hash{})) {
			return nil, errors.New("manifest cut short")
		}
		b = b[w:]
		f := ManifestFile{Path: string(b[:n])}
		b = b[n:]
		copy(f.Hash[:], b)
		b = b[len(f.Hash):]
		size, w := binary.Uvarint(b)
		if w <= 0 || size > 1<<40 {
			return nil, errors.New("manifest cut short")
		}
		b = b[w:]
		f.Size = int64(size)
		if path.IsAbs(f.Path) || path.Clean(f.Path) != f.Path || f.Path == "." || f.Path == ".." ||
			strings.HasPrefix(f.Path, "../") || strings.ContainsAny(f.Path, "\x00\\") {
			return nil, fmt.Errorf("manifest names an unusable path %q", f.Path)
		}
		if f.Path <= last {
			return nil, fmt.Errorf("manifest is not in order at %q", f.Path)
		}
		last = f.Path
		m.Files = append(m.Files, f)
	}
	return m, nil
}
