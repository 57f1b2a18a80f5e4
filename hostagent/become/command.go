package become

import (
	"crypto/rand"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"volant/wire/rx"
	"volant/wire/shlex"
)

// plan is how one become method is run and understood.
type plan struct {
	method  string
	line    string         // for /bin/sh -c
	mark    string         // printed when the privilege is there
	prompt  *regexp.Regexp // asks for the password; nil when none is expected
	fail    []string       // the password was wrong
	missing []string       // a password is needed
	asks    bool           // the method always asks: without a password there is no point in waiting
	tty     bool           // the password is read from the controlling terminal
	either  bool           // it has a terminal for other reasons: the password is read where it is asked for
	// password says that a prompt is expected and can be answered.
	password bool
}

// method is one become plugin: defaults and how its command line is put together.
// Facts from the reference's plugins/become and the collections community.general
// and containers.podman.
type method struct {
	exe, flags    string
	fail, missing []string
	nobody        bool // no user is named unless one is given
	asks          bool // the method always asks: without a password there is no point in waiting
	tty           bool // reads the password from the terminal
	echoes        bool // input and output pass through a terminal of its making
	prompt        func(id string, p Params) *regexp.Regexp
	build         func(c pieces) string
}

// pieces are what command lines are made of; all but wrapped and echo may be empty.
type pieces struct {
	exe, flags, user, prompt string
	wrapped                  string // /bin/sh -c 'echo MARK ; exec ...'
	echo                     string // 'echo MARK ; exec ...', quoted
	password                 bool
	wrap                     bool // the plugin's option wrap_exe, or alt_method
}

// command is the command itself, through a shell where that is asked for.
func (c pieces) command() string {
	if c.wrap {
		return c.wrapped
	}
	return c.echo
}

var sudoMissing = []string{"Sorry, a password is required to run sudo", "sudo: a password is required"}

var methods = map[string]method{
	"sudo": {exe: "sudo", flags: "-H -S -n", fail: []string{"Sorry, try again."}, missing: sudoMissing, prompt: keyed("sudo"),
		build: func(c pieces) string {
			return join(c.exe, withoutN(c), quotedPrompt(c), userFlag(c), c.wrapped)
		}},
	"su": {exe: "su", fail: []string{"Authentication failure"}, asks: true,
		prompt: func(_ string, p Params) *regexp.Regexp { return suPrompt(p.Prompts) },
		build: func(c pieces) string {
			return join(c.exe, c.flags, c.user, "-c", shlex.Quote(c.wrapped))
		}},
	"doas": {exe: "doas", fail: []string{"Permission denied", "doas: Authentication failed"}, missing: []string{"Authorization required", "Authentication required"}, tty: true,
		prompt: func(_ string, p Params) *regexp.Regexp { return anyOf(p.Prompts, doasPrompt.Regexp()) },
		build: func(c pieces) string {
			if !c.password && !strings.Contains(c.flags, "-n") {
				c.flags = join(c.flags, "-n")
			}
			return join(c.exe, c.flags, userFlag(c), c.wrapped)
		}},
	"dzdo": {exe: "dzdo", flags: "-H -S -n", fail: []string{"Sorry, try again."}, prompt: keyed("dzdo"),
		build: func(c pieces) string { return join(c.exe, bareN(c), quotedPrompt(c), userFlag(c), c.wrapped) }},
	"sudosu": {exe: "sudo", flags: "-H -S -n", fail: []string{"Sorry, try again."}, missing: sudoMissing, prompt: keyed("sudo"),
		build: func(c pieces) string {
			command := c.wrapped
			if c.wrap {
				command = "-c " + c.echo
			}
			return join("sudo", bareN(c), quotedPrompt(c), "su -l", c.user, command)
		}},
	"pfexec": {exe: "pfexec", flags: "-H -S -n", build: func(c pieces) string { return join(c.exe, c.flags, c.command()) }},
	"ksu": {exe: "ksu", fail: []string{"Password incorrect"}, missing: []string{"No password given"},
		prompt: func(_ string, p Params) *regexp.Regexp { return anyOf(p.Prompts, ksuPrompt.Regexp()) },
		build:  func(c pieces) string { return join(c.exe, c.user, c.flags, "-e", c.wrapped) }},
	"pbrun": {exe: "pbrun", nobody: true, tty: true, prompt: said("Password:"),
		build: func(c pieces) string { return join(c.exe, c.flags, userFlag(c), c.command()) }},
	"pmrun": {exe: "pmrun", tty: true, prompt: said("Enter UPM user password:"),
		build: func(c pieces) string { return join(c.exe, c.flags, shlex.Quote(c.wrapped)) }},
	"sesu": {exe: "sesu", flags: "-H -S -n", nobody: true, fail: []string{"Sorry, try again with sesu."}, missing: []string{"Sorry, try again with sesu."},
		tty: true, prompt: said("Please enter your password:"),
		build: func(c pieces) string { return join(c.exe, c.flags, c.user, "-c", c.wrapped) }},
	"machinectl": {exe: "machinectl", nobody: true, fail: polkitFail, tty: true, echoes: true, prompt: said("Password:"),
		build: func(c pieces) string { return join(c.exe, "-q shell", c.flags, c.user+"@", c.wrapped) }},
	"run0": {exe: "run0", fail: polkitFail, tty: true, prompt: said("Password:"),
		build: func(c pieces) string { return join(c.exe, "--user="+c.user, c.flags, c.wrapped) }},
	"podman_unshare": {exe: "sudo", fail: []string{"Sorry, try again."}, missing: sudoMissing, prompt: keyed("sudo podman unshare"),
		build: func(c pieces) string {
			if c.user == "root" {
				return join("podman unshare", c.wrapped)
			}
			return join(c.exe, "-iu "+c.user, quotedPrompt(c), "-- podman unshare", c.wrapped)
		}},
}

// polkitFail is what polkit's agent on a terminal says.
var polkitFail = []string{"==== AUTHENTICATION FAILED ===="}

// Methods are the names of all methods there are.
func Methods() []string { return slices.Sorted(maps.Keys(methods)) }

var (
	doasPrompt = rx.Lazy(`doas \([^)]*\) ?[^:\n]*password:|(?m:^Password:)`)
	ksuPrompt  = rx.Lazy(`Kerberos password for [^@\n]*@[^:\n]*:`)
)

// suPrompts are the words for "password" that su asks with, in the languages the reference knows.
var suPrompts = []string{"Password", "암호", "パスワード", "Adgangskode", "Contraseña", "Contrasenya", "Hasło", "Heslo", "Jelszó",
	"Lösenord", "Mật khẩu", "Mot de passe", "Parola", "Parool", "Pasahitza", "Passord", "Passwort", "Salasana", "Sandi", "Senha",
	"Wachtwoord", "ססמה", "Лозинка", "Парола", "Пароль", "गुप्तशब्द", "शब्दकूट", "సంకేతపదము", "හස්පදය", "密码", "密碼", "口令"}

func suPrompt(words []string) *regexp.Regexp {
	if len(words) == 0 {
		words = suPrompts
	}
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = regexp.QuoteMeta(strings.ToValidUTF8(w, "?"))
	}
	return regexp.MustCompile(`(?i)(?:` + strings.Join(quoted, "|") + `)\s*[:：]`)
}

// said is a prompt that is always the same.
func said(text string) func(string, Params) *regexp.Regexp {
	return func(string, Params) *regexp.Regexp { return regexp.MustCompile(regexp.QuoteMeta(text)) }
}

// anyOf is what patterns of the user's match at the beginning of a line, else
// the method's own. A pattern that is none in our syntax is taken as it stands.
func anyOf(patterns []string, own *regexp.Regexp) *regexp.Regexp {
	if len(patterns) == 0 {
		return own
	}
	alternatives := make([]string, len(patterns))
	for i, p := range patterns {
		if _, err := regexp.Compile(p); err != nil {
			p = regexp.QuoteMeta(strings.ToValidUTF8(p, "?"))
		}
		alternatives[i] = "(?:" + p + ")"
	}
	re, err := regexp.Compile("(?m:^)(?:" + strings.Join(alternatives, "|") + ")")
	if err != nil {
		return own
	}
	return re
}

func keyed(name string) func(string, Params) *regexp.Regexp {
	return func(id string, _ Params) *regexp.Regexp {
		return regexp.MustCompile(regexp.QuoteMeta(promptText(name, id)))
	}
}

func promptText(name, id string) string {
	return fmt.Sprintf("[%s via ansible, key=%s] password:", name, id)
}

// newPlan builds the command line of p's method around argv.
func newPlan(p Params, argv []string) (*plan, error) {
	name := p.Method
	if i := strings.LastIndexByte(name, '.'); i >= 0 { // community.general.doas, ansible.builtin.sudo
		name = name[i+1:]
	}
	if name == "" {
		name = "sudo"
	}
	m, ok := methods[name]
	if !ok {
		return nil, &Error{Msg: fmt.Sprintf("Invalid become method specified, could not find matching plugin: '%s'. Use `ansible-doc -t become -l` to list available plugins.", p.Method)}
	}
	id := strings.ToLower(rand.Text())
	pl := &plan{method: name, mark: "BECOME-SUCCESS-" + id, fail: m.fail, missing: m.missing, asks: m.asks}
	c := pieces{exe: m.exe, flags: m.flags, user: p.User, password: p.Password != ""}
	if p.Exe != "" {
		c.exe = p.Exe
	}
	if p.Flags != nil {
		c.flags = *p.Flags
	}
	if c.user == "" && !m.nobody {
		c.user = "root"
	}
	c.wrap = p.Wrap
	if m.prompt != nil && c.password {
		pl.prompt, pl.password = m.prompt(id, p), true
		pl.tty = m.tty
		c.prompt = promptText(m.asker(name), id)
	} else if m.asks {
		pl.prompt = m.prompt(id, p)
	}
	if m.echoes {
		pl.tty = true
	}
	words := make([]string, len(argv))
	for i, a := range argv {
		words[i] = shlex.Quote(a)
	}
	begin := "echo "
	if m.echoes { // before the mark: nothing is sent until that is seen
		begin = "stty raw -echo ; echo "
	}
	c.echo = shlex.Quote(begin + pl.mark + " ; exec " + strings.Join(words, " "))
	c.wrapped = "/bin/sh -c " + c.echo
	if name == "sudo" && p.Chdir != "" {
		c.exe = "cd " + shlex.Quote(p.Chdir) + " && " + c.exe
	}
	pl.line = m.build(c)
	return pl, nil
}

func join(words ...string) string {
	var used []string
	for _, w := range words {
		if w != "" {
			used = append(used, w)
		}
	}
	return strings.Join(used, " ")
}

// asker is who a prompt of our making says asks.
func (m method) asker(name string) string {
	if name == "podman_unshare" {
		return "sudo podman unshare"
	}
	return m.exe
}

// userFlag and the executable stay unquoted, as in the reference: people put options there.
func userFlag(c pieces) string {
	if c.user == "" {
		return ""
	}
	return "-u " + c.user
}

// bareN is the flags with every "-n" cut out, as two methods do it.
func bareN(c pieces) string {
	if !c.password {
		return c.flags
	}
	return strings.TrimSpace(strings.ReplaceAll(c.flags, "-n", ""))
}

func quotedPrompt(c pieces) string {
	if c.prompt == "" {
		return ""
	}
	return `-p "` + c.prompt + `"`
}

var flagN = rx.Lazy(`^(-\w*)n(\w*.*)`)

// withoutN is the flags without -n when a password is given: sudo must be able to ask.
func withoutN(c pieces) string {
	if !c.password || c.flags == "" {
		return c.flags
	}
	var kept []string
	for _, f := range strings.Fields(c.flags) {
		if f == "-n" || f == "--non-interactive" {
			continue
		}
		if !strings.HasPrefix(f, "--") {
			f = flagN.ReplaceAllString(f, "$1$2")
		}
		kept = append(kept, f)
	}
	return strings.Join(kept, " ")
}
