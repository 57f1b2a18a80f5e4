package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"volant/hostagent"
	"volant/hostagent/become"
	"volant/wire"
)

// maxLog bounds the agent's log file, in bytes; beyond it starts anew.
const maxLog = 4 << 20

type homeFlag struct {
	Home string `help:"The agent's directory." placeholder:"DIR"`
}

// home is the directory named, else where an agent of this user lives.
func (h homeFlag) home() (hostagent.Home, error) {
	if h.Home != "" {
		abs, err := filepath.Abs(h.Home)
		return hostagent.Home(abs), err
	}
	dir, err := os.UserHomeDir()
	if err != nil && os.Getuid() != 0 {
		return "", fmt.Errorf("finding the agent's home: %w", err)
	}
	return hostagent.DefaultHome(os.Getuid(), dir), nil
}

type serveCmd struct {
	homeFlag
	Port    int    `help:"UDP port; 0 keeps the one in use or chooses one." placeholder:"N"`
	Listen  string `help:"Address to bind; none for no socket." placeholder:"ADDR"`
	ReadyFD int    `name:"ready-fd" hidden:"" help:"Descriptor to say ready on."`
	Debug   bool   `help:"Log more."`
}

// Run implements the command.
func (c *serveCmd) Run() error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	signal.Ignore(syscall.SIGHUP) // the SSH session that started us ends
	var ready *os.File
	if c.ReadyFD > 2 {
		ready = os.NewFile(uintptr(c.ReadyFD), "ready")
		syscall.CloseOnExec(c.ReadyFD)
	}
	say := func(line string) {
		if ready != nil {
			fmt.Fprintln(ready, line)
			ready.Close()
			ready = nil
		}
	}
	err := c.serve(ctx, say)
	if err != nil {
		say(err.Error())
	}
	return err
}

func (c *serveCmd) serve(ctx context.Context, say func(string)) error {
	h, err := c.home()
	if err != nil {
		return err
	}
	exe, err := os.Executable()
	if err != nil {
		return fmt.Errorf("finding this executable: %w", err)
	}
	level := slog.LevelInfo
	if c.Debug {
		level = slog.LevelDebug
	}
	log := slog.New(slog.NewTextHandler(boundedLog{os.Stderr}, &slog.HandlerOptions{Level: level}))
	cfg := hostagent.Config{
		Runner: newRunner(log), Version: wire.Release(), Log: log,
		Start: startWorker, Become: become.Config{Binary: exe, Dir: string(h), Log: log},
	}
	return h.Serve(ctx, cfg, hostagent.ServeOptions{
		Port: c.Port, Listen: c.Listen, Ready: func(hostagent.Serving) { say("ready") },
	})
}

// boundedLog keeps a log file small. The file is open for appending, so
// truncating it is all there is to do.
type boundedLog struct{ *os.File }

// Write implements io.Writer.
func (b boundedLog) Write(p []byte) (int, error) {
	if st, err := b.Stat(); err == nil && st.Mode().IsRegular() && st.Size() > maxLog {
		_ = b.Truncate(0)
	}
	return b.File.Write(p)
}

type workerCmd struct{}

// Run implements the command.
func (workerCmd) Run() error {
	// The agent ends us by closing our input; a terminal's signals are not ours.
	signal.Ignore(syscall.SIGHUP, syscall.SIGINT)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))
	cfg, cleanup, err := hostagent.WorkerConfig(hostagent.Config{Runner: newRunner(log), Version: wire.Release(), Log: log})
	if err != nil {
		return err
	}
	defer cleanup()
	// The frames keep the original descriptors; whatever else writes to
	// standard output would garble them.
	in, out, err := takeStdio()
	if err != nil {
		return err
	}
	return hostagent.RunWorker(ctx, cfg, in, out)
}

// takeStdio moves standard input and output to descriptors that no child
// inherits and puts /dev/null in their place.
func takeStdio() (in, out *os.File, err error) {
	move := func(fd int, name string) (*os.File, error) {
		n, err := syscall.Dup(fd)
		if err != nil {
			return nil, fmt.Errorf("taking %s: %w", name, err)
		}
		syscall.CloseOnExec(n)
		return os.NewFile(uintptr(n), name), nil
	}
	if in, err = move(0, "standard input"); err != nil {
		return nil, nil, err
	}
	if out, err = move(1, "standard output"); err != nil {
		return nil, nil, err
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("opening the null device: %w", err)
	}
	defer null.Close()
	for fd := range 2 {
		if err := syscall.Dup3(int(null.Fd()), fd, 0); err != nil {
			return nil, nil, fmt.Errorf("replacing standard input and output: %w", err)
		}
	}
	return in, out, nil
}

type uninstallCmd struct {
	homeFlag
}

// Run implements the command.
func (c *uninstallCmd) Run() error {
	h, err := c.home()
	if err != nil {
		return err
	}
	if s := h.Serving(); s != nil {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		if err := h.Stop(ctx, s); err != nil {
			return err
		}
	}
	return h.Remove()
}
