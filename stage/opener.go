package stage

import "io"

// Opener reads blobs by name. An unknown hash is an error that wraps fs.ErrNotExist.
type Opener interface {
	Open(h Hash) (io.ReadCloser, error)
}
