package fleet

import (
	"testing"

	"volant/wire"
)

func TestUsesAgent(t *testing.T) {
	for name, c := range map[string]struct {
		task wire.Task
		want bool
	}{
		"a command":            {wire.Task{Module: "ansible.builtin.command", Native: true}, true},
		"by its short name":    {wire.Task{Module: "git", Native: true}, true},
		"a module of Python":   {wire.Task{Module: "community.general.hg"}, true},
		"a native":             {wire.Task{Module: "ansible.builtin.file", Native: true}, false},
		"as another user":      {wire.Task{Module: "ansible.builtin.command", Native: true, Become: &wire.Become{}}, false},
		"Python, another user": {wire.Task{Module: "ansible.builtin.pip", Become: &wire.Become{}}, false},
	} {
		if got := usesAgent(&c.task); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
