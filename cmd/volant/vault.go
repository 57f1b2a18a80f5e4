package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

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

// vaultMain encrypts, decrypts and edits.
func vaultMain(ctx context.Context, p *process, args []string) error {
	var opt vaultArgs
	if err := parse(p, &opt, "Encrypt and decrypt data files.", args); err != nil {
		return err
	}
	action := p.action
	actions := map[string]*vaultCommon{"create": &opt.Create.vaultCommon, "decrypt": &opt.Decrypt.vaultCommon,
		"edit": &opt.Edit.vaultCommon, "view": &opt.View.vaultCommon, "encrypt": &opt.Encrypt.vaultCommon,
		"encrypt_string": &opt.EncryptString.vaultCommon, "rekey": &opt.Rekey.vaultCommon}
	common := actions[action]
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
	r := &vaultRun{p: p, c: c, d: d, v: vault.New(), asks: asker{p.asking(), ctx}}
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
