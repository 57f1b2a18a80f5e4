package modules

import (
	"os"
	"syscall"
	"testing"

	"volant/wire/value"
)

// rcServiceTool is OpenRC's rc-service over files.
const rcServiceTool = `n=$1; f=/var/lib/rc-$n; [ "$2" = status ] || echo "$@" "$(env | grep -c .) $(pwd)" >>/var/lib/rc.log
[ -e $f ] || { echo " * rc-service: service $n does not exist" >&2; exit 1; }
case "$2" in
status) case $(cat $f) in up) echo " * status: started";; crashed) echo " * status: crashed" >&2; exit 32;; *) echo " * status: stopped"; exit 3;; esac;;
start) [ $n = fails ] && { echo " * ERROR: fails failed to start" >&2; exit 1; }; shift 2; echo "starting" "$@"; echo up >$f;;
zap) echo down >$f;;
stop) echo down >$f;;
restart|reload) echo up >$f; echo "$2ed";;
esac
`

const rcUpdateTool = `[ "$1" = show ] || echo "$@" >>/var/lib/rc-update.log
case "$1" in
show) for n in web other; do l=""; for r in boot default; do [ -e /var/lib/level-$r-$n ] && l="$l $r"; done; [ -n "$l" ] && printf "%20s |%s      \n" $n "$l"; done; [ -e /var/lib/odd-show ] && echo "no bar"; exit 0;;
add) [ $2 = fails ] && { echo "rc-update: no" >&2; exit 1; }; : >/var/lib/level-$3-$2; echo " * service $2 added to runlevel $3";;
delete) rm /var/lib/level-$3-$2 2>/dev/null || { echo "not there"; exit 2; };;
esac
`

const insservTool = `[ "$1" = -n ] || echo "$@" >>/var/lib/insserv.log
dry=; take=; while :; do case "$1" in -n) dry=1; shift;; -v) shift;; -r) take=1; shift;; *) break;; esac; done
if [ -n "$take" ]; then
  if [ -e /etc/rc2.d/S01$1 ]; then [ -n "$dry" ] && echo "insserv: remove service /etc/init.d/../rc2.d/S01$1" >&2; fi
  [ -n "$dry" ] || rm -f /etc/rc2.d/S01$1
else
  if [ ! -e /etc/rc2.d/S01$1 ]; then [ -n "$dry" ] && echo "insserv: enable service ../init.d/$1 -> /etc/init.d/../rc2.d/S01$1" >&2; fi
  [ -n "$dry" ] || ln -s ../init.d/$1 /etc/rc2.d/S01$1
fi
[ $1 = fails -a -z "$dry" ] && { echo "insserv: warning" >&2; exit 1; }
exit 0
`

// unitTool is a systemctl over files.
const unitTool = `f=/var/lib/unit-$2
case "$1" in show|is-enabled) ;; *) echo "$@" >>/var/lib/systemctl.log;; esac
case "$1" in
show) [ $2 = refused ] && { echo "Access denied" >&2; exit 4; }
  if [ ! -e $f ]; then printf "LoadState=not-found\nActiveState=inactive\n"; exit 0; fi
  printf 'Id=%s.service\nExecStart={ path=/bin/x ;\nActiveState=failed\n }\nLoadState=loaded\n' $2; cat $f;;
is-enabled) cat /var/lib/enabled-$2 2>/dev/null || { echo "Failed to get unit file state" >&2; exit 1; }; grep -q ^enabled /var/lib/enabled-$2;;
enable|disable) [ $2 = quiet ] && { echo "said aloud"; exit 1; }; [ -e $f ] || { echo "no unit $2" >&2; exit 1; }; echo "$1d" >/var/lib/enabled-$2;;
start|reload|restart) [ $2 = broken ] && { echo "Job for broken failed" >&2; exit 1; }; [ $2 = busy ] && { echo "Job is already running: busy" >&2; exit 1; }; echo ActiveState=active >$f;;
stop) [ $2 = broken ] && exit 1; echo ActiveState=inactive >$f;;
esac
`

func TestServiceIsThePythonModule(t *testing.T) {
	if !inSandbox(t) {
		return
	}
	d := systemWide(t)
	d.noDiff = true
	setup := shell(initScripts)
	on := shell(initScripts + enabledScripts)
	type kv = []any
	cases := func(setup, on func(*testing.T, string), more ...diffCase) []diffCase {
		var out []diffCase
		for _, c := range []struct {
			name string
			on   bool
			args kv
		}{
			{"started", false, kv{"name", "web", "state", "started"}},
			{"is started", true, kv{"name", "web", "state", "started"}},
			{"stopped", true, kv{"name", "web", "state", "stopped"}},
			{"is stopped", false, kv{"name", "web", "state", "stopped"}},
			{"restarted", true, kv{"name", "web", "state", "restarted", "sleep", int64(0)}},
			{"restarted, down", false, kv{"name", "web", "state", "restarted"}},
			{"reloaded", true, kv{"name", "web", "state", "reloaded"}},
			{"reloaded, down", false, kv{"name", "web", "state", "reloaded"}},
			{"enabled", false, kv{"name", "web", "enabled", true}},
			{"is enabled", true, kv{"name", "web", "enabled", true}},
			{"disabled", true, kv{"name", "web", "enabled", false}},
			{"is disabled", false, kv{"name", "web", "enabled", false}},
			{"both", false, kv{"name", "web", "enabled", true, "state", "started"}},
			{"both, other way", true, kv{"name", "web", "enabled", false, "state", "stopped"}},
			{"both are so", true, kv{"name", "web", "enabled", true, "state", "started"}},
			{"arguments", false, kv{"name", "web", "state", "started", "arguments", `-x "a b" $HOME`}},
			{"fails", false, kv{"name", "fails", "state", "started"}},
			{"fails to be enabled", false, kv{"name", "fails", "enabled", true}},
			{"by pattern", false, kv{"name", "web", "state", "started", "pattern", "modules.test"}},
			{"by pattern, none", false, kv{"name", "web", "state", "stopped", "pattern", "no-such-process"}},
			{"missing", false, kv{"name", "nosuch", "state", "started"}},
			{"missing, enabled", false, kv{"name", "nosuch", "enabled", true}},
		} {
			s := setup
			if c.on {
				s = on
			}
			out = append(out, diffCase{name: c.name, args: value.DictOf(c.args...), setup: s})
		}
		return append(out, more...)
	}
	t.Run("update-rc.d", func(t *testing.T) {
		d.test(t, "service", cases(setup, on,
			diffCase{name: "restarted, sleeping", args: value.DictOf("name", "web", "state", "restarted", "sleep", int64(1)), setup: on, once: true},
			diffCase{name: "no status", args: value.DictOf("name", "sorry", "state", "started"), setup: setup},
			diffCase{name: "silent status", args: value.DictOf("name", "bare", "state", "started"), setup: setup},
			diffCase{name: "dead", args: value.DictOf("name", "dead", "state", "started"), setup: setup},
			diffCase{name: "many lines", args: value.DictOf("name", "lines", "state", "started"), setup: setup},
			diffCase{name: "iptables", args: value.DictOf("name", "iptables", "state", "stopped"), setup: setup},
			diffCase{name: "hung up", args: value.DictOf("name", "hup", "state", "started"), setup: setup},
			diffCase{name: "fails on the way", args: value.DictOf("name", "fails", "state", "restarted"), setup: on},
			diffCase{name: "fails to reload", args: value.DictOf("name", "fails", "state", "reloaded"), setup: on},
			diffCase{name: "quoting", args: value.DictOf("name", "a b", "state", "started"), setup: setup, handBack: true},
			diffCase{name: "arguments without end", args: value.DictOf("name", "web", "state", "started", "args", `"`), setup: setup, handBack: true},
			diffCase{name: "not executable", args: value.DictOf("name", "web", "state", "started"), setup: all(setup, shell("chmod 644 /etc/init.d/web"))},
			diffCase{name: "nothing", args: value.DictOf("name", "web"), setup: setup},
			diffCase{name: "no name", args: value.DictOf("state", "started")},
			diffCase{name: "stopping links", args: value.DictOf("name", "web", "enabled", true), setup: all(setup, shell("for l in 2 3 4 5; do ln -s ../init.d/web /etc/rc$l.d/K01web; done"))},
			diffCase{name: "upstart", args: value.DictOf("name", "web", "state", "started"), setup: all(setup, shell("printf '#!/bin/sh\n' >/usr/local/bin/initctl; chmod 755 /usr/local/bin/initctl")), handBack: true},
		))
	})
	t.Run("chkconfig", func(t *testing.T) {
		hostTools(t, map[string]string{"/usr/sbin/update-rc.d": "", "/usr/sbin/service": "", "/usr/sbin/chkconfig": chkconfigTool})
		known := shell(": >/var/lib/known-web; : >/var/lib/known-fails; : >/var/lib/known-sorry; : >/var/lib/known-odd")
		d.test(t, "service", cases(all(setup, known), all(on, known),
			diffCase{name: "unknown to it", args: value.DictOf("name", "dead", "enabled", true), setup: setup, handBackCheck: true},
			diffCase{name: "fails aloud", args: value.DictOf("name", "sorry", "enabled", true), setup: all(setup, known)},
			diffCase{name: "not supported", args: value.DictOf("name", "odd", "enabled", true), setup: all(setup, known, shell("cp /etc/init.d/web /etc/init.d/odd"))},
		))
	})
	t.Run("insserv", func(t *testing.T) {
		hostTools(t, map[string]string{"/usr/sbin/update-rc.d": "", "/usr/sbin/insserv": insservTool})
		d.test(t, "service", cases(setup, on))
	})
	t.Run("openrc", func(t *testing.T) {
		hostTools(t, map[string]string{"/usr/sbin/rc-service": rcServiceTool, "/usr/sbin/rc-update": rcUpdateTool})
		off := shell("echo down >/var/lib/rc-web; echo down >/var/lib/rc-fails; : >/var/lib/level-boot-web")
		on := shell("echo up >/var/lib/rc-web; : >/var/lib/level-default-web")
		d.test(t, "service", cases(off, on,
			diffCase{name: "crashed", args: value.DictOf("name", "web", "state", "started"), setup: all(off, shell("echo crashed >/var/lib/rc-web"))},
			diffCase{name: "another runlevel", args: value.DictOf("name", "web", "enabled", true, "runlevel", "boot"), setup: on},
			diffCase{name: "another runlevel, off", args: value.DictOf("name", "web", "enabled", false, "runlevel", "boot"), setup: off},
			diffCase{name: "odd lines", args: value.DictOf("name", "fails", "enabled", false), setup: all(off, shell(": >/var/lib/odd-show")), handBack: true},
		))
	})
	t.Run("openrc without rc-update", func(t *testing.T) {
		hostTools(t, map[string]string{"/usr/sbin/rc-service": rcServiceTool})
		d.test(t, "service", []diffCase{{name: "enabled", args: value.DictOf("name", "web", "enabled", true), setup: setup}})
	})
	t.Run("systemd", func(t *testing.T) {
		hostTools(t, map[string]string{"/usr/bin/systemctl": unitTool})
		must(t, os.MkdirAll("/run/systemd", 0o755))
		must(t, syscall.Mount("tmpfs", "/run/systemd", "tmpfs", 0, "mode=755"))
		t.Cleanup(func() { _ = syscall.Unmount("/run/systemd", syscall.MNT_DETACH) })
		must(t, os.MkdirAll("/run/systemd/system", 0o755))
		units := shell("for u in web fails broken busy quiet; do echo ActiveState=inactive >/var/lib/unit-$u; echo disabled >/var/lib/enabled-$u; done; echo >/var/lib/unit-mute; rm /var/lib/enabled-fails")
		d.test(t, "service", cases(units, all(units, shell("echo ActiveState=active >/var/lib/unit-web; echo enabled >/var/lib/enabled-web")),
			diffCase{name: "failed", args: value.DictOf("name", "web", "state", "started"), setup: all(units, shell("echo ActiveState=failed >/var/lib/unit-web"))},
			diffCase{name: "refused", args: value.DictOf("name", "refused", "state", "started"), setup: units},
			diffCase{name: "mute", args: value.DictOf("name", "mute", "state", "started"), setup: units},
			diffCase{name: "broken", args: value.DictOf("name", "broken", "state", "started"), setup: units},
			diffCase{name: "broken both ways", args: value.DictOf("name", "broken", "state", "restarted"), setup: units},
			diffCase{name: "busy", args: value.DictOf("name", "busy", "state", "started"), setup: units},
			diffCase{name: "quiet", args: value.DictOf("name", "quiet", "enabled", true), setup: units},
			diffCase{name: "a script's links", args: value.DictOf("name", "web", "enabled", true), setup: all(units, on, shell("rm /var/lib/enabled-web"))},
		))
	})
}
