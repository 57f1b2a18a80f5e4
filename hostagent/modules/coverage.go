package modules

// Coverage says, for docs/COMPATIBILITY.md, what each native module does and
// what it hands back to the Python module; each reason stands at its handBack.
var Coverage = map[string]struct{ Native, Back string }{
	"apt": {
		"what is as asked, told by dpkg's status and apt-cache; installing, removing, upgrading and cleaning up by the command lines that the Python module runs; names with a version or the beginning of one, patterns of names, names that others provide; every state; debs that are installed; updating the lists; default_release",
		"debs that are not installed, or to be fetched; names with an architecture, other patterns of versions; dpkg_options and releases that need quoting; a version of a package that apt's preferences name; upgrading where there is aptitude, but for dist; packages that dpkg has not installed in full; lists that are locked, or no root to update them; python3-apt missing",
	},
	"apt_repository": {
		"sources that are as asked: there and enabled, or absent",
		"everything that changes the sources; a PPA; apt's directories set in its configuration; lists of sources that cannot be read or are not UTF-8; neither apt-key nor gpg; python3-apt missing",
	},
	"command": {"everything", "no command at all; an argument with a zero byte"},
	"copy": {
		"files, with mode, owner, attributes, backup, validate, checksum, remote_src",
		"SELinux is on; src missing, a directory or no regular file; a validate with another format than %s; a mode that is no whole number or text",
	},
	"dnf": {
		"packages that are installed, or absent, as asked by plain name, told from the rpm database without a look at the repositories; it is read once per change: SQLite's here (13 ms for 1,500 packages), another by one `rpm -qa`",
		"everything that changes something, and latest; names with a version, architecture or pattern, files, groups, modules, what a package provides; autoremove, list, update_cache, update_only, security, bugfix, exclude, disable_excludes, installroot, releasever, conf_file, plugins, downloads, cacheonly; excludes and locked versions in dnf's configuration; python3-dnf missing; no package that tells the distribution's version; users other than root",
	},
	"dnf5": {
		"packages that are installed, or absent, as asked by plain name, told from the rpm database without a look at the repositories",
		"as dnf; python3-libdnf5 missing",
	},
	"file": {
		"all states, times and attributes",
		"SELinux is on; a mode that is no whole number or text; a time in a format of its own",
	},
	"get_url": {
		"a file that is there with its checksum; plain downloads by HTTP and HTTPS, with headers, checksum, backup, mode, owner and attributes",
		"SELinux is on; another scheme or a user in the URL; a checksum that is to be fetched; credentials, a client's certificate or a .netrc; a proxy in the environment; SSL_CERT_FILE, SSL_CERT_DIR; ciphers, unredirected_headers, tmp_dest, a Host header; every answer but 200 and 304; a directory as dest where the answer may name the file",
	},
	"git": {
		"bringing a working copy that is there up to date, by the commands that the Python module runs",
		"cloning; bare, separate_git_dir, archive, reference, refspec, verify_commit, gpg_allowlist, umask, depth, accept_newhostkey, track_submodules; submodules; names that need quoting; a diff in check mode of what is not fetched; git older than 2",
	},
	"hostname": {"hosts that systemd manages", "use of another strategy than systemd or debian; other init systems; no interpreter found, which is asked for the full name"},
	"lineinfile": {
		"everything",
		"SELinux is on; files beyond the bound for editing in memory; a regular expression or replacement that our engine does not take; a validate with another format than %s",
	},
	"package_facts": {
		"packages of dpkg, as apt's library tells of them, and of rpm",
		"other package managers, or all of them; apk installed; python3-apt or python3-rpm missing; a package that dpkg has not installed in full, or of which there are several builds",
	},
	"pip": {
		"names, with versions and extras, paths and URLs, requirements, by the pip commands that the Python module runs; what requirements changed is told by the directories of packages, without asking pip twice; where pip had nothing to do, what it said is kept while nothing changes; check mode",
		"making a virtual environment, but for check mode; requirements with markers, URLs of their own or unusual versions; in check mode, conditions on versions that are more than numbers; no pip; an interpreter without the packaging library",
	},
	"ping": {"everything", ""},
	"raw":  {"everything", ""},
	"setup": {
		"every subset on Linux distributions with an os-release; filter",
		"an unknown subset; local facts in fact_path; SELinux is on; distributions told by other files, and centos; s390, Xen and OpenVZ hosts; puppet's facter or ohai installed; a user that is not in /etc/passwd; no interpreter found",
	},
	"shell": {"everything", "no command at all; an argument with a zero byte"},
	"slurp": {"everything", "files beyond the bound of a result"},
	"stat":  {"everything", "get_checksum with md5 while FIPS mode is on"},
	"systemd": {
		"everything",
		"there is no systemctl; a unit's name with quotes or backslashes",
	},
	"systemd_service": {
		"everything (the same module as systemd)",
		"there is no systemctl; a unit's name with quotes or backslashes",
	},
	"ansible.posix.authorized_key": {"everything, of ansible.posix 1.6.2 to 2.2", "keys by URL or in a file on the host; SELinux on; files that are no plain text"},
	"ansible.posix.mount":          {"lines of fstab; mounts that are as asked; check mode; of ansible.posix 1.6.2 to 2.1, with ansible-core 2.19", "mounting, unmounting, remounting, ephemeral; opts_no_log; comments within lines of fstab; noauto with boot"},
	"ansible.posix.sysctl":         {"everything, of ansible.posix 1.6.2 to 2.2", "names and values that need quoting; files that are no plain text"},
	"async_status":                 {"reading and removing a job's status", "a status that is no JSON dict"},
	"blockinfile":                  {"everything but the right column", "SELinux on; patterns with (?m), empty or unreadable; markers with backslashes or beyond ASCII"},
	"find":                         {"everything but the right column", "follow; relative paths; names or contents that are not UTF-8; an encoding of its own; unreadable patterns"},
	"getent":                       {"everything but the right column", "an empty separator; answers that are not UTF-8"},
	"group":                        {"everything", "local; BusyBox"},
	"cron":                         {"everything", "SELinux on; a variable's name that is a pattern; tables that are not UTF-8"},
	"known_hosts":                  {"everything", "files that are no plain text; odd lines"},
	"replace":                      {"everything but the right column", "SELinux on; files that are not UTF-8; an encoding of its own; unreadable patterns"},
	"service":                      {"init scripts (update-rc.d, insserv, chkconfig), OpenRC and systemd", "upstart; names and runlevels that need quoting; chkconfig learning of a service in check mode"},
	"sysvinit":                     {"everything", "names, runlevels and arguments that cannot be split or need quoting; a script that cannot be run, with daemonize"},
	"service_facts":                {"systemd, init scripts, with chkconfig or without, and OpenRC", "upstart; services whose names need quoting"},
	"tempfile":                     {"everything but the right column", "directories that are not writable or not absolute"},
	"unarchive":                    {"archives of tar: plain, gzip, bzip2, xz, zstd", "zip; downloads; a dest that is not absolute; names that tar quotes; archives that cannot be listed; SELinux on"},
	"debconf":                      {"questions, and answers that are texts or truths", "passwords; lists; names that need quoting"},
	"uri": {
		"GET and HEAD by HTTP and HTTPS, with headers and status_code; answers of any status but redirects and 401, JSON and text; a server that refuses or does not answer; creates, removes",
		"other methods, body, src, dest; another scheme or a user in the URL; credentials, a client's certificate or a .netrc; a proxy in the environment; SSL_CERT_FILE, SSL_CERT_DIR; unix_socket, ca_path, ciphers, unredirected_headers, a Host header, the old yes and no of follow_redirects; answers with cookies or an encoding, that are no UTF-8 or larger than 16 MiB, with a type that cannot be read, or with headers named like the module's own keys; other failures of the request",
	},
	"user":     {"everything", "local; seuser; a key with a passphrase; users that are not in files; BusyBox"},
	"wait_for": {"a port, a path, or only time", "search_regex; drained"},
}
