package main

import (
	"slices"

	"volant/cmd/internal/argparse"
)

// Options of ansible-core's commands in the order their usage has them.
// Everything else about them, such as what they do, is in the structs that hold
// their values.
var (
	baseOptions = []argparse.Option{
		{Names: []string{"-h", "--help"}, Kind: argparse.Help},
		{Names: []string{"--version"}, Kind: argparse.Version},
		verbosityOption,
	}
	helpOption      = argparse.Option{Names: []string{"-h", "--help"}, Kind: argparse.Help}
	verbosityOption = argparse.Option{Names: []string{"-v", "--verbose"}, Kind: argparse.Count}
	connectGrammar  = []argparse.Option{
		{Names: []string{"--private-key", "--key-file"}, Metavar: "PRIVATE_KEY_FILE"},
		{Names: []string{"-u", "--user"}, Metavar: "REMOTE_USER"},
		{Names: []string{"-c", "--connection"}, Metavar: "CONNECTION"},
		{Names: []string{"-T", "--timeout"}, Metavar: "TIMEOUT", Int: true},
		{Names: []string{"--ssh-common-args"}, Metavar: "SSH_COMMON_ARGS"},
		{Names: []string{"--sftp-extra-args"}, Metavar: "SFTP_EXTRA_ARGS"},
		{Names: []string{"--scp-extra-args"}, Metavar: "SCP_EXTRA_ARGS"},
		{Names: []string{"--ssh-extra-args"}, Metavar: "SSH_EXTRA_ARGS"},
		{Names: []string{"-k", "--ask-pass"}, Kind: argparse.Flag, Group: 1},
		{Names: []string{"--connection-password-file", "--conn-pass-file"}, Metavar: "CONNECTION_PASSWORD_FILE", Group: 1},
	}
	becomeGrammar = []argparse.Option{
		{Names: []string{"-b", "--become"}, Kind: argparse.Flag},
		{Names: []string{"--become-method"}, Metavar: "BECOME_METHOD"},
		{Names: []string{"--become-user"}, Metavar: "BECOME_USER"},
		{Names: []string{"-K", "--ask-become-pass"}, Kind: argparse.Flag, Group: 2},
		{Names: []string{"--become-password-file", "--become-pass-file"}, Metavar: "BECOME_PASSWORD_FILE", Group: 2},
	}
	checkGrammar = []argparse.Option{
		{Names: []string{"-C", "--check"}, Kind: argparse.Flag},
		{Names: []string{"-D", "--diff"}, Kind: argparse.Flag},
	}
	inventoryOption  = argparse.Option{Names: []string{"-i", "--inventory", "--inventory-file"}, Metavar: "INVENTORY"}
	limitOption      = argparse.Option{Names: []string{"-l", "--limit"}, Metavar: "SUBSET"}
	flushOption      = argparse.Option{Names: []string{"--flush-cache"}, Kind: argparse.Flag}
	inventoryGrammar = []argparse.Option{inventoryOption, {Names: []string{"--list-hosts"}, Kind: argparse.Flag}, limitOption, flushOption}
	extraVarsOption  = argparse.Option{Names: []string{"-e", "--extra-vars"}, Metavar: "EXTRA_VARS"}
	vaultGrammar     = []argparse.Option{
		{Names: []string{"--vault-id"}, Metavar: "VAULT_IDS"},
		{Names: []string{"-J", "--ask-vault-password", "--ask-vault-pass"}, Kind: argparse.Flag, Group: 3},
		{Names: []string{"--vault-password-file", "--vault-pass-file"}, Metavar: "VAULT_PASSWORD_FILES", Group: 3},
	}
	forksOption      = argparse.Option{Names: []string{"-f", "--forks"}, Metavar: "FORKS", Int: true}
	modulePathOption = argparse.Option{Names: []string{"-M", "--module-path"}, Metavar: "MODULE_PATH"}
	basedirOption    = argparse.Option{Names: []string{"--playbook-dir"}, Metavar: "BASEDIR"}
)

// join puts options and groups of options together.
func join(parts ...any) []argparse.Option {
	var out []argparse.Option
	for _, p := range parts {
		switch p := p.(type) {
		case argparse.Option:
			out = append(out, p)
		case []argparse.Option:
			out = append(out, p...)
		}
	}
	return out
}

// grammars are the command lines of ansible-core's commands, by our names.
var grammars = map[string]argparse.Parser{
	"playbook": {
		Options: join(baseOptions, connectGrammar,
			argparse.Option{Names: []string{"--force-handlers"}, Kind: argparse.Flag},
			becomeGrammar,
			argparse.Option{Names: []string{"-t", "--tags"}, Metavar: "TAGS"},
			argparse.Option{Names: []string{"--skip-tags"}, Metavar: "SKIP_TAGS"},
			checkGrammar, inventoryGrammar, extraVarsOption, vaultGrammar, forksOption, modulePathOption,
			[]argparse.Option{
				{Names: []string{"--syntax-check"}, Kind: argparse.Flag},
				{Names: []string{"--list-tasks"}, Kind: argparse.Flag},
				{Names: []string{"--list-tags"}, Kind: argparse.Flag},
				{Names: []string{"--step"}, Kind: argparse.Flag},
				{Names: []string{"--start-at-task"}, Metavar: "START_AT_TASK"},
			}),
		Arguments: []argparse.Argument{{Name: "playbook", Nargs: '+'}},
	},
	"adhoc": {
		Options: join(baseOptions, becomeGrammar, inventoryGrammar,
			[]argparse.Option{
				{Names: []string{"-P", "--poll"}, Metavar: "POLL_INTERVAL", Int: true},
				{Names: []string{"-B", "--background"}, Metavar: "SECONDS", Int: true},
				{Names: []string{"-o", "--one-line"}, Kind: argparse.Flag},
				{Names: []string{"-t", "--tree"}, Metavar: "TREE"},
			},
			connectGrammar, checkGrammar, extraVarsOption, vaultGrammar, forksOption, modulePathOption, basedirOption,
			[]argparse.Option{
				{Names: []string{"--task-timeout"}, Metavar: "TASK_TIMEOUT", Int: true},
				{Names: []string{"-a", "--args"}, Metavar: "MODULE_ARGS"},
				{Names: []string{"-m", "--module-name"}, Metavar: "MODULE_NAME"},
			}),
		Arguments: []argparse.Argument{{Name: "pattern"}},
	},
	"inventory": {
		Options: join(baseOptions, inventoryOption, limitOption, flushOption, vaultGrammar, basedirOption, extraVarsOption,
			[]argparse.Option{
				{Names: []string{"--list-hosts"}, Kind: argparse.Refused, Unlisted: true},
				{Names: []string{"--list"}, Kind: argparse.Flag},
				{Names: []string{"--host"}, Metavar: "HOST"},
				{Names: []string{"--graph"}, Kind: argparse.Flag},
				{Names: []string{"-y", "--yaml"}, Kind: argparse.Flag},
				{Names: []string{"--toml"}, Kind: argparse.Flag},
				{Names: []string{"--vars"}, Kind: argparse.Flag},
				{Names: []string{"--export"}, Kind: argparse.Flag},
				{Names: []string{"--output"}, Metavar: "OUTPUT_FILE"},
			}),
		Arguments: []argparse.Argument{{Name: "group", Nargs: '?'}},
	},
	"doc": {
		Options: join(baseOptions, modulePathOption, basedirOption,
			[]argparse.Option{
				{Names: []string{"-t", "--type"}, Choices: docTypes},
				{Names: []string{"-j", "--json"}, Kind: argparse.Flag},
				{Names: []string{"-r", "--roles-path"}, Metavar: "ROLES_PATH"},
				{Names: []string{"-e", "--entry-point"}, Metavar: "ENTRY_POINT", Group: 1},
				{Names: []string{"-s", "--snippet"}, Kind: argparse.Flag, Group: 1},
				{Names: []string{"-F", "--list_files"}, Kind: argparse.Flag, Group: 1},
				{Names: []string{"-l", "--list"}, Kind: argparse.Flag, Group: 1},
				{Names: []string{"--metadata-dump"}, Kind: argparse.Flag, Group: 1},
				{Names: []string{"--no-fail-on-errors"}, Kind: argparse.Flag},
			}),
		Arguments: []argparse.Argument{{Name: "plugin", Nargs: '*'}},
	},
	"config": {
		Options: baseOptions, CommandName: "action",
		Commands: []*argparse.Parser{
			configGrammar("list", format("json", "yaml")),
			configGrammar("dump", argparse.Option{Names: []string{"--only-changed", "--changed-only"}, Kind: argparse.Flag}, format("json", "yaml", "display")),
			configGrammar("view"),
			configGrammar("init", format("ini", "env", "vars"), argparse.Option{Names: []string{"--disabled"}, Kind: argparse.Flag}),
			configGrammar("validate", format("ini", "env")),
		},
	},
	"vault": {
		Options: baseOptions, CommandName: "action",
		Commands: []*argparse.Parser{
			vaultFiles("create", encryptID, vaultGrammar, verbosityOption, argparse.Option{Names: []string{"--skip-tty-check"}, Kind: argparse.Flag}),
			vaultFiles("decrypt", outputOption, vaultGrammar, verbosityOption),
			vaultFiles("edit", encryptID, vaultGrammar, verbosityOption),
			vaultFiles("view", vaultGrammar, verbosityOption),
			vaultFiles("encrypt", vaultGrammar, verbosityOption, outputOption, encryptID),
			{
				Prog: "encrypt_string", Arguments: []argparse.Argument{{Name: "string_to_encrypt", Nargs: '*'}},
				Options: join(helpOption, vaultGrammar, verbosityOption, outputOption, encryptID,
					[]argparse.Option{
						{Names: []string{"-p", "--prompt"}, Kind: argparse.Flag},
						{Names: []string{"--show-input"}, Kind: argparse.Flag},
						{Names: []string{"-n", "--name"}, Metavar: "ENCRYPT_STRING_NAMES"},
						{Names: []string{"--stdin-name"}, Metavar: "ENCRYPT_STRING_STDIN_NAME"},
					}),
			},
			vaultFiles("rekey", vaultGrammar, verbosityOption, encryptID,
				argparse.Option{Names: []string{"--new-vault-password-file"}, Metavar: "NEW_VAULT_PASSWORD_FILE", Group: 4},
				argparse.Option{Names: []string{"--new-vault-id"}, Metavar: "NEW_VAULT_ID", Group: 4}),
		},
	},
}

// docTypes are the kinds of things that have documentation.
var docTypes = []string{
	"become", "cache", "callback", "cliconf", "connection", "httpapi", "inventory", "lookup", "netconf", "shell", "vars",
	"module", "strategy", "test", "filter", "role", "keyword",
}

// configTypes are the kinds of plugins that have settings, after all and base.
var configTypes = []string{
	"all", "base", "become", "cache", "callback", "cliconf", "connection", "httpapi", "inventory", "lookup", "netconf", "shell", "vars",
}

var (
	encryptID    = argparse.Option{Names: []string{"--encrypt-vault-id"}, Metavar: "ENCRYPT_VAULT_ID"}
	outputOption = argparse.Option{Names: []string{"--output"}, Metavar: "OUTPUT_FILE"}
)

func format(choices ...string) argparse.Option {
	return argparse.Option{Names: []string{"--format", "-f"}, Choices: choices}
}

func configGrammar(name string, more ...argparse.Option) *argparse.Parser {
	return &argparse.Parser{
		Prog: name, Arguments: []argparse.Argument{{Name: "args", Nargs: '*'}},
		Options: slices.Concat([]argparse.Option{
			helpOption, verbosityOption,
			{Names: []string{"-c", "--config"}, Metavar: "CONFIG_FILE"},
			{Names: []string{"-t", "--type"}, Choices: configTypes},
		}, more),
	}
}

func vaultFiles(name string, parts ...any) *argparse.Parser {
	return &argparse.Parser{
		Prog: name, Arguments: []argparse.Argument{{Name: "file_name", Nargs: '*'}},
		Options: append([]argparse.Option{helpOption}, join(parts...)...),
	}
}
