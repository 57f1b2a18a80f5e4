package hostagent

import (
	"bytes"
	"testing"

	"volant/wire"
	"volant/wire/frame"
)

// TestHand: a worker gets the sub-task as it came, but never a password, nor
// anything else of how it was become where there is one.
func TestHand(t *testing.T) {
	for _, password := range []string{"", "hush"} {
		task := &wire.Task{ID: wire.TaskID{Host: "h", Step: 3}, Module: "ping", Become: &wire.Become{User: "root", Password: password}}
		raw, err := frame.Marshal(task)
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		r := &relay{w: &worker{w: frame.NewWriter(&b)}, t: &talk{task: raw}}
		if err := r.hand(task); err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(b.Bytes(), []byte("hush")) {
			t.Error("the password was handed on")
		}
		if password == "" != bytes.HasSuffix(b.Bytes(), raw) {
			t.Errorf("password %q: handed %x of %x", password, b.Bytes(), raw)
		}
		m, err := frame.NewReader(&b).Read()
		if got, ok := m.(*wire.Task); err != nil || !ok || got.ID != task.ID {
			t.Errorf("handed %#v, %v", m, err)
		}
	}
}
