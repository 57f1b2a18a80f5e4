package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"volant/bootstrap/enrol"
	"volant/cmd/internal/stdio"
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
	Unit    string `enum:"system,user," default:"" help:"The systemd unit it runs in: system or user."`
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
	exe, err := hostagent.Executable()
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
		Digest: digestOf(exe), Start: startWorker, Become: become.Config{Binary: exe, Dir: string(h), Log: log},
	}
	opt := hostagent.ServeOptions{Port: c.Port, Listen: c.Listen, Unit: c.Unit, Ready: func(hostagent.Serving) {
		say("ready")
		hostagent.Notify("READY=1\nMAINPID=" + strconv.Itoa(os.Getpid()))
	}}
	if c.Unit != "" {
		handover := make(chan os.Signal, 1)
		signal.Notify(handover, syscall.SIGUSR2)
		opt.Handover = handover
		opt.Succeed = func() error { return succeed(h, c.Unit) }
	}
	return h.Serve(ctx, cfg, opt)
}

// succeed starts the program that is installed now within our unit. It becomes
// the unit's main process when it says that it is ready; we may run on.
func succeed(h hostagent.Home, unit string) error {
	cmd := exec.Command(filepath.Join(string(h), "bin", "volant-agent"), "serve", "--home", string(h), "--unit", unit)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("starting the successor: %w", err)
	}
	// Before we end: an ending main process is a service that failed.
	hostagent.Notify("MAINPID=" + strconv.Itoa(cmd.Process.Pid))
	go func() { _ = cmd.Wait() }() // ends with the successor, or this process
	return nil
}

// digestOf is the beginning of the program's SHA-256: bootstrap names the file
// by it.
func digestOf(exe string) string {
	if d, ok := strings.CutPrefix(filepath.Base(exe), "volant-agent-"); ok && len(d) == 16 {
		if _, err := strconv.ParseUint(d, 16, 64); err == nil {
			return d
		}
	}
	return ""
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

type workerCmd struct {
	Purge bool `hidden:"" help:"Remove what workers of this user cached."`
}

// Run implements the command.
func (c workerCmd) Run() error {
	if c.Purge {
		err := hostagent.PurgeWorker()
		if err != nil {
			fmt.Println(err) // the agent reads it there
		}
		return err
	}
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
	in, out, err := stdio.Take()
	if err != nil {
		return err
	}
	return hostagent.RunWorker(ctx, cfg, in, out)
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
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return h.Uninstall(ctx)
}

type bridgeCmd struct {
	homeFlag
}

// Run implements the command: the far end of a controller that comes through SSH.
func (c *bridgeCmd) Run() error {
	h, err := c.home()
	if err != nil {
		return err
	}
	return h.Bridge(os.Stdin, os.Stdout, func() error {
		_, err := fmt.Printf("\n%s\n", enrol.BridgeMark)
		return err
	})
}
