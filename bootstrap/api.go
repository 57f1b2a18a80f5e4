// Package bootstrap reaches a host over SSH, once, to put the agent there and
// to introduce controller and agent to each other. After that they meet over
// QUIC and SSH is not used while the agent lives.
//
//	Dial         connect and log in: ssh_config, known_hosts, keys, agent, jump hosts
//	EnsureAgent  probe (one channel), upload when needed, start, exchange keys
//	Bridge       QUIC datagrams to the agent over the SSH connection, where UDP does not pass
//	Transient    an agent for one run, within the SSH connection
//	Run          one command, for hosts that get no agent
//
// Nothing a host says is believed beyond what is parsed and bounded here.
package bootstrap

import (
	"context"
	"io"
	"log/slog"
	"time"

	"volant/bootstrap/enrol"
)

// Options say how to reach one host. The zero value of a field means what the
// OpenSSH client would do on its own: ssh_config first, then its defaults.
type Options struct {
	Host           string        // ansible_host, else the inventory name; looked up in ssh_config like an alias
	Port           int           // ansible_port; 0: ssh_config, then 22
	User           string        // ansible_user; "": ssh_config, then LocalUser
	Password       string        // ansible_password; "" disables password and keyboard-interactive, as the reference does
	PrivateKeyFile string        // ansible_ssh_private_key_file; ~ is expanded
	PrivateKey     string        // ansible_ssh_private_key: the key itself, unencrypted or with Passphrase
	Passphrase     string        // ansible_ssh_private_key_passphrase
	PKCS11Provider string        // ansible_ssh_pkcs11_provider; only the system's ssh has it
	PasswordPrompt string        // ansible_sshpass_prompt: how the host asks for the password; "": as OpenSSH does
	SSHArgs        string        // ansible_ssh_args
	CommonArgs     string        // ansible_ssh_common_args
	ExtraArgs      string        // ansible_ssh_extra_args
	NoHostKeyCheck bool          // host_key_checking = False: like StrictHostKeyChecking=no
	Timeout        time.Duration // connect timeout, TCP and handshake each; 0: 10 s
	Retries        int           // ansible_ssh_retries: further attempts after a failed connect
	Command        []string      // no SSH at all: this program runs the command line that is added to it as a last argument at the target
	SSH            string        // SSHNative, SSHOpen or SSHAuto, which is the same as ""
	Executable     string        // ansible_ssh_executable; "": ssh

	// The controller's surroundings, filled by cmd: nothing below it reads the environment.
	HomeDir   string // of the user who runs the controller: ~/.ssh, ~ in paths
	LocalUser string // name of that user
	AuthSock  string // SSH_AUTH_SOCK; "" for none
	// Getenv reads the environment, for options that name variables; nil: none is set.
	Getenv func(name string) (string, bool)
	// Kerberos says that the user has a ticket: GSSAPI could log in.
	Kerberos bool
	// Askpass is this program, for the system's ssh to ask for secrets: started
	// with AskpassEnv set it has to call AnswerAskpass. "": nothing is answered.
	Askpass string
	// Ask asks the user for a passphrase or PIN; nil: nobody is there.
	Ask func(ctx context.Context, prompt string) (string, error)

	// Told is told, for those who ask for more words, who logs in and why; nil: nobody.
	Told   func(text string)
	Log    *slog.Logger // nil discards
	Shared *Shared      // nil: files are read anew for each Dial
}

// Binaries gives the agent to install. Open returns the gzip-compressed static
// agent for a GOARCH such as "amd64" ("arm64", "arm"), its size once
// uncompressed and the hex SHA-256 of the uncompressed bytes; it returns an
// error that wraps fs.ErrNotExist when there is none for that architecture.
type Binaries interface {
	Open(goarch string) (Binary, error)
	Version() string // version string of all of them
}

// Digester is what Binaries may also be: the hex SHA-256 of the agent for a
// GOARCH, without the trouble of opening it.
type Digester interface {
	Digest(goarch string) (string, error)
}

// Binary is one agent executable.
type Binary struct {
	Gzip   []byte // gzip of the executable
	Size   int64  // of the executable, bytes
	SHA256 string // hex, of the executable
}

// Enrolment is what the controller wants of the agent; see enrol.Request.
type Enrolment = enrol.Request

// AgentInfo is what is known of an agent after EnsureAgent.
type AgentInfo struct {
	enrol.Reply
	DialAddress string    // host:port to dial over UDP: the address SSH reached, and the agent's port; behind a jump host it may not be reachable
	HostKey     []byte    // the SSH host key that vouched for it, wire format
	HostKeyOK   bool      // that key was verified, not just accepted
	Installed   bool      // this call uploaded a binary
	Python      string    // a python3 found by the probe; "" none
	Answered    time.Time // when the agent answered: start of the lease
}

// Output is what a command gave.
type Output struct {
	Stdout, Stderr []byte
	Code           int // exit status; 128+n when killed by signal n
}

// Session is what the fleet needs of this package; *Client implements what it returns.
type Session interface {
	EnsureAgent(ctx context.Context, bins Binaries, e Enrolment) (AgentInfo, error)
	Run(ctx context.Context, command string, stdin io.Reader) (Output, error)
	// Bridge connects to the agent that serves home on the host: what is written
	// and read are its QUIC datagrams, as session.NewTunnel frames them. It lasts
	// as long as the Session at most; its Close ends the Session, too.
	Bridge(ctx context.Context, home string) (io.ReadWriteCloser, error)
	// Transient starts an agent that lives as long as the returned stream, which
	// is a Bridge to it. Where e.Transient is "absent" and an agent serves, that
	// is enrolled instead and there is no stream.
	Transient(ctx context.Context, bins Binaries, e Enrolment) (AgentInfo, io.ReadWriteCloser, error)
	Close() error
}

var _ Session = (*Client)(nil)
