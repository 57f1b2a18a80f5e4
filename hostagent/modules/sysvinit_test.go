package modules

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"volant/wire/value"
)

// hostTools gives the sandbox other programs in directories of the system that
// are searched first: an empty script takes one away.
func hostTools(t *testing.T, tools map[string]string) {
	t.Helper()
	layers := t.TempDir()
	must(t, syscall.Mount("tmpfs", layers, "tmpfs", 0, "mode=755"))
	t.Cleanup(func() { _ = syscall.Unmount(layers, syscall.MNT_DETACH) })
	for _, dir := range []string{"/usr/sbin", "/usr/bin"} {
		up, work := filepath.Join(layers, strings.ReplaceAll(dir, "/", "_")), filepath.Join(layers, strings.ReplaceAll(dir, "/", "_")+".work")
		must(t, os.MkdirAll(up, 0o755))
		must(t, os.MkdirAll(work, 0o755))
		if err := syscall.Mount("overlay", dir, "overlay", 0, "lowerdir="+dir+",upperdir="+up+",workdir="+work); err != nil {
			t.Skipf("no overlays here: %v", err)
		}
		t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	}
	for path, script := range tools {
		must(t, ignoreMissing(os.Remove(path)))
		if script != "" {
			must(t, os.WriteFile(path, []byte("#!/bin/sh\n"+script), 0o755))
		}
	}
}

func ignoreMissing(err error) error {
	if os.IsNotExist(err) {
		return nil
	}
	return err
}

// initScripts are services over a file each: up where the file is there.
const initScripts = `
put() { cat >/etc/init.d/$1; chmod 755 /etc/init.d/$1; }
put web <<'X'
#!/bin/sh
### BEGIN INIT INFO
# Provides:          web
# Required-Start:
# Required-Stop:
# Default-Start:     2 3 4 5
# Default-Stop:      0 1 6
### END INIT INFO
f=/var/lib/up-web
case "$1" in
start) shift; echo "Starting web." "$@"; : >$f;;
stop) shift; echo "Stopping web." "$@"; rm -f $f;;
reload) shift; echo "Reloading." "$@" >&2; echo r >>/var/lib/log-web;;
status) if [ -e $f ]; then echo "web is running."; else echo "web is not running"; exit 3; fi;;
*) echo "Usage: web"; exit 2;;
esac
X
sed s/web/sorry/g /etc/init.d/web | sed 's/^status.*/status) echo "Usage: x {start}"; exit 64;;/' | put sorry
sed s/web/bare/g /etc/init.d/web | sed 's/^status.*/status) exit 0;;/' | put bare
sed s/web/dead/g /etc/init.d/web | sed 's/^status.*/status) echo "dead dead but pid file exists"; exit 1;;/' | put dead
sed s/web/lines/g /etc/init.d/web | sed 's/^status.*/status) printf "a running\\nb stopped\\nc\\n"; exit 4;;/' | put lines
sed s/web/iptables/g /etc/init.d/web | sed 's/^status.*/status) printf "x\\nACCEPT stop\\n\\n"; exit 4;;/' | put iptables
sed s/web/hup/g /etc/init.d/web | sed 's/^status.*/status) echo stopped; kill -HUP $$;;/' | put hup
sed s/web/fails/g /etc/init.d/web | sed 's/^start).*/start) echo no; echo bad >\&2; exit 7;;/;s/^reload).*/reload) exit 1;;/' | put fails
`

// enabledScripts has the services start at boot.
const enabledScripts = `for s in web fails; do for l in 2 3 4 5; do ln -s ../init.d/$s /etc/rc$l.d/S01$s; done; for l in 0 1 6; do ln -s ../init.d/$s /etc/rc$l.d/K01$s; done; done; : >/var/lib/up-web; : >/var/lib/up-fails
`

// chkconfigTool is a chkconfig over the runlevels' links.
const chkconfigTool = `[ "$1" = --list ] || echo "$@" >>/var/lib/chkconfig.log
levels="2 3 4 5"
if [ "$1" = --level ]; then levels=$(echo $2 | sed 's/./& /g'); shift 2; fi
case "$1" in
--list) [ -e /var/lib/known-$2 ] || { echo "service $2 supports chkconfig, but is not referenced in any runlevel (run 'chkconfig --add $2')" >&2; exit 1; }
  [ $2 = odd ] && exit 0
  printf "%s 0:off 1:off" $2; for l in 2 3 4 5; do if [ -e /etc/rc$l.d/S01$2 ]; then printf " $l:on"; else printf " $l:off"; fi; done; echo " 6:off"; exit 0;;
--add) : >/var/lib/known-$2; exit 0;;
esac
[ $1 = fails ] && { echo "illegal runlevel specified for $1" >&2; exit 1; }
[ $1 = sorry ] && { echo "no such thing"; exit 1; }
for l in $levels; do
  if [ $2 = on ]; then ln -sf ../init.d/$1 /etc/rc$l.d/S01$1; else rm -f /etc/rc$l.d/S01$1; fi
done
`

func TestSysvinitIsThePythonModule(t *testing.T) {
	if !inSandbox(t) {
		return
	}
	d := systemWide(t)
	d.noDiff = true
	setup := shell(initScripts)
	on := shell(initScripts + enabledScripts)
	debian := []diffCase{
		{name: "started", args: value.DictOf("name", "web", "state", "started"), setup: setup},
		{name: "is started", args: value.DictOf("service", "web", "state", "started"), setup: on},
		{name: "stopped", args: value.DictOf("name", "web", "state", "stopped"), setup: on},
		{name: "is stopped", args: value.DictOf("name", "web", "state", "stopped"), setup: setup},
		{name: "restarted", args: value.DictOf("name", "web", "state", "restarted", "sleep", int64(0)), setup: on},
		{name: "restarted, sleeping", args: value.DictOf("name", "web", "state", "restarted"), setup: setup, once: true},
		{name: "reloaded", args: value.DictOf("name", "web", "state", "reloaded"), setup: on},
		{name: "reloaded, down", args: value.DictOf("name", "web", "state", "reloaded"), setup: setup},
		{name: "arguments", args: value.DictOf("name", "web", "state", "started", "arguments", `--flag "a b" $HOME ~`), setup: setup},
		{name: "arguments without end", args: value.DictOf("name", "web", "state", "started", "args", `"a`), setup: setup, handBack: true},
		{name: "daemonize", args: value.DictOf("name", "web", "state", "started", "daemonize", true, "args", `'a b' $HOME`), setup: setup},
		{name: "daemonize, restart", args: value.DictOf("name", "web", "state", "restarted", "daemonize", true, "sleep", int64(0)), setup: on},
		{name: "enabled", args: value.DictOf("name", "web", "enabled", true), setup: setup},
		{name: "is enabled", args: value.DictOf("name", "web", "enabled", true), setup: on},
		{name: "disabled", args: value.DictOf("name", "web", "enabled", false), setup: on},
		{name: "is disabled", args: value.DictOf("name", "web", "enabled", false), setup: setup},
		{name: "both", args: value.DictOf("name", "web", "enabled", true, "state", "started"), setup: setup},
		{name: "both, other way", args: value.DictOf("name", "web", "enabled", false, "state", "stopped"), setup: on},
		{name: "runlevels", args: value.DictOf("name", "web", "enabled", true, "runlevels", value.ListOf(int64(3), "5")), setup: setup},
		{name: "runlevels off", args: value.DictOf("name", "web", "enabled", false, "runlevels", "3,5"), setup: on},
		{name: "runlevels there", args: value.DictOf("name", "web", "enabled", true, "runlevels", value.ListOf("3")), setup: on},
		{name: "runlevels, no word on enabled", args: value.DictOf("name", "web", "state", "started", "runlevels", value.ListOf("3")), setup: on},
		{name: "runlevels, bad", args: value.DictOf("name", "web", "enabled", true, "runlevels", value.ListOf("9")), setup: setup},
		{name: "runlevels, quoting", args: value.DictOf("name", "web", "enabled", true, "runlevels", value.ListOf("3 4")), setup: setup, handBack: true},
		{name: "no status", args: value.DictOf("name", "sorry", "state", "started"), setup: setup},
		{name: "silent status", args: value.DictOf("name", "bare", "state", "started"), setup: setup},
		{name: "dead", args: value.DictOf("name", "dead", "state", "started"), setup: setup},
		{name: "many lines", args: value.DictOf("name", "lines", "state", "started"), setup: setup},
		{name: "iptables", args: value.DictOf("name", "iptables", "state", "stopped"), setup: setup},
		{name: "hung up", args: value.DictOf("name", "hup", "state", "started"), setup: setup},
		{name: "fails to start", args: value.DictOf("name", "fails", "state", "started"), setup: setup},
		{name: "fails to reload", args: value.DictOf("name", "fails", "state", "reloaded", "enabled", false), setup: on},
		{name: "fails on the way", args: value.DictOf("name", "fails", "state", "restarted", "sleep", int64(0)), setup: on},
		{name: "by pattern", args: value.DictOf("name", "web", "state", "started", "pattern", "modules.test"), setup: setup},
		{name: "by pattern, none", args: value.DictOf("name", "web", "state", "started", "pattern", "no-such-process-anywhere"), setup: setup},
		{name: "by path", args: value.DictOf("name", "/etc/init.d/web", "state", "started"), setup: setup},
		{name: "not executable", args: value.DictOf("name", "web", "state", "started"), setup: all(setup, shell("chmod 644 /etc/init.d/web"))},
		{name: "not executable, daemonize", args: value.DictOf("name", "web", "state", "started", "daemonize", true), setup: all(setup, shell("chmod 644 /etc/init.d/web")), handBack: true},
		{name: "missing", args: value.DictOf("name", "nosuch", "state", "started"), setup: setup},
		{name: "quoting", args: value.DictOf("name", "we*", "state", "started"), setup: setup, handBack: true},
		{name: "nothing", args: value.DictOf("name", "web"), setup: setup},
		{name: "no name", args: value.DictOf("state", "started")},
		{name: "bad state", args: value.DictOf("name", "web", "state", "running")},
		{name: "no runlevels' directories", args: value.DictOf("name", "web", "enabled", false), setup: all(setup, shell("rm -rf /etc/rc0.d; mkdir -p /etc/init.d/rc3.d; ln -s ../web /etc/init.d/rc3.d/S01web"))},
	}
	t.Run("debian", func(t *testing.T) { d.test(t, "sysvinit", debian) })
	t.Run("red hat", func(t *testing.T) {
		hostTools(t, map[string]string{"/usr/sbin/update-rc.d": "", "/usr/sbin/service": "", "/usr/sbin/chkconfig": chkconfigTool})
		d.test(t, "sysvinit", []diffCase{
			{name: "enabled", args: value.DictOf("name", "web", "enabled", true), setup: setup},
			{name: "disabled", args: value.DictOf("name", "web", "enabled", false, "state", "stopped"), setup: on},
			{name: "runlevels", args: value.DictOf("name", "web", "enabled", true, "runlevels", value.ListOf("3", "5")), setup: setup},
			{name: "runlevels off", args: value.DictOf("name", "web", "enabled", false, "runlevels", value.ListOf("3", "5")), setup: on},
			{name: "illegal", args: value.DictOf("name", "fails", "enabled", true), setup: setup},
			{name: "started", args: value.DictOf("name", "web", "state", "started"), setup: setup},
			{name: "not executable", args: value.DictOf("name", "web", "state", "started"), setup: all(setup, shell("chmod 644 /etc/init.d/web"))},
		})
	})
	t.Run("no tools", func(t *testing.T) {
		hostTools(t, map[string]string{"/usr/sbin/update-rc.d": "", "/usr/sbin/service": "", "/usr/bin/ps": ""})
		d.test(t, "sysvinit", []diffCase{
			{name: "enabled", args: value.DictOf("name", "web", "enabled", true), setup: setup},
			{name: "no ps", args: value.DictOf("name", "sorry", "state", "started"), setup: setup},
			{name: "no ps for the pattern", args: value.DictOf("name", "web", "pattern", "x", "enabled", true), setup: setup},
		})
	})
}
