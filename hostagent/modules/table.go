package modules

// Table is every native module by the name of the ansible.builtin module it
// stands in for.
var Table = map[string]Module{
	"command": commandModule,
	"copy":    native(copyModule, unsafeWritesRule),
	"file":    native(fileModule, unsafeWritesRule),
	"ping":    native(ping),
	"raw":     rawModule,
	"shell":   shellModule,
	"slurp":   native(slurp),
	"stat":    native(statModule),
}
