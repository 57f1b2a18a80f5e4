package execute_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"volant/wire"
	"volant/wire/value"
)

// Whom sub-tasks become, and how: become is left out for who is that user already.
func TestBecomeOf(t *testing.T) {
	flags, none, sudo := "-x", "", "-H -S -n"
	for name, tt := range map[string]struct {
		keywords string
		want     *wire.Become
	}{
		"another":        {"become: true", &wire.Become{Method: "sudo", User: "root", Exe: "sudo", Flags: &sudo, Timeout: 2}},
		"the login user": {"become: true\n  remote_user: root", nil},
		"by variable":    {"become: true\n  become_user: x\n  vars: {ansible_user: x}", nil},
		"local": {"become: true\n  connection: local\n  become_user: someone",
			&wire.Become{Method: "sudo", User: "someone", Exe: "sudo", Flags: &sudo, Timeout: 10}},
		"su": {"become: true\n  become_method: su\n  vars: {ansible_su_prompt_l10n: [A, B], ansible_become_flags: -x, ansible_timeout: 3}",
			&wire.Become{Method: "su", User: "root", Exe: "su", Flags: &flags, Prompts: []string{"A", "B"}, Timeout: 5}},
		"local su": {"become: true\n  become_method: su\n  become_user: y\n  connection: local\n  vars: {ansible_local_become_success_timeout: 3}",
			&wire.Become{Method: "su", User: "y", Exe: "su", Flags: &none, Timeout: 3}},
		"chdir": {"become: true\n  vars: {ansible_sudo_chdir: /srv}",
			&wire.Become{Method: "sudo", User: "root", Exe: "sudo", Flags: &sudo, Chdir: "/srv", Timeout: 2}},
	} {
		t.Run(name, func(t *testing.T) {
			var got *wire.Become
			s := &scripted{answer: func(_ context.Context, _ string, task *wire.Task) (*value.Dict, error) {
				got = task.Become
				return value.DictOf("changed", true), nil
			}}
			code, out, err := run(t.Context(), t, "a\n", "- hosts: all\n  gather_facts: false\n  "+strings.TrimSpace(tt.keywords)+"\n  tasks: [{ping: }]\n", s)
			if err != nil || code != 0 {
				t.Fatal(code, err, out)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
