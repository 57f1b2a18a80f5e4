package modules

// Table is every native module by the name of the module it stands in for: the
// short one of ansible.builtin's, the full one of a collection's.
var Table = map[string]Module{
	"ansible.posix.authorized_key": native(posixAuthorizedKey),
	"ansible.posix.mount":          native(posixMount, mountRules),
	"ansible.posix.sysctl":         native(posixSysctl, sysctlRules),

	"apt":             native(apt, aptDefaults()...),
	"async_status":    native(asyncStatus),
	"blockinfile":     native(blockinfile, exclusive("insertbefore", "insertafter"), unsafeWritesRule),
	"command":         commandModule,
	"copy":            native(copyModule, unsafeWritesRule),
	"cron":            native(cron, exclusive("insertafter", "insertbefore")),
	"file":            native(fileModule, unsafeWritesRule),
	"find":            native(find),
	"getent":          native(getent),
	"git":             native(git, gitRules),
	"group":           native(group, groupRules),
	"known_hosts":     native(knownHosts),
	"lineinfile":      native(lineinfile, lineinfileRules...),
	"package_facts":   native(packageFacts),
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
