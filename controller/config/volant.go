package config

// settingsVolant are our own, in the section [volant] of ansible.cfg.
var settingsVolant = []Setting{
	// How an agent lives on a host: installed to stay, or for the run only.
	{Name: "VOLANT_AGENT", Type: Choices, Default: "resident", Choices: []string{"resident", "transient"}, Env: []string{"VOLANT_AGENT"}, Ini: []Entry{{"volant", "agent"}}, Vars: []string{"volant_agent"}},
	// Who logs in over SSH: our own client, the system's ssh, or that only where ours cannot do what is asked.
	{Name: "VOLANT_SSH", Type: Choices, Default: "auto", Choices: []string{"auto", "native", "openssh"}, Env: []string{"VOLANT_SSH"}, Ini: []Entry{{"volant", "ssh"}}, Vars: []string{"volant_ssh"}},
	// The UDP port agents listen on; 0 lets each choose one above 20000 and keep it.
	{Name: "VOLANT_AGENT_PORT", Type: Int, Default: int64(0), Env: []string{"VOLANT_AGENT_PORT"}, Ini: []Entry{{"volant", "agent_port"}}, Vars: []string{"volant_agent_port"}},
	// The address agents listen on; "none" means only through SSH.
	{Name: "VOLANT_AGENT_LISTEN", Type: Str, Env: []string{"VOLANT_AGENT_LISTEN"}, Ini: []Entry{{"volant", "agent_listen"}}, Vars: []string{"volant_agent_listen"}},
	// Where pins, journals and keys are kept; the default lies under the XDG state home.
	{Name: "VOLANT_STATE_DIR", Type: Path, Env: []string{"VOLANT_STATE_DIR"}, Ini: []Entry{{"volant", "state_dir"}}},
	// Where what can be made again is kept; the default lies under the XDG cache home.
	{Name: "VOLANT_CACHE_DIR", Type: Path, Env: []string{"VOLANT_CACHE_DIR"}, Ini: []Entry{{"volant", "cache_dir"}}},
	// The controller's private key; the default lies in the state directory.
	{Name: "VOLANT_PRIVATE_KEY_FILE", Type: Path, Env: []string{"VOLANT_PRIVATE_KEY_FILE"}, Ini: []Entry{{"volant", "private_key_file"}}},
	// The directory of the ansible-core whose Python modules are used; found if not set.
	{Name: "VOLANT_ANSIBLE_CORE", Type: Path, Env: []string{"VOLANT_ANSIBLE_CORE"}, Ini: []Entry{{"volant", "ansible_core"}}},
	// How many runs are kept, so that one that was broken off can be resumed.
	{Name: "VOLANT_KEEP_RUNS", Type: Int, Default: int64(10), Env: []string{"VOLANT_KEEP_RUNS"}, Ini: []Entry{{"volant", "keep_runs"}}},
	// Seconds a silent link is redialled before its host is unreachable.
	{Name: "VOLANT_RECONNECT", Type: Int, Default: int64(60), Env: []string{"VOLANT_RECONNECT"}, Ini: []Entry{{"volant", "reconnect"}}},
	// Days an agent serves a controller after it last authenticated over SSH.
	{Name: "VOLANT_ENROL_TTL", Type: Int, Default: int64(30), Env: []string{"VOLANT_ENROL_TTL"}, Ini: []Entry{{"volant", "enrol_ttl"}}},
	// Bytes of the largest result a task may give.
	{Name: "VOLANT_MAX_RESULT", Type: Int, Default: int64(64 << 20), Env: []string{"VOLANT_MAX_RESULT"}, Ini: []Entry{{"volant", "max_result"}}},
	// Whether modules built into the agent stand in for Python ones.
	{Name: "VOLANT_NATIVE_MODULES", Type: Bool, Default: true, Env: []string{"VOLANT_NATIVE_MODULES"}, Ini: []Entry{{"volant", "native_modules"}}},
	// What gathers facts: the agent where it covers the host, or always Python.
	{Name: "VOLANT_FACTS", Type: Choices, Default: "auto", Choices: []string{"auto", "python"}, Env: []string{"VOLANT_FACTS"}, Ini: []Entry{{"volant", "facts"}}},
	// What preflight does with what cannot run.
	{Name: "VOLANT_UNSUPPORTED", Type: Choices, Default: "refuse", Choices: []string{"refuse", "warn"}, Env: []string{"VOLANT_UNSUPPORTED"}, Ini: []Entry{{"volant", "unsupported"}}},
	// Where a run writes its metrics, as Prometheus text.
	{Name: "VOLANT_METRICS_FILE", Type: Path, Env: []string{"VOLANT_METRICS_FILE"}, Ini: []Entry{{"volant", "metrics_file"}}},
	// Whether metrics carry host names.
	{Name: "VOLANT_METRICS_HOSTS", Type: Bool, Default: false, Env: []string{"VOLANT_METRICS_HOSTS"}, Ini: []Entry{{"volant", "metrics_hosts"}}},
}
