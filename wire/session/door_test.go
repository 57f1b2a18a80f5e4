package session

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/quic-go/quic-go"
)

func TestDoor(t *testing.T) {
	var d door
	at := func(ip string) *quic.ClientInfo {
		return &quic.ClientInfo{RemoteAddr: &net.UDPAddr{IP: net.ParseIP(ip), Port: 1}}
	}
	var ends []context.CancelFunc
	var inside []context.Context
	enter := func(ip string) error {
		ctx, end := context.WithCancel(t.Context())
		inner, err := d.enter(ctx, at(ip))
		if err != nil {
			end()
			return err
		}
		ends, inside = append(ends, end), append(inside, inner)
		return nil
	}
	for range maxHalfOpen1 {
		if err := enter("10.0.0.1"); err != nil {
			t.Fatal(err)
		}
	}
	if enter("10.0.0.1") == nil || enter("::ffff:10.0.0.1") == nil {
		t.Error("one address may begin without bound")
	}
	if err := enter("10.0.0.2"); err != nil {
		t.Errorf("another address is refused: %v", err)
	}
	if !d.doubtful(nil) {
		t.Error("nobody has to show his address while so many are at the door")
	}
	passed(inside[0])
	passed(inside[0]) // counts once
	if err := enter("10.0.0.1"); err != nil {
		t.Errorf("no place although one has passed: %v", err)
	}
	for i := 0; d.half < maxHalfOpen; i++ {
		if err := enter(net.IPv4(10, 1, byte(i>>8), byte(i)).String()); err != nil {
			t.Fatal(err)
		}
	}
	if enter("10.2.0.1") == nil {
		t.Error("all addresses together may begin without bound")
	}
	for _, end := range ends {
		end()
	}
	for i := 0; ; i++ {
		d.mu.Lock()
		half, from := d.half, len(d.from)
		d.mu.Unlock()
		if half == 0 && from == 0 {
			break
		}
		if i > 30_000 {
			t.Fatalf("%d of %d addresses stay counted", half, from)
		}
		time.Sleep(time.Millisecond)
	}
}
