package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"volant/controller/config"
	"volant/controller/events"
	"volant/controller/fault"
	"volant/controller/vault"
	"volant/wire/value"
)

// vaultWanted is where the secrets of a command come from.
func vaultWanted(p *process, c *config.Config, o vaultOptions) vault.Wanted {
	w := vault.Wanted{
		IDs:           append(c.Strings("DEFAULT_VAULT_IDENTITY_LIST"), o.VaultID...),
		PasswordFiles: append([]string(nil), o.VaultPasswordFile...),
		Ask:           o.AskVaultPassword || c.Bool("DEFAULT_ASK_VAULT_PASS"),
		DefaultID:     c.String("DEFAULT_VAULT_IDENTITY"),
		Dir:           p.dir,
	}
	if f := c.String("DEFAULT_VAULT_PASSWORD_FILE"); f != "" {
		w.PasswordFiles = append(w.PasswordFiles, f)
	}
	return w
}

type (
	vaultCommon struct {
		verbosityOptions
		vaultOptions
		Args []string `arg:"" optional:"" help:"Files, or - for standard input."`
	}
	vaultOutput struct {
		Output string `help:"Where to write; - is standard output."`
	}
	vaultEncryptID struct {
		EncryptVaultID string `name:"encrypt-vault-id" help:"The vault id to encrypt with, where there are several."`
	}
)

// vaultArgs are all options of the vault command.
type vaultArgs struct {
	Create struct {
		vaultCommon
		vaultEncryptID
		SkipTTYCheck bool `name:"skip-tty-check" help:"Open the editor without a terminal, too."`
	} `cmd:"" help:"Create an encrypted file with an editor."`
	Decrypt struct {
		vaultCommon
		vaultOutput
	} `cmd:"" help:"Decrypt files."`
	Edit struct {
		vaultCommon
		vaultEncryptID
	} `cmd:"" help:"Edit encrypted files."`
	View struct {
		vaultCommon
	} `cmd:"" help:"Show encrypted files."`
	Encrypt struct {
		vaultCommon
		vaultOutput
		vaultEncryptID
	} `cmd:"" help:"Encrypt files."`
	EncryptString struct {
		vaultCommon
		vaultOutput
		vaultEncryptID
		Prompt    bool     `short:"p" help:"Ask for the string."`
		ShowInput bool     `help:"Show what is typed when asked for the string."`
		Name      []string `short:"n" sep:"none" help:"Variable name for the string. May be given more than once."`
		StdinName string   `help:"Variable name for standard input."`
	} `cmd:"" name:"encrypt_string" help:"Encrypt strings."`
	Rekey struct {
		vaultCommon
		vaultEncryptID
		NewVaultPasswordFile string `xor:"new" help:"File with the new password."`
		NewVaultID           string `name:"new-vault-id" xor:"new" help:"The new vault identity."`
	} `cmd:"" help:"Change the password of encrypted files."`
}

// vaultRun is one run of the vault command.
type vaultRun struct {
	p      *process
	c      *config.Config
	d      *events.Display
	v      *vault.Vault
	secret vault.Secret // to encrypt with
	asks   vault.Terminal
}

// lineTerminal asks where there is no terminal: it reads lines of standard
// input, as the reference's getpass falls back to.
type lineTerminal struct {
	in  *bufio.Reader
	out io.Writer
}

// Prompt implements vault.Terminal.
func (t lineTerminal) Prompt(msg string, _ bool) (string, error) {
	fmt.Fprint(t.out, msg)
	line, err := t.in.ReadString('\n')
	if err != nil && line == "" {
		return "", io.EOF
	}
	return strings.TrimRight(line, "\r\n"), nil
}

// terminalOf is who answers questions of the vault.
func terminalOf(p *process) vault.Terminal {
	if t := newPrompter(p); t != nil {
		return t
	}
	return lineTerminal{bufio.NewReader(p.stdin), p.stderr}
}

// vaultMain encrypts, decrypts and edits.
func vaultMain(ctx context.Context, p *process, args []string) error {
	var opt vaultArgs
	if err := parse(p, &opt, "Encrypt and decrypt data files.", args); err != nil {
		return err
	}
	action := ""
	actions := map[string]*vaultCommon{"create": &opt.Create.vaultCommon, "decrypt": &opt.Decrypt.vaultCommon,
		"edit": &opt.Edit.vaultCommon, "view": &opt.View.vaultCommon, "encrypt": &opt.Encrypt.vaultCommon,
		"encrypt_string": &opt.EncryptString.vaultCommon, "rekey": &opt.Rekey.vaultCommon}
	for _, a := range args {
		if actions[a] != nil {
			action = a
			break
		}
	}
	common := actions[action]
	if common == nil {
		return &exit{code: codeUsage}
	}
	j, err := configure(p, common.Verbose)
	if err != nil {
		return err
	}
	j.greet()
	c, d := j.config, j.display
	for _, id := range common.VaultID {
		if strings.Contains(id, ";") {
			return optionsError("'%s' is not a valid vault id. The character ';' is not allowed in vault ids", id)
		}
	}
	output := map[string]string{"decrypt": opt.Decrypt.Output, "encrypt": opt.Encrypt.Output, "encrypt_string": opt.EncryptString.Output}[action]
	if output != "" && len(common.Args) > 1 {
		return optionsError("At most one input file may be used with the --output option")
	}
	if output != "" && output != "-" && !filepath.IsAbs(output) {
		output = filepath.Join(p.dir, output)
	}
	r := &vaultRun{p: p, c: c, d: d, v: vault.New(), asks: terminalOf(p)}
	r.v.MatchID, r.v.DefaultID = c.Bool("DEFAULT_VAULT_ID_MATCH"), c.String("DEFAULT_VAULT_IDENTITY")
	fresh := action == "encrypt" || action == "encrypt_string" || action == "create"
	w := vaultWanted(p, c, common.vaultOptions)
	w.AutoPrompt, w.New = true, fresh
	secrets, err := r.v.Load(ctx, w, r.asks, d)
	if err != nil {
		return err
	}
	if len(secrets) == 0 {
		return optionsError("A vault password is required to use Ansible's Vault")
	}
	switch action {
	case "decrypt":
		return r.each(common.Args, "Decryption successful", func(name string) error { return r.decrypt(name, output) })
	case "view":
		return r.each(common.Args, "", func(name string) error { return r.view(ctx, name) })
	case "edit":
		return r.each(common.Args, "", func(name string) error { return r.edit(ctx, name) })
	case "rekey":
		return r.rekey(ctx, common.Args, opt.Rekey.EncryptVaultID, opt.Rekey.NewVaultID, opt.Rekey.NewVaultPasswordFile, common.AskVaultPassword)
	}
	id := map[string]string{"create": opt.Create.EncryptVaultID, "encrypt": opt.Encrypt.EncryptVaultID, "encrypt_string": opt.EncryptString.EncryptVaultID}[action]
	if id == "" {
		id = c.String("DEFAULT_VAULT_ENCRYPT_IDENTITY")
	}
	if len(secrets) > 1 && id == "" {
		var ids []string
		for _, s := range secrets {
			ids = append(ids, s.ID)
		}
		return optionsError("The vault-ids %s are available to encrypt. Specify the vault-id to encrypt with --encrypt-vault-id", strings.Join(ids, ","))
	}
	if r.secret, err = vault.EncryptionSecret(secrets, id); err != nil {
		return err
	}
	switch action {
	case "create":
		return r.create(ctx, common.Args, opt.Create.SkipTTYCheck)
	case "encrypt":
		return r.each(common.Args, "Encryption successful", func(name string) error { return r.encrypt(name, output) })
	}
	e := &opt.EncryptString
	return r.encryptStrings(e.Args, e.Name, e.StdinName, e.Prompt, e.ShowInput, output)
}

func optionsError(format string, args ...any) error {
	return fault.New(fault.Options, value.Pos{}, format, args...)
}

func plainError(format string, args ...any) error {
	return fault.New(fault.Generic, value.Pos{}, format, args...)
}

// each works on the files named, or on standard input, and says so on a
// terminal.
func (r *vaultRun) each(names []string, done string, do func(name string) error) error {
	if len(names) == 0 && done != "" {
		names = []string{"-"}
	}
	for _, name := range names {
		if err := do(name); err != nil {
			return err
		}
	}
	if done != "" && r.p.color {
		r.d.PrintErr(done, "")
	}
	return nil
}

// path is a file's real path; - stays.
func (r *vaultRun) path(name string) string {
	if name == "-" {
		return name
	}
	if !filepath.IsAbs(name) {
		name = filepath.Join(r.p.dir, name)
	}
	if real, err := filepath.EvalSymlinks(name); err == nil {
		return real
	}
	return filepath.Clean(name)
}

// maxVaultFile bounds what is read whole into memory.
const maxVaultFile = 1 << 30

// read returns a file's bytes; shown is its name in messages.
func (r *vaultRun) read(name, shown string) ([]byte, error) {
	if name == "-" {
		return io.ReadAll(io.LimitReader(r.p.stdin, maxVaultFile))
	}
	path := r.path(name)
	if st, err := os.Stat(path); err == nil && st.Size() > maxVaultFile {
		return nil, plainError("Unable to read source file (%s): it is larger than %d bytes", shown, maxVaultFile)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, plainError("Unable to read source file (%s): %s", shown, pythonError(err, path))
	}
	return data, nil
}

// pythonError is Python's text of an operating system error.
func pythonError(err error, path string) string {
	var no syscall.Errno
	if errors.As(err, &no) {
		text := no.Error()
		return fmt.Sprintf("[Errno %d] %s: %s", int(no), strings.ToUpper(text[:1])+text[1:], value.Repr(path))
	}
	return err.Error()
}

// opened decrypts data; shown is the name in messages.
func (r *vaultRun) opened(data []byte, shown string) ([]byte, vault.Secret, error) {
	plain, secret, err := r.v.Open(data, value.Pos{})
	if err != nil {
		return nil, secret, plainError("%s for %s", err, shown)
	}
	return plain, secret, nil
}

func (r *vaultRun) decrypt(name, output string) error {
	path := r.path(name)
	data, err := r.read(path, path)
	if err != nil {
		return err
	}
	plain, _, err := r.opened(data, path)
	if err != nil {
		return err
	}
	if output == "" {
		output = path
	}
	return r.write(plain, output, false)
}

func (r *vaultRun) encrypt(name, output string) error {
	path := r.path(name)
	plain, err := r.read(path, path)
	if err != nil {
		return err
	}
	data, err := r.v.Encrypt(plain, r.secret, r.secret.ID, r.salt())
	if err != nil {
		return err
	}
	if output == "" {
		output = path
	}
	return r.write(data, output, true)
}

// salt is the one the configuration fixes, or nil.
func (r *vaultRun) salt() []byte {
	if s := r.c.String("VAULT_ENCRYPT_SALT"); s != "" {
		return []byte(s)
	}
	return nil
}

func (r *vaultRun) view(ctx context.Context, name string) error {
	data, err := r.read(name, r.path(name))
	if err != nil {
		return err
	}
	plain, _, err := r.opened(data, name)
	if err != nil {
		return err
	}
	return r.p.page(ctx, r.c, r.d, string(plain))
}

// write puts data in the place of a file, which is first destroyed when what
// it held must not be found again.
func (r *vaultRun) write(data []byte, path string, shred bool) error {
	if path == "-" {
		_, err := r.p.stdout.Write(data)
		return err
	}
	dir := filepath.Dir(path)
	if unix.Access(dir, unix.W_OK) != nil {
		return plainError("Destination '%s' not writable", dir)
	}
	if st, err := os.Stat(path); err == nil && st.Mode().IsRegular() {
		if shred {
			overwrite(path)
		}
		if err := os.Remove(path); err != nil {
			return fmt.Errorf("replacing %s: %w", path, err)
		}
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	switch {
	case os.IsExist(err):
		return plainError("Vault file got recreated while we were operating on it.")
	case err != nil:
		return fault.New(fault.Generic, value.Pos{}, "Problem creating temporary vault file.").Because(errors.New(pythonError(err, path)))
	}
	_, err = f.Write(data)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return plainError("Unable to write to temporary vault file: %s", err)
	}
	return nil
}

// overwrite writes random bytes over a file three times. It is a courtesy:
// many file systems keep what was overwritten.
func overwrite(path string) {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return
	}
	for range 3 {
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			return
		}
		if _, err := io.CopyN(f, rand.Reader, st.Size()); err != nil {
			return
		}
		_ = f.Sync()
	}
}

// withEditor lets the operator edit text and returns what it became.
func (r *vaultRun) withEditor(ctx context.Context, name string, text []byte) (edited []byte, err error) {
	dir, err := os.MkdirTemp("", "ansible-local-")
	if err != nil {
		return nil, fmt.Errorf("making a place to edit in: %w", err)
	}
	defer os.RemoveAll(dir)
	n, err := rand.Int(rand.Reader, big.NewInt(1<<40))
	if err != nil {
		return nil, fmt.Errorf("naming the file to edit: %w", err)
	}
	path := filepath.Join(dir, fmt.Sprintf("tmp%x%s", n, filepath.Ext(name)))
	if err := os.WriteFile(path, text, 0o600); err != nil {
		return nil, fmt.Errorf("writing the file to edit: %w", err)
	}
	defer overwrite(path)
	words := append(strings.Fields(r.c.String("EDITOR")), path)
	cmd := exec.CommandContext(ctx, words[0], words[1:]...) //nolint:gosec // the operator's own editor
	cmd.Stdin, cmd.Stdout, cmd.Stderr = r.p.stdin, r.p.stdout, r.p.stderr
	var status *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &status) {
		return nil, plainError("Unable to execute the command \"%s\": %s", strings.Join(words, " "), pythonError(err, words[0]))
	}
	return os.ReadFile(path)
}

// replace puts data in the place of a file and keeps its mode and owner.
func (r *vaultRun) replace(data []byte, path string) error {
	st, statErr := os.Stat(path)
	if err := r.write(data, path, false); err != nil {
		return err
	}
	if statErr != nil {
		return nil
	}
	if err := os.Chmod(path, st.Mode().Perm()); err != nil {
		return fmt.Errorf("keeping the mode of %s: %w", path, err)
	}
	if s, ok := st.Sys().(*syscall.Stat_t); ok {
		_ = os.Chown(path, int(s.Uid), int(s.Gid)) // only root may give files away
	}
	return nil
}

func (r *vaultRun) create(ctx context.Context, names []string, anyway bool) error {
	if len(names) != 1 {
		return optionsError("ansible-vault create can take only one filename argument")
	}
	if !r.p.color && !anyway {
		return optionsError("not a tty, editor cannot be opened")
	}
	path := names[0]
	if !filepath.IsAbs(path) {
		path = filepath.Join(r.p.dir, path)
	}
	if dir := filepath.Dir(path); dir != "" {
		if _, err := os.Stat(dir); err != nil {
			r.d.Note("%s does not exist, creating...", filepath.Dir(names[0]))
			if err := os.MkdirAll(dir, 0o755); err != nil {
				return fmt.Errorf("making %s: %w", dir, err)
			}
		}
	}
	if st, err := os.Stat(path); err == nil && st.Mode().IsRegular() {
		return plainError("%s exists, please use 'edit' instead", names[0])
	}
	text, err := r.withEditor(ctx, path, nil)
	if err != nil || len(text) == 0 { // nothing was written: nothing is made
		return err
	}
	data, err := r.v.Encrypt(text, r.secret, r.secret.ID, r.salt())
	if err != nil {
		return err
	}
	return r.replace(data, path)
}

func (r *vaultRun) edit(ctx context.Context, name string) error {
	path := r.path(name)
	data, err := r.read(path, path)
	if err != nil {
		return err
	}
	plain, secret, err := r.opened(data, path)
	if err != nil {
		return err
	}
	env, err := vault.ParseEnvelope(data)
	if err != nil {
		return err
	}
	text, err := r.withEditor(ctx, path, plain)
	if err != nil || bytes.Equal(text, plain) {
		return err
	}
	if data, err = r.v.Encrypt(text, secret, env.ID, r.salt()); err != nil {
		return err
	}
	return r.replace(data, path)
}

func (r *vaultRun) rekey(ctx context.Context, names []string, id, newID, newFile string, ask bool) error {
	if id == "" {
		id = r.c.String("DEFAULT_VAULT_ENCRYPT_IDENTITY")
	}
	w := vault.Wanted{Ask: ask, AutoPrompt: true, New: true, DefaultID: r.v.DefaultID, Dir: r.p.dir}
	if id != "" {
		w.IDs = r.c.Strings("DEFAULT_VAULT_IDENTITY_LIST")
	}
	if newID != "" {
		w.IDs = append(w.IDs, newID)
	}
	if newFile != "" {
		w.PasswordFiles = append(w.PasswordFiles, newFile)
	}
	if f := r.c.String("DEFAULT_VAULT_PASSWORD_FILE"); f != "" {
		w.PasswordFiles = append(w.PasswordFiles, f)
	}
	secrets, err := vault.New().Load(ctx, w, r.asks, r.d)
	if err != nil {
		return err
	}
	if len(secrets) == 0 {
		return optionsError("A new vault password is required to use Ansible's Vault rekey")
	}
	secret, err := vault.EncryptionSecret(secrets, id)
	if err != nil {
		return err
	}
	for _, name := range names {
		path := r.path(name)
		data, err := r.read(path, path)
		if err != nil {
			return err
		}
		plain, _, err := r.opened(data, path)
		if err != nil {
			return err
		}
		if data, err = r.v.Encrypt(plain, secret, secret.ID, r.salt()); err != nil {
			return err
		}
		if err := r.replace(data, path); err != nil {
			return err
		}
	}
	r.d.PrintErr("Rekey successful", "")
	return nil
}

// plaintext is a string to encrypt, where it came from and its variable.
type plaintext struct{ text, source, name string }

func (r *vaultRun) encryptStrings(args, names []string, stdinName string, prompt, show bool, output string) error {
	var texts []plaintext
	words := make([]string, 0, len(args))
	stdin := stdinName != "" || len(args) == 0 && !prompt
	for _, a := range args {
		if a == "-" {
			stdin = true
		} else {
			words = append(words, a)
		}
	}
	if prompt && stdin {
		return optionsError("The --prompt option is not supported if also reading input from stdin")
	}
	if prompt {
		name, err := r.asks.Prompt("Variable name (enter for no name): ", false)
		if err != nil {
			return fmt.Errorf("asking for the string: %w", err)
		}
		msg := "String to encrypt (hidden): "
		if show {
			msg = "String to encrypt:"
		}
		text, err := r.asks.Prompt(msg, !show)
		if err != nil {
			return fmt.Errorf("asking for the string: %w", err)
		}
		if text == "" {
			return optionsError("The plaintext provided from the prompt was empty, not encrypting")
		}
		texts = append(texts, plaintext{text, "the interactive prompt", name})
	}
	if stdin {
		if r.p.color && r.p.stdin != nil && term.IsTerminal(int(r.p.stdin.Fd())) {
			r.d.PrintErr("Reading plaintext input from stdin. (ctrl-d to end input, twice if your content does not already have a newline)", "")
		}
		data, err := r.read("-", "-")
		if err != nil {
			return err
		}
		if len(data) == 0 {
			return optionsError("stdin was empty, not encrypting")
		}
		texts = append(texts, plaintext{string(data), "stdin", stdinName})
	}
	if len(names) > 0 && len(words) > len(names) {
		r.d.PrintErr("The number of --name options do not match the number of args.", "")
		r.d.PrintErr("The last named variable will be \""+names[len(names)-1]+"\". The rest will not have names.", "")
	}
	for i, w := range words {
		if w == "" {
			return optionsError("The plaintext provided from the command line args was empty, not encrypting")
		}
		name := ""
		if i < len(names) {
			name = names[i]
		}
		texts = append(texts, plaintext{w, "the command line args", name})
	}
	var out strings.Builder
	for i, t := range texts {
		data, err := r.v.Encrypt([]byte(t.text), r.secret, r.secret.ID, r.salt())
		if err != nil {
			return err
		}
		if len(texts) > 1 {
			if t.name != "" {
				fmt.Fprintf(r.p.stderr, "# The encrypted version of variable (\"%s\", the string #%d from %s).\n", t.name, i+1, t.source)
			} else {
				fmt.Fprintf(r.p.stderr, "# The encrypted version of the string #%d from %s.)\n", i+1, t.source)
			}
		}
		if t.name != "" {
			out.WriteString(t.name + ": ")
		}
		out.WriteString("!vault |\n")
		for line := range strings.Lines(string(data)) {
			out.WriteString("          " + line)
		}
	}
	if output == "" {
		output = "-"
	}
	if err := r.write([]byte(out.String()), output, true); err != nil {
		return err
	}
	if r.p.color {
		r.d.PrintErr("Encryption successful", "")
	}
	return nil
}
