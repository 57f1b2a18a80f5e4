package main

import "volant/cmd/internal/manual"

// Parts of pages that several commands share.
var (
	configEnvironment = []manual.Item{
		{Term: "ANSIBLE_CONFIG", Text: "The configuration file to read."},
		{Term: "ANSIBLE_*", Text: "Settings, as in ansible-core; docs/COMPATIBILITY.md lists which are acted on."},
		{Term: "VOLANT_*", Text: "Volant's own settings; docs/COMPATIBILITY.md lists them."},
	}
	configFiles = []manual.Item{
		{Term: "ansible.cfg", Text: "Configuration: the file ANSIBLE_CONFIG names, else that of the current directory (not when everyone may write there), else ~/.ansible.cfg, else /etc/ansible/ansible.cfg. Volant's own settings are in the section [volant]."},
	}
	runFiles = append(append([]manual.Item{}, configFiles...),
		manual.Item{Term: "~/.local/state/volant/", Text: "The controller's key and the keys of the agents it knows. XDG_STATE_HOME and state_dir in the section [volant] move it."},
		manual.Item{Term: "~/.cache/volant/", Text: "What is known of module files; may be removed at any time. XDG_CACHE_HOME and cache_dir in the section [volant] move it."},
		manual.Item{Term: "~/.ssh/config, ~/.ssh/known_hosts", Text: "How hosts are reached for the one SSH login that installs the agent, and which host keys are right."},
	)
	runExit = []manual.Item{
		{Term: "0", Text: "All is well; or no host matched."},
		{Term: "1", Text: "An error that ended the run: a playbook or role is missing, a handler is unknown, a template of a play failed."},
		{Term: "2", Text: "A task failed on a host; or the command line is wrong."},
		{Term: "4", Text: "A host was unreachable; a file could not be parsed; or something cannot run here, named before the first connection."},
		{Term: "5", Text: "An option or a setting has a wrong value."},
		{Term: "99", Text: "Interrupted."},
		{Term: "250", Text: "An error that nobody expected."},
	}
	plainExit = []manual.Item{
		{Term: "0", Text: "All is well."},
		{Term: "1", Text: "It could not be done."},
		{Term: "2", Text: "The command line is wrong."},
		{Term: "5", Text: "An option or a setting has a wrong value."},
	}
)

// pages is the prose of every command for users, by full name.
var pages = map[string]manual.Page{
	"volant": {
		Summary: "run Ansible playbooks through resident agents",
		Text: []string{
			"Volant runs the Ansible playbooks, roles and inventories people already have, unchanged. SSH is used once per host, to install an agent; from then on the controller talks to it over one QUIC connection, and the agent runs modules natively or in a warm Python.",
			"A link named ansible-playbook, ansible, ansible-inventory, ansible-vault, ansible-config or ansible-doc does as that command; volant shims writes these links.",
		},
		Environment: configEnvironment, Files: runFiles, Exit: runExit,
	},
	"volant agent": {
		Summary: "look after the agents of an inventory",
		Text: []string{
			"Logs in to the hosts over SSH, as a play would, and asks or changes the agent of the login account.",
			"status says whether an agent runs, of which release, where it listens and what keeps it alive. upgrade installs the agent of this volant where there is none or an older one; what runs is finished by the old one. keys lists the controllers that an agent serves, with their leases; --revoke ends one at once, --rotate makes this controller a new key. uninstall ends the agent and removes everything it keeps.",
		},
		Environment: configEnvironment, Files: runFiles,
		Exit: []manual.Item{
			{Term: "0", Text: "All is well."},
			{Term: "1", Text: "It could not be begun."},
			{Term: "2", Text: "It could not be done on a host; or the command line is wrong."},
			{Term: "4", Text: "A host was unreachable."},
		},
		Examples: []manual.Item{
			{Term: "volant agent status -i inventory", Text: "which agents run"},
			{Term: "volant agent upgrade -i inventory web", Text: "bring the agents of a group up to this release"},
			{Term: "volant agent keys -i inventory --revoke ci@runner7", Text: "no longer serve a controller"},
			{Term: "volant agent uninstall -i inventory --json", Text: "leave nothing behind"},
		},
	},
	"volant playbook": {
		Summary: "run playbooks, as ansible-playbook does",
		Text: []string{
			"Runs the plays of the playbooks on the hosts of an inventory. Options, output, recap and exit codes are those of ansible-playbook.",
			"Before the first connection every statement that cannot run here is named and the run is refused, so that nothing is left half-done; --unsupported=warn lets it go on. --syntax-check and the listings do not look for that.",
			"A host that has no agent gets one over SSH; a host whose agent lives is not logged in to. The first interrupt cancels what runs and ends with code 99, the second ends at once.",
			"A run is written down as it goes, sealed with the controller's key. One whose controller was killed, interrupted or switched off goes on with --resume RUN where it stood, with its variables, loops, handlers and counts: what was done is not done again, what was running on the hosts is collected, and what may or may not have completed is reported as such. It is refused when a file it read or the hosts of a play are not what they were; passwords are asked for again.",
		},
		Environment: configEnvironment, Files: runFiles, Exit: runExit,
		Examples: []manual.Item{
			{Term: "volant playbook -i inventory site.yml", Text: "run a playbook"},
			{Term: "volant playbook --resume last", Text: "go on with the run that was broken off last"},
			{Term: "volant playbook -i inventory site.yml --check --diff --limit 'web:!web3'", Text: "show what would change on some hosts"},
			{Term: "volant playbook -i inventory site.yml --tags config -e version=1.4 -e @secrets.yml", Text: "some tasks only, with variables"},
			{Term: "volant playbook -i inventory site.yml --list-tasks", Text: "what would run"},
			{Term: "volant playbook -i inventory site.yml --metrics-file /var/lib/node_exporter/volant.prom", Text: "leave metrics for a collector"},
		},
		See: []string{"volant adhoc", "volant check", "volant inventory", "volant vault"},
	},
	"volant runs": {
		Summary: "list the runs that are kept",
		Text: []string{
			"Lists the runs of this controller that are kept, the newest first: how each ended, or that it can be resumed with volant playbook --resume RUN, and how many tasks are known to be done. The last ten are kept in the directory runs of the state directory, or as many as keep_runs in the section [volant] of ansible.cfg or VOLANT_KEEP_RUNS says; with 0 no run is written down. Of a run that came to its end only that is kept.",
		},
		Environment: configEnvironment, Files: runFiles, Exit: plainExit[:3],
		Examples: []manual.Item{
			{Term: "volant runs", Text: "what can be resumed?"},
			{Term: "volant runs --remove 20260102-030405-6a7b", Text: "forget one"},
		},
		See: []string{"volant playbook"},
	},
	"volant adhoc": {
		Summary: "run one task, as ansible does",
		Text: []string{
			"Runs one module or action on the hosts that a pattern matches, and shows each host's result.",
		},
		Environment: configEnvironment, Files: runFiles, Exit: runExit,
		Examples: []manual.Item{
			{Term: "volant adhoc all -i inventory -m ping", Text: "is every host there?"},
			{Term: "volant adhoc web -i inventory -b -m service -a 'name=nginx state=restarted'", Text: "restart a service as root"},
			{Term: "volant adhoc all -i inventory -a 'uptime' -o", Text: "a command, one line of output a host"},
			{Term: "volant adhoc localhost -m debug -a 'msg={{ 6 * 7 }}'", Text: "try a template"},
		},
		See: []string{"volant playbook", "volant doc"},
	},
	"volant inventory": {
		Summary: "show the inventory, as ansible-inventory does",
		Text: []string{
			"Shows hosts, groups and variables as the other commands see them, from inventory files, directories, scripts and plugins with group_vars and host_vars.",
		},
		Environment: configEnvironment, Files: configFiles,
		Exit: append(append([]manual.Item{}, plainExit[:3]...), manual.Item{Term: "4", Text: "The inventory could not be parsed."}, plainExit[3]),
		Examples: []manual.Item{
			{Term: "volant inventory -i inventory --graph --vars", Text: "the tree of groups, with variables"},
			{Term: "volant inventory -i inventory --host web1 -y", Text: "the variables of one host, as YAML"},
			{Term: "volant inventory -i inventory --list --export --output all.json", Text: "everything, to be used as an inventory elsewhere"},
		},
		See: []string{"volant playbook"},
	},
	"volant vault": {
		Summary: "encrypt and decrypt, as ansible-vault does",
		Text: []string{
			"Works on files and strings in the format $ANSIBLE_VAULT;1.1 and 1.2 (AES256). Passwords come from --vault-password-file, --vault-id LABEL@FILE (a file that can be executed is run), the configuration, or a question.",
			"What stands in an option is seen by whoever may list processes: leave strings to standard input or --prompt.",
		},
		Environment: append([]manual.Item{
			{Term: "EDITOR", Text: "The editor of create and edit, unless the setting EDITOR of the configuration says otherwise. Default: vi."},
			{Term: "ANSIBLE_VAULT_PASSWORD_FILE", Text: "A password file."},
			{Term: "ANSIBLE_VAULT_IDENTITY_LIST", Text: "Vault identities, as several --vault-id."},
		}, configEnvironment...),
		Files: configFiles, Exit: plainExit,
		Examples: []manual.Item{
			{Term: "volant vault encrypt --vault-id prod@~/.vault-prod group_vars/prod/secrets.yml", Text: "encrypt a file where it is"},
			{Term: "volant vault encrypt_string --vault-password-file ~/.vault --stdin-name db_password", Text: "a value to paste into a variables file"},
			{Term: "volant vault view secrets.yml", Text: "read it"},
			{Term: "volant vault rekey --new-vault-password-file ~/.vault-new secrets.yml", Text: "change the password"},
		},
		See: []string{"volant playbook"},
	},
	"volant config": {
		Summary: "show the configuration, as ansible-config does",
		Text: []string{
			"dump shows every setting with its value and where it came from; validate finds entries of the file or variables of the environment that no setting has.",
		},
		Environment: append([]manual.Item{{Term: "PAGER", Text: "What long output is shown with on a terminal."}}, configEnvironment...),
		Files:       configFiles, Exit: plainExit,
		Examples: []manual.Item{
			{Term: "volant config dump --only-changed", Text: "what this project sets"},
			{Term: "volant config dump --type become sudo", Text: "the options of one plugin"},
			{Term: "volant config init --disabled > ansible.cfg", Text: "start a file, everything commented out"},
		},
	},
	"volant doc": {
		Summary: "show the documentation of modules and plugins, as ansible-doc does",
		Text: []string{
			"Reads the documentation of the installed ansible-core and collections and of library directories, with its fragments. A module beside the playbook (library/) is found with --playbook-dir.",
		},
		Environment: configEnvironment, Files: configFiles, Exit: plainExit,
		Examples: []manual.Item{
			{Term: "volant doc copy", Text: "a module"},
			{Term: "volant doc -s lineinfile", Text: "a task to fill in"},
			{Term: "volant doc -t lookup file", Text: "a plugin of another type"},
			{Term: "volant doc -l ansible.builtin", Text: "the modules of a collection"},
			{Term: "volant doc -t filter combine --json", Text: "for a program"},
		},
		See: []string{"volant adhoc", "volant check"},
	},
	"volant check": {
		Summary: "say whether a project will run here",
		Text: []string{
			"Loads every playbook of a directory (or the playbooks named) with its roles and includes, without connecting to anything, and reports what would keep it from running: files that do not load, names that stand for nothing, missing roles and collections, Python plugins of kinds that Volant does not load, conditions that are no booleans, and, per module, how it will run: by native code, by Python, or on the controller.",
			"The inventory is not needed. What depends on values known at run time only is not judged.",
		},
		Environment: configEnvironment, Files: configFiles,
		Exit: []manual.Item{
			{Term: "0", Text: "Everything will run, warnings aside."},
			{Term: "2", Text: "The command line is wrong."},
			{Term: "4", Text: "Something cannot run, or does not load."},
		},
		Examples: []manual.Item{
			{Term: "volant check .", Text: "the project of the current directory"},
			{Term: "volant check --json ~/infra | jq .problems", Text: "for a program"},
			{Term: "volant check site.yml upgrade.yml", Text: "some playbooks only"},
		},
		See: []string{"volant playbook", "volant setup"},
	},
	"volant bench": {
		Summary: "compare with ansible-core",
		Text: []string{
			"Runs one playbook on one inventory with Volant and with ansible-core (pipelining on and off; Mitogen where it is installed), each once untimed and then --runs times, compares the recaps, and prints medians and ratios.",
			"The hosts should be converged before, so that every run does the same.",
		},
		Environment: configEnvironment,
		Exit: []manual.Item{
			{Term: "0", Text: "All runs ended with the same recap."},
			{Term: "1", Text: "A run could not be made, or the recaps differ."},
			{Term: "2", Text: "The command line is wrong."},
		},
		Examples: []manual.Item{
			{Term: "volant bench -i inventory site.yml --runs 5 --json bench.json", Text: "five timed runs of each, kept as JSON"},
			{Term: "volant bench -i inventory site.yml --only volant,pipelining --arg=--limit=web", Text: "two contenders, some hosts"},
		},
	},
	"volant shims": {
		Summary: "write links named as ansible-core's commands",
		Text: []string{
			"Writes links ansible-playbook, ansible, ansible-inventory, ansible-vault, ansible-config and ansible-doc that run Volant into a directory. Whoever has it first on PATH runs Volant by the old names. Links are replaced; a file that is no link is left alone and ends the command.",
		},
		Exit:     plainExit[:3],
		Examples: []manual.Item{{Term: "volant shims ~/volant-bin && PATH=~/volant-bin:$PATH ansible-playbook site.yml", Text: "use them"}},
	},
	"volant setup": {
		Summary: "install ansible-core for Volant alone",
		Text: []string{
			"Makes a Python virtual environment and installs there, with pip, the ansible-core whose modules Volant uses for what it does not do natively. Not needed where ansible-core is installed: VOLANT_ANSIBLE_CORE, ansible_core in the section [volant] of ansible.cfg, the ansible on PATH and python3's packages are looked at before.",
		},
		Environment: configEnvironment,
		Files: []manual.Item{
			{Term: "~/.local/share/volant/ansible-core/", Text: "The environment of one user. XDG_DATA_HOME moves it."},
			{Term: "/var/lib/volant/ansible-core/", Text: "The environment root makes, for every user."},
		},
		Exit:     plainExit[:3],
		Examples: []manual.Item{{Term: "volant setup --python python3.12", Text: "with a Python of one's choice"}},
	},
	"volant completion": {
		Summary: "write completions for a shell",
		Text:    []string{"Writes a script that teaches bash, zsh or fish the commands and options of volant and of the links that volant shims writes."},
		Exit:    plainExit[:3],
		Examples: []manual.Item{
			{Term: `source <(volant completion bash)`, Text: "bash, for this session; in ~/.bashrc for all"},
			{Term: `volant completion zsh > "${fpath[1]}/_volant"`, Text: "zsh"},
			{Term: `volant completion fish > ~/.config/fish/completions/volant.fish`, Text: "fish"},
		},
	},
}
