package bootstrap

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/kevinburke/ssh_config"
)

// How a host key is checked, as StrictHostKeyChecking.
const (
	strictYes = "yes"        // unknown and changed keys are refused
	strictNew = "accept-new" // unknown ones are accepted and noted, changed ones refused
	strictNo  = "no"         // both are accepted
)

// settings is how to reach one host, everything resolved.
type settings struct {
	alias, hostName, user string
	port                  int
	family                string // "tcp", "tcp4" or "tcp6"
	keyAlias              string // name to look up in known_hosts instead of hostName
	identities            []identity
	identitiesOnly        bool
	authSock              string
	forward               string   // the ssh-agent to lend to the host; "" for none
	knownHosts            []string // files; the first takes new keys
	strict                string
	asked                 bool // strictness came from nowhere: ssh would have asked
	proxyJump             []string
	proxyCommand          string
	timeout               time.Duration
	password              string
	publicKey             bool // PubkeyAuthentication
	passwords             bool // PasswordAuthentication
	interactive           bool // KbdInteractiveAuthentication
	preferred             []string
	certificates          []string // CertificateFile
	privateKey            string   // a key itself
	passphrase            string   // of any key
	passwordPrompt        string   // how the host asks for the password
	ask                   func(ctx context.Context, prompt string) (string, error)
	batch                 bool // BatchMode: nobody is asked
	hash                  bool // HashKnownHosts
	bind                  string
}

// identity is a private key file. Default ones are silently skipped when absent.
type identity struct {
	path  string
	given bool // by an option or ssh_config
}

var defaultIdentities = []string{"id_rsa", "id_ecdsa", "id_ecdsa_sk", "id_ed25519", "id_ed25519_sk"}

// resolve works out the settings. The order of precedence is that of the
// reference's ssh command line, where the first value of a keyword wins:
// ssh_args, the options with variables of their own, common and extra
// arguments, then ssh_config.
func resolve(o Options, shared *Shared) (*settings, error) {
	var args sshArgs
	if err := parseArgs(o.SSHArgs, &args); err != nil {
		return nil, fmt.Errorf("ansible_ssh_args: %w", err)
	}
	add := func(k, v string) { args.options = append(args.options, [2]string{k, v}) }
	if o.NoHostKeyCheck {
		add("stricthostkeychecking", "no")
	}
	if o.Port != 0 {
		add("port", strconv.Itoa(o.Port))
	}
	if o.PrivateKeyFile != "" {
		add("identityfile", o.PrivateKeyFile)
	}
	if o.User != "" {
		add("user", o.User)
	}
	timeout := o.Timeout
	if timeout <= 0 {
		timeout = 10 * time.Second
	}
	add("connecttimeout", strconv.Itoa(max(1, int(timeout/time.Second))))
	if err := parseArgs(o.CommonArgs, &args); err != nil {
		return nil, fmt.Errorf("ansible_ssh_common_args: %w", err)
	}
	if err := parseArgs(o.ExtraArgs, &args); err != nil {
		return nil, fmt.Errorf("ansible_ssh_extra_args: %w", err)
	}
	configs, err := loadConfigs(o, args.configFile, shared)
	if err != nil {
		return nil, err
	}
	return settle(o, lookup{args: args.options, alias: o.Host, configs: configs})
}

// lookup finds keywords on the command line, then in the configuration files.
type lookup struct {
	args    [][2]string
	alias   string
	configs []*ssh_config.Config
	err     error
}

func (l *lookup) all(keyword string) []string {
	var found []string
	for _, kv := range l.args {
		if strings.EqualFold(kv[0], keyword) {
			found = append(found, kv[1])
		}
	}
	for _, c := range l.configs {
		v, err := c.GetAll(l.alias, keyword)
		if err != nil && l.err == nil {
			l.err = err
		}
		for _, s := range v {
			found = append(found, strings.Trim(strings.TrimSpace(s), `"`))
		}
	}
	return found
}

func (l *lookup) first(keyword string) string {
	if v := l.all(keyword); len(v) > 0 {
		return v[0]
	}
	return ""
}

func settle(o Options, l lookup) (*settings, error) {
	s := &settings{alias: o.Host, password: o.Password, timeout: o.Timeout, authSock: o.AuthSock, family: "tcp", publicKey: true,
		privateKey: o.PrivateKey, passphrase: o.Passphrase, passwordPrompt: o.PasswordPrompt, ask: o.Ask}
	s.user = cmp.Or(l.first("User"), o.LocalUser)
	s.port = 22
	if p := l.first("Port"); p != "" {
		n, err := strconv.Atoi(p)
		if err != nil || n < 1 || n > 65535 {
			return nil, fmt.Errorf("bad port %q", p)
		}
		s.port = n
	}
	if s.timeout = 10 * time.Second; o.Timeout > 0 {
		s.timeout = o.Timeout
	}
	if t, err := strconv.Atoi(l.first("ConnectTimeout")); err == nil && t > 0 && o.Timeout <= 0 {
		s.timeout = time.Duration(t) * time.Second
	}
	s.hostName = o.Host
	if h := l.first("HostName"); h != "" {
		s.hostName = strings.NewReplacer("%%", "%", "%h", o.Host, "%n", o.Host).Replace(h)
	}
	expand := func(p string) string {
		p = o.fromHome(p)
		return strings.NewReplacer("%%", "%", "%d", o.HomeDir, "%u", o.LocalUser, "%r", s.user, "%h", s.hostName, "%n", o.Host, "%p", strconv.Itoa(s.port)).Replace(p)
	}
	for _, f := range l.all("IdentityFile") {
		if f != "none" {
			s.identities = append(s.identities, identity{expand(f), true})
		}
	}
	if len(s.identities) == 0 && o.HomeDir != "" {
		for _, name := range defaultIdentities {
			s.identities = append(s.identities, identity{filepath.Join(o.HomeDir, ".ssh", name), false})
		}
	}
	for _, f := range l.all("CertificateFile") {
		if f != "none" {
			s.certificates = append(s.certificates, expand(f))
		}
	}
	s.passwords = l.first("PasswordAuthentication") != "no"
	s.interactive = cmp.Or(l.first("KbdInteractiveAuthentication"), l.first("ChallengeResponseAuthentication")) != "no"
	if v := l.first("PreferredAuthentications"); v != "" {
		for m := range strings.SplitSeq(v, ",") {
			s.preferred = append(s.preferred, strings.TrimSpace(m))
		}
	}
	if s.batch = yes(l.first("BatchMode")); s.batch {
		s.ask = nil
	}
	s.hash, s.bind = yes(l.first("HashKnownHosts")), l.first("BindAddress")
	s.identitiesOnly = yes(l.first("IdentitiesOnly"))
	if v := l.first("PubkeyAuthentication"); v != "" {
		s.publicKey = v != "no"
	}
	switch a := l.first("IdentityAgent"); a {
	case "", "SSH_AUTH_SOCK":
	case "none":
		s.authSock = ""
	default:
		s.authSock = expand(a)
	}
	s.forward = s.forwarded(l.first("ForwardAgent"), o.Getenv, expand)
	switch l.first("AddressFamily") {
	case "inet":
		s.family = "tcp4"
	case "inet6":
		s.family = "tcp6"
	}
	s.keyAlias = l.first("HostKeyAlias")
	user := cmp.Or(l.first("UserKnownHostsFile"), "~/.ssh/known_hosts ~/.ssh/known_hosts2")
	global := cmp.Or(l.first("GlobalKnownHostsFile"), "/etc/ssh/ssh_known_hosts /etc/ssh/ssh_known_hosts2")
	for f := range strings.FieldsSeq(user + " " + global) {
		if f != "none" {
			s.knownHosts = append(s.knownHosts, expand(strings.Trim(f, `"`)))
		}
	}
	switch v := strings.ToLower(l.first("StrictHostKeyChecking")); v {
	case "", "ask":
		s.strict, s.asked = strictYes, true
	case "yes", "true":
		s.strict = strictYes
	case "accept-new":
		s.strict = strictNew
	case "no", "off", "false":
		s.strict = strictNo
	default:
		return nil, fmt.Errorf("bad StrictHostKeyChecking %q", v)
	}
	if j := l.first("ProxyJump"); j != "" && j != "none" {
		s.proxyJump = strings.Split(j, ",")
	} else if c := l.first("ProxyCommand"); c != "" && c != "none" {
		s.proxyCommand = strings.NewReplacer("%%", "%", "%h", s.hostName, "%n", o.Host, "%p", strconv.Itoa(s.port), "%r", s.user).Replace(c)
	}
	return s, l.err
}

// fromHome is a path that may begin with ~, the home of the controller's user.
func (o Options) fromHome(path string) string { return fromHome(o.HomeDir, path) }

func fromHome(home, path string) string {
	if path == "~" || strings.HasPrefix(path, "~/") {
		return home + path[1:]
	}
	return path
}

func yes(v string) bool { return v == "yes" || v == "true" }

// loadConfigs reads the ssh_config files that count: the one given with -F
// alone, else the user's and the system's.
func loadConfigs(o Options, file string, shared *Shared) ([]*ssh_config.Config, error) {
	if file == "none" {
		return nil, nil
	}
	files := []string{"/etc/ssh/ssh_config"}
	if o.HomeDir != "" {
		files = []string{filepath.Join(o.HomeDir, ".ssh", "config"), "/etc/ssh/ssh_config"}
	}
	if file != "" {
		file = o.fromHome(file)
		if _, err := os.Stat(file); err != nil {
			return nil, fmt.Errorf("Can't open user config file %s: %s", file, plain(err)) //nolint:staticcheck // ssh's words
		}
		files = []string{file}
	}
	var configs []*ssh_config.Config
	for _, f := range files {
		c, err := shared.config(f)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", f, err)
		}
		configs = append(configs, c)
	}
	return configs, nil
}
