package main

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"volant/bootstrap/enrol"
	"volant/hostagent"
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
	exe, err := os.Executable()
	if err != nil {
		return enrol.Reply{}, fmt.Errorf("finding this executable: %w", err)
	}
	s, started, err := h.Enrol(ctx, exe, wire.Release(), hostagent.Enrolment{
		Controller: req.Controller, Name: req.Name, TTL: time.Duration(req.TTLSeconds) * time.Second,
		Port: req.Port, Listen: req.Listen, Restart: req.Restart,
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
		Version: s.Version, Protocol: s.Protocol, PID: s.PID, Home: string(h), Started: started,
	}
}

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
	exe, err := os.Executable()
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
