package config

// collectionBecome are the options of the become plugins of the collections
// community.general and containers.podman, as of the PyPI package ansible 12.3.
var collectionBecome = map[string][]Setting{
	"doas": {
		{Name: "become_user", Type: Str, Env: []string{"ANSIBLE_BECOME_USER", "ANSIBLE_DOAS_USER"}, Ini: []Entry{{"privilege_escalation", "become_user"}, {"doas_become_plugin", "user"}}, Vars: []string{"ansible_become_user", "ansible_doas_user"}, Keywords: []string{"become_user"}},
		{Name: "become_exe", Type: Str, Default: "doas", Env: []string{"ANSIBLE_BECOME_EXE", "ANSIBLE_DOAS_EXE"}, Ini: []Entry{{"privilege_escalation", "become_exe"}, {"doas_become_plugin", "executable"}}, Vars: []string{"ansible_become_exe", "ansible_doas_exe"}, Keywords: []string{"become_exe"}},
		{Name: "become_flags", Type: Str, Default: "", Env: []string{"ANSIBLE_BECOME_FLAGS", "ANSIBLE_DOAS_FLAGS"}, Ini: []Entry{{"privilege_escalation", "become_flags"}, {"doas_become_plugin", "flags"}}, Vars: []string{"ansible_become_flags", "ansible_doas_flags"}, Keywords: []string{"become_flags"}},
		{Name: "become_pass", Type: Str, Env: []string{"ANSIBLE_BECOME_PASS", "ANSIBLE_DOAS_PASS"}, Ini: []Entry{{"doas_become_plugin", "password"}}, Vars: []string{"ansible_become_password", "ansible_become_pass", "ansible_doas_pass"}},
		{Name: "prompt_l10n", Type: List, Default: []string{}, Env: []string{"ANSIBLE_DOAS_PROMPT_L10N"}, Ini: []Entry{{"doas_become_plugin", "localized_prompts"}}, Vars: []string{"ansible_doas_prompt_l10n"}},
	},
	"dzdo": {
		{Name: "become_user", Type: Str, Env: []string{"ANSIBLE_BECOME_USER", "ANSIBLE_DZDO_USER"}, Ini: []Entry{{"privilege_escalation", "become_user"}, {"dzdo_become_plugin", "user"}}, Vars: []string{"ansible_become_user", "ansible_dzdo_user"}, Keywords: []string{"become_user"}},
		{Name: "become_exe", Type: Str, Default: "dzdo", Env: []string{"ANSIBLE_BECOME_EXE", "ANSIBLE_DZDO_EXE"}, Ini: []Entry{{"privilege_escalation", "become_exe"}, {"dzdo_become_plugin", "executable"}}, Vars: []string{"ansible_become_exe", "ansible_dzdo_exe"}, Keywords: []string{"become_exe"}},
		{Name: "become_flags", Type: Str, Default: "-H -S -n", Env: []string{"ANSIBLE_BECOME_FLAGS", "ANSIBLE_DZDO_FLAGS"}, Ini: []Entry{{"privilege_escalation", "become_flags"}, {"dzdo_become_plugin", "flags"}}, Vars: []string{"ansible_become_flags", "ansible_dzdo_flags"}, Keywords: []string{"become_flags"}},
		{Name: "become_pass", Type: Str, Env: []string{"ANSIBLE_BECOME_PASS", "ANSIBLE_DZDO_PASS"}, Ini: []Entry{{"dzdo_become_plugin", "password"}}, Vars: []string{"ansible_become_password", "ansible_become_pass", "ansible_dzdo_pass"}},
	},
	"ksu": {
		{Name: "become_user", Type: Str, Env: []string{"ANSIBLE_BECOME_USER", "ANSIBLE_KSU_USER"}, Ini: []Entry{{"privilege_escalation", "become_user"}, {"ksu_become_plugin", "user"}}, Vars: []string{"ansible_become_user", "ansible_ksu_user"}, Keywords: []string{"become_user"}},
		{Name: "become_exe", Type: Str, Default: "ksu", Env: []string{"ANSIBLE_BECOME_EXE", "ANSIBLE_KSU_EXE"}, Ini: []Entry{{"privilege_escalation", "become_exe"}, {"ksu_become_plugin", "executable"}}, Vars: []string{"ansible_become_exe", "ansible_ksu_exe"}, Keywords: []string{"become_exe"}},
		{Name: "become_flags", Type: Str, Default: "", Env: []string{"ANSIBLE_BECOME_FLAGS", "ANSIBLE_KSU_FLAGS"}, Ini: []Entry{{"privilege_escalation", "become_flags"}, {"ksu_become_plugin", "flags"}}, Vars: []string{"ansible_become_flags", "ansible_ksu_flags"}, Keywords: []string{"become_flags"}},
		{Name: "become_pass", Type: Str, Env: []string{"ANSIBLE_BECOME_PASS", "ANSIBLE_KSU_PASS"}, Ini: []Entry{{"ksu_become_plugin", "password"}}, Vars: []string{"ansible_ksu_pass", "ansible_become_pass", "ansible_become_password"}},
		{Name: "prompt_l10n", Type: List, Default: []string{}, Env: []string{"ANSIBLE_KSU_PROMPT_L10N"}, Ini: []Entry{{"ksu_become_plugin", "localized_prompts"}}, Vars: []string{"ansible_ksu_prompt_l10n"}},
	},
	"machinectl": {
		{Name: "become_user", Type: Str, Default: "", Env: []string{"ANSIBLE_BECOME_USER", "ANSIBLE_MACHINECTL_USER"}, Ini: []Entry{{"privilege_escalation", "become_user"}, {"machinectl_become_plugin", "user"}}, Vars: []string{"ansible_become_user", "ansible_machinectl_user"}, Keywords: []string{"become_user"}},
		{Name: "become_exe", Type: Str, Default: "machinectl", Env: []string{"ANSIBLE_BECOME_EXE", "ANSIBLE_MACHINECTL_EXE"}, Ini: []Entry{{"privilege_escalation", "become_exe"}, {"machinectl_become_plugin", "executable"}}, Vars: []string{"ansible_become_exe", "ansible_machinectl_exe"}, Keywords: []string{"become_exe"}},
		{Name: "become_flags", Type: Str, Default: "", Env: []string{"ANSIBLE_BECOME_FLAGS", "ANSIBLE_MACHINECTL_FLAGS"}, Ini: []Entry{{"privilege_escalation", "become_flags"}, {"machinectl_become_plugin", "flags"}}, Vars: []string{"ansible_become_flags", "ansible_machinectl_flags"}, Keywords: []string{"become_flags"}},
		{Name: "become_pass", Type: Str, Env: []string{"ANSIBLE_BECOME_PASS", "ANSIBLE_MACHINECTL_PASS"}, Ini: []Entry{{"machinectl_become_plugin", "password"}}, Vars: []string{"ansible_become_password", "ansible_become_pass", "ansible_machinectl_pass"}},
	},
	"pbrun": {
		{Name: "become_user", Type: Str, Default: "", Env: []string{"ANSIBLE_BECOME_USER", "ANSIBLE_PBRUN_USER"}, Ini: []Entry{{"privilege_escalation", "become_user"}, {"pbrun_become_plugin", "user"}}, Vars: []string{"ansible_become_user", "ansible_pbrun_user"}, Keywords: []string{"become_user"}},
		{Name: "become_exe", Type: Str, Default: "pbrun", Env: []string{"ANSIBLE_BECOME_EXE", "ANSIBLE_PBRUN_EXE"}, Ini: []Entry{{"privilege_escalation", "become_exe"}, {"pbrun_become_plugin", "executable"}}, Vars: []string{"ansible_become_exe", "ansible_pbrun_exe"}, Keywords: []string{"become_exe"}},
		{Name: "become_flags", Type: Str, Default: "", Env: []string{"ANSIBLE_BECOME_FLAGS", "ANSIBLE_PBRUN_FLAGS"}, Ini: []Entry{{"privilege_escalation", "become_flags"}, {"pbrun_become_plugin", "flags"}}, Vars: []string{"ansible_become_flags", "ansible_pbrun_flags"}, Keywords: []string{"become_flags"}},
		{Name: "become_pass", Type: Str, Env: []string{"ANSIBLE_BECOME_PASS", "ANSIBLE_PBRUN_PASS"}, Ini: []Entry{{"pbrun_become_plugin", "password"}}, Vars: []string{"ansible_become_password", "ansible_become_pass", "ansible_pbrun_pass"}},
		{Name: "wrap_exe", Type: Bool, Default: false, Env: []string{"ANSIBLE_PBRUN_WRAP_EXECUTION"}, Ini: []Entry{{"pbrun_become_plugin", "wrap_execution"}}, Vars: []string{"ansible_pbrun_wrap_execution"}},
	},
	"pfexec": {
		{Name: "become_user", Type: Str, Default: "root", Env: []string{"ANSIBLE_BECOME_USER", "ANSIBLE_PFEXEC_USER"}, Ini: []Entry{{"privilege_escalation", "become_user"}, {"pfexec_become_plugin", "user"}}, Vars: []string{"ansible_become_user", "ansible_pfexec_user"}, Keywords: []string{"become_user"}},
		{Name: "become_exe", Type: Str, Default: "pfexec", Env: []string{"ANSIBLE_BECOME_EXE", "ANSIBLE_PFEXEC_EXE"}, Ini: []Entry{{"privilege_escalation", "become_exe"}, {"pfexec_become_plugin", "executable"}}, Vars: []string{"ansible_become_exe", "ansible_pfexec_exe"}, Keywords: []string{"become_exe"}},
		{Name: "become_flags", Type: Str, Default: "-H -S -n", Env: []string{"ANSIBLE_BECOME_FLAGS", "ANSIBLE_PFEXEC_FLAGS"}, Ini: []Entry{{"privilege_escalation", "become_flags"}, {"pfexec_become_plugin", "flags"}}, Vars: []string{"ansible_become_flags", "ansible_pfexec_flags"}, Keywords: []string{"become_flags"}},
		{Name: "become_pass", Type: Str, Env: []string{"ANSIBLE_BECOME_PASS", "ANSIBLE_PFEXEC_PASS"}, Ini: []Entry{{"pfexec_become_plugin", "password"}}, Vars: []string{"ansible_become_password", "ansible_become_pass", "ansible_pfexec_pass"}},
		{Name: "wrap_exe", Type: Bool, Default: false, Env: []string{"ANSIBLE_PFEXEC_WRAP_EXECUTION"}, Ini: []Entry{{"pfexec_become_plugin", "wrap_execution"}}, Vars: []string{"ansible_pfexec_wrap_execution"}},
	},
	"pmrun": {
		{Name: "become_exe", Type: Str, Default: "pmrun", Env: []string{"ANSIBLE_BECOME_EXE", "ANSIBLE_PMRUN_EXE"}, Ini: []Entry{{"privilege_escalation", "become_exe"}, {"pmrun_become_plugin", "executable"}}, Vars: []string{"ansible_become_exe", "ansible_pmrun_exe"}, Keywords: []string{"become_exe"}},
		{Name: "become_flags", Type: Str, Default: "", Env: []string{"ANSIBLE_BECOME_FLAGS", "ANSIBLE_PMRUN_FLAGS"}, Ini: []Entry{{"privilege_escalation", "become_flags"}, {"pmrun_become_plugin", "flags"}}, Vars: []string{"ansible_become_flags", "ansible_pmrun_flags"}, Keywords: []string{"become_flags"}},
		{Name: "become_pass", Type: Str, Env: []string{"ANSIBLE_BECOME_PASS", "ANSIBLE_PMRUN_PASS"}, Ini: []Entry{{"pmrun_become_plugin", "password"}}, Vars: []string{"ansible_become_password", "ansible_become_pass", "ansible_pmrun_pass"}},
	},
	"run0": {
		{Name: "become_user", Type: Str, Default: "root", Env: []string{"ANSIBLE_BECOME_USER", "ANSIBLE_RUN0_USER"}, Ini: []Entry{{"privilege_escalation", "become_user"}, {"run0_become_plugin", "user"}}, Vars: []string{"ansible_become_user", "ansible_run0_user"}, Keywords: []string{"become_user"}},
		{Name: "become_exe", Type: Str, Default: "run0", Env: []string{"ANSIBLE_BECOME_EXE", "ANSIBLE_RUN0_EXE"}, Ini: []Entry{{"privilege_escalation", "become_exe"}, {"run0_become_plugin", "executable"}}, Vars: []string{"ansible_become_exe", "ansible_run0_exe"}, Keywords: []string{"become_exe"}},
		{Name: "become_flags", Type: Str, Default: "", Env: []string{"ANSIBLE_BECOME_FLAGS", "ANSIBLE_RUN0_FLAGS"}, Ini: []Entry{{"privilege_escalation", "become_flags"}, {"run0_become_plugin", "flags"}}, Vars: []string{"ansible_become_flags", "ansible_run0_flags"}, Keywords: []string{"become_flags"}},
	},
	"sesu": {
		{Name: "become_user", Type: Str, Default: "", Env: []string{"ANSIBLE_BECOME_USER", "ANSIBLE_SESU_USER"}, Ini: []Entry{{"privilege_escalation", "become_user"}, {"sesu_become_plugin", "user"}}, Vars: []string{"ansible_become_user", "ansible_sesu_user"}, Keywords: []string{"become_user"}},
		{Name: "become_exe", Type: Str, Default: "sesu", Env: []string{"ANSIBLE_BECOME_EXE", "ANSIBLE_SESU_EXE"}, Ini: []Entry{{"privilege_escalation", "become_exe"}, {"sesu_become_plugin", "executable"}}, Vars: []string{"ansible_become_exe", "ansible_sesu_exe"}, Keywords: []string{"become_exe"}},
		{Name: "become_flags", Type: Str, Default: "-H -S -n", Env: []string{"ANSIBLE_BECOME_FLAGS", "ANSIBLE_SESU_FLAGS"}, Ini: []Entry{{"privilege_escalation", "become_flags"}, {"sesu_become_plugin", "flags"}}, Vars: []string{"ansible_become_flags", "ansible_sesu_flags"}, Keywords: []string{"become_flags"}},
		{Name: "become_pass", Type: Str, Env: []string{"ANSIBLE_BECOME_PASS", "ANSIBLE_SESU_PASS"}, Ini: []Entry{{"sesu_become_plugin", "password"}}, Vars: []string{"ansible_become_password", "ansible_become_pass", "ansible_sesu_pass"}},
	},
	"sudosu": {
		{Name: "become_user", Type: Str, Default: "root", Env: []string{"ANSIBLE_BECOME_USER", "ANSIBLE_SUDO_USER"}, Ini: []Entry{{"privilege_escalation", "become_user"}, {"sudo_become_plugin", "user"}}, Vars: []string{"ansible_become_user", "ansible_sudo_user"}, Keywords: []string{"become_user"}},
		{Name: "become_flags", Type: Str, Default: "-H -S -n", Env: []string{"ANSIBLE_BECOME_FLAGS", "ANSIBLE_SUDO_FLAGS"}, Ini: []Entry{{"privilege_escalation", "become_flags"}, {"sudo_become_plugin", "flags"}}, Vars: []string{"ansible_become_flags", "ansible_sudo_flags"}, Keywords: []string{"become_flags"}},
		{Name: "become_pass", Type: Str, Env: []string{"ANSIBLE_BECOME_PASS", "ANSIBLE_SUDO_PASS"}, Ini: []Entry{{"sudo_become_plugin", "password"}}, Vars: []string{"ansible_become_password", "ansible_become_pass", "ansible_sudo_pass"}},
		{Name: "alt_method", Type: Bool, Default: false, Env: []string{"ANSIBLE_SUDOSU_ALT_METHOD"}, Ini: []Entry{{"community.general.sudosu", "alternative_method"}}, Vars: []string{"ansible_sudosu_alt_method"}},
	},
	"podman_unshare": {
		{Name: "become_user", Env: []string{"ANSIBLE_BECOME_USER", "ANSIBLE_SUDO_USER"}, Ini: []Entry{{"privilege_escalation", "become_user"}, {"sudo_become_plugin", "user"}}, Vars: []string{"ansible_become_user", "ansible_sudo_user"}, Keywords: []string{"become_user"}},
		{Name: "become_exe", Default: "sudo", Env: []string{"ANSIBLE_BECOME_EXE", "ANSIBLE_SUDO_EXE"}, Ini: []Entry{{"privilege_escalation", "become_exe"}, {"sudo_become_plugin", "executable"}}, Vars: []string{"ansible_become_exe", "ansible_sudo_exe"}, Keywords: []string{"become_exe"}},
		{Name: "become_pass", Env: []string{"ANSIBLE_BECOME_PASS", "ANSIBLE_SUDO_PASS"}, Ini: []Entry{{"sudo_become_plugin", "password"}}, Vars: []string{"ansible_become_password", "ansible_become_pass", "ansible_sudo_pass"}},
	},
}
