package fleet

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"volant/wire/session"
)

// errFlapping says that a link comes up and is lost, over and over.
var errFlapping = errors.New("the link is lost again and again before the agent answers")

// lost is why a connection ended before the agent answered: it may have said so.
func (lv *live) lost() error {
	var closed *session.ClosedError
	if errors.As(session.Cause(lv.conn), &closed) && closed.Code == session.CodeRefused {
		return fmt.Errorf("the agent refuses the link: %s", closed.Reason)
	}
	return errFlapping
}

// settled is how long a connection lasts that counts as none that flaps.
const settled = time.Second

// flapping keeps an agent that is met and lost again and again from being dialled
// without a pause or an end, as one could that means no good.
type flapping struct {
	n     int       // connections in a row that did not last
	since time.Time // the first loss since the agent last answered; zero: it did
}

// lost notes the end of a connection that was up from up on. It reports whether
// the agent has now said nothing for longer than the window.
func (f *flapping) lost(up, now time.Time, answered bool, window time.Duration) bool {
	if f.n++; now.Sub(up) >= settled {
		f.n = 0
	}
	switch {
	case answered:
		f.since = time.Time{}
	case f.since.IsZero():
		f.since = now
	}
	return !f.since.IsZero() && now.Sub(f.since) > window
}

// pause waits before the next connection: not after the first that was lost.
func (f *flapping) pause(ctx context.Context) error {
	if f.n < 2 {
		return nil
	}
	d := min(50*time.Millisecond<<min(f.n, 6), 2*time.Second)
	select { // full jitter
	case <-time.After(d/4 + rand.N(d)):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
