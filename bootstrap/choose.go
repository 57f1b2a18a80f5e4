package bootstrap

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// Who logs in over SSH: Options.SSH.
const (
	SSHAuto   = "auto"    // our own client, or the system's ssh where something is asked for that only that has
	SSHNative = "native"  // our own client
	SSHOpen   = "openssh" // the system's ssh
)

// KnownSSH says whether s is a value of Options.SSH.
func KnownSSH(s string) bool {
	return s == "" || s == SSHAuto || s == SSHNative || s == SSHOpen
}

// harmless are keywords of ssh_config that our own client follows, or that make
// no difference to a login that only runs commands.
var harmless = wordSet(`host match include ignoreunknown tag
	hostname user port identityfile identitiesonly identityagent certificatefile pubkeyauthentication passwordauthentication
	kbdinteractiveauthentication challengeresponseauthentication preferredauthentications addressfamily bindaddress hostkeyalias
	userknownhostsfile globalknownhostsfile stricthostkeychecking hashknownhosts proxyjump proxycommand connecttimeout
	connectionattempts forwardagent batchmode
	controlmaster controlpath controlpersist compression compressionlevel serveraliveinterval serveralivecountmax tcpkeepalive keepalive
	loglevel logverbose syslogfacility sendenv setenv checkhostip updatehostkeys visualhostkey requesttty escapechar forwardx11 forwardx11trusted
	forwardx11timeout xauthlocation addkeystoagent usekeychain ipqos rekeylimit numberofpasswordprompts fingerprinthash permitlocalcommand
	localcommand gatewayports exitonforwardfailure clearallforwardings localforward remoteforward dynamicforward streamlocalbindmask
	streamlocalbindunlink nohostauthenticationforlocalhost stdinnull forkafterauthentication sessiontype permitremoteopen
	protocol useprivilegedport rhostsrsaauthentication rsaauthentication enableescapecommandline obscurekeystroketiming channeltimeout
	versionaddendum enablesshkeysign requiredrsasize warnweakcrypto refuseconnection`)

// unless are keywords that ask for nothing with one of these values.
var unless = map[string][]string{
	"gssapiauthentication": {"no"}, "gssapikeyexchange": {"no"}, "gssapidelegatecredentials": {"no"}, "gssapitrustdns": nil, "gssapirenewalforcesrekey": nil,
	"gssapikexalgorithms": nil, "gssapiclientidentity": nil, "gssapiserveridentity": nil,
	"hostbasedauthentication": {"no"}, "tunnel": {"no"}, "tunneldevice": nil, "proxyusefdpass": {"no"}, "verifyhostkeydns": {"no"},
	"canonicalizehostname": {"no", "none"}, "canonicaldomains": nil, "canonicalizefallbacklocal": nil, "canonicalizemaxdots": nil, "canonicalizepermittedcnames": nil,
	"remotecommand": {"none"}, "pkcs11provider": {"none"}, "securitykeyprovider": {"internal"}, "knownhostscommand": {"none"},
	"hostbasedacceptedalgorithms": nil, "hostbasedkeytypes": nil, "smartcarddevice": {"none"},
}

func wordSet(text string) map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(text) {
		m[w] = true
	}
	return m
}

// beyond says whether a setting is one that our own client does not follow.
func beyond(keyword, value string) bool {
	keyword = strings.ToLower(keyword)
	if harmless[keyword] {
		return false
	}
	values, ok := unless[keyword]
	if ok && values == nil {
		return false
	}
	return !slices.Contains(values, strings.ToLower(strings.Trim(value, `"`)))
}

// needsOpen says what of the options only the system's ssh does; "" when our
// own client does all of them.
func needsOpen(o Options, shared *Shared) string {
	if o.PKCS11Provider != "" {
		return "PKCS11Provider"
	}
	if name := filepath.Base(o.Executable); o.Executable != "" && name != "ssh" || strings.Contains(o.Executable, "/") && !samePath(o.Executable) {
		return "ansible_ssh_executable"
	}
	var args sshArgs
	for _, text := range []string{o.SSHArgs, o.CommonArgs, o.ExtraArgs} {
		if parseArgs(text, &args) != nil {
			return "" // our own client words the failure
		}
	}
	if args.beyond != "" {
		return args.beyond
	}
	for _, kv := range args.options {
		if beyond(kv[0], kv[1]) {
			return kv[0]
		}
	}
	odd := shared.oddities(o, args.configFile)
	if odd.match != "" {
		return odd.match
	}
	for _, k := range odd.keywords { // only those count that are meant for this host
		config, err := shared.config(k.file)
		if err != nil {
			return k.keyword + " in " + k.file
		}
		values, err := config.GetAll(o.Host, k.keyword)
		if err != nil {
			return k.keyword + " in " + k.file
		}
		for _, v := range values {
			if beyond(k.keyword, v) {
				return k.keyword + " in " + k.file
			}
		}
	}
	return ""
}

// samePath says whether an executable given by its path is the ssh of PATH.
func samePath(file string) bool {
	p, err := exec.LookPath("ssh")
	return err == nil && p == file
}

// oddKeyword is one that our own client does not follow, and the file by which
// it is reached: one that ssh reads, or one that includes it.
type oddKeyword struct{ keyword, file string }

// oddities looks for what our own client cannot follow in the ssh_config files
// that count, whichever host it is for. GSSAPI counts only for those who have a
// ticket: distributions turn it on for everybody.
func (s *Shared) oddities(o Options, file string) *configScan {
	if file == "none" {
		return new(configScan)
	}
	files := []string{filepath.Join(o.HomeDir, ".ssh", "config"), "/etc/ssh/ssh_config"}
	if file != "" {
		files = []string{o.fromHome(file)}
	}
	key := strings.Join(files, "\x00")
	s.oddMu.Lock()
	defer s.oddMu.Unlock()
	if found, ok := s.odd[key]; ok {
		return found
	}
	scan := &configScan{home: o.HomeDir, kerberos: o.Kerberos}
	for _, f := range files {
		scan.root = f
		scan.file(f, 0)
	}
	if scan.matchHost != "" && scan.renames { // it means the name that HostName gives
		scan.match = scan.matchHost
	}
	if s.odd == nil {
		s.odd = map[string]*configScan{}
	}
	s.odd[key] = scan
	return scan
}

// configScan reads ssh_config files for keywords alone.
type configScan struct {
	home, root string
	kerberos   bool
	files      int
	renames    bool   // there is a HostName
	matchHost  string // a Match host there is
	match      string // a Match that our own client cannot decide
	keywords   []oddKeyword
}

func (c *configScan) file(path string, depth int) {
	if depth > 5 || c.files > 100 {
		return
	}
	c.files++
	b, err := os.ReadFile(path)
	if err != nil || len(b) > 1<<20 {
		return
	}
	for line := range strings.Lines(string(b)) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		i := strings.IndexAny(line, " \t=")
		if i < 0 {
			continue
		}
		keyword, value := strings.ToLower(line[:i]), strings.TrimSpace(strings.TrimLeft(line[i:], " \t="))
		switch {
		case keyword == "include":
			c.include(value, path, depth)
		case keyword == "match" && !plainMatch(value):
			c.match = "Match " + strings.Fields(value + " ?")[0] + " in " + path
		case keyword == "match" && len(strings.Fields(value)) > 1:
			c.matchHost = "Match host in " + path
		case keyword == "hostname":
			c.renames = true
		case strings.HasPrefix(keyword, "gssapi") && !c.kerberos:
		case beyond(keyword, value) && len(c.keywords) < 64:
			c.keywords = append(c.keywords, oddKeyword{line[:i], c.root})
		}
	}
}

func (c *configScan) include(patterns, from string, depth int) {
	for p := range strings.FieldsSeq(patterns) {
		p = fromHome(c.home, strings.Trim(p, `"`))
		switch {
		case !filepath.IsAbs(p) && strings.HasPrefix(from, "/etc/"):
			p = filepath.Join("/etc/ssh", p)
		case !filepath.IsAbs(p):
			p = filepath.Join(c.home, ".ssh", p)
		}
		found, _ := filepath.Glob(p)
		for _, f := range found {
			c.file(f, depth+1)
		}
	}
}

// plainMatch says whether our own client knows all criteria of a Match line.
func plainMatch(criteria string) bool {
	words := strings.Fields(strings.ReplaceAll(criteria, "=", " "))
	switch {
	case len(words) == 1:
		return strings.EqualFold(words[0], "all")
	case len(words) == 2:
		return strings.EqualFold(words[0], "host")
	}
	return false
}

// openThere says whether the system has the ssh that is asked for.
var openThere = sync.OnceValue(func() bool {
	_, err := exec.LookPath("ssh")
	return err == nil
})
