// Package enrol is the contract between the bootstrap over SSH and the agent
// binary: what the controller sends to `volant-agent enrol` on its standard
// input, and what that answers on its standard output. It imports nothing heavy
// so that the agent can use it without carrying an SSH client.
//
// The exchange, within one SSH channel:
//
//	controller                                     host
//	  exec: BINARY enrol --home DIR            ->
//	  stdin: one line of JSON, a Request       ->  volant-agent enrol
//	                                                 - when no agent serves DIR, or an older one does:
//	                                                   starts `serve --home DIR` in a new session
//	                                                   (double fork), waits until it listens
//	                                                 - adds or renews the controller's key
//	                                           <-  stdout: Mark, one line of JSON, a Reply
//
// Whatever precedes Mark on standard output is noise of login scripts and is
// skipped. The agent that was started owns no descriptor of the SSH session.
package enrol

import (
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Mark begins the line that carries a Reply.
const Mark = "VOLANT-ENROL "

// BridgeMark is the line behind which the output of `volant-agent bridge` is
// datagrams of the agent that serves the home.
const BridgeMark = "VOLANT-BRIDGE"

// MaxLine bounds a Request or Reply line, in bytes.
const MaxLine = 64 << 10

// Request is what a controller asks of an agent over SSH, as one line of JSON.
type Request struct {
	Controller ed25519.PublicKey `json:"controller"`         // the key to serve
	Name       string            `json:"name,omitempty"`     // who that is, for people: "user@machine"
	TTLSeconds int64             `json:"ttl,omitempty"`      // lease of the enrolment; 0: the agent's default of 30 days
	Port       int               `json:"port,omitempty"`     // UDP port to bind; 0: keep the one in use, else a free one above 20000
	Listen     string            `json:"listen,omitempty"`   // address to bind; "": the one the SSH session arrived at; "none": no socket
	Restart    bool              `json:"restart,omitempty"`  // replace a running agent even when it is current
	NoUnit     bool              `json:"no_unit,omitempty"`  // do not install a systemd unit
	Protocol   int               `json:"protocol,omitempty"` // the controller's wire version
	// Transient makes the process that reads this request the agent, for as long
	// as its standard input lasts: behind the Reply, QUIC datagrams travel on its
	// standard input and output. "always", or "absent": only where no agent serves.
	Transient string `json:"transient,omitempty"`
}

// Values of Request.Transient.
const (
	TransientAlways = "always"
	TransientAbsent = "absent"
)

// Reply is what the agent answers, as Mark followed by one line of JSON.
type Reply struct {
	Agent    ed25519.PublicKey `json:"agent"`             // the agent's key, to be pinned
	Port     int               `json:"port"`              // UDP port it listens on; 0 with Listen "none"
	Address  string            `json:"address,omitempty"` // address it is bound to; "" or unspecified: all
	BootID   string            `json:"boot_id"`           // /proc/sys/kernel/random/boot_id
	Machine  string            `json:"machine,omitempty"` // hash of machine-id
	Version  string            `json:"version"`           // of the serving agent
	Protocol int               `json:"protocol"`          // wire version of the serving agent
	PID      int               `json:"pid"`               // of the serving agent
	Home     string            `json:"home"`              // its directory
	Started  bool              `json:"started"`           // this call started it
	// Transient says that the process that answers is the agent: datagrams follow.
	Transient bool   `json:"transient,omitempty"`
	Unit      string `json:"unit,omitempty"`    // what keeps it alive: "system" or "user" unit of systemd, "" nothing
	Session   bool   `json:"session,omitempty"` // it ends with the SSH session that started it, which is to be kept
	Error     string `json:"error,omitempty"`   // why it could not be done; everything else is then empty
}

// WriteReply writes r as the agent does: a newline, so that a prompt left by a
// login script cannot hide the mark, then Mark and the JSON.
func WriteReply(w io.Writer, r Reply) error {
	b, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("encoding reply: %w", err)
	}
	_, err = fmt.Fprintf(w, "\n%s%s\n", Mark, b)
	return err
}

// ReadRequest reads one Request line from r, byte by byte so that nothing
// behind it is consumed.
func ReadRequest(r io.Reader) (Request, error) {
	var req Request
	line, err := readLine(r)
	if err != nil {
		return req, fmt.Errorf("reading request: %w", err)
	}
	if err := json.Unmarshal(line, &req); err != nil {
		return req, fmt.Errorf("decoding request: %w", err)
	}
	if len(req.Controller) != ed25519.PublicKeySize {
		return req, fmt.Errorf("decoding request: controller key has %d bytes, not %d", len(req.Controller), ed25519.PublicKeySize)
	}
	return req, nil
}

// ParseReply finds and decodes the Reply in out, everything a host printed.
// ErrNoReply when there is no mark in it.
func ParseReply(out string) (Reply, error) {
	var rep Reply
	_, rest, ok := strings.Cut(out, Mark)
	if !ok {
		return rep, ErrNoReply
	}
	line, _, _ := strings.Cut(rest, "\n")
	if len(line) > MaxLine {
		return rep, fmt.Errorf("decoding reply: line of %d bytes", len(line))
	}
	if err := json.Unmarshal([]byte(line), &rep); err != nil {
		return rep, fmt.Errorf("decoding reply: %w", err)
	}
	if rep.Error == "" && len(rep.Agent) != ed25519.PublicKeySize {
		return rep, fmt.Errorf("decoding reply: agent key has %d bytes, not %d", len(rep.Agent), ed25519.PublicKeySize)
	}
	return rep, nil
}

// ErrNoReply says that the host's output held no Reply at all: the binary did
// not run, or something between ate its output.
var ErrNoReply = errors.New("no reply from the agent")

func readLine(r io.Reader) ([]byte, error) {
	var line []byte
	var b [1]byte
	for len(line) <= MaxLine {
		n, err := r.Read(b[:])
		if n == 1 {
			if b[0] == '\n' {
				return line, nil
			}
			line = append(line, b[0])
			continue
		}
		if err == io.EOF && len(line) > 0 {
			return line, nil
		}
		if err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("line longer than %d bytes", MaxLine)
}
