package hostagent

import (
	"bufio"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"volant/wire"
)

// startTimeout bounds the wait for a started agent to listen.
const startTimeout = 20 * time.Second

// Enrolment is what a controller asks over SSH.
type Enrolment struct {
	Controller ed25519.PublicKey
	Name       string
	TTL        time.Duration // 0: DefaultLease
	Port       int           // 0: the agent's own choice
	Listen     string        // empty: where the SSH session arrived
	Restart    bool
	NoUnit     bool // install no systemd unit
}

// Enrol makes sure that an agent serves the home, started from this executable
// when there is none or an older one, and that it serves the controller. It
// runs within the SSH session and records its environment as a login's.
func (h Home) Enrol(ctx context.Context, exe, version string, e Enrolment) (s *Serving, started bool, err error) {
	if err := h.Open(); err != nil {
		return nil, false, err
	}
	// Two controllers may come at the same moment: one makes the key and starts the agent.
	lock, err := h.lock(ctx, "enrol.lock", startTimeout)
	if err != nil {
		return nil, false, err
	}
	defer lock.Close()
	key, err := h.loadKey(MachineHash()) // first: a clone forgets the keys it had
	if err != nil {
		return nil, false, err
	}
	if err := h.saveLogin(CurrentLogin()); err != nil {
		return nil, false, err
	}
	if err := h.Grant(e.Controller, e.Name, e.TTL); err != nil {
		return nil, false, err
	}
	s = h.Serving()
	listen := listenOn(e.Listen, arrivedAt(os.Getenv("SSH_CONNECTION")), s)
	u := h.unit(e.NoUnit)
	if s != nil && !replace(s, exe, version, key.Public().(ed25519.PublicKey), e, listen) {
		return s, false, nil
	}
	if err := h.saveWishes(wishes{Port: e.Port, Listen: listen}); err != nil {
		return nil, false, err
	}
	if s != nil {
		inUnit := s.Unit != ""
		if inUnit && u != nil { // its successor is to find the unit as it should be
			_ = u.install(ctx)
		}
		if err := h.Stop(ctx, s); err != nil {
			return nil, false, err
		}
		if s = h.Serving(); inUnit && s != nil {
			return s, true, nil
		}
	}
	var unitErr error
	if u != nil {
		if unitErr = u.start(ctx); unitErr == nil {
			if s = h.Serving(); s != nil {
				return s, true, nil
			}
		}
	}
	if err := h.start(ctx, exe, e.Port, listen); err != nil {
		return nil, false, errors.Join(err, unitErr)
	}
	if s = h.Serving(); s == nil {
		return nil, false, errors.New("the agent started and ended again at once; see its log in " + h.path("log"))
	}
	return s, true, nil
}

// listenOn is the address to bind: the one asked for, else where the SSH
// session arrived; all addresses once sessions arrived at several.
func listenOn(asked, arrived string, s *Serving) string {
	switch {
	case asked != "":
		return asked
	case s == nil:
		return arrived
	case arrived == "" || arrived == s.Listen || s.Listen == "none":
		return s.Listen
	}
	return ""
}

// replace tells whether the serving agent must make way for this executable.
func replace(s *Serving, exe, version string, key ed25519.PublicKey, e Enrolment, listen string) bool {
	switch {
	case e.Restart, !key.Equal(ed25519.PublicKey(s.Agent)):
		return true
	case e.Port != 0 && e.Port != s.Port && s.Listen != "none":
		return true
	case listen != s.Listen:
		return true
	}
	return s.Exe != exe && !wire.NewerRelease(s.Version, version)
}

// arrivedAt is the address an SSH session arrived at; empty (all addresses)
// when it is not known or was reached from the host itself.
func arrivedAt(sshConnection string) string {
	f := strings.Fields(sshConnection)
	if len(f) != 4 {
		return ""
	}
	ip := net.ParseIP(f[2])
	if ip == nil || ip.IsLinkLocalUnicast() { // would need a zone
		return ""
	}
	return ip.String()
}

// start runs `exe serve` in a session of its own, with none of our
// descriptors, and waits until it says on a pipe that it listens. When this
// process ends it belongs to init.
func (h Home) start(ctx context.Context, exe string, port int, listen string) error {
	r, w, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("starting the agent: %w", err)
	}
	defer r.Close()
	log, err := os.OpenFile(h.path("log"), os.O_WRONLY|os.O_CREATE|os.O_APPEND|os.O_TRUNC, 0o600)
	if err != nil {
		w.Close()
		return fmt.Errorf("starting the agent: %w", err)
	}
	defer log.Close()
	args := []string{"serve", "--home", string(h), "--ready-fd", "3"}
	if port != 0 {
		args = append(args, "--port", strconv.Itoa(port))
	}
	if listen != "" {
		args = append(args, "--listen", listen)
	}
	cmd := exec.Command(exe, args...) //nolint:noctx // it outlives us
	cmd.Dir, _ = os.UserHomeDir()
	if st, err := os.Stat(cmd.Dir); err != nil || !st.IsDir() { // an account may have none, or one that is not there
		cmd.Dir = "/"
	}
	cmd.Stdout, cmd.Stderr = log, log
	cmd.ExtraFiles = []*os.File{w}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err = cmd.Start()
	w.Close()
	if err != nil {
		return fmt.Errorf("starting the agent: %w", err)
	}
	_ = cmd.Process.Release()
	stop := context.AfterFunc(ctx, func() { _ = r.SetReadDeadline(time.Now()) })
	defer stop()
	_ = r.SetReadDeadline(time.Now().Add(startTimeout))
	line, err := bufio.NewReader(r).ReadString('\n')
	switch line = strings.TrimSpace(line); {
	case line == "ready":
		return nil
	case line != "":
		return fmt.Errorf("starting the agent: %s", line)
	}
	return fmt.Errorf("starting the agent: it ended before it listened; see its log in %s", h.path("log"))
}
