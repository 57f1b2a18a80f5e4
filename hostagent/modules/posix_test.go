package modules

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"volant/hostagent/python/coretest"
	"volant/wire/value"
)

// posix is a differ for modules of ansible.posix, which is in the reference's
// packages or in the collections path that VOLANT_TEST_COLLECTIONS names.
func posix(t *testing.T, d *differ) *differ {
	t.Helper()
	root := ""
	for _, dir := range []string{os.Getenv("VOLANT_TEST_COLLECTIONS"), filepath.Dir(d.core.Path)} {
		if p := filepath.Join(dir, "ansible_collections/ansible/posix/plugins"); dir != "" && exists(p) {
			root = p
			break
		}
	}
	if root == "" {
		t.Skip("no ansible.posix: set VOLANT_TEST_COLLECTIONS to a collections path")
	}
	d.source = func(t testing.TB, dir, module string) (string, string) {
		t.Helper()
		short := module[strings.LastIndexByte(module, '.')+1:]
		for _, kind := range []string{"modules", "module_utils"} {
			files, _ := filepath.Glob(filepath.Join(root, kind, "*.py"))
			to := filepath.Join(dir, "ansible_collections/ansible/posix/plugins", kind)
			if err := os.MkdirAll(to, 0o755); err != nil {
				t.Fatal(err)
			}
			for _, f := range files {
				b, err := os.ReadFile(f)
				if err == nil {
					err = os.WriteFile(filepath.Join(to, filepath.Base(f)), b, 0o644)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
		}
		_, _ = coretest.Source(t, dir, "none", "") // the package around it
		return "ansible_collections/ansible/posix/plugins/modules/" + short + ".py", "ansible_collections.ansible.posix.plugins.modules." + short
	}
	return d
}

func TestPosixSysctlIsThePythonModule(t *testing.T) {
	if !inSandbox(t) {
		return
	}
	arg := func(kv ...any) *value.Dict {
		a := value.DictOf("sysctl_file", "@D/s.conf", "reload", false)
		a.Update(value.DictOf(kv...))
		return a
	}
	f := mkfile("s.conf", "# mine\nvm.swappiness = 60\n\n; other\nkernel.x=1\nkernel.x=2\nnet.ipv4.ip_forward=1", 0o640)
	d := posix(t, systemWide(t))
	d.test(t, "ansible.posix.sysctl", []diffCase{
		{name: "new", args: arg("name", "vm.x", "value", "1"), setup: f},
		{name: "new file", args: arg("name", "vm.x", "value", "1")},
		{name: "there", args: arg("name", "vm.swappiness", "value", "60"), setup: f},
		{name: "changes", args: arg("name", "vm.swappiness", "value", "10"), setup: f},
		{name: "twice", args: arg("name", "kernel.x", "value", "3"), setup: f},
		{name: "truth word", args: arg("name", "net.ipv4.ip_forward", "value", true), setup: f},
		{name: "false word", args: arg("name", "net.ipv4.ip_forward", "value", "no"), setup: f},
		{name: "spaces", args: arg("name", " vm.swappiness ", "value", " 60 "), setup: f},
		{name: "several words", args: arg("name", "net.ipv4.tcp_rmem", "value", "4096 1 2"), setup: f},
		{name: "removed", args: arg("name", "vm.swappiness", "state", "absent"), setup: f},
		{name: "removed, none", args: arg("name", "vm.none", "state", "absent"), setup: f},
		{name: "removed, no file", args: arg("name", "vm.none", "state", "absent")},
		{name: "kernel has it", args: arg("name", "kernel.ostype", "value", "Linux", "reload", true, "ignoreerrors", true), setup: mkfile("s.conf", "kernel.ostype=Linux\n", 0o644)},
		{name: "kernel has another", args: arg("name", "kernel.ostype", "value", "Unix", "reload", true), setup: mkfile("s.conf", "kernel.ostype=Unix\n", 0o644)},
		{name: "reload fails", args: arg("name", "no.such.thing", "value", "1", "reload", true)},
		{name: "reload ignoring", args: arg("name", "no.such.thing", "value", "1", "reload", true, "ignoreerrors", true)},
		{name: "set what is", args: arg("name", "kernel.ostype", "value", "Linux", "sysctl_set", true), setup: f},
		{name: "set what cannot be", args: arg("name", "kernel.ostype", "value", "Unix", "sysctl_set", true), setup: f},
		{name: "set nothing there", args: arg("name", "no.such.thing", "value", "1", "sysctl_set", true)},
		{name: "through a link", args: arg("name", "vm.x", "value", "1", "sysctl_file", "@D/l"), setup: all(f, symlink("l", "s.conf"))},
		{name: "own file of the system", args: value.DictOf("name", "vm.x", "value", "1", "reload", false), setup: shell("rm -f /etc/sysctl.conf")},
		{name: "keeps owner", args: arg("name", "vm.x", "value", "1"), setup: all(f, chown("s.conf", 7, 8))},
		{name: "slash", args: arg("name", "vm/swappiness", "value", "60"), setup: f},
		{name: "quotes", args: arg("name", "vm.x", "value", "a'b"), setup: f, handBack: true},
		{name: "blank name", args: arg("name", "", "value", "1")},
		{name: "blank value", args: arg("name", "vm.x", "value", "")},
		{name: "no value", args: arg("name", "vm.x")},
		{name: "carriage returns", args: arg("name", "vm.x", "value", "1"), setup: mkfile("s.conf", "a=1\r\n", 0o644), handBack: true},
		{name: "no name", args: arg("value", "1")},
		{name: "unknown", args: arg("name", "x", "value", "1", "x", "y")},
	})
}

func TestPosixMountIsThePythonModule(t *testing.T) {
	arg := func(kv ...any) *value.Dict {
		a := value.DictOf("fstab", "@D/fstab", "src", "/dev/vdz", "fstype", "ext4", "path", "/mnt/data", "state", "present")
		a.Update(value.DictOf(kv...))
		return a
	}
	f := mkfile("fstab", "# fstab\n\n/dev/vda / ext4 defaults 0 1\n/dev/vdy /mnt/other\text4 noatime 0 0\n/swap none swap sw 0 0\nproc /proc proc defaults 0 0", 0o644)
	there := mkfile("fstab", "/dev/vdz /mnt/data ext4 defaults 0 0\n", 0o644)
	fstab := posix(t, newDiffer(t))
	fstab.sampled = true
	fstab.test(t, "ansible.posix.mount", []diffCase{
		{name: "new", args: arg(), setup: f},
		{name: "there", args: arg(), setup: there},
		{name: "there, tabs", args: arg(), setup: mkfile("fstab", "/dev/vdz\t/mnt/data\text4\tdefaults\t0\t0\n", 0o644)},
		{name: "there, short", args: arg(), setup: mkfile("fstab", "/dev/vdz /mnt/data ext4 defaults\n", 0o644)},
		{name: "twice", args: arg("opts", "ro"), setup: mkfile("fstab", "/dev/vdz /mnt/data ext4 defaults 0 0\n/dev/vdz /mnt/data ext4 ro 0 0\n", 0o644)},
		{name: "options change", args: arg("opts", "noatime,ro", "dump", "1", "passno", int64(2)), setup: there},
		{name: "source changes", args: arg("src", "UUID=1 2&3"), setup: there},
		{name: "not at boot", args: arg("boot", false), setup: there},
		{name: "noauto", args: arg("opts", "noauto"), setup: there, handBack: true},
		{name: "noauto, not at boot", args: arg("opts", "noauto", "boot", false), setup: there},
		{name: "swap", args: arg("path", "none", "src", "/swap", "fstype", "swap", "opts", "sw"), setup: f},
		{name: "another swap", args: arg("path", "none", "src", "/swap2", "fstype", "swap", "opts", "sw"), setup: f},
		{name: "space in name", args: arg("path", "/mnt/a b"), setup: f},
		{name: "comment in line", args: arg(), setup: mkfile("fstab", "/dev/vdz /mnt/data ext4 defaults 0 0 # mine\n", 0o644), handBack: true, once: true},
		{name: "no fstab", args: arg(), handBack: true},
		{name: "mounted as asked", args: arg("path", "/proc", "src", "proc", "fstype", "proc", "state", "mounted"), setup: f},
		{name: "gone from fstab", args: arg("state", "absent_from_fstab"), setup: there},
		{name: "not in fstab", args: arg("state", "absent_from_fstab"), setup: f},
		{name: "gone from fstab, without source", args: value.DictOf("path", "/mnt/other", "fstab", "@D/fstab", "state", "absent_from_fstab"), setup: f},
		{name: "absent", args: value.DictOf("path", "/mnt/none", "fstab", "@D/fstab", "state", "absent"), setup: f},
		{name: "absent from both", args: value.DictOf("path", "/mnt/none", "fstab", "@D/fstab", "state", "absent"), setup: mkfile("fstab", "/dev/x /mnt/none ext4 defaults 0 0\n", 0o644), handBack: true},
		{name: "not mounted", args: value.DictOf("path", "@D/none", "fstab", "@D/fstab", "state", "unmounted"), setup: f},
		{name: "options not shown", args: arg("opts", "password=x", "opts_no_log", true), setup: f, handBack: true},
		{name: "no source", args: value.DictOf("path", "/x", "state", "present")},
		{name: "bad state", args: arg("state", "x")},
	})
	d := posix(t, newDiffer(t))
	d.test(t, "ansible.posix.mount", []diffCase{{name: "backup", args: arg("backup", true), setup: f, once: true}})
}

func TestPosixAuthorizedKeyIsThePythonModule(t *testing.T) {
	if !inSandbox(t) {
		return
	}
	const (
		one = "ssh-ed25519 AAAAone one@here"
		two = "ssh-rsa AAAAtwo two words"
	)
	u := shell("useradd -m someone")
	file := func(text string) func(*testing.T, string) {
		return all(u, shell("mkdir -m 700 /home/someone/.ssh"), func(t *testing.T, _ string) {
			must(t, os.WriteFile("/home/someone/.ssh/authorized_keys", []byte(text), 0o600))
		}, shell("chown -R someone:someone /home/someone/.ssh"))
	}
	mixed := file("# mine\n" + one + "\n\n" + `from="10.0.0.1,10.0.0.2",no-pty ` + two + "\nnot a key\n")
	arg := func(kv ...any) *value.Dict {
		a := value.DictOf("user", "someone", "key", one)
		a.Update(value.DictOf(kv...))
		return a
	}
	d := posix(t, systemWide(t))
	d.test(t, "ansible.posix.authorized_key", []diffCase{
		{name: "new", args: arg(), setup: u},
		{name: "there", args: arg(), setup: mixed},
		{name: "added", args: arg("key", "ecdsa-sha2-nistp256 AAAAthree"), setup: mixed},
		{name: "several", args: arg("key", one+"\n# note\n\n"+two+"\nssh-rsa AAAA3 c\n"), setup: mixed},
		{name: "comment changes", args: arg("comment", "other"), setup: mixed},
		{name: "options given", args: arg("key_options", `no-agent-forwarding,command="a, b",from='c'`), setup: mixed},
		{name: "options there", args: arg("key", two, "key_options", `no-pty,from="10.0.0.1,10.0.0.2"`), setup: mixed},
		{name: "options in the key", args: arg("key", `no-pty,from="10.0.0.1,10.0.0.2" `+two), setup: mixed},
		{name: "exclusive", args: arg("key", two+"\n"+one, "exclusive", true), setup: mixed},
		{name: "exclusive there", args: arg("exclusive", true), setup: file(one + "\n")},
		{name: "removed", args: arg("state", "absent"), setup: mixed},
		{name: "removed, none", args: arg("state", "absent", "key", "ssh-rsa AAAAnone"), setup: mixed},
		{name: "removed, no file", args: arg("state", "absent"), setup: u},
		{name: "path", args: arg("path", "@D/keys", "manage_dir", false), setup: u},
		{name: "path in directories", args: arg("path", "@D/a/b/keys", "manage_dir", false), setup: u},
		{name: "path, directory made", args: arg("path", "@D/a/keys"), setup: u},
		{name: "path, no directory made", args: arg("path", "@D/a/b/keys"), setup: u, once: true},
		{name: "link replaced", args: arg("path", "@D/l", "manage_dir", false), setup: all(u, mkfile("f", two+"\n", 0o644), symlink("l", "f"))},
		{name: "link followed", args: arg("path", "@D/l", "manage_dir", false, "follow", true), setup: all(u, mkfile("f", two+"\n", 0o644), symlink("l", "f"))},
		{name: "escaped mark", args: arg("key", `ssh-rsa AAAA4 a\#b`), setup: u},
		{name: "open end", args: arg("key", two), setup: file(one)},
		{name: "no comment", args: arg("key", "ssh-rsa AAAA5"), setup: file("ssh-rsa AAAA5\n")},
		{name: "twice in the file", args: arg("key", two), setup: file(one + "\n" + one + "\n" + one + "\n")},
		{name: "no key", args: arg("key", "nonsense"), setup: u},
		{name: "kind only", args: arg("key", "ssh-rsa"), setup: u, handBack: true},
		{name: "URL", args: arg("key", "http://127.0.0.1:1/x"), setup: u, handBack: true, once: true},
		{name: "no user", args: arg("user", "nobody-there"), setup: u},
		{name: "no user, path", args: arg("user", "nobody-there", "path", "@D/keys")},
		{name: "carriage returns", args: arg(), setup: file(two + "\r\n"), handBack: true},
		{name: "no key argument", args: value.DictOf("user", "root")},
		{name: "unknown", args: arg("x", "y")},
	})
	d.noDiff = true
	d.test(t, "ansible.posix.authorized_key", []diffCase{{name: "no diff", args: arg(), setup: u}})
}
