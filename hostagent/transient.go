package hostagent

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"volant/hostagent/become"
	"volant/stage"
	"volant/wire"
	"volant/wire/session"
)

// ServeTransient is an agent for one run: it serves the one controller over rw,
// the channel of its SSH session, and ends with it, after what runs. Its key is
// made for the occasion and nothing is journalled. Only the content cache is
// left in the home. ready is told who serves before the first datagram.
func (h Home) ServeTransient(ctx context.Context, cfg Config, controller ed25519.PublicKey, rw io.ReadWriteCloser, ready func(Serving) error) error {
	if err := h.Open(); err != nil {
		return err
	}
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		return fmt.Errorf("making the agent's key: %w", err)
	}
	id, err := session.NewIdentity(key)
	if err != nil {
		return err
	}
	login := CurrentLogin()
	cfg.CacheDir, cfg.StagingDir, cfg.JournalDir = h.path("cache"), h.path("staging"), ""
	cfg.Login, cfg.Transient = func() Login { return login }, true
	a, err := New(cfg)
	if err != nil {
		return err
	}
	s := Serving{
		PID: os.Getpid(), Start: stage.ProcessStart(os.Getpid()), Version: cfg.Version, Protocol: wire.Version,
		Listen: "none", Agent: id.Public(), Since: time.Now().UTC().Truncate(time.Second),
	}
	s.Exe, _ = Executable()
	err = ready(s)
	if err == nil {
		a.serveTunnel(ctx, rw, id, func(k ed25519.PublicKey) error {
			if !k.Equal(controller) {
				return errNotServed
			}
			return nil
		})
	}
	err = errors.Join(err, a.Close())
	if _, serr := os.Stat(h.path("agent.json")); errors.Is(serr, fs.ErrNotExist) { // no resident agent needs it
		err = errors.Join(err, become.RemoveCopy(become.Config{Dir: string(h)}))
	}
	_ = os.Remove(h.path("staging")) // when it is empty
	return err
}
