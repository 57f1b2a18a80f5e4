package bootstrap

import "fmt"

// Kind says what went wrong, for callers that branch on it.
type Kind string

// The kinds of failure. Connect kinds make a host unreachable in the
// reference's words; host kinds say why no agent can live there.
const (
	KindResolve  Kind = "resolve"   // the name has no address
	KindConnect  Kind = "connect"   // refused, no route, closed
	KindTimeout  Kind = "timeout"   // no answer in time
	KindHostKey  Kind = "host_key"  // unknown or changed host key
	KindAuth     Kind = "auth"      // the host refused every key and password
	KindConfig   Kind = "config"    // unusable option, key file or ssh_config
	KindArch     Kind = "arch"      // no agent for this operating system or architecture
	KindDiskFull Kind = "disk_full" // not enough room for the agent
	KindHome     Kind = "home"      // no directory is writable and lets programs run
	KindNoise    Kind = "noise"     // the login shell's output hides ours, or it is no shell
	KindUpload   Kind = "upload"    // what arrived is not what was sent
	KindStart    Kind = "start"     // the agent did not start or did not answer
)

// Error is every failure of Dial, EnsureAgent and Run. Msg is complete and fit
// to be shown as the host's unreachable message.
type Error struct {
	Kind Kind
	Msg  string
	Err  error // may be nil
}

// Error returns Msg.
func (e *Error) Error() string { return e.Msg }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// viaSSH is a failure to connect or log in, in the words of the reference.
func viaSSH(k Kind, err error, format string, args ...any) *Error {
	return &Error{Kind: k, Msg: "Failed to connect to the host via ssh: " + fmt.Sprintf(format, args...), Err: err}
}

func hostError(k Kind, err error, format string, args ...any) *Error {
	return &Error{Kind: k, Msg: fmt.Sprintf(format, args...), Err: err}
}
