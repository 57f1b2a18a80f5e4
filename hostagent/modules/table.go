package modules

// Table is every native module by the name of the ansible.builtin module it
// stands in for.
var Table = map[string]Module{
	"apt":             native(apt, aptDefaults()...),
	"async_status":    native(asyncStatus),
	"blockinfile":     native(blockinfile, exclusive("insertbefore", "insertafter"), unsafeWritesRule),
	"command":         commandModule,
	"copy":            native(copyModule, unsafeWritesRule),
	"cron":            native(cron, exclusive("insertafter", "insertbefore")),
	"file":            native(fileModule, unsafeWritesRule),
	"find":            native(find),
	"getent":          native(getent),
	"group":           native(group, groupRules),
	"known_hosts":     native(knownHosts),
	"lineinfile":      native(lineinfile, lineinfileRules...),
	"ping":            native(ping),
	"raw":             rawModule,
	"replace":         native(replaceModule, unsafeWritesRule),
	"service_facts":   native(serviceFacts),
	"setup":           native(setup, emptyFilter),
	"shell":           shellModule,
	"slurp":           native(slurp),
	"stat":            native(statModule),
	"systemd":         native(systemd, systemdRules),
	"tempfile":        native(tempfile),
	"systemd_service": native(systemd, systemdRules),
	"user":            userModule,
	"wait_for":        native(waitFor, waitForRule),
}
