// Command volant runs Ansible playbooks through resident agents. It answers to
// the names of ansible-core's commands, too: a link called ansible-playbook
// behaves as that command does.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"strings"
	"syscall"

	"volant/bootstrap"
	"volant/cmd/internal/argparse"
	"volant/cmd/internal/private"
	"volant/controller/events"
	"volant/controller/execute"
	"volant/controller/fault"
	"volant/controller/union"
	"volant/wire"
)

// version is linked in by a release build.
var version = ""

// process is the surroundings of a command: nothing below cmd reads them.
type process struct {
	name           string // the name it was called by, for messages
	command        string // the name of the command below volant
	args           []string
	stdin          *os.File
	stdout, stderr io.Writer
	out            *outlet // what stdout is, where it is the process's own
	getenv         func(string) (string, bool)
	dir, home      string
	color          bool // standard output is a terminal
	width          int  // of the terminal, 0 when there is none
	// describe, where set, is given the options of a command instead of their
	// being read: for its manual.
	describe func(options any) error
	// What the command line said, where one of ansible-core's grammars was used.
	grammar *argparse.Parser
	action  string   // the command below the command, such as "encrypt"
	given   []string // spellings of the options
	// optional says that the arguments may be left out, whatever the grammar says.
	optional bool
	// said shows what is said as the configuration wants it; nil before it is known.
	said *events.Display
	// tty opens the terminal that the process belongs to; nil for none.
	tty    func() (*os.File, error)
	secret *passwords                // made by asking
	find   func(name string) command // nil when there is none of that name
}

// exit ends a command with a code, and a message on standard error if any.
type exit struct {
	code int
	err  error
}

// Error is the message.
func (e *exit) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

// Unwrap returns the error behind it.
func (e *exit) Unwrap() error { return e.err }

// command runs one command with its arguments.
type command func(ctx context.Context, p *process, args []string) error

// commands are the subcommands of volant.
var commands = map[string]command{
	"playbook":      playbookMain,
	"runs":          runsMain,
	"adhoc":         adhocMain,
	"agent":         agentMain,
	"shims":         shimsMain,
	"setup":         setupMain,
	"inventory":     inventoryMain,
	"vault":         vaultMain,
	"config":        configMain,
	"bench":         benchMain,
	"doc":           docMain,
	"check":         checkMain,
	"completion":    completionMain,
	"compatibility": compatibilityMain, // of the project's own making
	"manual":        manualMain,        // of the project's own making
	"worker":        workerMain,        // by the local session only
	"job":           jobMain,           // by the local session only
}

// drives are the commands that work on hosts.
var drives = map[string]bool{"playbook": true, "adhoc": true}

// hidden are the commands that no user calls.
var hidden = map[string]bool{"worker": true, "job": true, "compatibility": true, "manual": true}

func find(name string) command { return commands[name] }

// aliases are the names of ansible-core's commands.
var aliases = map[string]string{
	"ansible-playbook": "playbook", "ansible": "adhoc", "ansible-inventory": "inventory",
	"ansible-vault": "vault", "ansible-config": "config", "ansible-doc": "doc",
}

func main() { os.Exit(run(os.Args)) }

// run is main without its exit. The first interrupt cancels what runs, the
// second ends at once.
func run(argv []string) int {
	private.Keep()
	if socket := os.Getenv(bootstrap.AskpassEnv); socket != "" && len(argv) == 2 { // ssh asks through us
		if err := bootstrap.AnswerAskpass(socket, argv[1], os.Stdout); err != nil {
			return codeError
		}
		return 0
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() { // ends with the process
		<-signals
		cancel()
		<-signals
		os.Exit(codeInterrupted)
	}()
	// A pipe that nobody reads is found out by writing to it; whatever is run
	// from here has the signal's default again.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	p := &process{stdin: os.Stdin, getenv: os.LookupEnv, tty: controlling, out: newOutlet(os.Stdout, cancel)}
	p.stdout, p.stderr = p.out, beside{os.Stderr, p.out}
	p.dir, _ = os.Getwd()
	p.home, _ = os.UserHomeDir()
	p.color, p.width = terminal(os.Stdout)
	name, args := filepath.Base(argv[0]), argv[1:]
	sub, ok := aliases[name]
	if !ok {
		if len(args) == 0 {
			usage(p.stderr)
			return codeUsage
		}
		sub, args = args[0], args[1:]
		name = "volant " + sub
	}
	p.name, p.command, p.args, p.find = name, sub, args, find
	if drives[sub] {
		p.out.later = !isTerminal(os.Stdout)
		defer collect()()
	}
	switch sub {
	case "--version", "version":
		fmt.Fprintln(p.stdout, versionText())
		return p.code(ctx, nil)
	case "-h", "--help":
		usage(p.stdout)
		return p.code(ctx, nil)
	case "help":
		return p.code(ctx, helpMain(ctx, p, args))
	}
	do := p.find(sub)
	if do == nil {
		usage(p.stderr)
		fmt.Fprintf(p.stderr, "\nvolant: there is no command %q%s\n", sub, meant(sub, commandNames()))
		return codeUsage
	}
	return p.code(ctx, guarded(func() error { return do(ctx, p, args) }))
}

// Exit codes, the reference's.
const (
	codeError       = 1
	codeUsage       = 2
	codeParser      = 4
	codeOptions     = 5
	codeInterrupted = 99
	codeUnexpected  = 250
)

// code shows the error that ended a command and returns its exit code.
func (p *process) code(ctx context.Context, err error) int {
	var (
		e *exit
		f *fault.Error
		b *fault.Bug
		u *execute.Unexpected
	)
	if p.out != nil {
		if failed := p.out.failed(); failed != nil {
			p.show(failed)
			return codeError
		}
	}
	switch {
	case err == nil:
		return 0
	case errors.As(err, &b):
		return p.bug(b, p.args)
	case errors.Is(err, execute.ErrNoLine):
		p.show(&execute.Unexpected{Err: execute.ErrNoLine})
		return codeUnexpected
	case errors.As(err, &u):
		p.show(u)
		return codeUnexpected
	case errors.As(err, &e):
		if e.err != nil {
			p.show(e.err)
		}
		return e.code
	case ctx.Err() != nil:
		p.show(errors.New("User interrupted execution")) //nolint:staticcheck // the reference's text
		return codeInterrupted
	case errors.As(err, &f):
		p.show(err)
		return codeOf(err)
	}
	p.show(err)
	return codeError
}

// codeOf is the exit code of a run that err ended.
func codeOf(err error) int {
	switch fault.KindOf(err) {
	case fault.Parser:
		return codeParser
	case fault.Options:
		return codeOptions
	}
	return codeError
}

// codeAfter is the exit code of a run for its metrics.
func codeAfter(code int, err error) int {
	switch {
	case err == nil:
		return code
	case errors.Is(err, context.Canceled):
		return codeInterrupted
	}
	return codeOf(err)
}

func (p *process) show(err error) {
	d := p.said
	if d == nil {
		d = events.NewDisplay(p.stdout, p.stderr, nil)
		d.Color = p.color
	}
	d.Error(err, true)
}

// release is the version of this binary.
func release() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return strings.TrimPrefix(info.Main.Version, "v")
	}
	return "devel"
}

func versionText() string {
	return fmt.Sprintf("volant %s (protocol %d, follows ansible-core %s)", release(), wire.Version, union.CoreVersion)
}
