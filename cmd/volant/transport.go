package main

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"volant/bootstrap"
	"volant/controller/execute"
	"volant/controller/fleet"
	"volant/hostagent"
	"volant/hostagent/become"
	"volant/hostagent/modules"
	"volant/metrics"
	"volant/wire/session"
)

// transports are the links of a run, made when the first is needed.
type transports struct {
	fleet *fleet.Fleet
	local sync.WaitGroup // the local session
	once  sync.Once
	err   error
	tmp   string // directory of the local session, removed at the end
}

var _ execute.Transports = (*transports)(nil)

// k tells which run it is; nil makes one up.
func (j *project) transports(_ context.Context, dir string, m *meter, k *keeper) (*transports, error) {
	t := &transports{}
	log.SetOutput(io.Discard) // quic-go writes there about socket buffers; the fleet says it once
	key, err := j.identity()
	if err != nil {
		return nil, err
	}
	cfg := fleet.Config{
		Key: key, Name: userName() + "@" + hostName(), Version: release(), StateDir: j.stateDir(), Binaries: agents(),
		Reconnect: time.Duration(j.config.Int("VOLANT_RECONNECT")) * time.Second,
		MaxResult: uint64(max(0, j.config.Int("VOLANT_MAX_RESULT"))),
		Metrics:   m.controller(), Log: j.debugLog(),
		Warn:  func(text string) { j.display.Warning(errors.New(text)) },
		Local: func(context.Context) (session.Conn, error) { return t.session(j, dir) },
	}
	if k != nil && k.header != nil {
		cfg.Run, cfg.SessionKey = k.header.Run, k.header.SessionKey
	}
	t.fleet, err = fleet.New(cfg)
	return t, err
}

// session starts the agent of this machine in this process.
func (t *transports) session(j *project, dir string) (session.Conn, error) {
	cache, err := t.localDir(j)
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	login := hostagent.CurrentLogin()
	login.Cwd = dir
	a, err := hostagent.New(hostagent.Config{
		Runner: modules.NewRunner(modules.RunnerOptions{}), Version: release(), CacheDir: cache, StagingDir: filepath.Join(cache, "staging"),
		Login: func() hostagent.Login { return login },
		Start: become.Start, Become: become.Config{Binary: self, Args: []string{"worker"}, Local: true}, Log: j.debugLog(),
	})
	if err != nil {
		return nil, err
	}
	mine, theirs := session.Pipe()
	t.local.Go(func() { // ends with the fleet's Goodbye
		_ = a.ServeConn(context.Background(), theirs)
		_ = a.Close()
	})
	return mine, nil
}

// localDir is where the local session keeps its files: below the user's cache,
// or, where that cannot be written, in a directory of its own that goes with
// the run.
func (t *transports) localDir(j *project) (string, error) {
	if d := j.cacheDir(); d != "" {
		d = filepath.Join(d, "local")
		if os.MkdirAll(filepath.Join(d, "staging"), 0o700) == nil && unix.Access(d, unix.W_OK) == nil {
			return d, nil
		}
	}
	tmp, err := os.MkdirTemp("", "volant-local-")
	t.tmp = tmp
	return tmp, err
}

// Local implements execute.Transports.
func (t *transports) Local(ctx context.Context) (execute.Transport, error) { return t.fleet.Local(ctx) }

// Remote implements execute.Transports.
func (t *transports) Remote(ctx context.Context, target fleet.Target) (execute.Transport, error) {
	return t.fleet.Link(ctx, target)
}

// Reset implements execute.Transports: the next sub-task finds a new connection,
// and nothing of the old is warm.
func (t *transports) Reset(ctx context.Context, tr execute.Transport) error {
	if l, ok := tr.(fleet.Link); ok {
		return l.Reset(ctx)
	}
	_, err := tr.Reconnect(ctx)
	return err
}

// Close says goodbye to every agent.
func (t *transports) Close() {
	_ = t.fleet.Close()
	t.local.Wait()
	if t.tmp != "" {
		_ = os.RemoveAll(t.tmp)
	}
}

// surroundings returns what fills in what bootstrap must know of this machine.
// It is called for every task of every host, so the looking is done once.
func (j *project) surroundings() func(*bootstrap.Options) {
	of := sync.OnceValue(func() bootstrap.Options {
		o := bootstrap.Options{HomeDir: j.home, LocalUser: userName(), Kerberos: j.kerberos(), Ask: j.passphrases()}
		o.AuthSock, _ = j.getenv("SSH_AUTH_SOCK")
		o.Getenv = j.getenv
		o.Askpass, _ = os.Executable()
		o.Told = func(text string) { j.display.Verbose(1, text) }
		return o
	})
	return func(o *bootstrap.Options) {
		known := of()
		o.HomeDir, o.LocalUser, o.Kerberos, o.Ask = known.HomeDir, known.LocalUser, known.Kerberos, known.Ask
		o.AuthSock, o.Getenv, o.Askpass, o.Told = known.AuthSock, known.Getenv, known.Askpass, known.Told
	}
}

// kerberos tells whether the user seems to have a ticket.
func (j *project) kerberos() bool {
	cache, ok := j.getenv("KRB5CCNAME")
	if !ok {
		cache = fmt.Sprintf("/tmp/krb5cc_%d", os.Getuid())
	}
	cache = strings.TrimPrefix(cache, "FILE:")
	if !strings.HasPrefix(cache, "/") {
		return ok
	}
	_, err := os.Stat(cache)
	return err == nil
}

// passphrases asks for passphrases as ssh does: on the terminal, else with the
// user's SSH_ASKPASS; nil when there is neither.
func (j *project) passphrases() func(ctx context.Context, prompt string) (string, error) {
	program, _ := j.getenv("SSH_ASKPASS")
	require, _ := j.getenv("SSH_ASKPASS_REQUIRE")
	_, display := j.getenv("DISPLAY")
	_, wayland := j.getenv("WAYLAND_DISPLAY")
	graphic := program != "" && require != "never" && (display || wayland || require == "force")
	if graphic && (j.prompt == nil || require == "force" || require == "prefer") {
		return func(ctx context.Context, prompt string) (string, error) {
			out, err := exec.CommandContext(ctx, program, prompt).Output()
			return strings.TrimRight(string(out), "\r\n"), err
		}
	}
	if j.prompt == nil {
		return nil
	}
	secret := j.asking()
	return func(ctx context.Context, prompt string) (string, error) {
		return j.prompt.exclusive(func() (string, error) { return secret.ask(ctx, prompt) })
	}
}

func userName() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return "unknown"
}

func hostName() string {
	h, err := os.Hostname()
	if err != nil {
		return "localhost"
	}
	return h
}

// identity is the controller's key; it is made at the first run.
func (j *project) identity() (ed25519.PrivateKey, error) {
	path := j.config.String("VOLANT_PRIVATE_KEY_FILE")
	if path == "" {
		path = filepath.Join(j.stateDir(), "controller.key")
	}
	b, err := os.ReadFile(path)
	switch {
	case err == nil:
		return readKey(path, b)
	case !errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("reading the controller's key: %w", err)
	}
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	return key, saveKey(path, key)
}

func readKey(path string, b []byte) (ed25519.PrivateKey, error) {
	block, _ := pem.Decode(b)
	if block == nil {
		return nil, fmt.Errorf("%s holds no key", path)
	}
	k, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	key, ok := k.(ed25519.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("%s holds a key that is not Ed25519", path)
	}
	return key, nil
}

// saveKey writes a new key. When another run was faster, its key is used.
func saveKey(path string, key ed25519.PrivateKey) error {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("making the directory of the controller's key: %w", err)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("writing the controller's key: %w", err)
	}
	err = pem.Encode(f, &pem.Block{Type: "PRIVATE KEY", Bytes: der})
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}

var _ metrics.Controller
