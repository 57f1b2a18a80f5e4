package wire

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
)

// Hash is the BLAKE3-256 of a blob: its name on the wire and on disk.
type Hash [32]byte

// IsZero reports whether h names nothing.
func (h Hash) IsZero() bool { return h == Hash{} }

// String is the hash in hexadecimal.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// RunID names one run of one controller; with the controller's key it names a
// session on the agent.
type RunID [16]byte

// NewRunID returns a random id.
func NewRunID() RunID {
	var r RunID
	_, _ = rand.Read(r[:]) // never fails, see crypto/rand
	return r
}

// String is the id in hexadecimal.
func (r RunID) String() string { return hex.EncodeToString(r[:]) }

// TaskID names a sub-task within a session. The same id is never given to two
// pieces of work: the agent runs an id at most once.
type TaskID struct {
	Host    string `cbor:"1,keyasint,omitempty"` // inventory name
	Step    uint32 `cbor:"2,keyasint,omitempty"` // numbered step of the run
	Item    uint32 `cbor:"3,keyasint,omitempty"` // loop item
	Attempt uint32 `cbor:"4,keyasint,omitempty"` // of until/retries
	N       uint32 `cbor:"5,keyasint,omitempty"` // nth sub-task of the action
}

// String is HOST/STEP/ITEM/ATTEMPT/N.
func (id TaskID) String() string {
	return fmt.Sprintf("%s/%d/%d/%d/%d", id.Host, id.Step, id.Item, id.Attempt, id.N)
}
