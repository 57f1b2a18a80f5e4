package fleet

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"volant/bootstrap"
	"volant/metrics"
	"volant/stage"
	"volant/wire"
	"volant/wire/session"
)

// Defaults of Config.
const (
	defaultReconnect = 60 * time.Second
	defaultSilence   = 10 * time.Second
	defaultMaxSSH    = 32
	defaultMaxDials  = 64 // more only makes handshakes wait for each other
)

// Config is what a fleet is made of.
type Config struct {
	Key       ed25519.PrivateKey // the controller's identity
	Name      string             // who the controller is, for people: "user@machine"
	Version   string             // release of the controller
	StateDir  string             // [volant] state_dir: pins live in its directory "pins"
	Binaries  bootstrap.Binaries // agents to install
	Reconnect time.Duration      // how long a lost link is tried again; 0: 60 s
	Silence   time.Duration      // without a packet while sub-tasks run, before a link is dialled again; 0: 10 s
	MaxSSH    int                // SSH sessions at once; 0: 32
	MaxDials  int                // QUIC handshakes at once; 0: 64
	MaxResult uint64             // bytes of one result; 0: 64 MiB
	MaxFile   uint64             // bytes of one staged file; 0: no limit
	// Run and SessionKey name the session on every agent and seal what waits
	// there; zero: random ones. A run that is resumed has those it began with.
	Run        wire.RunID
	SessionKey []byte
	// Dial logs in over SSH; nil: bootstrap.Dial.
	Dial func(ctx context.Context, o bootstrap.Options) (bootstrap.Session, error)
	// Local starts the local session and returns the controller's end of its
	// pipe; nil: there is none.
	Local func(ctx context.Context) (session.Conn, error)
	// Warn shows something to the user that is no error; nil: it is logged.
	Warn    func(text string)
	Metrics *metrics.Controller // nil measures nothing
	Log     *slog.Logger        // nil discards
}

// Fleet keeps the links of one run.
type Fleet struct {
	cfg   Config
	log   *slog.Logger
	run   wire.RunID
	key   [wire.SessionKeyLen]byte // seals results that wait on agents
	id    *session.Identity
	pins  pinStore
	ssh   chan struct{} // a token per SSH session
	dials chan struct{} // a token per QUIC handshake
	blobs *blobCache
	// shared: known_hosts and ssh_config are read once a run, not once a host
	shared *bootstrap.Shared

	ctx    context.Context // ends with Close; links are built under it
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu        sync.Mutex // guards what follows
	links     map[linkKey]*hostLink
	endpoints map[string]*session.Endpoint // by network, udp4 and udp6
	closed    bool
	over      bool // Close waits for what was begun; nothing more begins
	slow      bool // the warning about SSH was given
	small     bool // the warning about socket buffers was given
}

// viaSSH warns, once, of a host that UDP does not reach.
func (f *Fleet) viaSSH(host, address string) {
	f.mu.Lock()
	said := f.slow
	f.slow = true
	f.mu.Unlock()
	if !said {
		f.warn(fmt.Sprintf("The agent on %s does not answer on UDP %s; it is reached through SSH, which is slower. (Said once.)", host, address))
	}
}

func (f *Fleet) warn(text string) {
	if f.cfg.Warn != nil {
		f.cfg.Warn(text)
		return
	}
	f.log.Warn(text)
}

// linkKey names a link: ten aliases of a machine share one.
type linkKey struct {
	host string
	port int
	user string
}

// New makes a fleet without links. Close ends it.
func New(cfg Config) (*Fleet, error) {
	id, err := session.NewIdentity(cfg.Key)
	if err != nil {
		return nil, err
	}
	if cfg.Reconnect == 0 {
		cfg.Reconnect = defaultReconnect
	}
	if cfg.Silence == 0 {
		cfg.Silence = defaultSilence
	}
	if cfg.MaxSSH == 0 {
		cfg.MaxSSH = defaultMaxSSH
	}
	if cfg.MaxDials == 0 {
		cfg.MaxDials = defaultMaxDials
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	shared := new(bootstrap.Shared)
	if cfg.Dial == nil {
		cfg.Dial = func(ctx context.Context, o bootstrap.Options) (bootstrap.Session, error) {
			if o.Shared == nil {
				o.Shared = shared
			}
			return bootstrap.Dial(ctx, o)
		}
	}
	f := &Fleet{
		cfg: cfg, log: cfg.Log, run: wire.NewRunID(), id: id, pins: pinStore{dir: cfg.StateDir},
		ssh: make(chan struct{}, cfg.MaxSSH), dials: make(chan struct{}, cfg.MaxDials),
		blobs: newBlobCache(), shared: shared, links: map[linkKey]*hostLink{}, endpoints: map[string]*session.Endpoint{},
	}
	if f.cfg.Run != (wire.RunID{}) {
		f.run = f.cfg.Run
	}
	if copy(f.key[:], f.cfg.SessionKey) == 0 {
		_, _ = rand.Read(f.key[:]) // never fails, see crypto/rand
	}
	f.ctx, f.cancel = context.WithCancel(context.Background())
	f.wg.Go(f.watch) // ends with ctx
	return f, nil
}

// Link returns the link to t, connected. The first call for a target connects;
// later and concurrent ones share it. An error is *Unreachable or the context's.
func (f *Fleet) Link(ctx context.Context, t Target) (Link, error) {
	key := linkKey{host: t.SSH.Host, port: t.SSH.Port, user: t.SSH.User}
	if key.user == "" {
		key.user = t.SSH.LocalUser
	}
	l := f.link(key, func(l *hostLink) {
		l.build, l.name = &dialer{f: f, target: t, key: key}, t.Name
		l.window = t.Reconnect
	})
	if _, err := l.get(ctx, time.Now()); err != nil {
		return nil, err
	}
	return l, nil
}

// Local returns the link to the session inside this process.
func (f *Fleet) Local(ctx context.Context) (Link, error) {
	if f.cfg.Local == nil {
		return nil, &Unreachable{Host: "localhost", Err: errors.New("there is no local session")}
	}
	l := f.link(linkKey{}, func(l *hostLink) { l.build, l.name = localBuilder{f: f}, "localhost" })
	if _, err := l.get(ctx, time.Now()); err != nil {
		return nil, err
	}
	return l, nil
}

func (f *Fleet) link(key linkKey, set func(*hostLink)) *hostLink {
	f.mu.Lock()
	defer f.mu.Unlock()
	l := f.links[key]
	if l == nil {
		l = &hostLink{f: f}
		set(l)
		if l.window == 0 {
			l.window = f.cfg.Reconnect
		}
		f.links[key] = l
	}
	return l
}

// Close says Goodbye on every link, which ends the run's sessions, and closes
// everything. It takes at most two seconds.
func (f *Fleet) Close() error {
	f.mu.Lock()
	if f.closed {
		f.mu.Unlock()
		return nil
	}
	f.closed = true
	links := make([]*hostLink, 0, len(f.links))
	for _, l := range f.links {
		links = append(links, l)
	}
	f.mu.Unlock()
	var bye sync.WaitGroup
	for _, l := range links {
		bye.Go(l.goodbye)
	}
	bye.Wait()
	f.cancel()
	f.mu.Lock()
	f.over = true
	f.mu.Unlock()
	f.wg.Wait()
	for _, l := range links {
		bye.Go(l.build.end)
	}
	bye.Wait()
	f.mu.Lock()
	defer f.mu.Unlock()
	var errs []error
	for _, e := range f.endpoints {
		errs = append(errs, e.Close())
	}
	return errors.Join(errs...)
}

// errOver says that the fleet is closed.
var errOver = errors.New("the run is over")

// spawn runs do in a goroutine that Close waits for, unless it waits already.
func (f *Fleet) spawn(do func()) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.over {
		return false
	}
	f.wg.Go(do)
	return true
}

// endpoint is the process's socket for addresses of ip's family.
func (f *Fleet) endpoint(ip net.IP) (*session.Endpoint, error) {
	network := "udp6"
	if ip.To4() != nil {
		network = "udp4"
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil, errOver
	}
	if e := f.endpoints[network]; e != nil {
		return e, nil
	}
	udp, err := net.ListenUDP(network, nil)
	if err != nil {
		return nil, fmt.Errorf("opening a UDP socket: %w", err)
	}
	e := session.NewEndpoint(udp, f.id)
	f.endpoints[network] = e
	if n := e.BufferShortfall(); n > 0 {
		f.cfg.Metrics.BufferShortfall(n)
		if !f.small {
			f.log.Warn("The kernel allows less UDP buffer than wanted (net.core.rmem_max); large transfers are slower", "missing_bytes", n)
		}
		f.small = true
	}
	return e, nil
}

// watch probes links that have sub-tasks under way and drops the silent ones.
func (f *Fleet) watch() {
	tick := time.NewTicker(f.cfg.Silence / 5)
	defer tick.Stop()
	for {
		select {
		case <-f.ctx.Done():
			return
		case now := <-tick.C:
			f.mu.Lock()
			links := make([]*hostLink, 0, len(f.links))
			for _, l := range f.links {
				links = append(links, l)
			}
			f.mu.Unlock()
			for _, l := range links {
				if lv := l.current(); lv != nil {
					lv.probe(now)
				}
			}
		}
	}
}

// acquire takes a token, bounded by ctx.
func acquire(ctx context.Context, tokens chan struct{}) (release func(), err error) {
	select {
	case tokens <- struct{}{}:
		return func() { <-tokens }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Opener reads blobs named in manifests, and manifests themselves.
type Opener = stage.Opener
