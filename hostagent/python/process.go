package python

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"volant/hostagent/proc"
	"volant/wire/pyjson"
	"volant/wire/shlex"
	"volant/wire/value"
)

// jsonArgsMark is replaced by the arguments in modules that contain it.
var jsonArgsMark = []byte("<<INCLUDE_ANSIBLE_MODULE_JSON_ARGS>>")

// runProcess runs a module that is not new-style Python: its file is copied
// to the staging directory, with the interpreter line replaced when another is
// configured, and started with the path of an arguments file.
func runProcess(ctx context.Context, r *Request, forked func(int), output func(int, []byte)) (Output, error) {
	body, err := os.ReadFile(filepath.Join(r.ExtraDir, filepath.FromSlash(r.File)))
	if err != nil {
		return Output{}, fmt.Errorf("reading the module: %w", err)
	}
	argv, body, err := prepare(r, body)
	if err != nil {
		return Output{}, err
	}
	path := filepath.Join(r.TempDir, "AnsiballZ_"+filepath.Base(r.File))
	if err := proc.WriteProgram(path, bytes.NewReader(body)); err != nil {
		return Output{}, fmt.Errorf("writing the module: %w", err)
	}
	argv = append(argv, path)
	if args, err := argsFile(r); err != nil {
		return Output{}, err
	} else if args != nil {
		file := filepath.Join(r.TempDir, "args")
		if err := os.WriteFile(file, args, 0o600); err != nil {
			return Output{}, fmt.Errorf("writing the module's arguments: %w", err)
		}
		argv = append(argv, file)
	}
	return runCommand(ctx, r, argv, forked, output)
}

// prepare returns how the module is started and its file's content.
func prepare(r *Request, body []byte) ([]string, []byte, error) {
	if r.Style == StyleBinary {
		return nil, body, nil
	}
	if r.Style == StyleJSONArgs {
		args, err := pyjson.Encode(r.Args)
		if err != nil {
			return nil, nil, fmt.Errorf("encoding module arguments: %w", err)
		}
		body = bytes.ReplaceAll(body, jsonArgsMark, args)
	}
	first, rest, _ := bytes.Cut(body, []byte("\n"))
	line := r.Interpreter
	if line == "" && bytes.HasPrefix(first, []byte("#!")) {
		line = strings.TrimSpace(string(first[2:]))
	}
	if line == "" {
		return nil, body, nil
	}
	if bytes.HasPrefix(first, []byte("#!")) {
		body = append([]byte("#!"+line+"\n"), rest...)
	}
	return commandLine(line, r.Environ), body, nil
}

// argsFile is the content of the arguments file, nil when there is none.
func argsFile(r *Request) ([]byte, error) {
	switch r.Style {
	case StyleWantJSON, StyleBinary:
		b, err := pyjson.Encode(r.Args)
		if err != nil {
			return nil, fmt.Errorf("encoding module arguments: %w", err)
		}
		return b, nil
	case StyleOld:
		var b strings.Builder
		for k, v := range r.Args.All() {
			name, _ := value.Text(k)
			b.WriteString(name + "=" + shlex.Quote(value.Str(v)) + " ")
		}
		return []byte(b.String()), nil
	}
	return nil, nil
}

func runCommand(ctx context.Context, r *Request, argv []string, forked func(int), output func(int, []byte)) (Output, error) {
	stdin, err := openStdin(r.Stdin)
	if err != nil {
		return Output{}, err
	}
	defer stdin.Close()
	outs, closeOurs, err := newStreams(r.MaxOutput, output)
	if err != nil {
		return Output{}, err
	}
	defer outs.close()
	if argv[0] == "/bin/sh" && len(argv) > 3 { // commandLine's shell form: arguments go into the line
		line := argv[2]
		for _, a := range argv[3:] {
			line += " " + shlex.Quote(a)
		}
		argv = []string{argv[0], argv[1], line}
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env, cmd.Dir = r.Environ, r.Cwd
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, outs.w[0], outs.w[1]
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	start := time.Now()
	err = cmd.Start()
	closeOurs()
	if err != nil {
		if errors.Is(err, syscall.ENOEXEC) {
			return Output{RC: 126, Stderr: []byte("/bin/sh: 1: " + argv[0] + ": Exec format error\n")}, nil
		}
		return notFound(argv[0], err), nil
	}
	outs.start()
	if forked != nil {
		forked(cmd.Process.Pid)
	}
	gone := make(chan struct{})
	stop := context.AfterFunc(ctx, func() { proc.KillGroup(cmd.Process.Pid, gone) })
	_ = cmd.Wait() // the state says it all
	close(gone)
	stop()
	out := outs.finish()
	out.Work = time.Since(start)
	out.RC = cmd.ProcessState.ExitCode()
	if ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		out.RC = 128 + int(ws.Signal())
	}
	return out, ctx.Err()
}
