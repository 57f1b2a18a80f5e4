package modules

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"volant/wire/value"
)

// TestAuthorizedKeyLeavesWhatIsNotTheUsers: a link that a user makes must not have root give files away, or write the
// user's key where another's are.
func TestAuthorizedKeyLeavesWhatIsNotTheUsers(t *testing.T) {
	if !inSandbox(t) {
		return
	}
	box := newSandbox(t)
	const like = "%s %o %d"
	look := func(path string) string {
		var st syscall.Stat_t
		if err := syscall.Lstat(path, &st); err != nil {
			return err.Error()
		}
		return fmt.Sprintf(like, path, st.Mode, st.Uid)
	}
	for name, tc := range map[string]struct {
		setup  string
		args   []any
		fails  bool
		leaves []string // must stay as they are
		gives  string   // becomes the user's own, a file or link no more
	}{
		"file leads away":     {setup: "ln -s /etc/shadow .ssh/authorized_keys", leaves: []string{"/etc/shadow"}, fails: true},
		"file leads inside":   {setup: "echo >.ssh/keys; ln -s keys .ssh/authorized_keys", gives: ".ssh/authorized_keys"},
		"file leads to own":   {setup: "echo >/srv/keys; chown someone /srv/keys; ln -s /srv/keys .ssh/authorized_keys", gives: ".ssh/authorized_keys"},
		"by path":             {setup: "ln -s /etc/shadow .ssh/k", args: []any{"path", "/home/someone/.ssh/k"}, leaves: []string{"/etc/shadow", "/home/someone/.ssh/k"}, fails: true},
		"unmanaged directory": {setup: "ln -s /etc/shadow .ssh/authorized_keys", args: []any{"manage_dir", false}, leaves: []string{"/etc/shadow"}, fails: true},
		"directory leads away": {setup: "rmdir .ssh; mkdir -m 700 /srv/root; echo >/srv/root/authorized_keys; ln -s /srv/root .ssh", fails: true,
			leaves: []string{"/srv/root", "/srv/root/authorized_keys"}},
		"directory leads to own":    {setup: "rmdir .ssh; mkdir /srv/x; chown someone /srv/x; ln -s /srv/x .ssh", gives: ".ssh/authorized_keys"},
		"directory leads in home":   {setup: "mv .ssh ssh; ln -s ssh .ssh", gives: ".ssh/authorized_keys"},
		"follow takes it on itself": {setup: "echo >/srv/keys; ln -s /srv/keys .ssh/authorized_keys", args: []any{"follow", true}, gives: "/srv/keys"},
	} {
		t.Run(name, func(t *testing.T) {
			box.fresh(t)
			shell("useradd -m someone; cd /home/someone; mkdir -m 700 .ssh; "+tc.setup+"; chown -h someone .ssh .ssh/* || true")(t, t.TempDir())
			was := map[string]string{}
			for _, p := range tc.leaves {
				was[p] = look(p)
			}
			args := value.DictOf("user", "someone", "key", "ssh-ed25519 AAAA me")
			for i := 0; i < len(tc.args); i += 2 {
				args.Set(tc.args[i], tc.args[i+1])
			}
			res, err := alone(t, "ansible.posix.authorized_key", t.TempDir(), nil, args)
			if err != nil || res.Bool("failed") != tc.fails {
				t.Errorf("%v, %v", value.Repr(res), err)
			}
			for _, p := range tc.leaves {
				if is := look(p); is != was[p] {
					t.Errorf("%s was %s", is, was[p])
				}
			}
			if tc.gives == "" {
				return
			}
			path := pyJoin("/home/someone", tc.gives)
			if got, want := look(path), fmt.Sprintf(like, path, syscall.S_IFREG|0o600, userID(t, "someone")); got != want {
				t.Errorf("%s, want %s", got, want)
			}
			if b, err := os.ReadFile(path); err != nil || !strings.HasSuffix(string(b), "ssh-ed25519 AAAA me\n") {
				t.Errorf("%s, %v", b, err)
			}
		})
	}
}

func userID(t *testing.T, name string) uint32 {
	t.Helper()
	id, ok := users.id(name)
	if !ok {
		t.Fatalf("there is no user %s", name)
	}
	return id
}
