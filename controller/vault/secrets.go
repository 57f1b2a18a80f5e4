package vault

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"volant/controller/fault"
	"volant/controller/source"
	"volant/wire/value"
)

// Words that stand for a prompt in place of a file in a vault id.
const (
	promptWord    = "prompt"
	askPassPrompt = "prompt_ask_vault_pass"
)

// Wanted says where secrets come from, in the order in which they are tried.
type Wanted struct {
	IDs           []string // NAME@SOURCE or SOURCE, configured ones first
	PasswordFiles []string // configured one last
	Ask           bool     // --ask-vault-password
	AutoPrompt    bool     // ask when there is nothing else
	New           bool     // a password for encrypting: asked for twice
	DefaultID     string   // DEFAULT_VAULT_IDENTITY
	// Dir is what relative paths are relative to.
	Dir string
}

// Terminal asks the operator.
type Terminal interface {
	// Prompt shows msg and reads a line; secret hides what is typed. io.EOF
	// says that there is nobody to ask.
	Prompt(msg string, secret bool) (string, error)
}

// maxPassword bounds what is read as a password.
const maxPassword = 1 << 20

// Load collects the secrets and adds each to v as soon as it is known, so that
// a later password file may be encrypted with an earlier one. A source that
// fails is warned of; the error of the last one is returned when no source
// gave a secret.
func (v *Vault) Load(ctx context.Context, w Wanted, term Terminal, sink fault.Sink) ([]Secret, error) {
	if w.DefaultID == "" {
		w.DefaultID = DefaultID
	}
	ids := append([]string(nil), w.IDs...)
	for _, f := range w.PasswordFiles {
		ids = append(ids, w.DefaultID+"@"+f)
	}
	if w.Ask || len(ids) == 0 && w.AutoPrompt {
		ids = append(ids, w.DefaultID+"@"+askPassPrompt)
	}
	var out []Secret
	var last error
	for _, slug := range ids {
		name, source, found := strings.Cut(slug, "@")
		if !found {
			name, source = "", slug
		}
		id := name
		if id == "" {
			id = w.DefaultID
		}
		shown := name
		if !found {
			shown = "None"
		}
		var key []byte
		var err error
		switch source {
		case promptWord, askPassPrompt:
			if key, err = ask(term, id, source, w.New); err != nil {
				if ctx.Err() == nil {
					fault.Warn(sink, "Error in vault password prompt (%s): %s", shown, err)
				}
				return nil, err
			}
		default:
			sink.Verbose(4, "Reading vault password file: "+source)
			var stage string
			if key, stage, err = v.fromFile(ctx, w.Dir, source, name, sink); err != nil {
				fault.Warn(sink, "Error %s (%s): %s", stage, shown, err)
				last = err
				continue
			}
		}
		s := Secret{ID: id, Key: key}
		out = append(out, s)
		v.Add(s)
	}
	if last != nil && len(out) == 0 {
		return nil, last
	}
	return out, nil
}

func ask(term Terminal, id, source string, fresh bool) ([]byte, error) {
	var prompts []string
	switch {
	case source == promptWord && fresh:
		prompts = []string{"New vault password (" + id + "): ", "Confirm new vault password (" + id + "): "}
	case source == promptWord:
		prompts = []string{"Vault password (" + id + "): "}
	case fresh:
		prompts = []string{"New Vault password: ", "Confirm New Vault password: "}
	default:
		prompts = []string{"Vault password: "}
	}
	var first []byte
	for i, p := range prompts {
		text, err := term.Prompt(p, true)
		if errors.Is(err, io.EOF) {
			return nil, &fault.Error{Msg: "EOFError (ctrl-d) on prompt for (" + id + ")"}
		}
		if err != nil {
			return nil, fmt.Errorf("asking for the vault password: %w", err)
		}
		if text == "" {
			return nil, &fault.Error{Msg: "Invalid vault password was provided"}
		}
		key := bytes.TrimSpace([]byte(text))
		if i == 0 {
			first = key
		} else if !bytes.Equal(first, key) {
			return nil, &fault.Error{Msg: "Passwords do not match"}
		}
	}
	return first, nil
}

// fromFile reads a password file or runs a password script. stage says what
// was being done when it failed.
func (v *Vault) fromFile(ctx context.Context, dir, from, id string, sink fault.Sink) (key []byte, stage string, err error) {
	const getting, loading = "getting vault password file", "in vault password file loading"
	path := absolute(dir, from)
	st, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, getting, &fault.Error{Msg: "The vault password file " + path + " was not found"}
	case st.IsDir():
		return nil, getting, &fault.Error{Msg: "The vault password file provided '" + path + "' can not be a directory"}
	case st.Mode()&0o111 != 0:
		key, err = runScript(ctx, path, from, id, sink)
		return key, loading, err
	}
	data, err := source.Read(ctx.Done(), path, maxPassword)
	if err != nil {
		return nil, loading, &fault.Error{Msg: "Could not read vault password file '" + path + "'.", Cause: errors.Unwrap(err)}
	}
	if len(data) > maxPassword {
		return nil, loading, &fault.Error{Msg: "The vault password file " + path + " is too large."}
	}
	data = bytes.TrimSpace(data)
	if IsEncrypted(data) {
		if data, _, err = v.Open(data, value.Pos{}); err != nil {
			return nil, loading, err
		}
	}
	data = bytes.Trim(data, "\r\n")
	if len(data) == 0 {
		return nil, loading, &fault.Error{Msg: "Invalid vault password was provided from file (" + path + ")"}
	}
	return data, "", nil
}

func absolute(dir, path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		if home, err := os.UserHomeDir(); err == nil {
			path = filepath.Join(home, rest)
		}
	}
	path = os.ExpandEnv(path)
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	return filepath.Clean(path)
}

// unknownIDStatus is the exit code with which a client script says that it has
// no secret for the vault id.
const unknownIDStatus = 2

func runScript(ctx context.Context, path, source, id string, sink fault.Sink) ([]byte, error) {
	stem := strings.TrimSuffix(source, filepath.Ext(source))
	client := strings.HasSuffix(stem, "-client")
	cmd := exec.CommandContext(ctx, path)
	cmd.WaitDelay = time.Second // for what the program started
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, &limited{b: &stdout}, os.Stderr
	kind := "script"
	if client {
		kind = "client script"
		sink.Verbose(4, "The vault password file "+path+" is a client script.")
		sink.Verbose(4, "Executing vault password client script: "+path+" --vault-id "+id)
		if id != "" {
			cmd.Args = append(cmd.Args, "--vault-id", id)
		}
		cmd.Stderr = &limited{b: &stderr}
	}
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case err == nil:
	case !errors.As(err, &exit):
		return nil, &fault.Error{Msg: fmt.Sprintf("Problem running vault password %s %s (%s). If this is not a script, remove the executable bit from the file.",
			kind, path, startError(err, path))}
	case client && exit.ExitCode() == unknownIDStatus:
		return nil, &fault.Error{Msg: fmt.Sprintf("Vault password client script %s did not find a secret for vault-id=%s: b'%s'", path, idText(id), escaped(stderr.String()))}
	case client:
		return nil, &fault.Error{Msg: fmt.Sprintf("Vault password client script %s returned non-zero (%d) when getting secret for vault-id=%s: b'%s'", path, exit.ExitCode(), idText(id), escaped(stderr.String()))}
	default:
		return nil, &fault.Error{Msg: fmt.Sprintf("Vault password script %s returned non-zero (%d): None", path, exit.ExitCode())}
	}
	key := bytes.Trim(stdout.Bytes(), "\r\n")
	if len(key) == 0 {
		return nil, &fault.Error{Msg: "Invalid vault password was provided from script (" + path + ")"}
	}
	return key, nil
}

func idText(id string) string {
	if id == "" {
		return "None"
	}
	return id
}

// escaped is the inside of Python's repr of bytes that are text.
func escaped(s string) string {
	return strings.NewReplacer("\\", `\\`, "\n", `\n`, "\t", `\t`, "\r", `\r`, "'", `\'`).Replace(s)
}

// startError is Python's text of the error with which a program did not start.
func startError(err error, path string) string {
	var pe *os.PathError
	if errors.As(err, &pe) {
		var no syscall.Errno
		if errors.As(pe.Err, &no) {
			return value.Errno(no) + ": '" + path + "'"
		}
	}
	return err.Error()
}

// limited is a writer that keeps no more than a password can be long.
type limited struct{ b *bytes.Buffer }

func (l *limited) Write(p []byte) (int, error) {
	if room := maxPassword - l.b.Len(); room > 0 {
		l.b.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}
