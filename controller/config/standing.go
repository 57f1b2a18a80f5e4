package config

// ignored are settings that we do not act on and that a user may miss: setting
// one gives a warning, which ends with the reason.
var ignored = map[string]string{
	"ANSIBLE_CONNECTION_PATH":                 "there is no persistent connection helper",
	"ANSIBLE_COW_ACCEPTLIST":                  noCows,
	"ANSIBLE_COW_PATH":                        noCows,
	"ANSIBLE_COW_SELECTION":                   noCows,
	"BECOME_PLUGIN_PATH":                      noPython,
	"COLLECTIONS_ON_ANSIBLE_VERSION_MISMATCH": "collections' requires_ansible is not looked at",
	"DEFAULT_CACHE_PLUGIN_PATH":               noPython,
	"DEFAULT_CALLBACK_PLUGIN_PATH":            noPython,
	"DEFAULT_CLICONF_PLUGIN_PATH":             noNetwork,
	"DEFAULT_CONNECTION_PLUGIN_PATH":          "hosts are reached through the agent",
	"DEFAULT_HTTPAPI_PLUGIN_PATH":             noNetwork,
	"DEFAULT_JINJA2_EXTENSIONS":               "templates have no extensions",
	"DEFAULT_KEEP_REMOTE_FILES":               "staged files are removed when their task ends",
	"DEFAULT_NETCONF_PLUGIN_PATH":             noNetwork,
	"DEFAULT_STRATEGY_PLUGIN_PATH":            "strategies are built in",
	"DEFAULT_TERMINAL_PLUGIN_PATH":            noNetwork,
	"DEFAULT_VARS_PLUGIN_PATH":                noPython,
	"DISPLAY_TRACEBACK":                       "there are no Python tracebacks",
	"DOC_FRAGMENT_PLUGIN_PATH":                "fragments are those of ansible-core and of collections",
	"MODULE_IGNORE_EXTS":                      "the default is built in",
	"NETCONF_SSH_CONFIG":                      noNetwork,
	"NETWORK_GROUP_MODULES":                   noNetwork,
	"PARAMIKO_HOST_KEY_AUTO_ADD":              "SSH is Volant's own",
	"PARAMIKO_LOOK_FOR_KEYS":                  "SSH is Volant's own",
	"PERSISTENT_COMMAND_TIMEOUT":              noNetwork,
	"PERSISTENT_CONNECT_RETRY_TIMEOUT":        noNetwork,
	"PERSISTENT_CONNECT_TIMEOUT":              noNetwork,
	"PERSISTENT_CONTROL_PATH_DIR":             noNetwork,
	"PLAYBOOK_VARS_ROOT":                      "group_vars and host_vars are those beside the playbook",
	"PLUGIN_FILTERS_CFG":                      "no module is filtered out",
	"SSH_AGENT":                               noAgent,
	"SSH_AGENT_EXECUTABLE":                    noAgent,
	"SSH_AGENT_KEY_LIFETIME":                  noAgent,
	"WIN_ASYNC_STARTUP_TIMEOUT":               "Windows hosts are not supported",
	"_CALLBACK_DISPATCH_ERROR_BEHAVIOR":       noPython,
	"_TEMPLAR_SANDBOX_MODE":                   "templates reach no Python objects",
	"_TEMPLAR_UNKNOWN_TYPE_CONVERSION":        "templates reach no Python objects",
	"_TEMPLAR_UNKNOWN_TYPE_ENCOUNTERED":       "templates reach no Python objects",
	"_TEMPLAR_UNTRUSTED_TEMPLATE_BEHAVIOR":    "what a host sent is never a template",
}

// moot are settings that nothing here acts on and nobody misses: they concern
// other commands, the reference's own workings, or nothing any more.
var moot = map[string]string{
	"ACTION_WARNINGS":                              "the reference does not read it either",
	"COLOR_CONSOLE_PROMPT":                         "there is no console command",
	"COVERAGE_REMOTE_OUTPUT":                       forTests,
	"COVERAGE_REMOTE_PATHS":                        forTests,
	"DEFAULT_ALLOW_UNSAFE_LOOKUPS":                 "the reference does not read it either",
	"DEFAULT_INTERNAL_POLL_INTERVAL":               "nothing polls",
	"DEFAULT_JINJA2_NATIVE":                        "the reference does not read it either",
	"DEFAULT_LIBVIRT_LXC_NOSECLABEL":               "there is no such connection",
	"DEFAULT_MODULE_COMPRESSION":                   "files travel by content, compressed when it pays",
	"DEFAULT_NULL_REPRESENTATION":                  "the reference does not read it either",
	"DEFAULT_SU":                                   "the reference does not read it either",
	"DEFAULT_UNDEFINED_VAR_BEHAVIOR":               "the reference does not read it either",
	"DEVEL_WARNING":                                "the reference is a release",
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
	"GALAXY_TOKEN_PATH":                            noGalaxy,
	"OLD_PLUGIN_CACHE_CLEARING":                    "there is no such cache",
	"STRING_TYPE_FILTERS":                          "the reference does not read it either",
	"SYSTEM_WARNINGS":                              "there are no such warnings",
	"USE_PERSISTENT_CONNECTIONS":                   "every link is persistent",
	"WORKER_SHUTDOWN_POLL_COUNT":                   noWorkers,
	"WORKER_SHUTDOWN_POLL_DELAY":                   noWorkers,
	"_ANSIBALLZ_COVERAGE_CONFIG":                   forTests,
	"_ANSIBALLZ_DEBUGPY_CONFIG":                    "modules are not wrapped in AnsiballZ",
	"_ANSIBALLZ_PYDEVD_CONFIG":                     "modules are not wrapped in AnsiballZ",
	"_ANSIBLE_CONNECTION_PATH":                     "there is no persistent connection helper",
	"_MODULE_METADATA":                             forTests,
	"_Z_TEST_ENTRY":                                forTests,
	"_Z_TEST_ENTRY_2":                              forTests,
	"_Z_TEST_ENTRY_3":                              forTests,
}

const (
	noPython  = "Python plugins of this kind are not loaded"
	noGalaxy  = "there is no galaxy command; ansible-galaxy installs what Volant finds"
	noNetwork = "network platforms are not supported"
	noCows    = "there are no cows"
	noAgent   = "an ssh-agent that runs is used (SSH_AUTH_SOCK); none is started"
	noWorkers = "there are no worker processes"
	forTests  = "for ansible-core's own tests"
)

// Standing says whether a setting is acted on, and if not, why; warned tells that
// setting it gives a warning.
func Standing(name string) (acted bool, why string, warned bool) {
	if why, ok := ignored[name]; ok {
		return false, why, true
	}
	why, ok := moot[name]
	return !ok, why, false
}
