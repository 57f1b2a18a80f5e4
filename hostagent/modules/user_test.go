package modules

import (
	"regexp"
	"testing"

	"volant/wire/value"
)

const someHash = "$6$abcdefgh$iIwJqWGWPRTlGOGpjwEkLJgz8b5pNxpFaLqAoaKbgwZb0dWz2d5gGQqkqUcNA1EpJIgVQHmO1T0A6zQrYkS6b0"

func TestUserIsThePythonModule(t *testing.T) {
	if !inSandbox(t) {
		return
	}
	l := func(items ...any) *value.List { return value.ListOf(items...) }
	u := shell("useradd -m -u 7001 -c 'Some One' -s /bin/sh someone; groupadd extra; groupadd more")
	arg := func(kv ...any) *value.Dict {
		a := value.DictOf("name", "someone")
		a.Update(value.DictOf(kv...))
		return a
	}
	d := systemWide(t)
	d.test(t, "user", []diffCase{
		{name: "there", args: value.DictOf("name", "root")},
		{name: "as it is", args: value.DictOf("name", "root", "uid", int64(0), "group", "root", "home", "/root")},
		{name: "group by number", args: value.DictOf("name", "root", "group", "0")},
		{name: "no groups", args: value.DictOf("name", "root", "groups", l())},
		{name: "empty groups text", args: value.DictOf("name", "root", "groups", "")},
		{name: "append nothing", args: value.DictOf("name", "root", "groups", l(), "append", true)},
		{name: "append without groups", args: value.DictOf("name", "root", "append", true)},
		{name: "no such group", args: value.DictOf("name", "root", "group", "nobody-there")},
		{name: "no such groups", args: value.DictOf("name", "root", "groups", l("nobody-there"), "append", true)},
		{name: "no home wanted", args: value.DictOf("name", "nobody", "create_home", false)},
		{name: "password on create", args: value.DictOf("name", "root", "password", "*", "update_password", "on_create")},
		{name: "absent", args: value.DictOf("name", "nobody-there", "state", "absent", "remove", true)},
		{name: "key comment", args: value.DictOf("name", "root", "ssh_key_comment", "x")},
		{name: "bad number", args: value.DictOf("name", "root", "uid", "x")},
		{name: "no name", args: value.DictOf()},
		{name: "unknown", args: value.DictOf("name", "root", "x", "y")},

		{name: "new", args: arg()},
		{name: "new with all", args: arg("uid", int64(7002), "comment", "a b", "shell", "/bin/bash", "groups", "adm,extra", "group", "more",
			"password", someHash, "expires", int64(1893456000), "system", true), setup: shell("groupadd extra; groupadd more")},
		{name: "new, group of that name", args: arg(), setup: shell("groupadd someone")},
		{name: "new, no home", args: arg("create_home", false)},
		{name: "new, home elsewhere", args: arg("home", "/srv/x")},
		{name: "new, home without parent", args: arg("home", "/srv/x/y/z")},
		{name: "new, skeleton", args: arg("skeleton", "/etc/skel2"), setup: shell("mkdir -p /etc/skel2/d; echo x >/etc/skel2/d/f; ln -s f /etc/skel2/d/l")},
		{name: "new, skeleton and no parent", args: arg("skeleton", "/etc/skel2", "home", "/srv/a/b"), setup: shell("mkdir -p /etc/skel2/d; echo x >/etc/skel2/d/f; ln -s f /etc/skel2/d/l")},
		{name: "new, umask", args: arg("umask", "0077")},
		{name: "new, range", args: arg("uid_min", int64(8000), "uid_max", int64(8010))},
		{name: "new, locked", args: arg("password", someHash, "password_lock", true)},
		{name: "new, never expires", args: arg("expires", int64(-1))},
		{name: "new, odd password", args: arg("password", "secret1")},
		{name: "new, number taken", args: arg("uid", int64(0))},
		{name: "new, number shared", args: arg("uid", int64(0), "non_unique", true)},
		{name: "new, age", args: arg("password_expire_max", int64(90), "password_expire_min", int64(2), "password_expire_warn", int64(5))},
		{name: "new, disabled after", args: arg("password_expire_account_disable", int64(15)), once: true},
		{name: "new, no such group", args: arg("group", "nobody-there")},
		{name: "new, no such groups", args: arg("groups", "nobody-there")},
		{name: "new, bad name", args: value.DictOf("name", "a b")},
		{name: "number changes", args: arg("uid", int64(7010)), setup: u},
		{name: "main group changes", args: arg("group", "extra"), setup: u},
		{name: "groups set", args: arg("groups", l("extra", "more")), setup: u},
		{name: "groups appended", args: arg("groups", l("more"), "append", true), setup: all(u, shell("usermod -G extra someone"))},
		{name: "groups replaced", args: arg("groups", l("more")), setup: all(u, shell("usermod -G extra someone"))},
		{name: "groups emptied", args: arg("groups", ""), setup: all(u, shell("usermod -G extra,more someone"))},
		{name: "groups there", args: arg("groups", "extra, more"), setup: all(u, shell("usermod -G extra,more someone"))},
		{name: "groups there, appended", args: arg("groups", "extra", "append", true), setup: all(u, shell("usermod -G extra,more someone"))},
		{name: "comment, shell", args: arg("comment", "Else", "shell", "/bin/bash"), setup: u},
		{name: "home moves", args: arg("home", "/srv/someone", "move_home", true), setup: u},
		{name: "home changes", args: arg("home", "/srv/someone"), setup: u},
		{name: "home changes, none made", args: arg("home", "/srv/someone", "create_home", false), setup: u},
		{name: "home is gone", args: arg(), setup: all(u, shell("rm -r /home/someone"))},
		{name: "password changes", args: arg("password", someHash), setup: u},
		{name: "password there", args: arg("password", someHash), setup: all(u, shell("usermod -p '"+someHash+"' someone"))},
		{name: "password there but locked", args: arg("password", someHash, "password_lock", false), setup: all(u, shell("usermod -p '!"+someHash+"' someone"))},
		{name: "password changes and locks", args: arg("password", someHash, "password_lock", true), setup: u},
		{name: "lock", args: arg("password_lock", true), setup: all(u, shell("usermod -p x someone"))},
		{name: "unlock", args: arg("password_lock", false), setup: all(u, shell("usermod -p '!"+someHash+"' someone"))},
		{name: "unlock nothing", args: arg("password_lock", false), setup: u},
		{name: "expires", args: arg("expires", 1893456000.5), setup: u},
		{name: "expires, there", args: arg("expires", int64(1893456000)), setup: all(u, shell("usermod -e 2030-01-01 someone"))},
		{name: "expires no more", args: arg("expires", int64(-1)), setup: all(u, shell("usermod -e 2030-01-01 someone"))},
		{name: "never expired", args: arg("expires", int64(-1)), setup: u},
		{name: "age", args: arg("password_expire_max", int64(90), "password_expire_min", int64(0)), setup: u},
		{name: "age there", args: arg("password_expire_max", int64(90)), setup: all(u, shell("chage -M 90 someone"))},
		{name: "disabled after", args: arg("password_expire_account_disable", int64(15)), setup: u},
		{name: "no such group for usermod", args: arg("group", "nobody-there"), setup: u},
		{name: "number taken", args: arg("uid", int64(0)), setup: u},
		{name: "several at once", args: arg("uid", int64(7011), "groups", "extra", "comment", "", "shell", "/bin/false", "password", "!"), setup: u},
		{name: "key there", args: arg("generate_ssh_key", true), setup: all(u, shell("mkdir /home/someone/.ssh; ssh-keygen -q -t rsa -b 2048 -N '' -C fixed -f /home/someone/.ssh/id_rsa; "+
			"cp /tmp/.vkey /home/someone/.ssh/id_rsa 2>/dev/null && cp /tmp/.vkey.pub /home/someone/.ssh/id_rsa.pub || { cp /home/someone/.ssh/id_rsa /tmp/.vkey; cp /home/someone/.ssh/id_rsa.pub /tmp/.vkey.pub; }"))},
		{name: "key in a home that is gone", args: arg("generate_ssh_key", true, "create_home", false), setup: all(u, shell("rm -r /home/someone"))},
		{name: "key with a passphrase", args: arg("generate_ssh_key", true, "ssh_key_passphrase", "abcdefg"), setup: u, handBack: true, once: true},
		{name: "removed", args: arg("state", "absent"), setup: u},
		{name: "removed with home", args: arg("state", "absent", "remove", true), setup: u},
		{name: "removed by force", args: arg("state", "absent", "remove", true, "force", true), setup: u},
		{name: "main group of another", args: arg("state", "absent"), setup: all(u, shell("useradd -g someone other"))},
		{name: "options of other systems", args: arg("login_class", "x", "profile", "x", "hidden", true), setup: u},
		{name: "local", args: arg("local", true), setup: u, handBack: true},
	})
	d.volatile = func(s string) string { return keyText.ReplaceAllString(s, "KEY") }
	d.test(t, "user", []diffCase{
		{name: "key made", args: arg("generate_ssh_key", true, "ssh_key_type", "ed25519", "ssh_key_comment", "c"), setup: u},
		{name: "key made elsewhere", args: arg("generate_ssh_key", true, "ssh_key_type", "ed25519", "ssh_key_file", ".ssh/x"), setup: u},
		{name: "key made by force", args: arg("generate_ssh_key", true, "force", true, "ssh_key_type", "ed25519"), once: true,
			checkChanges: true, // ssh_key_gen removes the public key first, whatever the mode
			setup:        all(u, shell("mkdir /home/someone/.ssh; ssh-keygen -q -t ed25519 -N '' -f /home/someone/.ssh/id_ed25519"))},
	})
}

var keyText = regexp.MustCompile(`AAAA[A-Za-z0-9+/=]+|SHA256:[A-Za-z0-9+/=]+|-----BEGIN.*-----\\n|\|[^|]*\||[ .*+=oOBXSEo@%&^/#-]{10,}`)
