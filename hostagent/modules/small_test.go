package modules

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"volant/wire/value"
)

func TestGetentIsThePythonModule(t *testing.T) {
	newDiffer(t).test(t, "getent", []diffCase{
		{name: "all users", args: value.DictOf("database", "passwd")},
		{name: "one user", args: value.DictOf("database", "passwd", "key", "root")},
		{name: "no user", args: value.DictOf("database", "passwd", "key", "nobody-there")},
		{name: "no user, no fault", args: value.DictOf("database", "passwd", "key", "nobody-there", "fail_key", false)},
		{name: "groups", args: value.DictOf("database", "group", "split", ":")},
		{name: "shadow", args: value.DictOf("database", "shadow", "key", "root")},
		{name: "hosts", args: value.DictOf("database", "hosts")},
		{name: "services", args: value.DictOf("database", "services", "key", "http", "fail_key", false)},
		{name: "protocols", args: value.DictOf("database", "protocols")},
		{name: "unknown database", args: value.DictOf("database", "nothing")},
		{name: "no enumeration", args: value.DictOf("database", "ahosts")},
		{name: "service", args: value.DictOf("database", "passwd", "key", "root", "service", "files")},
		{name: "odd separator", args: value.DictOf("database", "passwd", "key", "root", "split", "o")},
		{name: "empty separator", args: value.DictOf("database", "passwd", "key", "root", "split", ""), handBack: true},
		{name: "no database", args: value.DictOf()},
	})
}

func TestGroupIsThePythonModule(t *testing.T) {
	if !inSandbox(t) {
		return
	}
	g := shell("groupadd -g 7001 made")
	systemWide(t).test(t, "group", []diffCase{
		{name: "new", args: value.DictOf("name", "fresh")},
		{name: "new with number", args: value.DictOf("name", "fresh", "gid", int64(7002))},
		{name: "new, system", args: value.DictOf("name", "fresh", "system", true)},
		{name: "new, number taken", args: value.DictOf("name", "fresh", "gid", int64(7001)), setup: g},
		{name: "new, number shared", args: value.DictOf("name", "fresh", "gid", int64(7001), "non_unique", true), setup: g},
		{name: "new, range", args: value.DictOf("name", "fresh", "gid_min", int64(7100), "gid_max", int64(7200))},
		{name: "number changes", args: value.DictOf("name", "made", "gid", int64(7003)), setup: g},
		{name: "number changes to shared", args: value.DictOf("name", "made", "gid", int64(1), "non_unique", true), setup: g},
		{name: "number changes to taken", args: value.DictOf("name", "made", "gid", int64(1)), setup: g},
		{name: "removed", args: value.DictOf("name", "made", "state", "absent"), setup: g},
		{name: "removed by force", args: value.DictOf("name", "made", "state", "absent", "force", true), setup: all(g, shell("useradd -g made maker"))},
		{name: "still needed", args: value.DictOf("name", "made", "state", "absent"), setup: all(g, shell("useradd -g made maker"))},
		{name: "bad name", args: value.DictOf("name", "a:b")},
		{name: "local", args: value.DictOf("name", "made", "local", true), handBack: true},
		{name: "there", args: value.DictOf("name", "daemon")},
		{name: "there with number", args: value.DictOf("name", "daemon", "gid", int64(1))},
		{name: "there, system", args: value.DictOf("name", "daemon", "system", true)},
		{name: "number as text", args: value.DictOf("name", "root", "gid", "0")},
		{name: "absent", args: value.DictOf("name", "nobody-there", "state", "absent")},
		{name: "non_unique without number", args: value.DictOf("name", "daemon", "non_unique", true)},
		{name: "bad number", args: value.DictOf("name", "daemon", "gid", "x")},
		{name: "bad state", args: value.DictOf("name", "daemon", "state", "x")},
		{name: "no name", args: value.DictOf()},
	})
}

func TestTempfile(t *testing.T) {
	d := newDiffer(t)
	d.prepare(t, &diffCase{})
	for _, c := range []struct {
		name string
		args *value.Dict
	}{
		{"file", value.DictOf("path", d.dir)},
		{"directory", value.DictOf("path", d.dir, "state", "directory")},
		{"names", value.DictOf("path", d.dir, "prefix", "a-", "suffix", ".b")},
		{"default place", value.DictOf()},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got [2]string
			for i, native := range []bool{true, false} {
				res := d.run(t, native, "tempfile", c.args, false)
				path, _ := res.Str("path")
				if _, err := os.Stat(path); err != nil {
					t.Fatalf("%v: %s", err, value.Repr(res))
				}
				defer os.RemoveAll(path)
				prefix, suffix := "ansible.", ""
				if c.name == "names" {
					prefix, suffix = "a-", ".b"
				}
				random := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(path), prefix), suffix)
				if len(random) != 8 {
					t.Errorf("random part %q of %s", random, path)
				}
				got[i] = strings.ReplaceAll(strings.Join(flat(res), "\n"), random, "RANDOM")
			}
			if got[0] != got[1] {
				t.Errorf("native:\n%s\npython:\n%s", got[0], got[1])
			}
		})
	}
	d.test(t, "tempfile", []diffCase{
		{name: "no directory", args: value.DictOf("path", "@D/none"), handBack: true},
		{name: "slash", args: value.DictOf("path", "@D", "prefix", "a/b"), handBack: true},
		{name: "bad state", args: value.DictOf("state", "x")},
	})
}

func TestServiceFactsIsThePythonModule(t *testing.T) {
	newDiffer(t).test(t, "service_facts", []diffCase{
		{name: "all", args: value.DictOf()},
		{name: "unknown", args: value.DictOf("x", "y")},
	})
}

func TestWaitForIsThePythonModule(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer l.Close()
	open := int64(l.Addr().(*net.TCPAddr).Port)
	f := mkfile("f", "x", 0o600)
	d := newDiffer(t)
	must(t, os.MkdirAll(d.dir, 0o755))
	if n, _ := d.run(t, true, "wait_for", value.DictOf("timeout", int64(1)), false).Lookup("elapsed").(int64); n < 1 || n > 60 {
		t.Errorf("%d seconds elapsed in one", n)
	}
	d.test(t, "wait_for", []diffCase{
		{name: "path", args: value.DictOf("path", "@D/f"), setup: f},
		{name: "path present", args: value.DictOf("path", "@D/f", "state", "present"), setup: f},
		{name: "path below file", args: value.DictOf("path", "@D/f/x"), setup: f},
		{name: "path missing", args: value.DictOf("path", "@D/none", "timeout", int64(1)), once: true},
		{name: "path missing, own words", args: value.DictOf("path", "@D/none", "timeout", int64(1), "msg", "no"), once: true},
		{name: "path absent", args: value.DictOf("path", "@D/none", "state", "absent")},
		{name: "path stays", args: value.DictOf("path", "@D/f", "state", "absent", "timeout", int64(1)), setup: f, once: true},
		{name: "path stopped", args: value.DictOf("path", "@D/f", "state", "stopped")},
		{name: "port", args: value.DictOf("port", open)},
		{name: "port closed", args: value.DictOf("port", int64(1), "timeout", int64(1)), once: true},
		{name: "port stopped", args: value.DictOf("port", int64(1), "state", "stopped")},
		{name: "port stays", args: value.DictOf("port", open, "state", "stopped", "timeout", int64(1)), once: true},
		{name: "port and path", args: value.DictOf("port", open, "path", "@D/f")},
		{name: "exclude_hosts", args: value.DictOf("port", open, "exclude_hosts", "x")},
		{name: "sleep only", args: value.DictOf("timeout", int64(1)), once: true},
		{name: "no time", args: value.DictOf("port", open, "timeout", int64(0))},
		{name: "search", args: value.DictOf("path", "@D/f", "search_regex", "x"), setup: f, handBack: true},
		{name: "drained", args: value.DictOf("port", int64(1), "state", "drained"), handBack: true},
		{name: "bad state", args: value.DictOf("state", "x")},
	})
}

// chkconfigLists is chkconfig as RHEL has it, with notes beside the list.
const chkconfigLists = `echo "Note: This output shows SysV services only" >&2
printf '\nnetwork  0:off 1:off 2:on 3:on 4:on 5:on 6:off\nold\t0:off\t1:off\t2:off\t3:off\t4:off\t5:off\t6:off\nrights 0:off 1:off 2:on 3:on 4:on 5:on 6:off\nxinetd based services:\n\trsync: off\n'
`

func TestServiceFactsOfInitScriptsAreThePythonModules(t *testing.T) {
	if !inSandbox(t) {
		return
	}
	const service = `case $1 in network) exit 0;; old) echo "old is stopped"; exit 3;; rights) echo "Permission denied" >&2; exit 4;; esac; echo "$1: unrecognized" >&2; exit 1`
	d := systemWide(t)
	all := []diffCase{{name: "all", args: value.DictOf()}}
	for _, c := range []struct {
		name  string
		tools map[string]string
		cases []diffCase
	}{
		{"chkconfig", map[string]string{"/usr/sbin/chkconfig": chkconfigLists, "/usr/sbin/service": service}, all},
		{"chkconfig lists nothing", map[string]string{"/usr/sbin/chkconfig": "echo Note >&2\n", "/usr/sbin/service": service}, all},
		{"chkconfig of SLES", map[string]string{"/usr/sbin/chkconfig": "if [ \"$1\" = -l ]; then\n" + chkconfigLists + "else printf 'network on\\nold off\\n'; fi\n", "/usr/sbin/service": service}, all},
		{"chkconfig of old", map[string]string{"/usr/sbin/chkconfig": "if [ \"$1\" = --list ]; then\n" + chkconfigLists + "else echo 'usage: chkconfig --list' >&2; exit 1; fi\n", "/usr/sbin/service": service}, all},
		{"openrc", map[string]string{
			"/usr/sbin/rc-status": `printf ' * Caching\n web                  [  started  ]\n cron                 [  stopped 1 day ]\n lost                 [  crashed  ]\nRunlevel: x\n'`,
			"/usr/sbin/rc-update": `printf '      web |      default boot    \n     cron |                     \n'`}, all},
		{"openrc in part", map[string]string{"/usr/sbin/rc-status": "exit 0"}, all},
		{"upstart", map[string]string{"/usr/sbin/initctl": "exit 0"}, []diffCase{{name: "all", args: value.DictOf(), handBack: true}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			hostTools(t, c.tools)
			d.test(t, "service_facts", c.cases)
		})
	}
}
