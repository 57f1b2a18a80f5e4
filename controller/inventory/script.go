package inventory

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"volant/controller/fault"
	"volant/wire/pyjson"
	"volant/wire/shlex"
	"volant/wire/value"
)

func wantsScript(_ *Inventory, source string) bool {
	return readable(source) && unix.Access(source, unix.X_OK) == nil
}

// errorSink is a Sink that can show errors, too.
type errorSink interface {
	Error(err error, stderr bool)
}

// scriptPlugin is who deprecates, in the messages.
const scriptPlugin = "inventory plugin 'script'"

// maxScriptOutput bounds what an inventory script may say.
const maxScriptOutput = 512 << 20

// output keeps the first bytes written to it and remembers whether more came.
type output struct {
	bytes.Buffer
	limit    int
	overflow bool
}

func (o *output) Write(p []byte) (int, error) {
	if room := o.limit - o.Len(); len(p) > room {
		o.overflow = true
		o.Buffer.Write(p[:max(room, 0)])
	} else {
		o.Buffer.Write(p)
	}
	return len(p), nil
}

// scriptGrace is how long what a script started may keep its output open once
// the script was ended.
const scriptGrace = time.Second

// runScript runs a script and returns what it printed, and the hint that
// errors about it carry.
func runScript(ctx context.Context, path string, args ...string) (out []byte, stderr, help string, err error) {
	cmd := exec.CommandContext(ctx, path, args...)
	stdout, errors2 := &output{limit: maxScriptOutput}, &output{limit: 1 << 20}
	cmd.Stdout, cmd.Stderr = stdout, errors2
	cmd.WaitDelay = scriptGrace
	err = cmd.Run()
	stderr = errors2.String()
	if stderr != "" && !strings.HasSuffix(stderr, "\n") {
		stderr += "\n"
	}
	if strings.TrimSpace(stderr) != "" {
		help = "Standard error from inventory script:\n" + stderr
	}
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		return nil, stderr, help, &fault.Error{Msg: fmt.Sprintf("Inventory script returned non-zero exit code %d.", exitStatus(exit)), Help: help}
	case err != nil:
		return nil, stderr, help, &fault.Error{Msg: fmt.Sprintf("Failed to execute inventory script command '%s'.", commandLine(path, args)), Cause: startError(err, path)}
	case stdout.overflow:
		return nil, stderr, help, &fault.Error{Msg: fmt.Sprintf("Inventory script result is larger than %d bytes.", maxScriptOutput), Help: help}
	case !utf8.Valid(stdout.Bytes()):
		return nil, stderr, help, &fault.Error{Msg: "Inventory script result contained characters that cannot be interpreted as UTF-8.", Help: help, Cause: decodeError(stdout.Bytes())}
	}
	return stdout.Bytes(), stderr, help, nil
}

// decodeError is Python's text about the first byte that is not UTF-8.
func decodeError(b []byte) error {
	for i := 0; i < len(b); {
		r, size := utf8.DecodeRune(b[i:])
		if r != utf8.RuneError || size != 1 {
			i += size
			continue
		}
		why := "invalid continuation byte"
		switch {
		case b[i] < 0xc2 || b[i] > 0xf4:
			why = "invalid start byte"
		case !utf8.FullRune(b[i:]):
			return fmt.Errorf("'utf-8' codec can't decode bytes in position %d-%d: unexpected end of data", i, len(b)-1)
		}
		return fmt.Errorf("'utf-8' codec can't decode byte 0x%02x in position %d: %s", b[i], i, why)
	}
	return nil
}

// jsonError is the reference's error about text that is not JSON.
func jsonError(err error, pos value.Pos) error {
	var se *pyjson.SyntaxError
	if errors.As(err, &se) {
		pos.Line, pos.Column = se.Line, se.Column
	}
	return &fault.Error{Kind: fault.Parser, Msg: "JSON parsing failed: " + err.Error(), Pos: pos}
}

// exitStatus is what Python's subprocess says: minus the signal that ended it.
func exitStatus(e *exec.ExitError) int {
	if ws, ok := e.Sys().(interface {
		Signaled() bool
	}); ok && ws.Signaled() {
		if s, ok := e.Sys().(interface{ Signal() unix.Signal }); ok {
			return -int(s.Signal())
		}
	}
	return e.ExitCode()
}

// commandLine is what would be typed into a shell.
func commandLine(path string, args []string) string {
	line := shlex.Quote(path)
	for _, a := range args {
		line += " " + shlex.Quote(a)
	}
	return line
}

func startError(err error, path string) error {
	var no unix.Errno
	if errors.As(err, &no) {
		return errors.New(value.Errno(no) + ": " + value.Repr(path))
	}
	return err
}

// trustScript makes the strings below v operator-written text at pos: what an
// inventory script prints as variables may be templates.
func trustScript(v any, pos value.Pos, inv *Inventory) any {
	switch v := v.(type) {
	case string:
		return value.NewTemplate(v, pos)
	case *value.List:
		for i, e := range v.Items {
			v.Items[i] = trustScript(e, pos, inv)
		}
	case *value.Dict:
		if v.Len() == 1 {
			if s, ok := v.Lookup("__ansible_unsafe").(string); ok {
				return s
			}
			if s, ok := v.Lookup("__ansible_vault").(string); ok {
				vault := &value.Vault{Ciphertext: s, Pos: pos}
				if open := inv.opt.Files.Vault; open != nil {
					vault.Decrypt = func() (string, error) { return open.DecryptString(s, pos) }
				}
				return vault
			}
		}
		for i := range v.Len() {
			_, e := v.At(i)
			v.SetAt(i, trustScript(e, pos, inv))
		}
	}
	return v
}

func wrongType(where string, v any, want string) error {
	return fmt.Errorf("Value contains '%s' which is '%s' instead of '%s'.", where, value.TypeName(v), want) //nolint:staticcheck // the reference's text
}

// scriptProfile checks the outside of a script's result.
func scriptProfile(v any) error {
	d, ok := v.(*value.Dict)
	if !ok {
		return fmt.Errorf("Value is '%s' instead of 'dict'.", value.TypeName(v)) //nolint:staticcheck // the reference's text
	}
	m, ok := d.Get("_meta")
	if !ok {
		return nil
	}
	meta, ok := m.(*value.Dict)
	if !ok {
		return wrongType("_meta", m, "dict")
	}
	p, ok := meta.Get("profile")
	if !ok {
		return nil
	}
	name, ok := p.(string)
	if !ok {
		return wrongType("_meta.profile", p, "str")
	}
	if !strings.HasPrefix(name, "inventory_") {
		return fmt.Errorf("Non-inventory profile '%s' is not allowed.", name) //nolint:staticcheck // the reference's text
	}
	if name != "inventory_legacy" {
		return fmt.Errorf("Unknown profile name '%s'.", name) //nolint:staticcheck // the reference's text
	}
	return nil
}

func parseScript(ctx context.Context, inv *Inventory, source string) error {
	pos := value.Pos{File: "<inventory script output from " + value.Repr(source) + ">"}
	out, stderr, help, err := runScript(ctx, source, "--list")
	if err != nil {
		return err
	}
	data, err := pyjson.Decode(out)
	if err == nil {
		err = scriptProfile(data)
	} else {
		err = &fault.Error{Msg: "Value could not be parsed as JSON.", Cause: err}
	}
	if err != nil {
		return &fault.Error{Msg: "Unable to get JSON decoder for inventory script result.", Help: help, Cause: err}
	}
	if stderr != "" && inv.set.showStderr {
		e := &fault.Error{Msg: stderr}
		if sink, ok := inv.opt.Sink.(errorSink); ok {
			sink.Error(e, true)
		} else {
			inv.opt.Sink.Warning(e)
		}
	}
	s := &scriptResult{inv: inv, pos: pos, seen: map[string]bool{}}
	doc := data.(*value.Dict)
	var meta *value.Dict
	for k, v := range doc.All() {
		name, _ := k.(string)
		if name != "_meta" {
			if err := s.group(name, v); err != nil {
				return err
			}
			continue
		}
		got := v.(*value.Dict).Lookup("hostvars")
		if meta, _ = got.(*value.Dict); meta == nil {
			return wrongType("_meta.hostvars", got, "dict")
		}
	}
	if meta == nil {
		inv.opt.Sink.Deprecated(fault.Deprecation{Version: "2.23", Plugin: scriptPlugin, Error: fault.Error{Pos: pos,
			Msg: "Inventory scripts should always provide 'meta.hostvars'. " +
				"Host variables will be collected by running the inventory script with the '--host' option for each host."}})
	}
	for _, h := range s.hosts {
		var vars any = value.NewDict(0)
		if meta != nil {
			if v, ok := meta.Get(h); ok {
				vars = trustScript(v, pos, inv)
			}
		} else if vars, err = hostVariables(ctx, inv, source, h, pos); err != nil {
			return err
		}
		if err := inv.populate([]string{h}, vars, "", 0); err != nil {
			return err
		}
	}
	return nil
}

// hostVariables asks a script for one host.
func hostVariables(ctx context.Context, inv *Inventory, source, host string, pos value.Pos) (any, error) {
	out, _, help, err := runScript(ctx, source, "--host", host)
	if err != nil {
		return nil, err
	}
	if len(bytes.TrimSpace(out)) == 0 {
		return value.NewDict(0), nil
	}
	pos.File += " for host " + value.Repr(host)
	v, err := pyjson.Decode(out)
	if err != nil {
		return nil, &fault.Error{Msg: "Inventory script result for host " + value.Repr(host) + " could not be parsed as JSON.", Help: help, Cause: jsonError(err, pos)}
	}
	return trustScript(v, pos, inv), nil
}

type scriptResult struct {
	inv   *Inventory
	pos   value.Pos
	hosts []string
	seen  map[string]bool
}

func (s *scriptResult) group(name string, data any) error {
	group, err := s.inv.addGroup(name)
	if err != nil {
		return err
	}
	deprecated := func(msg string) {
		s.inv.opt.Sink.Deprecated(fault.Deprecation{Version: "2.23", Plugin: scriptPlugin, Error: fault.Error{Msg: msg, Pos: s.pos}})
	}
	body, ok := data.(*value.Dict)
	trusted := true
	switch {
	case !ok:
		deprecated("Group " + value.Repr(group) + " was converted to 'dict' from '" + value.TypeName(data) + "'.")
		body = value.DictOf("hosts", data)
	case !body.Has("hosts") && !body.Has("vars") && !body.Has("children"):
		deprecated("Treating malformed group " + value.Repr(group) + " as the sole host of that group. Variables provided in this manner cannot be templated.")
		body, trusted = value.DictOf("hosts", value.ListOf(group), "vars", body), false
	}
	if v, ok := body.Get("hosts"); ok {
		l, ok := v.(*value.List)
		if !ok {
			return wrongType(group+".hosts", v, "list")
		}
		for _, h := range l.Items {
			host, ok := h.(string)
			if !ok {
				return fault.New(fault.Generic, value.Pos{}, "Invalid host name supplied, expected a string but got <class '%s'> for %s", value.TypeName(h), value.Str(h))
			}
			if !s.seen[host] {
				s.seen[host] = true
				s.hosts = append(s.hosts, host)
			}
			if err := s.inv.addHost(host, group, 0); err != nil {
				return err
			}
		}
	}
	if v, ok := body.Get("vars"); ok {
		d, ok := v.(*value.Dict)
		if !ok {
			return wrongType(group+".vars", v, "dict")
		}
		for k, e := range d.All() {
			if trusted {
				e = trustScript(e, s.pos, s.inv)
			}
			if err := s.inv.setVariable(group, k, e, s.pos); err != nil {
				return err
			}
		}
	}
	if v, ok := body.Get("children"); ok {
		l, ok := v.(*value.List)
		if !ok {
			return wrongType(group+".children", v, "list")
		}
		for _, c := range l.Items {
			child, err := s.inv.addGroup(value.Str(c))
			if err != nil {
				return err
			}
			if _, err := s.inv.addChild(group, child); err != nil {
				return err
			}
		}
	}
	return nil
}
