// Package wire is what controller and agent say to each other: messages as
// plain structs with integer keys, one file per conversation, and the encoding
// of values (value.go). It holds no I/O: frames are in wire/frame, connections
// and identities in wire/session. docs/PROTOCOL.md is the specification.
package wire

import "fmt"

// Version is the version of the protocol. A side speaks its own version and
// the one before; the lower of the two sides' versions is used.
//
//	1  2026-11-30  first version
const Version = 1

// MinVersion is the oldest version this side speaks.
const MinVersion = 1

// Kind names a message on the wire. Numbers are appended, never reused and
// never renumbered.
type Kind uint8

// The kinds of message.
const (
	KindHello    Kind = 1  // agent, control stream
	KindWelcome  Kind = 2  // controller, control stream
	KindPing     Kind = 3  // controller, control stream
	KindPong     Kind = 4  // agent, control stream
	KindEnded    Kind = 5  // agent, control stream
	KindDrain    Kind = 6  // either, control stream
	KindGoodbye  Kind = 7  // controller, control stream
	KindRefused  Kind = 8  // either, control stream
	KindPull     Kind = 16 // agent, slot
	KindTask     Kind = 17 // controller, slot
	KindCollect  Kind = 18 // controller, slot
	KindState    Kind = 19 // agent, slot
	KindWant     Kind = 20 // agent, slot
	KindBlob     Kind = 21 // controller, slot
	KindData     Kind = 22 // either, slot: a piece of a blob or of a file
	KindStarted  Kind = 23 // agent, slot
	KindOutput   Kind = 24 // agent, slot
	KindResult   Kind = 25 // agent, slot
	KindAck      Kind = 26 // controller, slot
	KindCancel   Kind = 27 // controller, control stream; agent to worker
	KindWorker   Kind = 28 // worker to agent, its first frame
	KindNoBlob   Kind = 29 // controller, slot
	KindFileDone Kind = 30 // agent, slot: end of a file's pieces
	KindReset    Kind = 31 // controller, control stream
)

// Message is one message of the protocol; always a pointer to a struct.
type Message interface{ Kind() Kind }

// messages makes an empty message of each kind.
var messages = map[Kind]func() Message{
	KindHello:    func() Message { return new(Hello) },
	KindWelcome:  func() Message { return new(Welcome) },
	KindPing:     func() Message { return new(Ping) },
	KindPong:     func() Message { return new(Pong) },
	KindEnded:    func() Message { return new(Ended) },
	KindDrain:    func() Message { return new(Drain) },
	KindGoodbye:  func() Message { return new(Goodbye) },
	KindRefused:  func() Message { return new(Refused) },
	KindPull:     func() Message { return new(Pull) },
	KindTask:     func() Message { return new(Task) },
	KindCollect:  func() Message { return new(Collect) },
	KindState:    func() Message { return new(State) },
	KindWant:     func() Message { return new(Want) },
	KindBlob:     func() Message { return new(Blob) },
	KindData:     func() Message { return new(Data) },
	KindStarted:  func() Message { return new(Started) },
	KindOutput:   func() Message { return new(Output) },
	KindResult:   func() Message { return new(Result) },
	KindAck:      func() Message { return new(Ack) },
	KindCancel:   func() Message { return new(Cancel) },
	KindWorker:   func() Message { return new(Worker) },
	KindNoBlob:   func() Message { return new(NoBlob) },
	KindFileDone: func() Message { return new(FileDone) },
	KindReset:    func() Message { return new(Reset) },
}

// New returns an empty message of kind k, or nil when the kind is unknown.
func New(k Kind) Message {
	if f, ok := messages[k]; ok {
		return f()
	}
	return nil
}

// String names the kind for errors and logs.
func (k Kind) String() string {
	if m := New(k); m != nil {
		return fmt.Sprintf("%T", m)[len("*wire."):]
	}
	return fmt.Sprintf("kind %d", uint8(k))
}
