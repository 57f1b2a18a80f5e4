package main

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"sync"
	"time"

	"volant/bootstrap"
	"volant/bootstrap/enrol"
	"volant/controller/compile"
	"volant/controller/events"
	"volant/controller/execute"
	"volant/controller/fleet"
	"volant/controller/playbook"
	"volant/wire"
	"volant/wire/session"
	"volant/wire/value"
)

// agentOptions are those of volant agent.
type agentOptions struct {
	verbosityOptions
	inventoryOptions
	vaultOptions   `group:"Vault options"`
	connectOptions `group:"Connection options"`

	ExtraVars []string `short:"e" sep:"none" help:"Variables as key=value, YAML, JSON or @FILE. May be given more than once."`
	Forks     int      `short:"f" default:"16" help:"How many hosts are worked on at once."`
	JSON      bool     `help:"Print JSON."`
	Revoke    string   `placeholder:"KEY" help:"With keys: no longer serve the controller of this fingerprint or name; all for every one."`
	Rotate    bool     `help:"With keys: make this controller a new key, and have every host serve that instead of the old one."`
	Action    string   `arg:"" enum:"status,upgrade,keys,uninstall" help:"status, upgrade, keys or uninstall."`
	Pattern   string   `arg:"" optional:"" default:"all" help:"Hosts to look after."`
}

// agentState is what is known of a host's agent.
type agentState struct {
	Host        string       `json:"host"`
	State       string       `json:"state"` // running, stopped, absent, removed, unreachable, failed
	Error       string       `json:"error,omitempty"`
	Version     string       `json:"version,omitempty"`
	Was         string       `json:"was,omitempty"` // release before an upgrade
	PID         int          `json:"pid,omitempty"`
	Listen      string       `json:"listen,omitempty"`
	Port        int          `json:"port,omitempty"`
	Unit        string       `json:"unit,omitempty"`
	Home        string       `json:"home,omitempty"`
	Key         string       `json:"key,omitempty"`
	Since       *time.Time   `json:"since,omitempty"`
	Controllers []controller `json:"controllers,omitempty"`
}

// controller is a key that an agent serves.
type controller struct {
	Key     string    `json:"key"` // fingerprint
	Name    string    `json:"name"`
	Expires time.Time `json:"expires"`
}

func agentMain(ctx context.Context, p *process, args []string) error {
	var opt agentOptions
	if err := parse(p, &opt, "Look after the agents of an inventory.", args); err != nil {
		return err
	}
	if (opt.Revoke != "" || opt.Rotate) && opt.Action != "keys" {
		return &exit{code: codeUsage, err: errors.New("--revoke and --rotate go with: volant agent keys")}
	}
	j, err := configure(p, opt.Verbose)
	if err != nil {
		return err
	}
	targets, err := j.agentTargets(ctx, &opt)
	if err != nil {
		return err
	}
	key, err := j.identity()
	if err != nil {
		return err
	}
	w := agentWork{j: j, opt: &opt, key: key}
	if opt.Rotate {
		if _, w.next, err = ed25519.GenerateKey(rand.Reader); err != nil {
			return err
		}
	}
	states := w.all(ctx, targets)
	if w.next != nil {
		if err := j.replaceKey(w.next); err != nil {
			return err
		}
	}
	return w.show(states)
}

// agentTargets finds how to log in to the hosts, as a play on them would.
func (j *project) agentTargets(ctx context.Context, opt *agentOptions) ([]fleet.Target, error) {
	login := j.login(opt.connectOptions, becomeOptions{})
	if err := j.askPasswords(ctx, login, opt.connectOptions, becomeOptions{}); err != nil {
		return nil, err
	}
	if err := j.secrets(ctx, opt.vaultOptions); err != nil {
		return nil, err
	}
	if err := j.variables(opt.ExtraVars); err != nil {
		return nil, err
	}
	if err := j.load(ctx, opt.Inventory, "", false); err != nil {
		return nil, err
	}
	if err := j.limit(opt.Limit, opt.Pattern); err != nil {
		return nil, err
	}
	store := j.store(filepath.Clean(j.dir), j.runVars(runOptions{ExtraVars: opt.ExtraVars}, opt.inventoryOptions, nil, nil))
	names := &execute.Names{Files: j.files, Lookups: j.engine.HasLookup, Sink: j.display}
	// The play resets every connection; the transport only takes down whose.
	loader := j.loader(ctx, store, names)
	play, err := loader.Make(value.DictOf("name", "agents", "hosts", value.NewTemplate(opt.Pattern, value.Pos{}),
		"gather_facts", false, "tasks", value.ListOf(value.DictOf("meta", "reset_connection"))), j.dir)
	if err != nil {
		return nil, err
	}
	noted := new(targetNotes)
	r := execute.New(execute.Options{
		Config: j.config, Inventory: j.inv, Store: store, Engine: j.engine, Loader: loader, Names: names, Files: j.files, Display: j.display,
		Bus: events.NewBus(), Transport: noted, Compile: compile.Options{}, Login: *login, Verbosity: j.display.Verbosity,
	})
	book := &playbook.Playbook{Path: "agents", Dir: j.dir, Plays: []*playbook.Play{play}}
	if _, err := r.Run(ctx, func(int) (*playbook.Playbook, error) { return book, nil }, 1); err != nil {
		return nil, err
	}
	sort.Slice(noted.targets, func(a, b int) bool { return noted.targets[a].Name < noted.targets[b].Name })
	return noted.targets, nil
}

// targetNotes is a transport that goes nowhere and notes where it would have.
type targetNotes struct {
	mu      sync.Mutex // guards targets
	targets []fleet.Target
}

var errNotGoing = errors.New("only noted")

func (*targetNotes) Local(context.Context) (execute.Transport, error) { return nil, errNotGoing }

func (n *targetNotes) Remote(_ context.Context, t fleet.Target) (execute.Transport, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.targets = append(n.targets, t)
	return nil, errNotGoing
}

func (*targetNotes) Reset(context.Context, execute.Transport) error { return nil }

// agentWork looks after the agents of many hosts.
type agentWork struct {
	j      *project
	opt    *agentOptions
	key    ed25519.PrivateKey
	next   ed25519.PrivateKey // to replace key; nil: it stays
	shared bootstrap.Shared
}

func (w *agentWork) all(ctx context.Context, targets []fleet.Target) []agentState {
	states := make([]agentState, len(targets))
	tokens := make(chan struct{}, max(1, w.opt.Forks))
	var wg sync.WaitGroup
	for i, t := range targets {
		tokens <- struct{}{}
		wg.Go(func() { // ends with the host, which its timeouts bound
			defer func() { <-tokens }()
			states[i] = agentState{Host: t.Name}
			if err := w.one(ctx, t, &states[i]); err != nil {
				states[i].Error = err.Error()
				if states[i].State == "" {
					states[i].State = "failed"
				}
			}
		})
	}
	wg.Wait()
	return states
}

func (w *agentWork) one(ctx context.Context, t fleet.Target, s *agentState) error {
	t.SSH.Shared = &w.shared
	c, err := bootstrap.Dial(ctx, t.SSH)
	if err != nil {
		s.State = "unreachable"
		return err
	}
	defer c.Close()
	if err := w.look(ctx, c, s); err != nil {
		return err
	}
	switch w.opt.Action {
	case "upgrade":
		return w.upgrade(ctx, c, t, s)
	case "uninstall":
		return w.uninstall(ctx, c, t, s)
	case "keys":
		return w.keys(ctx, c, t, s)
	}
	return nil
}

// look fills in what the agent says of itself.
func (w *agentWork) look(ctx context.Context, c *bootstrap.Client, s *agentState) error {
	out, err := c.Agent(ctx, "status", "--json")
	if errors.Is(err, bootstrap.ErrNoAgent) {
		s.State = "absent"
		return nil
	}
	if err != nil {
		return err
	}
	var said struct {
		Home    string
		Serving *struct {
			PID           int
			Version, Unit string
			Listen        string
			Port          int
			Agent         []byte
			Since         time.Time
		}
		Controllers []struct {
			Key     []byte
			Name    string
			Expires time.Time
		}
	}
	if err := json.Unmarshal(out.Stdout, &said); err != nil {
		return fmt.Errorf("reading the agent's answer: %w", err)
	}
	*s = agentState{Host: s.Host, State: "stopped", Home: said.Home}
	if a := said.Serving; a != nil {
		s.State, s.PID, s.Version, s.Unit, s.Listen, s.Port, s.Since = "running", a.PID, a.Version, a.Unit, a.Listen, a.Port, &a.Since
		s.Key = session.Fingerprint(a.Agent)
	}
	for _, k := range said.Controllers {
		s.Controllers = append(s.Controllers, controller{Key: session.Fingerprint(k.Key), Name: k.Name, Expires: k.Expires})
	}
	return nil
}

func (w *agentWork) enrolment(t fleet.Target, key ed25519.PrivateKey) enrol.Request {
	e := t.Enrol
	e.Controller, e.Name, e.Protocol = key.Public().(ed25519.PublicKey), userName()+"@"+hostName(), wire.Version
	return e
}

func (w *agentWork) upgrade(ctx context.Context, c *bootstrap.Client, t fleet.Target, s *agentState) error {
	was := s.Version
	if _, err := c.EnsureAgent(ctx, agents(), w.enrolment(t, w.key)); err != nil {
		return err
	}
	if err := w.look(ctx, c, s); err != nil {
		return err
	}
	s.Was = was
	return nil
}

func (w *agentWork) uninstall(ctx context.Context, c *bootstrap.Client, t fleet.Target, s *agentState) error {
	if s.State != "absent" {
		was := s.Version
		err := w.tell(ctx, c, "uninstall")
		if err != nil { // it may be gone all the same, but for what another user keeps
			if lerr := w.look(ctx, c, s); lerr != nil || s.State != "absent" {
				return err
			}
			s.Error = err.Error()
		}
		*s = agentState{Host: s.Host, State: "removed", Was: was, Error: s.Error}
	}
	user := t.SSH.User
	if user == "" {
		user = t.SSH.LocalUser
	}
	return fleet.RemovePin(w.j.stateDir(), t.SSH.Host, t.SSH.Port, user)
}

func (w *agentWork) keys(ctx context.Context, c *bootstrap.Client, t fleet.Target, s *agentState) error {
	if s.State == "absent" {
		return nil
	}
	if w.opt.Revoke != "" {
		if err := w.tell(ctx, c, "keys", "--revoke", w.opt.Revoke); err != nil {
			return err
		}
	}
	if w.next != nil {
		if _, err := c.EnsureAgent(ctx, agents(), w.enrolment(t, w.next)); err != nil {
			return err
		}
		old := session.Fingerprint(w.key.Public().(ed25519.PublicKey))
		for _, k := range s.Controllers {
			if k.Key != old {
				continue
			}
			if err := w.tell(ctx, c, "keys", "--revoke", old); err != nil {
				return err
			}
		}
	}
	if w.opt.Revoke == "" && w.next == nil {
		return nil
	}
	return w.look(ctx, c, s)
}

// tell runs a command of the agent program that has nothing to say.
func (w *agentWork) tell(ctx context.Context, c *bootstrap.Client, args ...string) error {
	out, err := c.Agent(ctx, args...)
	if err == nil && out.Code != 0 {
		err = errors.New(strings.TrimSpace(string(out.Stderr)))
	}
	return err
}

// show prints the states; the error is the exit code: 4 when a host was
// unreachable, 2 when something else went wrong.
func (w *agentWork) show(states []agentState) error {
	code := 0
	for _, s := range states {
		switch {
		case s.State == "unreachable":
			code = codeParser
		case s.Error != "" && code == 0:
			code = codeUsage
		}
	}
	if w.opt.JSON {
		enc := json.NewEncoder(w.j.stdout)
		enc.SetIndent("", "  ")
		if err := enc.Encode(states); err != nil {
			return err
		}
	} else {
		for _, s := range states {
			s.print(w.j.stdout, w.opt.Action == "keys")
		}
	}
	if code != 0 {
		return &exit{code: code}
	}
	return nil
}

func (s *agentState) print(out io.Writer, keys bool) {
	line := fmt.Sprintf("%-20s %-11s", s.Host, s.State)
	if s.State == "running" {
		way := fmt.Sprintf("UDP %s:%d", s.Listen, s.Port)
		if s.Port == 0 {
			way = "through SSH only"
		}
		line += fmt.Sprintf(" %s, %s, pid %d since %s", s.Version, way, s.PID, s.Since.Format(time.RFC3339))
		if s.Unit != "" {
			line += ", " + s.Unit + " unit"
		}
	}
	if s.Was != "" && s.Was != s.Version {
		line += " (was " + s.Was + ")"
	}
	if s.Error != "" {
		line += " " + strings.ReplaceAll(s.Error, "\n", " ")
	}
	fmt.Fprintln(out, strings.TrimRight(line, " "))
	if keys {
		for _, k := range s.Controllers {
			fmt.Fprintf(out, "    %s %s, until %s\n", k.Key, k.Name, k.Expires.Format(time.RFC3339))
		}
	}
}

// replaceKey makes key the controller's. Hosts that do not know it yet are
// enrolled at their next contact over SSH.
func (j *project) replaceKey(key ed25519.PrivateKey) error {
	path := j.config.String("VOLANT_PRIVATE_KEY_FILE")
	if path == "" {
		path = filepath.Join(j.stateDir(), "controller.key")
	}
	fresh := path + ".new"
	_ = os.Remove(fresh) // of a rotation that was cut short
	if err := saveKey(fresh, key); err != nil {
		return err
	}
	if err := os.Rename(fresh, path); err != nil {
		return fmt.Errorf("replacing the controller's key: %w", err)
	}
	return nil
}
