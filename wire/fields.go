package wire

import "volant/wire/value"

// Body is a message, or a part of one, that writes and reads its own encoding.
// What travels with every sub-task does: it is done for each of them on both
// sides, and reflection took a seventh of an agent's time. The bytes are the same
// as those that its struct tags describe; frame.TestBodies holds them to that.
type Body interface {
	// AppendBody appends the encoding to b.
	AppendBody(b []byte) ([]byte, error)
	// ParseBody reads what AppendBody wrote, or a later version of it: keys it
	// does not know are skipped. It keeps nothing of b.
	ParseBody(b []byte) error
}

// Fields writes a mapping with integer keys below 24, in ascending order: the
// encoding of a struct. Empty values are left out but where Always is in the name.
type Fields struct {
	B  []byte
	at int
}

// NewFields begins a mapping behind b.
func NewFields(b []byte) Fields { return Fields{B: append(b, 0xa0), at: len(b)} }

// key begins a field; fewer than 24 of them keep the head at one byte.
func (f *Fields) key(k byte) {
	f.B[f.at]++
	f.B = append(f.B, k)
}

// Int writes n unless it is 0.
func (f *Fields) Int(k byte, n int64) {
	if n != 0 {
		f.IntAlways(k, n)
	}
}

// IntAlways writes n.
func (f *Fields) IntAlways(k byte, n int64) {
	f.key(k)
	f.B = appendInt(f.B, n)
}

// Text writes s unless it is empty.
func (f *Fields) Text(k byte, s string) {
	if s != "" {
		f.TextAlways(k, s)
	}
}

// TextAlways writes s.
func (f *Fields) TextAlways(k byte, s string) {
	f.key(k)
	f.B = appendText(f.B, s)
}

// Bool writes true; false is left out.
func (f *Fields) Bool(k byte, v bool) {
	if v {
		f.key(k)
		f.B = append(f.B, 0xf5)
	}
}

// Bytes writes p unless it is empty.
func (f *Fields) Bytes(k byte, p []byte) {
	if len(p) > 0 {
		f.BytesAlways(k, p)
	}
}

// BytesAlways writes p; nil is null.
func (f *Fields) BytesAlways(k byte, p []byte) {
	f.key(k)
	if p == nil {
		f.B = append(f.B, 0xf6)
		return
	}
	f.B = append(appendHead(f.B, 2, uint64(len(p))), p...)
}

// Hash writes h.
func (f *Fields) Hash(k byte, h *Hash) {
	f.key(k)
	f.B = append(appendHead(f.B, 2, uint64(len(h))), h[:]...)
}

// ID writes a sub-task's name.
func (f *Fields) ID(k byte, id *TaskID) {
	f.key(k)
	f.B = id.append(f.B)
}

// texts writes a list unless it is empty.
func (f *Fields) texts(k byte, list []string) {
	if len(list) == 0 {
		return
	}
	f.key(k)
	f.B = appendHead(f.B, 4, uint64(len(list)))
	for _, s := range list {
		f.B = appendText(f.B, s)
	}
}

func (f *Fields) vars(k byte, list []EnvVar) {
	if len(list) == 0 {
		return
	}
	f.key(k)
	f.B = appendHead(f.B, 4, uint64(len(list)))
	for i := range list {
		f.B = appendText(append(appendText(append(f.B, 0xa2, 1), list[i].Name), 2), list[i].Value)
	}
}

func (f *Fields) dict(k byte, d *value.Dict) (err error) {
	f.key(k)
	if d == nil {
		f.B = append(f.B, 0xf6)
		return nil
	}
	f.B, err = appendDict(f.B, d, 0)
	return err
}

func (id *TaskID) append(b []byte) []byte {
	f := NewFields(b)
	f.Text(1, id.Host)
	f.Int(2, int64(id.Step))
	f.Int(3, int64(id.Item))
	f.Int(4, int64(id.Attempt))
	f.Int(5, int64(id.N))
	return f.B
}
