package journal

import (
	"fmt"

	"volant/wire"
	"volant/wire/frame"
	"volant/wire/value"
)

// kind is what a record is. Kinds are numbered by hand and never reused.
type kind byte

const (
	kindHeader  kind = 1
	kindFile    kind = 2
	kindPlay    kind = 3
	kindSent    kind = 4
	kindAnswer  kind = 5
	kindOutcome kind = 6
	kindMeta    kind = 7
	kindRedo    kind = 8
	kindResumed kind = 9
	kindEnd     kind = 10
)

// Record is one of the types of this file.
type Record interface{ kind() kind }

// Header begins a file.
type Header struct {
	Run        wire.RunID `cbor:"1,keyasint"`
	SessionKey []byte     `cbor:"2,keyasint"` // seals results that wait on agents
	Created    int64      `cbor:"3,keyasint"` // Unix nanoseconds
	Args       []string   `cbor:"4,keyasint"` // of the command
	Dir        string     `cbor:"5,keyasint"` // it was started in
	Playbooks  []string   `cbor:"6,keyasint"`
	BootID     string     `cbor:"7,keyasint"` // of the controller's machine
	Release    string     `cbor:"8,keyasint"`
	Command    string     `cbor:"9,keyasint"` // name it was called by
}

// File is a file the run read: playbooks, roles, variables, inventory.
type File struct {
	Path string    `cbor:"1,keyasint"`
	Hash wire.Hash `cbor:"2,keyasint"`
}

// Play is what a play began with.
type Play struct {
	Index    uint32    `cbor:"1,keyasint"` // counted over all playbooks of the run
	Hosts    []string  `cbor:"2,keyasint"`
	Prompted wire.Dict `cbor:"3,keyasint"` // packed answers of vars_prompt
}

// Sent precedes a sub-task on its way to an agent.
type Sent struct {
	ID        wire.TaskID `cbor:"1,keyasint"`
	Module    string      `cbor:"2,keyasint"`
	BootID    string      `cbor:"3,keyasint,omitempty"` // of the agent's host
	JournalID string      `cbor:"4,keyasint,omitempty"`
	// Mortal: the agent ends with this process, as the local session does.
	Mortal bool `cbor:"5,keyasint,omitempty"`
}

// Answer is what a sub-task ended with, where its action went on after it.
type Answer struct {
	ID   wire.TaskID `cbor:"1,keyasint"`
	Body []byte      `cbor:"2,keyasint"` // encoded wire.Outcome
}

// Outcome is a task, or an item of its loop, done on a host.
type Outcome struct {
	Host  string `cbor:"1,keyasint"`
	Seq   uint32 `cbor:"2,keyasint"`           // nth task of the run on the host
	Item  uint32 `cbor:"3,keyasint,omitempty"` // item of the loop, from 1; 0: the task
	Where uint32 `cbor:"4,keyasint,omitempty"` // which task of the playbook: see Place
	// Joined: the result of a loop, to be made of its items' again.
	Joined bool `cbor:"5,keyasint,omitempty"`
	Loop   bool `cbor:"6,keyasint,omitempty"`

	Status       int64      `cbor:"7,keyasint,omitempty"`
	Value        wire.Dict  `cbor:"8,keyasint"` // packed
	Err          *Text      `cbor:"9,keyasint,omitempty"`
	Warnings     []*Text    `cbor:"10,keyasint,omitempty"`
	Deprecations [][]string `cbor:"11,keyasint,omitempty"`

	Marked           bool      `cbor:"12,keyasint,omitempty"`
	ArgMarks         []string  `cbor:"13,keyasint,omitempty"`
	IgnoreErrors     bool      `cbor:"14,keyasint,omitempty"`
	IgnoreUnreach    bool      `cbor:"15,keyasint,omitempty"`
	Delegate         string    `cbor:"16,keyasint,omitempty"`
	DelegateFacts    bool      `cbor:"17,keyasint,omitempty"`
	Notify           []string  `cbor:"18,keyasint,omitempty"`
	RunOnce          bool      `cbor:"19,keyasint,omitempty"`
	Includes         bool      `cbor:"20,keyasint,omitempty"`
	IncludeFile      string    `cbor:"21,keyasint,omitempty"`
	IncludeArgs      wire.Dict `cbor:"22,keyasint"` // packed
	Held             wire.Dict `cbor:"23,keyasint"` // packed
	Check            bool      `cbor:"24,keyasint,omitempty"`
	Diff             bool      `cbor:"25,keyasint,omitempty"`
	NoLog            bool      `cbor:"26,keyasint,omitempty"`
	ShownUnreachable bool      `cbor:"27,keyasint,omitempty"`
	ShownDelegate    string    `cbor:"28,keyasint,omitempty"`
}

// Text is an error or warning as it is shown: a chain of messages.
type Text struct {
	Msg     string  `cbor:"1,keyasint"`
	Help    string  `cbor:"2,keyasint,omitempty"`
	File    string  `cbor:"3,keyasint,omitempty"`
	Line    int     `cbor:"4,keyasint,omitempty"`
	Column  int     `cbor:"5,keyasint,omitempty"`
	Excerpt string  `cbor:"6,keyasint,omitempty"`
	During  bool    `cbor:"7,keyasint,omitempty"`
	AsIs    bool    `cbor:"8,keyasint,omitempty"`
	Kind    int     `cbor:"9,keyasint,omitempty"`
	Cause   *Text   `cbor:"10,keyasint,omitempty"`
	Parts   []*Text `cbor:"11,keyasint,omitempty"`
}

// Meta is a decision of a meta task on a host.
type Meta struct {
	Host  string `cbor:"1,keyasint"`
	Seq   uint32 `cbor:"2,keyasint"`
	Where uint32 `cbor:"3,keyasint,omitempty"`
	OK    bool   `cbor:"4,keyasint,omitempty"` // its condition held
}

// Redo says that a task's outcome was thrown away and the task ran again.
type Redo struct {
	Host string `cbor:"1,keyasint"`
	Seq  uint32 `cbor:"2,keyasint"`
}

// Resumed says that another process went on.
type Resumed struct {
	Time   int64  `cbor:"1,keyasint"`
	BootID string `cbor:"2,keyasint"`
}

// End says that the run is over, or, interrupted, that it ended in good order
// before it was.
type End struct {
	Time        int64 `cbor:"1,keyasint"`
	Code        int64 `cbor:"2,keyasint,omitempty"`
	Interrupted bool  `cbor:"3,keyasint,omitempty"`
}

func (*Header) kind() kind  { return kindHeader }
func (*File) kind() kind    { return kindFile }
func (*Play) kind() kind    { return kindPlay }
func (*Sent) kind() kind    { return kindSent }
func (*Answer) kind() kind  { return kindAnswer }
func (*Outcome) kind() kind { return kindOutcome }
func (*Meta) kind() kind    { return kindMeta }
func (*Redo) kind() kind    { return kindRedo }
func (*Resumed) kind() kind { return kindResumed }
func (*End) kind() kind     { return kindEnd }

// records makes an empty record of each kind.
var records = map[kind]func() Record{
	kindHeader: func() Record { return new(Header) }, kindFile: func() Record { return new(File) },
	kindPlay: func() Record { return new(Play) }, kindSent: func() Record { return new(Sent) },
	kindAnswer: func() Record { return new(Answer) }, kindOutcome: func() Record { return new(Outcome) },
	kindMeta: func() Record { return new(Meta) }, kindRedo: func() Record { return new(Redo) },
	kindResumed: func() Record { return new(Resumed) }, kindEnd: func() Record { return new(End) },
}

// encode is the body of a record; its kind and length stand before it in a frame.
func encode(r Record) ([]byte, error) {
	body, err := frame.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("encoding a record of the run: %w", err)
	}
	return body, nil
}

func decode(k kind, body []byte) (Record, error) {
	empty := records[k]
	if empty == nil {
		return nil, nil // of a later version, and nothing to us
	}
	r := empty()
	if err := frame.Unmarshal(body, r); err != nil {
		return nil, fmt.Errorf("decoding a record of the run: %w", err)
	}
	return r, nil
}

// Place names a task of the playbook in a record: enough to notice that a run
// takes another way than before.
func Place(p value.Pos, action string) uint32 {
	h := uint32(2166136261) // FNV-1a
	add := func(b byte) { h = (h ^ uint32(b)) * 16777619 }
	for i := range len(p.File) {
		add(p.File[i])
	}
	for _, n := range [2]int{p.Line, p.Column} {
		add(byte(n))
		add(byte(n >> 8))
	}
	for i := range len(action) {
		add(action[i])
	}
	return h
}
