package python

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"strings"
	"syscall"

	"volant/hostagent/proc"
	"volant/wire/shlex"
)

// rawStr is text for Python that may hold bytes that are not UTF-8: they
// travel as the surrogates of surrogateescape.
type rawStr string

// MarshalJSON writes the text in ASCII.
func (s rawStr) MarshalJSON() ([]byte, error) { return appendJSONString(nil, string(s)), nil }

// lookPath finds a program on the PATH of environ.
func lookPath(name string, environ []string) (string, error) {
	path, ok := proc.Getenv(environ, "PATH")
	if !ok {
		path = proc.DefaultPath
	}
	return proc.Find(name, path)
}

// plain reports whether a shell would take the word as it stands.
func plain(s string) bool {
	for _, r := range s {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._+-:@%,", r) {
			continue
		}
		return false
	}
	return s != ""
}

// commandLine is how the interpreter is run with args: directly when it is one
// plain word, else through the shell, which is what the reference always does
// (it may hold arguments, ~ and variables).
func commandLine(interpreter string, environ []string, args ...string) []string {
	if plain(interpreter) {
		if path, err := lookPath(interpreter, environ); err == nil {
			return append([]string{path}, args...)
		}
		return append([]string{interpreter}, args...)
	}
	line := "exec " + interpreter
	for _, a := range args {
		line += " " + shlex.Quote(a)
	}
	return []string{"/bin/sh", "-c", line}
}

// serverEnviron is the environment of the server itself. Children replace it
// with their own; what Python reads only at its start is taken from it.
func serverEnviron(environ []string) []string {
	env := []string{"LC_CTYPE=C.UTF-8", "PYTHONIOENCODING=utf-8"}
	for _, kv := range environ {
		switch k, _, _ := strings.Cut(kv, "="); k {
		case "PATH", "HOME", "USER", "LOGNAME", "LANG", "TMPDIR", "LD_LIBRARY_PATH", "PYTHONHOME", "PYTHONUSERBASE", "PYTHONNOUSERSITE":
			env = append(env, kv)
		}
	}
	return env
}

// notFound is what the shell would have said of an interpreter that is not
// there or cannot be run.
func notFound(interpreter string, err error) Output {
	rc, why := 126, err.Error()
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, exec.ErrNotFound):
		rc, why = 127, "not found"
	case errors.Is(err, fs.ErrPermission):
		why = "Permission denied"
	}
	return Output{RC: rc, Stderr: []byte("/bin/sh: 1: " + interpreter + ": " + why + "\n")}
}

// Discovered is the outcome of interpreter discovery.
type Discovered struct {
	Path     string
	Warnings []string // the reference's, with %s where the host's name (repr) goes
	Found    bool     // false: none was found and the fallback is used
}

// fallbackInterpreter is used when none is found.
const fallbackInterpreter = "/usr/bin/python3"

// Discover looks for Python as the reference does: the first of the
// candidates that the shell's `command -v` finds. mode is auto, auto_silent,
// auto_legacy or auto_legacy_silent.
func Discover(_ context.Context, mode string, candidates, environ []string) Discovered {
	silent := strings.HasSuffix(mode, "_silent")
	for _, c := range candidates {
		p, err := lookPath(c, environ)
		if err != nil || syscall.Access(p, 1) != nil || !strings.HasPrefix(p, "/") {
			continue
		}
		d := Discovered{Path: p, Found: true}
		if !silent {
			d.Warnings = append(d.Warnings, fmt.Sprintf("Host %%s is using the discovered Python interpreter at %s, "+
				"but future installation of another Python interpreter could cause a different interpreter to be discovered. "+
				"See https://docs.ansible.com/ansible-core/2.19/reference_appendices/interpreter_discovery.html for more information.", pyQuote(p)))
		}
		return d
	}
	d := Discovered{Path: fallbackInterpreter}
	if !silent {
		quoted := make([]string, len(candidates))
		for i, c := range candidates {
			quoted[i] = pyQuote(c)
		}
		d.Warnings = append(d.Warnings, "No python interpreters found for host %s (tried ["+strings.Join(quoted, ", ")+"]).")
	}
	return d
}

// pyQuote is Python's repr of plain text.
func pyQuote(s string) string {
	if strings.Contains(s, "'") && !strings.Contains(s, `"`) {
		return `"` + s + `"`
	}
	return "'" + strings.ReplaceAll(strings.ReplaceAll(s, `\`, `\\`), "'", `\'`) + "'"
}

// IsDiscovery reports whether the configured interpreter asks for discovery.
func IsDiscovery(interpreter string) bool {
	switch interpreter {
	case "", "auto", "auto_legacy", "auto_silent", "auto_legacy_silent":
		return true
	}
	return false
}
