package modules

import (
	"os/exec"
	"regexp"
	"testing"

	"volant/wire/value"
)

func TestCronIsThePythonModule(t *testing.T) {
	if _, err := exec.LookPath("crontab"); err != nil {
		t.Skip("no crontab")
	}
	if !inSandbox(t) {
		return
	}
	tab := shell(`printf '%s\n' 'PATH=/bin' 'A="1"' '#Ansible: one' '0 1 * * * true' '# a comment' '5 5 * * * plain' '#Ansible: two' '@daily false' | crontab -`)
	file := shell(`printf '%s\n' 'MAILTO=root' '#Ansible: one' '0 1 * * * root true' >/etc/cron.d/mine; chmod 600 /etc/cron.d/mine`)
	arg := func(kv ...any) *value.Dict { return value.DictOf(kv...) }
	d := systemWide(t)
	cases := []diffCase{
		{name: "new", args: arg("name", "n", "job", "true")},
		{name: "new with times", args: arg("name", "n", "job", "true", "minute", "*/5", "hour", "1,2", "day", int64(3), "month", "4", "weekday", "5"), setup: tab},
		{name: "there", args: arg("name", "one", "job", "true", "minute", "0", "hour", "1"), setup: tab},
		{name: "changes", args: arg("name", "one", "job", "false", "minute", "0", "hour", "1"), setup: tab},
		{name: "special", args: arg("name", "s", "job", "true", "special_time", "reboot"), setup: tab},
		{name: "special there", args: arg("name", "two", "job", "false", "special_time", "daily"), setup: tab},
		{name: "special and times", args: arg("name", "s", "job", "true", "special_time", "reboot", "hour", "1"), setup: tab},
		{name: "disabled", args: arg("name", "one", "job", "true", "minute", "0", "hour", "1", "disabled", true), setup: tab},
		{name: "without comment", args: arg("name", "found", "job", "plain", "minute", "5", "hour", "5"), setup: tab},
		{name: "line ends stripped", args: arg("name", "n", "job", "a\n"), setup: tab},
		{name: "removed", args: arg("name", "one", "state", "absent"), setup: tab},
		{name: "removed, none", args: arg("name", "none", "state", "absent"), setup: tab},
		{name: "no table, removed", args: arg("name", "none", "state", "absent")},
		{name: "last one removed", args: arg("name", "one", "state", "absent"), setup: shell(`printf '%s\n' '#Ansible: one' '0 1 * * * true' | crontab -`)},
		{name: "no job", args: arg("name", "n")},
		{name: "insertafter a job", args: arg("name", "n", "job", "true", "insertafter", "A"), setup: tab},
		{name: "both inserts", args: arg("name", "n", "job", "true", "insertafter", "A", "insertbefore", "B"), setup: tab},
		{name: "variable new", args: arg("name", "X", "job", "y", "env", true), setup: tab},
		{name: "variable there", args: arg("name", "A", "value", "1", "env", true), setup: tab},
		{name: "variable changes", args: arg("name", "PATH", "job", "/usr/bin", "env", true), setup: tab},
		{name: "variable after", args: arg("name", "X", "job", "y", "env", true, "insertafter", "PATH"), setup: tab},
		{name: "variable before", args: arg("name", "X", "job", "y", "env", true, "insertbefore", "A"), setup: tab},
		{name: "variable after none", args: arg("name", "X", "job", "y", "env", true, "insertafter", "NONE"), setup: tab},
		{name: "variable removed", args: arg("name", "A", "env", true, "state", "absent"), setup: tab},
		{name: "variable removed, none", args: arg("name", "NONE", "env", true, "state", "absent"), setup: tab},
		{name: "variable with space", args: arg("name", "A B", "job", "1", "env", true), setup: tab},
		{name: "variable is a pattern", args: arg("name", "A.", "job", "1", "env", true), setup: tab, handBack: true, once: true},
		{name: "other user", args: arg("name", "n", "job", "true", "user", "nobody")},
		{name: "same user", args: arg("name", "one", "job", "x", "user", "root"), setup: tab},
		{name: "file new", args: arg("name", "n", "job", "true", "cron_file", "new", "user", "root")},
		{name: "file there", args: arg("name", "one", "job", "true", "minute", "0", "hour", "1", "cron_file", "mine", "user", "root"), setup: file},
		{name: "file changes", args: arg("name", "one", "job", "true", "cron_file", "mine", "user", "daemon"), setup: file},
		{name: "file by path", args: arg("name", "n", "job", "true", "cron_file", "@D/x.cron", "user", "root", "special_time", "daily")},
		{name: "file variable", args: arg("name", "MAILTO", "job", "me", "env", true, "cron_file", "mine", "user", "root"), setup: file},
		{name: "file removed job", args: arg("name", "one", "cron_file", "mine", "state", "absent"), setup: file},
		{name: "file goes", args: arg("name", "one", "cron_file", "mine", "state", "absent"), setup: shell(`printf '#Ansible: one\n0 1 * * * root true\n' >/etc/cron.d/mine`)},
		{name: "file without user", args: arg("name", "n", "job", "true", "cron_file", "mine")},
		{name: "file open end", args: arg("name", "one", "job", "true", "minute", "0", "hour", "1", "cron_file", "mine", "user", "root"),
			setup: shell(`printf '#Ansible: one\n0 1 * * * root true' >/etc/cron.d/mine`)},
		{name: "etc crontab", args: arg("name", "n", "job", "true", "cron_file", "/etc/crontab", "user", "root")},
		{name: "file in no directory", args: arg("name", "n", "job", "true", "cron_file", "@D/no/x", "user", "root")},
		{name: "bad special", args: arg("name", "n", "job", "true", "special_time", "never")},
		{name: "no name", args: arg("job", "true")},
		{name: "unknown", args: arg("name", "n", "jobs", "true")},
	}
	d.test(t, "cron", cases)
	d.noDiff = true
	d.test(t, "cron", []diffCase{cases[0], cases[3], cases[10], cases[35], cases[36]})
	d.volatile = func(s string) string { return backupName.ReplaceAllString(s, "crontabNAME") }
	d.test(t, "cron", []diffCase{
		{name: "line breaks", args: arg("name", "n", "job", "a\nb\n"), setup: tab, once: true},
		{name: "no such user", args: arg("name", "n", "job", "true", "user", "nobody-there")},
		{name: "bad line", args: arg("name", "n", "job", "true", "minute", "x"), setup: tab, once: true},
		{name: "backup", args: arg("name", "n", "job", "true", "backup", true), setup: tab, once: true},
		{name: "backup unchanged", args: arg("name", "one", "job", "true", "minute", "0", "hour", "1", "backup", true), setup: tab},
	})
}

func TestKnownHostsIsThePythonModule(t *testing.T) {
	const (
		ed    = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ0TQwFMvNaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
		other = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ0TQwFMvNbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
		rsa   = "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAAAgQC3"
	)
	f := mkfile("kh", "# mine\none.example.com "+ed+"\none.example.com,two "+rsa+" comment\n[three]:2222 "+ed+"\n", 0o644)
	arg := func(kv ...any) *value.Dict {
		a := value.DictOf("path", "@D/kh")
		a.Update(value.DictOf(kv...))
		return a
	}
	d := newDiffer(t)
	d.sampled = true
	d.test(t, "known_hosts", []diffCase{
		{name: "there", args: arg("name", "one.example.com", "key", "one.example.com "+ed), setup: f},
		{name: "there, with comment", args: arg("name", "one.example.com", "key", "one.example.com "+ed+" me@here\n"), setup: f},
		{name: "there, upper case", args: arg("name", "ONE.example.com", "key", "one.example.com "+ed), setup: f},
		{name: "other key", args: arg("name", "one.example.com", "key", "one.example.com "+other), setup: f},
		{name: "new host", args: arg("name", "new", "key", "new "+ed), setup: f},
		{name: "new file", args: arg("name", "new", "key", "new "+ed)},
		{name: "new kind of key", args: arg("name", "two", "key", "two "+ed), setup: f},
		{name: "port", args: arg("name", "[three]:2222", "key", "[three]:2222 "+ed), setup: f},
		{name: "through a link", args: arg("path", "@D/l", "name", "new", "key", "new "+ed), setup: all(f, symlink("l", "kh"))},
		{name: "keeps mode and owner", args: arg("name", "new", "key", "new "+ed), setup: all(f, shell("chmod 600 kh"), chown("kh", 7, 8))},
		{name: "removed", args: arg("name", "one.example.com", "state", "absent"), setup: f},
		{name: "one key removed", args: arg("name", "one.example.com", "key", "one.example.com "+ed, "state", "absent"), setup: f},
		{name: "another key removed", args: arg("name", "one.example.com", "key", "one.example.com "+other, "state", "absent"), setup: f, once: true},
		{name: "removed, none", args: arg("name", "none", "state", "absent"), setup: f},
		{name: "removed, no file", args: arg("name", "none", "state", "absent")},
		{name: "removed with key, none", args: arg("name", "none", "key", "none "+ed, "state", "absent"), setup: f},
		{name: "no key", args: arg("name", "one"), setup: f},
		{name: "wrong host", args: arg("name", "one", "key", "two "+ed), setup: f},
		{name: "several hosts", args: arg("name", "one, two", "key", "one,two "+ed), setup: f},
		{name: "authority", args: arg("name", "x.ca", "key", "@cert-authority *.ca "+ed), setup: mkfile("kh", "@cert-authority *.ca "+ed+"\n", 0o600)},
		{name: "authority new", args: arg("name", "x.ca", "key", "@cert-authority *.ca "+ed), setup: f},
		{name: "a directory", args: arg("path", "@D", "name", "new", "key", "new "+ed), handBack: true, once: true},
		{name: "carriage returns", args: arg("name", "one", "key", "one "+ed), setup: mkfile("kh", "one "+ed+"\r\n", 0o600), handBack: true, once: true},
		{name: "bad state", args: arg("name", "x", "state", "x")},
		{name: "no name", args: arg("key", "x")},
	})
	d.volatile = func(s string) string {
		return backupName.ReplaceAllString(hashedHost.ReplaceAllString(s, "|1|HASH"), "NAME")
	}
	d.test(t, "known_hosts", []diffCase{
		{name: "no directory", args: arg("path", "@D/no/kh", "name", "new", "key", "new "+ed)},
		{name: "hashed there", args: arg("name", "one", "key", "one "+ed, "hash_host", true), setup: all(mkfile("kh", "one "+ed+"\n", 0o600), shell("ssh-keygen -H -f kh 2>/dev/null; rm -f kh.old; true"))},
		{name: "hashed", args: arg("name", "new", "key", "new "+ed, "hash_host", true), setup: f},
		{name: "hashed for plain", args: arg("name", "one.example.com", "key", "one.example.com "+ed, "hash_host", true), setup: f},
		{name: "hashed by the task", args: arg("name", "one", "key", "one "+other, "hash_host", true), setup: all(mkfile("kh", "one "+ed+"\n", 0o600), shell("ssh-keygen -H -f kh 2>/dev/null; rm -f kh.old; true"))},
	})
}

var (
	backupName = regexp.MustCompile(`crontab[A-Za-z0-9_]{8}|/no/tmp[A-Za-z0-9_]{8}`)
	hashedHost = regexp.MustCompile(`\|1\|[A-Za-z0-9+/=]+\|[A-Za-z0-9+/=]+`)
)
