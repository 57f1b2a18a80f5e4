package fleet

import (
	"context"
	"crypto/ed25519"
	"errors"
	"sync"
	"testing"

	"volant/wire/session"
)

// TestCloseWhileLinking: who asks for links while the fleet is closed gets an
// error, and nothing is begun that Close does not wait for.
func TestCloseWhileLinking(t *testing.T) {
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	for range 300 {
		f, err := New(Config{Key: key, Local: func(context.Context) (session.Conn, error) { return nil, errors.New("not today") }})
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() { // ends once the fleet is closed
				for {
					if _, err := f.Local(t.Context()); errors.Is(err, errOver) {
						return
					} else if err == nil {
						t.Error("a link to nowhere")
						return
					}
				}
			})
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
		wg.Wait()
	}
}
