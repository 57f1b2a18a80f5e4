package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/crypto/ssh"
	"golang.org/x/sys/unix"
)

// session serves one session channel: environment, pty, then exec, shell or sftp.
func (s *sshServer) session(conn *ssh.ServerConn, nc ssh.NewChannel) {
	ch, reqs, err := nc.Accept()
	if err != nil {
		return
	}
	defer ch.Close()
	env := append([]string{}, s.env...)
	local, remote := strings.Fields(portPair(conn.LocalAddr().String())), strings.Fields(portPair(conn.RemoteAddr().String()))
	env = append(env, fmt.Sprintf("SSH_CONNECTION=%s %s %s %s", remote[0], remote[1], local[0], local[1]),
		fmt.Sprintf("SSH_CLIENT=%s %s %s", remote[0], remote[1], local[1]))
	var tty *terminal
	defer func() { tty.close() }()
	for req := range reqs {
		ok := true
		switch req.Type {
		case "env":
			var kv struct{ Name, Value string }
			if ssh.Unmarshal(req.Payload, &kv) == nil && (kv.Name == "LANG" || strings.HasPrefix(kv.Name, "LC_")) { // as Debian's AcceptEnv
				env = append(env, kv.Name+"="+kv.Value)
			}
		case "pty-req":
			if tty == nil {
				tty, err = openTerminal(req.Payload)
				ok = err == nil
			}
		case "window-change":
			tty.resize(req.Payload)
		case "exec", "shell", "subsystem":
			args, found := s.program(req)
			_ = req.Reply(found, nil)
			if !found {
				return
			}
			deaf := make(chan struct{})
			stop := sync.OnceFunc(func() { close(deaf) })
			// Requests that come while the program runs are answered beside it; ends with the channel.
			go func() {
				defer stop()
				for r := range reqs {
					switch r.Type {
					case "window-change":
						tty.resize(r.Payload)
					case "eow@openssh.com": // the client takes no more output
						stop()
					}
					if r.WantReply {
						_ = r.Reply(false, nil)
					}
				}
			}()
			s.runProgram(ch, args, env, tty, deaf)
			return
		default:
			ok = false
		}
		if req.WantReply {
			_ = req.Reply(ok, nil)
		}
	}
}

func portPair(addr string) string {
	i := strings.LastIndexByte(addr, ':')
	return strings.Trim(addr[:i], "[]") + " " + addr[i+1:]
}

// program is what a request asks to run.
func (s *sshServer) program(req *ssh.Request) (args []string, ok bool) {
	var text struct{ Value string }
	if req.Type == "shell" {
		return []string{"/bin/sh", "-l"}, true
	}
	if err := ssh.Unmarshal(req.Payload, &text); err != nil {
		return nil, false
	}
	if req.Type == "exec" {
		return []string{"/bin/sh", "-c", text.Value}, true
	}
	for _, p := range []string{"/usr/lib/openssh/sftp-server", "/usr/libexec/openssh/sftp-server", "/usr/lib/ssh/sftp-server"} {
		if text.Value == "sftp" && exists(p) {
			return []string{p}, true
		}
	}
	return nil, false
}

// runProgram runs args and sends its end. Like sshd it does not wait for what
// detached itself: when the program has ended and its pipes are read, that is the end.
// Once deaf is closed nobody wants its output any more, and it may get SIGPIPE.
func (s *sshServer) runProgram(ch ssh.Channel, args, env []string, tty *terminal, deaf <-chan struct{}) {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env, cmd.Dir = env, s.home
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	var out sync.WaitGroup
	if tty != nil {
		cmd.Stdin, cmd.Stdout, cmd.Stderr = tty.inner, tty.inner, tty.inner
		cmd.SysProcAttr.Setctty = true
		cmd.Env = append(cmd.Env, "TERM=xterm")
		go func() { _, _ = io.Copy(tty.outer, ch) }()    // ends with the channel
		out.Go(func() { _, _ = io.Copy(ch, tty.outer) }) // ends when the terminal has no user left
	} else {
		stdin, err := cmd.StdinPipe()
		if err != nil {
			return
		}
		go func() { _, _ = io.Copy(stdin, ch); stdin.Close() }() // ends with the channel or the program
		stdout, err1 := cmd.StdoutPipe()
		stderr, err2 := cmd.StderrPipe()
		if errors.Join(err1, err2) != nil {
			return
		}
		out.Go(func() { _, _ = io.Copy(ch, stdout); stdout.Close() })
		out.Go(func() { _, _ = io.Copy(ch.Stderr(), stderr); stderr.Close() })
		over := make(chan struct{})
		defer close(over)
		go func() { // ends with the program or with the client's interest
			select {
			case <-deaf:
				stdout.Close()
				stderr.Close()
			case <-over:
			}
		}()
	}
	if err := cmd.Start(); err != nil {
		fmt.Fprintf(ch.Stderr(), "%v\n", err)
		sendStatus(ch, 126)
		return
	}
	if tty != nil {
		tty.inner.Close()
	}
	read := make(chan struct{})
	go func() { out.Wait(); close(read) }() // ends with the output, or with the channel
	select {
	case <-read:
	case <-deaf: // a write to the channel may wait for ever
	}
	err := cmd.Wait()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		if st := exit.Sys().(syscall.WaitStatus); st.Signaled() {
			name := strings.TrimPrefix(unix.SignalName(st.Signal()), "SIG")
			_, _ = ch.SendRequest("exit-signal", false, ssh.Marshal(struct {
				Name   string
				Core   bool
				Text   string
				Locale string
			}{name, st.CoreDump(), "", ""}))
			return
		}
		sendStatus(ch, exit.ExitCode())
		return
	}
	sendStatus(ch, 0)
}

func sendStatus(ch ssh.Channel, code int) {
	_, _ = ch.SendRequest("exit-status", false, ssh.Marshal(struct{ Status uint32 }{uint32(code)}))
}

// terminal is a pseudo terminal; outer is the server's end.
type terminal struct{ outer, inner *os.File }

func openTerminal(payload []byte) (*terminal, error) {
	outer, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, err
	}
	raw, err := outer.SyscallConn()
	if err != nil {
		outer.Close()
		return nil, err
	}
	var n int
	var ierr error
	err = raw.Control(func(fd uintptr) {
		if ierr = unix.IoctlSetPointerInt(int(fd), unix.TIOCSPTLCK, 0); ierr == nil {
			n, ierr = unix.IoctlGetInt(int(fd), unix.TIOCGPTN)
		}
	})
	if err = errors.Join(err, ierr); err != nil {
		outer.Close()
		return nil, err
	}
	inner, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		outer.Close()
		return nil, err
	}
	t := &terminal{outer, inner}
	var size struct {
		Term               string
		Cols, Rows, PW, PH uint32
		Modes              string
	}
	if ssh.Unmarshal(payload, &size) == nil {
		t.set(size.Cols, size.Rows)
	}
	return t, nil
}

func (t *terminal) resize(payload []byte) {
	var size struct{ Cols, Rows, PW, PH uint32 }
	if t != nil && ssh.Unmarshal(payload, &size) == nil {
		t.set(size.Cols, size.Rows)
	}
}

func (t *terminal) set(cols, rows uint32) {
	if raw, err := t.outer.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) {
			_ = unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, &unix.Winsize{Col: uint16(cols), Row: uint16(rows)})
		})
	}
}

func (t *terminal) close() {
	if t != nil {
		t.inner.Close()
		t.outer.Close()
	}
}
