package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/alecthomas/kong"
)

// Option groups that several commands have, named as the reference's.
type (
	verbosityOptions struct {
		Verbose int `short:"v" type:"counter" help:"Show more: up to -vvvvvv."`
	}
	inventoryOptions struct {
		Inventory []string `short:"i" sep:"none" aliases:"inventory-file" help:"Inventory file, directory or comma separated hosts. May be given more than once."`
		Limit     string   `short:"l" name:"limit" help:"Further limit the hosts to a pattern."`
		ListHosts bool     `help:"Show the matching hosts and do nothing else."`
	}
	vaultOptions struct {
		VaultID           []string `name:"vault-id" sep:"none" help:"Vault identity to use. May be given more than once."`
		AskVaultPassword  bool     `short:"J" aliases:"ask-vault-pass" help:"Ask for the vault password."`
		VaultPasswordFile []string `sep:"none" aliases:"vault-pass-file" help:"Vault password file."`
	}
	connectOptions struct {
		PrivateKey             string `aliases:"key-file" help:"Private key file to log in with."`
		User                   string `short:"u" help:"Log in as this user."`
		Connection             string `short:"c" help:"Connection type to use."`
		Timeout                int    `short:"T" help:"Connection timeout in seconds."`
		SSHCommonArgs          string `name:"ssh-common-args" help:"Arguments for ssh."`
		SFTPExtraArgs          string `name:"sftp-extra-args" help:"Accepted; there is no sftp."`
		SCPExtraArgs           string `name:"scp-extra-args" help:"Accepted; there is no scp."`
		SSHExtraArgs           string `name:"ssh-extra-args" help:"Further arguments for ssh."`
		AskPass                bool   `short:"k" help:"Ask for the connection password."`
		ConnectionPasswordFile string `aliases:"conn-pass-file" help:"File with the connection password."`
	}
	becomeOptions struct {
		Become             bool   `short:"b" help:"Run operations with become."`
		BecomeMethod       string `help:"Privilege escalation method."`
		BecomeUser         string `help:"Run operations as this user."`
		AskBecomePass      bool   `short:"K" help:"Ask for the become password."`
		BecomePasswordFile string `aliases:"become-pass-file" help:"File with the become password."`
	}
	runOptions struct {
		ExtraVars  []string `short:"e" sep:"none" help:"Variables as key=value, YAML, JSON or @FILE. May be given more than once."`
		Check      bool     `short:"C" help:"Change nothing; say what would change."`
		Diff       bool     `short:"D" help:"Show differences of changed files."`
		Forks      *int     `short:"f" help:"How many hosts are worked on at once."`
		ModulePath []string `short:"M" sep:"none" help:"Directories of modules, before the others."`
	}
	// ownOptions are Volant's own.
	ownOptions struct {
		MetricsFile string      `help:"Write metrics of the run to this file (Prometheus text)."`
		Profile     profileForm `help:"Show on standard error where the time went, as a table or with --profile=json."`
		Unsupported string      `enum:"refuse,warn," default:"" help:"What to do about statements that cannot run: refuse or warn."`
	}
)

// parse reads args into the struct that options points to. What the command's
// page in pages says is its --help.
func parse(p *process, options any, description string, args []string) error {
	if p.describe != nil {
		return p.describe(options)
	}
	out, errs := &strings.Builder{}, &strings.Builder{}
	done := -1
	k, err := kong.New(options, kong.Name(p.name), kong.Description(description), kong.Writers(out, errs),
		kong.Exit(func(code int) {
			if done < 0 {
				done = code
			}
		}), kong.Help(p.help))
	if err != nil {
		return fmt.Errorf("building the options of %s: %w", p.name, err)
	}
	_, err = k.Parse(args)
	if done >= 0 {
		_, _ = io.WriteString(p.stdout, out.String())
		return &exit{code: done}
	}
	if err != nil {
		var pe *kong.ParseError
		if errors.As(err, &pe) && pe.Context != nil {
			_ = pe.Context.PrintUsage(true)
		}
		_, _ = io.WriteString(p.stderr, out.String()+errs.String())
		fmt.Fprintf(p.stderr, "%s: error: %s\n", p.name, err)
		return &exit{code: codeUsage}
	}
	return nil
}
