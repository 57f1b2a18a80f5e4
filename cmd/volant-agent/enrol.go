package main

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"volant/bootstrap/enrol"
	"volant/cmd/internal/stdio"
	"volant/hostagent"
	"volant/hostagent/become"
	"volant/wire"
)

// enrolTimeout bounds everything an enrolment waits for.
const enrolTimeout = 45 * time.Second

type enrolCmd struct {
	homeFlag
}

// Run implements the command: what goes wrong is said in the reply, which is
// all that the other end of the SSH channel reads.
func (c *enrolCmd) Run() error {
	ctx, cancel := context.WithTimeout(context.Background(), enrolTimeout)
	defer cancel()
	req, err := enrol.ReadRequest(os.Stdin)
	var rep enrol.Reply
	if err == nil {
		if h, herr := c.home(); herr == nil && (req.Transient == enrol.TransientAlways || req.Transient == enrol.TransientAbsent && h.Serving() == nil) {
			return c.transient(h, req)
		}
		rep, err = c.enrol(ctx, req)
	}
	if err != nil {
		rep = enrol.Reply{Error: err.Error()}
	}
	return enrol.WriteReply(os.Stdout, rep)
}

func (c *enrolCmd) enrol(ctx context.Context, req enrol.Request) (enrol.Reply, error) {
	h, err := c.home()
	if err != nil {
		return enrol.Reply{}, err
	}
	exe, err := hostagent.Executable()
	if err != nil {
		return enrol.Reply{}, fmt.Errorf("finding this executable: %w", err)
	}
	s, started, err := h.Enrol(ctx, exe, wire.Release(), hostagent.Enrolment{
		Controller: req.Controller, Name: req.Name, TTL: time.Duration(req.TTLSeconds) * time.Second,
		Port: req.Port, Listen: req.Listen, Restart: req.Restart, NoUnit: req.NoUnit,
	})
	if err != nil {
		return enrol.Reply{}, err
	}
	return replyOf(h, s, started), nil
}

func replyOf(h hostagent.Home, s *hostagent.Serving, started bool) enrol.Reply {
	address := s.Listen
	if address == "none" {
		address = ""
	}
	return enrol.Reply{
		Agent: s.Agent, Port: s.Port, Address: address, BootID: hostagent.BootID(), Machine: hostagent.MachineHash(),
		Version: s.Version, Protocol: s.Protocol, PID: s.PID, Home: string(h), Started: started, Unit: s.Unit,
		Session: s.EndsWithSession(),
	}
}

// transient makes this process an agent, for as long as the channel lasts.
func (c *enrolCmd) transient(h hostagent.Home, req enrol.Request) error {
	signal.Ignore(syscall.SIGHUP, syscall.SIGPIPE) // what runs is finished without the channel
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	log := slog.New(slog.DiscardHandler)
	exe, err := hostagent.Executable()
	if err != nil {
		return fmt.Errorf("finding this executable: %w", err)
	}
	in, out, err := stdio.Take()
	if err != nil {
		return err
	}
	answered := false
	err = h.ServeTransient(ctx, hostagent.Config{
		Runner: newRunner(log), Version: wire.Release(), Digest: digestOf(exe), Log: log,
		Start: startWorker, Become: become.Config{Binary: exe, Dir: string(h), Log: log},
	}, req.Controller, channel{in, out}, func(s hostagent.Serving) error {
		answered = true
		rep := replyOf(h, &s, true)
		rep.Transient = true
		return enrol.WriteReply(out, rep)
	})
	if err != nil && !answered {
		return enrol.WriteReply(out, enrol.Reply{Error: err.Error()})
	}
	return err
}

// channel is the two directions of an SSH channel.
type channel struct{ in, out *os.File }

func (c channel) Read(p []byte) (int, error)  { return c.in.Read(p) }
func (c channel) Write(p []byte) (int, error) { return c.out.Write(p) }
func (c channel) Close() error                { return errors.Join(c.in.Close(), c.out.Close()) }

type installCmd struct {
	homeFlag
	Controller string `required:"" help:"The controller's public key, base64." placeholder:"KEY"`
	Name       string `help:"Who that is." placeholder:"NAME"`
	Port       int    `help:"UDP port to bind." placeholder:"N"`
	Listen     string `help:"Address to bind." placeholder:"ADDR"`
}

// Run implements the command: for images and configuration management, where
// no bootstrap over SSH puts the agent in place. It prints the same reply.
func (c *installCmd) Run() error {
	key, err := base64.StdEncoding.DecodeString(c.Controller)
	if err != nil || len(key) != ed25519.PublicKeySize {
		return errors.New("--controller is not a base64 Ed25519 public key")
	}
	h, err := c.home()
	if err != nil {
		return err
	}
	exe, err := c.copySelf(h)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), enrolTimeout)
	defer cancel()
	s, started, err := h.Enrol(ctx, exe, wire.Release(), hostagent.Enrolment{Controller: key, Name: c.Name, Port: c.Port, Listen: c.Listen})
	if err != nil {
		return err
	}
	return enrol.WriteReply(os.Stdout, replyOf(h, s, started))
}

// copySelf puts this executable into the home's bin directory.
func (c *installCmd) copySelf(h hostagent.Home) (string, error) {
	if err := h.Open(); err != nil {
		return "", err
	}
	exe, err := hostagent.Executable()
	if err != nil {
		return "", fmt.Errorf("finding this executable: %w", err)
	}
	bin := filepath.Join(string(h), "bin")
	to := filepath.Join(bin, "volant-agent")
	if real, err := filepath.EvalSymlinks(to); err == nil && real == exe {
		return exe, nil
	}
	if err := os.MkdirAll(bin, 0o755); err != nil {
		return "", fmt.Errorf("installing: %w", err)
	}
	in, err := os.Open(exe)
	if err != nil {
		return "", fmt.Errorf("installing: %w", err)
	}
	defer in.Close()
	out, err := os.CreateTemp(bin, ".new-")
	if err != nil {
		return "", fmt.Errorf("installing: %w", err)
	}
	defer func() { _ = os.Remove(out.Name()) }() // nothing is there once it was renamed
	_, err = io.Copy(out, in)
	err = errors.Join(err, out.Chmod(0o755), out.Close())
	if err == nil {
		err = os.Rename(out.Name(), to)
	}
	if err != nil {
		return "", fmt.Errorf("installing: %w", err)
	}
	return to, nil
}
