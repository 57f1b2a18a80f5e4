package wire

// Want asks for blobs named by the sub-task in progress on this slot, in the
// order they are wanted.
type Want struct {
	Hashes []Hash `cbor:"1,keyasint"`
}

// Blob announces one wanted blob; Data frames follow until Last.
type Blob struct {
	Hash     Hash     `cbor:"1,keyasint"`
	Size     int64    `cbor:"2,keyasint"` // bytes once decoded; -1 when the sender does not know
	Encoding Encoding `cbor:"3,keyasint,omitempty"`
}

// Encoding is how a blob's bytes travel.
type Encoding uint8

// Encodings of a blob.
const (
	EncodingPlain Encoding = 0
	EncodingZstd  Encoding = 1
)

// Data is a piece of a blob (controller to agent) or of a file that a module
// sends (agent to controller), at most MaxChunk bytes.
type Data struct {
	Data []byte `cbor:"1,keyasint"`
	Last bool   `cbor:"2,keyasint,omitempty"`
}

// NoBlob says that a wanted blob cannot be sent (the file changed or cannot be
// read); instead of Blob, or instead of a Data.
type NoBlob struct {
	Hash Hash   `cbor:"1,keyasint"`
	Text string `cbor:"2,keyasint,omitempty"`
	// Lost is said to a worker by its agent: the link went away.
	Lost bool `cbor:"3,keyasint,omitempty"`
}

// FileDone ends the Data of a file that a module sends.
type FileDone struct {
	Size int64  `cbor:"1,keyasint"`
	Hash Hash   `cbor:"2,keyasint"`
	Text string `cbor:"3,keyasint,omitempty"` // not empty: it could not be sent whole
}

// Kind is KindWant.
func (*Want) Kind() Kind { return KindWant }

// Kind is KindBlob.
func (*Blob) Kind() Kind { return KindBlob }

// Kind is KindData.
func (*Data) Kind() Kind { return KindData }

// Kind is KindNoBlob.
func (*NoBlob) Kind() Kind { return KindNoBlob }

// Kind is KindFileDone.
func (*FileDone) Kind() Kind { return KindFileDone }
