package wire

// Hello is the agent's first frame on the control stream.
type Hello struct {
	Version    uint32 `cbor:"1,keyasint"` // highest version the agent speaks
	MinVersion uint32 `cbor:"2,keyasint"`
	Agent      string `cbor:"3,keyasint,omitempty"` // release of the agent
	BootID     string `cbor:"4,keyasint,omitempty"` // the host's boot id
	JournalID  string `cbor:"5,keyasint,omitempty"` // random, new when the journal was lost or damaged
	Clock      int64  `cbor:"6,keyasint,omitempty"` // agent's time, Unix nanoseconds
	Hostname   string `cbor:"7,keyasint,omitempty"`
	User       string `cbor:"8,keyasint,omitempty"` // login account the agent runs as
	UID        int64  `cbor:"9,keyasint,omitempty"`
	System     string `cbor:"10,keyasint,omitempty"` // GOOS
	Arch       string `cbor:"11,keyasint,omitempty"` // GOARCH
	PID        int64  `cbor:"12,keyasint,omitempty"`
	Slots      uint32 `cbor:"13,keyasint,omitempty"` // most slots the agent opens on a link
	Memory     uint64 `cbor:"14,keyasint,omitempty"` // bytes the agent holds
	Digest     string `cbor:"15,keyasint,omitempty"` // the first 16 hex digits of the SHA-256 of its program; empty where not known
	Transient  bool   `cbor:"16,keyasint,omitempty"` // it ends with the run
}

// Welcome answers Hello and binds the link to a session.
type Welcome struct {
	Version    uint32 `cbor:"1,keyasint"` // the version to speak from here on
	Controller string `cbor:"2,keyasint,omitempty"`
	Run        RunID  `cbor:"3,keyasint"`
	SessionKey []byte `cbor:"4,keyasint,omitempty"` // 32 bytes: seals journalled results; never written to disk by the agent
	Clock      int64  `cbor:"5,keyasint,omitempty"` // controller's time, Unix nanoseconds
	MaxResult  uint64 `cbor:"6,keyasint,omitempty"` // bytes of one result; 0 is the default
	MaxFile    uint64 `cbor:"7,keyasint,omitempty"` // bytes of one staged file; 0 is no limit
}

// Refused ends a link before or instead of Welcome; it is the last frame.
type Refused struct {
	Code RefusedCode `cbor:"1,keyasint"`
	Text string      `cbor:"2,keyasint,omitempty"`
}

// RefusedCode says why a link was refused.
type RefusedCode uint8

// Why a link is refused.
const (
	RefusedVersion  RefusedCode = 1 // no common version
	RefusedDraining RefusedCode = 2 // the agent is about to end
	RefusedBusy     RefusedCode = 3 // too many sessions
	RefusedLease    RefusedCode = 4 // the enrolment ran out: renew it over SSH
)

// Ping asks for a Pong with the same number and filling; it shows that a link is
// alive, and, where the filling needs a whole datagram, that such pass both ways.
type Ping struct {
	N    uint64 `cbor:"1,keyasint"`
	Fill []byte `cbor:"2,keyasint,omitempty"`
}

// Fill is more than any datagram holds; MaxFill is what a Pong repeats at most.
const (
	Fill    = 1536
	MaxFill = 4096
)

// Pong answers Ping.
type Pong struct {
	N    uint64 `cbor:"1,keyasint"`
	Fill []byte `cbor:"2,keyasint,omitempty"`
}

// Ended says that a cancelled sub-task is over and its processes are gone.
type Ended struct {
	ID TaskID `cbor:"1,keyasint"`
}

// Drain says that the sender ends soon: start nothing new on this link.
type Drain struct {
	Reason string `cbor:"1,keyasint,omitempty"`
}

// Goodbye ends the session: the run is over, its workers and its journal go.
type Goodbye struct{}

// Reset ends what the agent keeps warm for the controller: workers under other
// users and servers of interpreters. Sub-tasks that run are not touched.
type Reset struct{}

// Kind is KindReset.
func (*Reset) Kind() Kind { return KindReset }

// Kind is KindHello.
func (*Hello) Kind() Kind { return KindHello }

// Kind is KindWelcome.
func (*Welcome) Kind() Kind { return KindWelcome }

// Kind is KindRefused.
func (*Refused) Kind() Kind { return KindRefused }

// Kind is KindPing.
func (*Ping) Kind() Kind { return KindPing }

// Kind is KindPong.
func (*Pong) Kind() Kind { return KindPong }

// Kind is KindEnded.
func (*Ended) Kind() Kind { return KindEnded }

// Kind is KindDrain.
func (*Drain) Kind() Kind { return KindDrain }

// Kind is KindGoodbye.
func (*Goodbye) Kind() Kind { return KindGoodbye }
