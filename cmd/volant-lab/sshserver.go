package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"strconv"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"
)

// serveProcessCmd is the background process of a process lab: all its SSH servers.
type serveProcessCmd struct {
	dirFlag
}

// Run serves every host until a signal.
func (c *serveProcessCmd) Run(ctx context.Context) error {
	l, err := loadLab(c.Dir)
	if err != nil {
		return err
	}
	pub, err := os.ReadFile(l.path("keys", "id.pub"))
	if err != nil {
		return err
	}
	login, _, _, _, err := ssh.ParseAuthorizedKey(pub)
	if err != nil {
		return fmt.Errorf("reading login key: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	var all sync.WaitGroup
	for i := range l.Hosts {
		h := &l.Hosts[i]
		key, err := makeKey(l.path("hosts", h.Name, "host_key"), h.Name)
		if err != nil {
			return err
		}
		s := &sshServer{home: l.path("hosts", h.Name, "home"), env: l.environment(h), login: login.Marshal(), log: log.With("host", h.Name)}
		s.config = &ssh.ServerConfig{PublicKeyCallback: s.publicKey, MaxAuthTries: 20}
		s.config.AddHostKey(key)
		ln, err := net.Listen("tcp", net.JoinHostPort(h.Address, strconv.Itoa(h.Port)))
		if err != nil {
			return fmt.Errorf("listening for %s: %w", h.Name, err)
		}
		context.AfterFunc(ctx, func() { ln.Close() })
		all.Go(func() { s.accept(ctx, ln) }) // ends when the listener is closed
	}
	<-ctx.Done()
	done := make(chan struct{})
	go func() { all.Wait(); close(done) }() // ends with the last connection, or with the process
	select {
	case <-done:
	case <-time.After(300 * time.Millisecond): // a program of a session may run on, as with a real sshd
	}
	return nil
}

// sshServer is one host's SSH server.
type sshServer struct {
	home   string
	env    []string
	login  []byte // the key that may log in, wire format
	config *ssh.ServerConfig
	log    *slog.Logger
}

func (s *sshServer) publicKey(_ ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
	if string(key.Marshal()) != string(s.login) {
		return nil, errors.New("unknown key")
	}
	return nil, nil
}

func (s *sshServer) accept(ctx context.Context, ln net.Listener) {
	var conns sync.WaitGroup
	defer conns.Wait()
	for {
		c, err := ln.Accept()
		if err != nil {
			if ctx.Err() != nil {
				return
			}
			s.log.Warn("accepting", "error", err)
			time.Sleep(50 * time.Millisecond) // out of descriptors: wait for some to be closed
			continue
		}
		stop := context.AfterFunc(ctx, func() { c.Close() })
		conns.Go(func() { // ends when the client or the lab closes the connection
			defer stop()
			defer c.Close()
			s.serve(c)
		})
	}
}

func (s *sshServer) serve(c net.Conn) {
	_ = c.SetDeadline(time.Now().Add(30 * time.Second))
	conn, channels, requests, err := ssh.NewServerConn(c, s.config)
	if err != nil {
		s.log.Debug("Handshake ended", "error", err)
		return
	}
	_ = c.SetDeadline(time.Time{})
	go ssh.DiscardRequests(requests) // ends with the connection
	var open sync.WaitGroup
	defer open.Wait()
	for ch := range channels {
		switch ch.ChannelType() {
		case "session":
			open.Go(func() { s.session(conn, ch) })
		case "direct-tcpip":
			open.Go(func() { forward(ch) })
		default:
			_ = ch.Reject(ssh.UnknownChannelType, "no such channel type here")
		}
	}
}

// forward connects a direct-tcpip channel: what ssh -L, -W and ProxyJump use.
func forward(nc ssh.NewChannel) {
	var to struct {
		Host   string
		Port   uint32
		Origin string
		OPort  uint32
	}
	if err := ssh.Unmarshal(nc.ExtraData(), &to); err != nil {
		_ = nc.Reject(ssh.ConnectionFailed, "malformed request")
		return
	}
	out, err := net.DialTimeout("tcp", net.JoinHostPort(to.Host, strconv.Itoa(int(to.Port))), 10*time.Second)
	if err != nil {
		_ = nc.Reject(ssh.ConnectionFailed, err.Error())
		return
	}
	defer out.Close()
	ch, reqs, err := nc.Accept()
	if err != nil {
		return
	}
	defer ch.Close()
	go ssh.DiscardRequests(reqs) // ends with the channel
	var both sync.WaitGroup
	both.Go(func() { _, _ = io.Copy(out, ch); _ = out.(*net.TCPConn).CloseWrite() })
	both.Go(func() { _, _ = io.Copy(ch, out); _ = ch.CloseWrite() })
	both.Wait()
}
