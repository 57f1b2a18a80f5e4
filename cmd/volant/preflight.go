package main

import (
	"cmp"
	"maps"
	"path/filepath"
	"slices"

	"volant/controller/compile"
	"volant/controller/execute"
	"volant/controller/playbook"
	"volant/hostagent/become"
	"volant/hostagent/modules"
)

// The plugins of these kinds that there are.
var (
	connections = []string{"ssh", "smart", "paramiko", "paramiko_ssh", "volant", "local", "chroot", "docker", "podman",
		"community.general.chroot", "community.docker.docker", "containers.podman.podman", "volant.command"}
	becomes    = become.Methods()
	strategies = []string{"linear", "free", "host_pinned", "debug"}
	callbacks  = []string{"default", "yaml", "debug", "minimal", "oneline", "json", "volant.jsonl"}   // for standard output
	notifiers  = []string{"tree", "junit", "timer", "profile_tasks", "profile_roles", "volant.jsonl"} // beside one of these
)

// have is what can run here.
func (j *project) have(names *execute.Names) *compile.Have {
	return &compile.Have{
		Catalog: names, Natives: slices.Sorted(maps.Keys(modules.Table)),
		Filter: j.engine.HasFilter, Test: j.engine.HasTest, Lookup: j.engine.HasLookup,
		Python: j.plugins != nil, Connections: connections, Becomes: becomes, Strategies: strategies,
	}
}

// preflight names what of the playbooks cannot run here, before anything is
// connected. A playbook that does not load is left for the run to report.
func (j *project) preflight(l *playbook.Loader, names *execute.Names, opt *playbookOptions, copt compile.Options) error {
	support := j.have(names)
	var plays []*playbook.Play
	for _, f := range opt.Playbook {
		book, err := l.Quiet().Load(f)
		if err != nil {
			continue
		}
		plays = append(plays, book.Plays...)
		support.Dirs = append(support.Dirs, filepath.Dir(j.absolute(f)))
	}
	hosts := func(p *playbook.Play) bool {
		return j.inv.Any(p.Values.Hosts...)
	}
	warn := cmp.Or(opt.Unsupported, j.config.String("VOLANT_UNSUPPORTED")) == "warn"
	return compile.Report(compile.Check(l, plays, copt, support, hosts), warn, j.display)
}
