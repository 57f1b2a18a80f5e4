package execute

import (
	"sync"

	"volant/controller/union"
	"volant/wire/value"
)

// moduleOptions is what the _ansible_ arguments of a module depend on.
type moduleOptions struct {
	name    string
	noLog   bool
	logInfo string
}

// maxModuleOptions bounds how many are kept: names and texts may be templates.
const maxModuleOptions = 1024

// madeOptions keeps the arguments that were made, for all hosts and tasks.
type madeOptions struct {
	mu   sync.RWMutex // guards made
	made map[moduleOptions]*value.Dict
}

// of returns the arguments for k.
func (m *madeOptions) of(k moduleOptions, r *Runner) *value.Dict {
	m.mu.RLock()
	d := m.made[k]
	m.mu.RUnlock()
	if d != nil {
		return d
	}
	d = k.dict(r)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.made == nil || len(m.made) >= maxModuleOptions {
		m.made = map[moduleOptions]*value.Dict{}
	}
	m.made[k] = d
	return d
}

func (k moduleOptions) dict(r *Runner) *value.Dict {
	d := value.DictOf(
		"verbosity", int64(r.opt.Verbosity), "no_log", k.noLog, "version", union.CoreVersion, "module_name", k.name,
		"shell_executable", r.shell(), "keep_remote_files", false, "remote_tmp", "~/.ansible/tmp",
		"ignore_unknown_opts", false,
	)
	c := r.opt.Config
	if c == nil {
		return d
	}
	d.Set("syslog_facility", c.String("DEFAULT_SYSLOG_FACILITY"))
	d.Set("selinux_special_fs", value.Strings(c.Strings("DEFAULT_SELINUX_SPECIAL_FS")...))
	if k.logInfo != "" {
		d.Set("target_log_info", k.logInfo)
	}
	if c.Bool("DEFAULT_DEBUG") {
		d.Set("debug", true)
	}
	return d
}
