package stage

import (
	"bytes"
	"testing"
)

// FuzzDecodeManifest: what a controller sends as a manifest is refused, or
// encodes to the same bytes and stays below the root.
func FuzzDecodeManifest(f *testing.F) {
	f.Add((&Manifest{Files: []ManifestFile{{Path: "a/b.py", Size: 3}, {Path: "c", Size: 1 << 33}}}).Encode())
	f.Add([]byte{3, '.', '.', '/'})
	f.Add(append([]byte{1, 'x'}, make([]byte, 33)...))
	f.Fuzz(func(t *testing.T, in []byte) {
		m, err := DecodeManifest(in)
		if err != nil {
			return
		}
		again, err := DecodeManifest(m.Encode())
		if err != nil || len(again.Files) != len(m.Files) || !bytes.Equal(again.Encode(), m.Encode()) {
			t.Errorf("%d files became %d, %v", len(m.Files), len(again.Files), err)
		}
	})
}
