package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"volant/cmd/internal/private"
)

type processCmd struct {
	Up processUpCmd `cmd:"" help:"Start hosts h1..hN; those already up are left alone."`
}

type processUpCmd struct {
	dirFlag
	Hosts int      `help:"How many hosts." default:"2"`
	Env   []string `help:"A variable of the hosts' logins, as NAME=VALUE. May be given more than once; stays until the lab is down." sep:"none" placeholder:"NAME=VALUE"`
}

// Help explains what these hosts are and are not.
func (processUpCmd) Help() string {
	return `Each host is an SSH server on a port of 127.0.0.1 with its own HOME under DIR/hosts.
Commands run on this machine as the user who starts the lab: good for the agent,
for files and for commands; use a systemd lab for packages, services and become.
All servers are one background process; agents that a host was given are ended by down.`
}

// Run starts the servers and waits for them.
func (c *processUpCmd) Run(ctx context.Context) error {
	if c.Hosts < 1 || c.Hosts > 2000 {
		return fmt.Errorf("--hosts must be 1 to 2000, not %d", c.Hosts)
	}
	unlock, err := lock(filepath.Join(c.Dir, ".lock"))
	if err != nil {
		return err
	}
	defer unlock()
	begin := time.Now()
	l, err := openLab(c.Dir, "process")
	if err != nil {
		return err
	}
	if l.Machine == "" {
		l.Machine = rand.Text()
	}
	for _, v := range c.Env {
		if name, _, ok := strings.Cut(v, "="); !ok || name == "" {
			return fmt.Errorf("--env is NAME=VALUE, not %q", v)
		}
	}
	more := len(l.Hosts) < c.Hosts || len(c.Env) > 0
	l.Env = append(l.Env, c.Env...)
	if err := l.addProcessHosts(c.Hosts); err != nil {
		return err
	}
	if err := l.save(); err != nil {
		return err
	}
	if more {
		l.Server.end(2 * time.Second) // one process serves all: it starts anew and knows of all
	}
	if err := l.startServers(ctx); err != nil {
		return err
	}
	say("%d hosts up in %s; try: volant playbook -i %s SITE.yml", len(l.Hosts), time.Since(begin).Round(10*time.Millisecond), l.path("inventory.ini"))
	return nil
}

// addProcessHosts extends the lab to n hosts, each with a free port, a home and a host key.
func (l *lab) addProcessHosts(n int) error {
	if _, err := makeKey(l.path("keys", "id"), "volant-lab"); err != nil {
		return err
	}
	// All ports are held until the last is chosen, so that none is given twice.
	for i := len(l.Hosts) + 1; i <= n; i++ {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return fmt.Errorf("finding a free port: %w", err)
		}
		defer ln.Close()
		h := host{Name: fmt.Sprintf("h%d", i), Address: "127.0.0.1", Port: ln.Addr().(*net.TCPAddr).Port}
		if err := os.MkdirAll(l.path("hosts", h.Name, "home"), 0o755); err != nil {
			return err
		}
		l.Hosts = append(l.Hosts, h)
	}
	hostKeys := make([][]string, len(l.Hosts))
	for i, h := range l.Hosts {
		signer, err := makeKey(l.path("hosts", h.Name, "host_key"), h.Name)
		if err != nil {
			return err
		}
		f := strings.Fields(publicLine(signer, ""))
		hostKeys[i] = []string{f[0] + " " + f[1]}
	}
	u, err := user.Current()
	if err != nil {
		return err
	}
	return l.writeClientFiles(u.Username, hostKeys)
}

// startServers starts the background process unless it lives, and waits until every host answers.
func (l *lab) startServers(ctx context.Context) error {
	if !l.Server.alive() {
		var err error
		if l.Server, err = l.startDaemon("servers.log", "serve-process", "--dir", l.Dir); err != nil {
			return err
		}
		if err := l.save(); err != nil {
			return err
		}
	}
	for i := range l.Hosts {
		for tries := 0; !sshAnswers(&l.Hosts[i]); tries++ {
			if !l.Server.alive() || tries > 200 || ctx.Err() != nil {
				return fmt.Errorf("the SSH servers did not come up; see %s", l.path("run", "servers.log"))
			}
			time.Sleep(30 * time.Millisecond)
		}
	}
	return nil
}

// markVariable is in the environment of everything a process lab's hosts run, so
// that down can find what has detached itself, and only that.
const markVariable = "VOLANT_LAB_MARK"

// environment is what a login on a process host gets.
func (l *lab) environment(h *host) []string {
	home := l.path("hosts", h.Name, "home")
	name := "nobody"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	path := "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
	return append([]string{
		"HOME=" + home, "USER=" + name, "LOGNAME=" + name, "SHELL=/bin/sh", "LANG=C.UTF-8",
		"PATH=" + filepath.Join(home, "bin") + ":" + path, // a host's own programs first: tests put false ones there
		"VOLANT_LAB_HOST=" + h.Name, private.Core + "=1",  // or down could not find who carries the mark
		markVariable + "=" + l.Machine,
		"VOLANT_AGENT_HOME=" + filepath.Join(home, ".local/share/volant-agent"), // root's agents must not share one directory
	}, l.Env...)
}

// endMarked ends everything that carries the lab's mark.
func (l *lab) endMarked() {
	if l.Machine == "" {
		return
	}
	want := markVariable + "=" + l.Machine
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		left := marked(want)
		for _, p := range left {
			if p.alive() {
				_ = syscall.Kill(p.PID, sig)
			}
		}
		for range 100 {
			if left = marked(want); len(left) == 0 {
				return
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
}

func marked(want string) []*process {
	var found []*process
	files, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			continue
		}
		for v := range strings.SplitSeq(string(b), "\x00") {
			if v != want {
				continue
			}
			var pid int
			fmt.Sscanf(filepath.Base(filepath.Dir(f)), "%d", &pid)
			if p, err := identify(pid); err == nil && p.alive() && pid != os.Getpid() {
				found = append(found, p)
			}
			break
		}
	}
	return found
}

type sshdCmd struct {
	dirFlag
	Do   string `arg:"" enum:"stop,start,restart" help:"stop, start or restart."`
	Host string `arg:"" optional:"" help:"Which host of a systemd lab; all when left out, and always in a process lab."`
}

// Run stops or starts the SSH servers. Agents live on.
func (c *sshdCmd) Run(ctx context.Context) error {
	unlock, err := lock(filepath.Join(c.Dir, ".lock"))
	if err != nil {
		return err
	}
	defer unlock()
	l, err := loadLab(c.Dir)
	if err != nil {
		return err
	}
	if l.Kind == "process" {
		if c.Do != "start" {
			l.Server.end(2 * time.Second)
		}
		if c.Do != "stop" {
			return l.startServers(ctx)
		}
		return nil
	}
	var problems []error
	for i := range l.Hosts {
		h := &l.Hosts[i]
		if c.Host != "" && c.Host != h.Name {
			continue
		}
		if out, err := l.inside(ctx, h, "systemctl", c.Do, "ssh.service").CombinedOutput(); err != nil {
			problems = append(problems, fmt.Errorf("%s: %w: %s", h.Name, err, out))
		}
	}
	return errors.Join(problems...)
}
