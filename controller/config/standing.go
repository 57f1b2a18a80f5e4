package config

// unread are settings that are known, checked and shown, and that nothing here
// acts on. Setting one makes no difference and gives no warning; those of
// which a user may expect one are in ignored.
var unread = map[string]string{
	"ACTION_WARNINGS":                              "warnings of actions are always shown",
	"AGNOSTIC_BECOME_PROMPT":                       "the question for the password is always the same",
	"ANSIBLE_COW_ACCEPTLIST":                       "there are no cows",
	"ANSIBLE_COW_PATH":                             "there are no cows",
	"ANSIBLE_COW_SELECTION":                        "there are no cows",
	"ANSIBLE_NOCOWS":                               "there are no cows",
	"BECOME_PLUGIN_PATH":                           noPython,
	"COLLECTIONS_ON_ANSIBLE_VERSION_MISMATCH":      "collections' requires_ansible is not looked at",
	"COLLECTIONS_SCAN_SYS_PATH":                    "of Python's path only the directory that ansible-core lies in is searched for collections",
	"COLOR_CONSOLE_PROMPT":                         "there is no console command",
	"COVERAGE_REMOTE_OUTPUT":                       "for ansible-core's own tests",
	"COVERAGE_REMOTE_PATHS":                        "for ansible-core's own tests",
	"DEFAULT_ACTION_PLUGIN_PATH":                   noPython,
	"DEFAULT_ALLOW_UNSAFE_LOOKUPS":                 "what a lookup returns is never a template",
	"DEFAULT_CACHE_PLUGIN_PATH":                    noPython,
	"DEFAULT_CALLBACK_PLUGIN_PATH":                 noPython,
	"DEFAULT_DEBUG":                                "",
	"DEFAULT_EXECUTABLE":                           "command lines run in /bin/sh; the module's argument executable is acted on",
	"DEFAULT_INTERNAL_POLL_INTERVAL":               "nothing polls",
	"DEFAULT_INVENTORY_PLUGIN_PATH":                noPython,
	"DEFAULT_LIBVIRT_LXC_NOSECLABEL":               "",
	"DEFAULT_LOCAL_TMP":                            "",
	"DEFAULT_LOG_FILTER":                           "",
	"DEFAULT_MODULE_COMPRESSION":                   "files travel by content, compressed when it pays",
	"DEFAULT_NO_TARGET_SYSLOG":                     "",
	"DEFAULT_NULL_REPRESENTATION":                  "",
	"DEFAULT_SU":                                   "gone from ansible-core as well",
	"DEFAULT_UNDEFINED_VAR_BEHAVIOR":               "an undefined variable is always an error",
	"DEFAULT_VARS_PLUGIN_PATH":                     noPython,
	"DEVEL_WARNING":                                "",
	"DISPLAY_SKIPPED_HOSTS":                        "the callback's option of the same name is acted on",
	"DOC_FRAGMENT_PLUGIN_PATH":                     "fragments are those of ansible-core and of collections",
	"GALAXY_CACHE_DIR":                             noGalaxy,
	"GALAXY_COLLECTIONS_PATH_WARNING":              noGalaxy,
	"GALAXY_COLLECTION_IMPORT_POLL_FACTOR":         noGalaxy,
	"GALAXY_COLLECTION_IMPORT_POLL_INTERVAL":       noGalaxy,
	"GALAXY_COLLECTION_SKELETON":                   noGalaxy,
	"GALAXY_COLLECTION_SKELETON_IGNORE":            noGalaxy,
	"GALAXY_DISABLE_GPG_VERIFY":                    noGalaxy,
	"GALAXY_DISPLAY_PROGRESS":                      noGalaxy,
	"GALAXY_GPG_KEYRING":                           noGalaxy,
	"GALAXY_IGNORE_CERTS":                          noGalaxy,
	"GALAXY_IGNORE_INVALID_SIGNATURE_STATUS_CODES": noGalaxy,
	"GALAXY_REQUIRED_VALID_SIGNATURE_COUNT":        noGalaxy,
	"GALAXY_ROLE_SKELETON":                         noGalaxy,
	"GALAXY_ROLE_SKELETON_IGNORE":                  noGalaxy,
	"GALAXY_SERVER":                                noGalaxy,
	"GALAXY_SERVER_LIST":                           noGalaxy,
	"GALAXY_SERVER_TIMEOUT":                        noGalaxy,
	"GALAXY_TOKEN_PATH":                            noGalaxy,
	"MODULE_IGNORE_EXTS":                           "the default is built in",
	"NETCONF_SSH_CONFIG":                           noNetwork,
	"OLD_PLUGIN_CACHE_CLEARING":                    "",
	"PLAYBOOK_VARS_ROOT":                           "group_vars and host_vars are those beside the playbook",
	"PLUGIN_FILTERS_CFG":                           "no module is filtered out",
	"SHOW_CUSTOM_STATS":                            "the callback's option of the same name is acted on",
	"SSH_AGENT":                                    "an ssh-agent that runs is used (SSH_AUTH_SOCK); none is started",
	"SSH_AGENT_EXECUTABLE":                         "an ssh-agent that runs is used (SSH_AUTH_SOCK); none is started",
	"SSH_AGENT_KEY_LIFETIME":                       "an ssh-agent that runs is used (SSH_AUTH_SOCK); none is started",
	"STRING_TYPE_FILTERS":                          "",
	"SYSTEM_WARNINGS":                              "",
	"TARGET_LOG_INFO":                              "",
	"USE_PERSISTENT_CONNECTIONS":                   "every link is persistent",
	"VALIDATE_ACTION_GROUP_METADATA":               "",
	"VARIABLE_PLUGINS_ENABLED":                     "group_vars and host_vars are built in",
	"WIN_ASYNC_STARTUP_TIMEOUT":                    "Windows hosts are not supported",
	"WORKER_SHUTDOWN_POLL_COUNT":                   "there are no worker processes",
	"WORKER_SHUTDOWN_POLL_DELAY":                   "there are no worker processes",
	"_ANSIBALLZ_COVERAGE_CONFIG":                   "for ansible-core's own tests",
	"_ANSIBALLZ_DEBUGPY_CONFIG":                    "modules are not wrapped in AnsiballZ",
	"_ANSIBALLZ_PYDEVD_CONFIG":                     "modules are not wrapped in AnsiballZ",
	"_ANSIBLE_CONNECTION_PATH":                     "there is no persistent connection helper",
	"_CALLBACK_DISPATCH_ERROR_BEHAVIOR":            "",
	"_MODULE_METADATA":                             "",
	"_TEMPLAR_SANDBOX_MODE":                        "templates reach no Python objects",
	"_TEMPLAR_UNKNOWN_TYPE_CONVERSION":             "",
	"_TEMPLAR_UNKNOWN_TYPE_ENCOUNTERED":            "",
	"_TEMPLAR_UNTRUSTED_TEMPLATE_BEHAVIOR":         "",
	"_Z_TEST_ENTRY":                                "for ansible-core's own tests",

	"VOLANT_METRICS_HOSTS": "metrics carry no host names",
}

const (
	noPython  = "Python plugins of this kind are not loaded"
	noGalaxy  = "there is no galaxy command; ansible-galaxy installs what Volant finds"
	noNetwork = "network platforms are not supported"
)

// Standing says whether a setting is acted on, and if not, why; warned tells that
// setting it gives a warning.
func Standing(name string) (acted bool, why string, warned bool) {
	if why, ok := ignored[name]; ok {
		return false, why, true
	}
	why, ok := unread[name]
	return !ok, why, false
}
