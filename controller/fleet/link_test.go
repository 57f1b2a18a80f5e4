package fleet

import (
	"context"
	"crypto/ed25519"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"volant/bootstrap"
	"volant/wire"
	"volant/wire/session"
)

// outage is a network that is down for a while: who tries then fails after as
// long as it takes.
type outage struct {
	localBuilder
	until    time.Time
	takes    time.Duration
	attempts int
}

func (o *outage) build(ctx context.Context, _ int) (*live, error) {
	o.attempts++
	down := time.Now().Before(o.until)
	if down {
		select {
		case <-time.After(o.takes):
		case <-ctx.Done():
		}
		return nil, &bootstrap.Error{Kind: bootstrap.KindConnect, Msg: "down"}
	}
	ours, _ := session.Pipe()
	return &live{f: o.f, conn: ours, hello: new(wire.Hello)}, nil
}

// TestBackAfterAnOutage: a link that was lost is up again soon after the network
// is, however long each attempt took meanwhile; it is given up only when the
// window is over, and not much later.
func TestBackAfterAnOutage(t *testing.T) {
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	const window = 12 * time.Second
	for _, takes := range []time.Duration{0, 10 * time.Millisecond, callTimeout, 5 * time.Second} {
		for lasts := time.Duration(0); lasts < 2*window; lasts += 500 * time.Millisecond {
			for range 5 { // pauses are random
				synctest.Test(t, func(t *testing.T) {
					f, err := New(Config{Key: key, Reconnect: window})
					if err != nil {
						t.Fatal(err)
					}
					begin := time.Now()
					o := &outage{localBuilder: localBuilder{f}, until: begin.Add(lasts), takes: takes}
					l := &hostLink{f: f, name: "h", build: o, window: window, last: new(wire.Hello)}
					_, err = l.get(t.Context(), begin)
					took := time.Since(begin)
					var u *Unreachable
					switch {
					case err == nil && took > lasts+6500*time.Millisecond+takes:
						t.Errorf("down for %v, attempts of %v: up after %v", lasts, takes, took)
					case err != nil && (!errors.As(err, &u) || lasts < window-takes):
						t.Errorf("down for %v, attempts of %v: %v after %v", lasts, takes, err, took)
					case took > window+6500*time.Millisecond+takes:
						t.Errorf("down for %v, attempts of %v: %v after %v", lasts, takes, err, took)
					case o.attempts > 40:
						t.Errorf("down for %v: %d attempts", lasts, o.attempts)
					}
					if err := f.Close(); err != nil {
						t.Error(err)
					}
				})
			}
		}
	}
}
