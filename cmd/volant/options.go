package main

import (
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"

	"volant/cmd/internal/argparse"
	"volant/controller/fault"
)

// Option groups that several commands have, named as the reference's.
type (
	verbosityOptions struct {
		Verbose int `short:"v" type:"counter" help:"Show more: up to -vvvvvv."`
	}
	inventoryOptions struct {
		Inventory  []string `short:"i" sep:"none" aliases:"inventory-file" help:"Inventory file, directory or comma separated hosts. May be given more than once."`
		Limit      string   `short:"l" name:"limit" help:"Further limit the hosts to a pattern."`
		ListHosts  bool     `help:"Show the matching hosts and do nothing else."`
		FlushCache bool     `help:"Clear the fact cache of every host in the inventory."`
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
	if g, ok := grammars[p.command]; ok {
		if args, err = p.grammatical(g, k.Model, args); err != nil {
			return err
		}
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

// grammatical reads args by the grammar of one of ansible-core's commands,
// which decides what is refused and how, and returns them written out in full.
// Options of the model that the grammar lacks are Volant's own.
func (p *process) grammatical(g argparse.Parser, model *kong.Application, args []string) ([]string, error) {
	g.Prog = p.name
	g.Options = append(slices.Clone(g.Options), p.ownGrammar(g, model)...)
	if p.optional {
		g.Arguments = slices.Clone(g.Arguments)
		for i := range g.Arguments {
			g.Arguments[i].Nargs = '*'
		}
	}
	p.grammar = &g
	r, err := g.Parse(args)
	var refused *argparse.Error
	switch {
	case errors.As(err, &refused):
		return nil, p.refuse(refused.Parser, refused.Msg+p.meantOption(refused))
	case err != nil:
		return nil, err
	case r.Help != nil:
		if r.Command != "" {
			return []string{r.Command, "--help"}, nil
		}
		return []string{"--help"}, nil
	case r.Version:
		j, err := configure(p, 0)
		if err != nil {
			return nil, err
		}
		_, err = fmt.Fprintln(p.stdout, j.banner())
		return nil, errors.Join(err, &exit{})
	}
	p.action = r.Command
	var full []string
	if r.Command != "" {
		full = append(full, r.Command)
	}
	for _, o := range r.Options {
		p.given = append(p.given, o.Name)
		long := o.Option.Names[0]
		for _, n := range o.Option.Names {
			if strings.HasPrefix(n, "--") {
				long = n
				break
			}
		}
		if o.Option.Kind == argparse.Value || o.Option.Kind == argparse.Optional && o.Value != "" {
			long += "=" + o.Value
		}
		full = append(full, long)
	}
	return append(append(full, "--"), r.Arguments...), nil
}

// ownGrammar are the options of the model that g lacks. Under the names of
// ansible-core's commands they are taken and not spoken of.
func (p *process) ownGrammar(g argparse.Parser, model *kong.Application) []argparse.Option {
	known := map[string]bool{}
	for _, o := range g.Options {
		for _, n := range o.Names {
			known[n] = true
		}
	}
	var own []argparse.Option
	for _, f := range model.Flags {
		if known["--"+f.Name] || len(g.Commands) > 0 {
			continue
		}
		o := argparse.Option{Names: []string{"--" + f.Name}, Exact: true, Unlisted: !p.ownName()}
		for choice := range strings.SplitSeq(f.Tag.Enum, ",") {
			if choice != "" { // where it is not given
				o.Choices = append(o.Choices, choice)
			}
		}
		switch {
		case f.IsBool() && f.Target.Kind() != reflect.Bool: // it may stand alone
			o.Kind = argparse.Optional
		case f.IsBool():
			o.Kind = argparse.Flag
		default:
			o.Metavar = strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))
		}
		own = append(own, o)
	}
	return own
}

// refuse ends a command whose command line is wrong, in argparse's form.
func (p *process) refuse(g *argparse.Parser, msg string) error {
	g.WriteUsage(p.stderr, p.columns())
	fmt.Fprintf(p.stderr, "%s: error: %s\n", g.Prog, msg)
	return &exit{code: codeUsage}
}

// columns is the width of the terminal as Python sees it.
func (p *process) columns() int {
	if s, ok := p.getenv("COLUMNS"); ok {
		if n, err := strconv.Atoi(strings.TrimSpace(s)); err == nil && n > 0 {
			return n
		}
	}
	if p.width > 0 {
		return p.width
	}
	return 80
}

// oldOptions are the spellings of options that go away, and what to use.
var oldOptions = map[string]map[string]string{
	"playbook":  {"--inventory-file": "-i or --inventory"},
	"inventory": {"--inventory-file": "-i or --inventory"},
	"adhoc": {
		"--inventory-file": "-i or --inventory",
		"-o":               "callback configuration to enable the oneline callback", "--one-line": "callback configuration to enable the oneline callback",
		"-t": "callback configuration to enable the tree callback", "--tree": "callback configuration to enable the tree callback",
	},
}

// oldOnes tells of options given that go away.
func (j *project) oldOnes() {
	for _, name := range j.given {
		if use := oldOptions[j.command][name]; use != "" {
			j.display.Deprecated(fault.Deprecation{Version: "2.23", Error: fault.Error{
				Msg: fmt.Sprintf("The '%s' argument is deprecated.", name), Help: "Use " + use + " instead."}})
		}
	}
}
