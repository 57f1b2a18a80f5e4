package hostagent

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"time"
)

const (
	unitName    = "volant-agent.service"
	unitCommand = 30 * time.Second // for one systemctl or loginctl
	endWithin   = 10 * time.Second // for an agent to end what it runs, before it is removed
	systemUnits = "/etc/systemd/system"
	lingerDir   = "/var/lib/systemd/linger"
)

// The kinds of unit; also the argument --unit of `serve`.
const (
	unitSystem = "system"
	unitUser   = "user"
)

// unit is the systemd unit that keeps the agent of a home alive: over crashes,
// logouts and reboots.
type unit struct {
	home Home
	kind string
	file string
}

// unit is nil where there is none to be: no systemd, a home that is not the
// user's usual one, or not wanted.
func (h Home) unit(unwanted bool) *unit {
	if st, err := os.Stat("/run/systemd/system"); unwanted || err != nil || !st.IsDir() {
		return nil
	}
	if _, err := exec.LookPath("systemctl"); err != nil {
		return nil
	}
	dir, err := os.UserHomeDir()
	switch {
	case os.Getuid() == 0 && h == DefaultHome(0, ""):
		return &unit{home: h, kind: unitSystem, file: filepath.Join(systemUnits, unitName)}
	case os.Getuid() != 0 && err == nil && h == DefaultHome(os.Getuid(), dir):
		return &unit{home: h, kind: unitUser, file: filepath.Join(dir, ".config/systemd/user", unitName)}
	}
	return nil
}

// text is the unit file. It needs no sandbox: what the agent runs is what a
// login would.
func (u *unit) text(limits []Limit) string {
	q := func(s string) string {
		return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, `%`, `%%`, `$`, `$$`).Replace(s) + `"`
	}
	path := strings.NewReplacer(`%`, `%%`).Replace(u.home.path("log"))
	target := "multi-user.target"
	if u.kind == unitUser {
		target = "default.target"
	}
	var b strings.Builder
	fmt.Fprintf(&b, `# Written by volant-agent; changes are lost. Ended and removed by: volant-agent uninstall
[Unit]
Description=Volant agent
After=network.target
StartLimitIntervalSec=0

[Service]
Type=notify
NotifyAccess=all
ExecStart=%s serve --home %s --unit %s
Restart=always
RestartSec=200ms
KillMode=process
OOMPolicy=continue
TasksMax=infinity
Delegate=yes
TimeoutStopSec=30s
StandardOutput=append:%s
StandardError=append:%s
`, q(u.home.path("bin/volant-agent")), q(string(u.home)), u.kind, path, path)
	for _, l := range limits {
		fmt.Fprintf(&b, "Limit%s=%s:%s\n", l.Name, l.Soft, l.Hard)
	}
	fmt.Fprintf(&b, "\n[Install]\nWantedBy=%s\n", target)
	return b.String()
}

// install writes the unit file and enables it. Nothing is started.
func (u *unit) install(ctx context.Context) error {
	if _, err := os.Stat(u.home.path("bin/volant-agent")); err != nil {
		return fmt.Errorf("installing the unit: %w", err)
	}
	if u.kind == unitUser {
		if err := u.linger(ctx); err != nil {
			return err
		}
	}
	text := u.text(u.home.loadLogin().Limits)
	if b, err := os.ReadFile(u.file); err == nil && string(b) == text {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(u.file), 0o755); err != nil {
		return fmt.Errorf("installing the unit: %w", err)
	}
	if err := writeFile(u.file, []byte(text)); err != nil {
		return err
	}
	if err := os.Chmod(u.file, 0o644); err != nil {
		return fmt.Errorf("installing the unit: %w", err)
	}
	u.label(ctx)
	if err := u.systemctl(ctx, "daemon-reload"); err != nil {
		return err
	}
	return u.systemctl(ctx, "enable", "--quiet", unitName)
}

// start installs the unit and starts the agent in it, returning once it listens.
func (u *unit) start(ctx context.Context) error {
	err := u.install(ctx)
	if err == nil {
		err = u.systemctl(ctx, "restart", unitName)
	}
	if err != nil { // an agent without a unit takes over: nothing may start another beside it
		_ = u.remove(ctx)
	}
	return err
}

// remove ends the agent in its unit and deletes the unit.
func (u *unit) remove(ctx context.Context) error {
	if _, err := os.Stat(u.file); err == nil {
		_ = u.systemctl(ctx, "disable", "--quiet", "--now", unitName)
	}
	if err := os.Remove(u.file); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("removing the unit: %w", err)
	}
	_ = u.systemctl(ctx, "daemon-reload")
	_ = u.systemctl(ctx, "reset-failed", unitName)
	if u.kind == unitUser {
		removeEmpty(filepath.Join(filepath.Dir(u.file), "default.target.wants"), filepath.Dir(u.file), filepath.Dir(filepath.Dir(u.file)), filepath.Dir(filepath.Dir(filepath.Dir(u.file))))
		if _, err := os.Stat(u.home.path("lingers")); err == nil {
			_ = u.run(ctx, "loginctl", "disable-linger")
		}
	}
	return nil
}

// removeEmpty removes directories that are empty.
func removeEmpty(dirs ...string) {
	for _, d := range dirs {
		_ = os.Remove(d) // refused when something is in it
	}
}

// linger lets the user's services run without a login. Where that is not
// allowed, a unit would end with the last session.
func (u *unit) linger(ctx context.Context) error {
	me, err := user.Current()
	if err != nil {
		return fmt.Errorf("installing the unit: %w", err)
	}
	file := filepath.Join(lingerDir, me.Username)
	if _, err := os.Stat(file); err == nil {
		return nil
	}
	if err := u.run(ctx, "loginctl", "enable-linger"); err != nil {
		return err
	}
	if _, err := os.Stat(file); err != nil {
		return fmt.Errorf("installing the unit: lingering was not allowed: %w", err)
	}
	return writeFile(u.home.path("lingers"), nil) // to be undone with the agent
}

// label lets the program run as a service where SELinux is on, best effort.
func (u *unit) label(ctx context.Context) {
	if _, err := os.Stat("/sys/fs/selinux/enforce"); err != nil {
		return
	}
	programs, _ := filepath.Glob(u.home.path("bin/volant-agent*"))
	_ = u.run(ctx, "chcon", append([]string{"-t", "bin_t"}, programs...)...)
}

func (u *unit) systemctl(ctx context.Context, args ...string) error {
	if u.kind == unitUser {
		args = append([]string{"--user"}, args...)
	}
	return u.run(ctx, "systemctl", args...)
}

func (u *unit) run(ctx context.Context, name string, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, unitCommand)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(), "SYSTEMD_PAGER=", "SYSTEMD_ASK_PASSWORD=0")
	if os.Getenv("XDG_RUNTIME_DIR") == "" && u.kind == unitUser {
		cmd.Env = append(cmd.Env, fmt.Sprintf("XDG_RUNTIME_DIR=/run/user/%d", os.Getuid()))
	}
	cmd.WaitDelay = time.Second
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}

// Notify tells systemd about the agent, when that started it.
func Notify(state string) {
	path := os.Getenv("NOTIFY_SOCKET")
	if path == "" {
		return
	}
	if path[0] == '@' {
		path = "\x00" + path[1:]
	}
	c, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Net: "unixgram", Name: path})
	if err != nil {
		return
	}
	defer c.Close()
	_, _ = c.Write([]byte(state))
}

// Uninstall ends the home's agent and removes it with everything it keeps.
func (h Home) Uninstall(ctx context.Context) error {
	var errs []error
	if u := h.unit(false); u != nil {
		errs = append(errs, u.remove(ctx))
	}
	if s := h.Serving(); s != nil {
		s.Unit = "" // its unit is gone
		errs = append(errs, h.Stop(ctx, s))
		for end := time.Now().Add(endWithin); alive(s.PID, s.Start) && time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
			continue // its workers end with it
		}
	}
	errs = append(errs, h.purgeWorkers(ctx), h.Remove())
	if dir, ok := strings.CutSuffix(string(h), "/.local/share/volant-agent"); ok { // made on the way to it, perhaps
		removeEmpty(filepath.Join(dir, ".local/share"), filepath.Join(dir, ".local"))
	}
	return errors.Join(errs...)
}
