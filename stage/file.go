// Package stage is what controller and agent share about files in transit:
// blobs named by their BLAKE3 hash, staging directories and union manifests.
package stage

import (
	"bytes"
	"io"

	"lukechampine.com/blake3"

	"volant/wire"
)

// Hash is the BLAKE3-256 of a blob: its name on the wire and on disk.
type Hash = wire.Hash

// HashBytes returns the name of the blob b.
func HashBytes(b []byte) Hash { return blake3.Sum256(b) }

// HashReader returns the name of the blob that r gives, and its length.
func HashReader(r io.Reader) (h Hash, n int64, err error) {
	sum := blake3.New(len(h), nil)
	n, err = io.Copy(sum, r)
	sum.Sum(h[:0])
	return h, n, err
}

// File is a controller file that a sub-task needs on the host. It travels as a
// blob, only when the host lacks it, and lands in the slot's staging directory
// under a name of the agent's choosing that ends in Suffix; the path it got
// there is put in the module argument Arg. It is removed when the sub-task ends.
type File struct {
	Arg    string // module argument that receives the staged path, such as "src"
	Suffix string // end of the staged name, such as ".conf"; may be empty
	Hash   Hash
	Size   int64
	// Open returns the content from its start. It may be called again when a
	// link was lost; what it returns is checked against Hash by the receiver.
	Open func() (io.ReadCloser, error)
}

// BytesFile is a File whose content is in memory.
func BytesFile(arg, suffix string, data []byte) File {
	return File{
		Arg: arg, Suffix: suffix, Hash: HashBytes(data), Size: int64(len(data)),
		Open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil },
	}
}

// Sink receives a file that a host sends. Write is called with consecutive
// pieces; Close(nil) says the file is complete and matched its hash, Close(err)
// that it is not and must be thrown away.
type Sink interface {
	io.Writer
	Close(err error) error
}

// Restarter is a Sink that can begin anew when a link was lost half-way.
type Restarter interface{ Restart() error }
