package e2e

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/quic-go/quic-go"

	"volant/wire/session"
)

// victim is an agent's process and port.
type victim struct {
	pid  int
	addr *net.UDPAddr
}

// victim installs an agent on h1 and finds it.
func (l *lab) victim() victim {
	l.t.Helper()
	out, code := l.run(2*time.Minute, "volant", "adhoc", "-i", l.inventory(), "h1", "-m", "raw", "-a", "true")
	l.want(out, code, 0)
	info, code := l.exec("h1", `cat "$HOME/.local/share/volant-agent/agent.json"`)
	if code != 0 {
		l.t.Fatal(info)
	}
	number := func(key string) int {
		_, rest, _ := strings.Cut(info, `"`+key+`":`)
		n, err := strconv.Atoi(strings.TrimSpace(rest[:strings.IndexAny(rest, ",}")]))
		if err != nil {
			l.t.Fatalf("%s in %s: %v", key, info, err)
		}
		return n
	}
	return victim{pid: number("pid"), addr: &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1), Port: number("port")}}
}

// cost is what a process used so far: resident memory in MiB and processor time.
func (v victim) cost(t *testing.T) (mib int, cpu time.Duration) {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", v.pid))
	if err != nil {
		t.Fatalf("the agent is gone: %v", err)
	}
	_, rest, _ := strings.Cut(string(status), "VmRSS:")
	kib, _ := strconv.Atoi(strings.Fields(rest)[0])
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", v.pid))
	if err != nil {
		t.Fatal(err)
	}
	f := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	user, _ := strconv.Atoi(f[11])
	sys, _ := strconv.Atoi(f[12])
	return kib / 1024, time.Duration(user+sys) * 10 * time.Millisecond
}

// deaf is a socket that hears nothing: what it begins stays half open.
type deaf struct{ net.PacketConn }

func (d deaf) ReadFrom(p []byte) (int, net.Addr, error) {
	for {
		if _, _, err := d.PacketConn.ReadFrom(p); err != nil {
			return 0, nil, err
		}
	}
}

// strangerTLS is a handshake of somebody the agent does not know.
func strangerTLS(t *testing.T) *tls.Config {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, c, c, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"volant"}, Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
}

// TestHostilePort: what the network can do to an agent's port costs little, and
// shuts nobody out who has a key.
func TestHostilePort(t *testing.T) {
	l := newLab(t, "process", "1")
	v := l.victim()
	before, _ := v.cost(t)
	answers := func(t *testing.T) {
		t.Helper()
		begin := time.Now()
		out, code := l.run(time.Minute, "volant", "adhoc", "-i", l.inventory(), "h1", "-m", "raw", "-a", "echo served")
		l.want(out, code, 0, "served")
		t.Logf("a run beside it takes %v", time.Since(begin).Round(10*time.Millisecond))
	}
	under := func(name string, limit time.Duration, attack func(ctx context.Context) int) {
		t.Run(name, func(t *testing.T) {
			_, cpu := v.cost(t)
			ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
			defer cancel()
			var sent int
			var wg sync.WaitGroup
			wg.Go(func() { sent = attack(ctx) }) // ends with ctx
			time.Sleep(500 * time.Millisecond)
			answers(t)
			wg.Wait()
			after, now := v.cost(t)
			t.Logf("%d attempts, %v of processor time, %d MiB resident (%d before)", sent, now-cpu, after, before)
			if after > before+96 {
				t.Errorf("memory went from %d to %d MiB", before, after)
			}
			if now-cpu > limit {
				t.Errorf("it took %v of processor time", now-cpu)
			}
		})
	}
	under("garbage", 3*time.Second, func(ctx context.Context) int {
		c, err := net.DialUDP("udp", nil, v.addr)
		if err != nil {
			t.Error(err)
			return 0
		}
		defer c.Close()
		n := 0
		for b := make([]byte, 1500); ctx.Err() == nil; n++ {
			_, _ = rand.Read(b[:40])
			switch n % 4 { // short and long headers, of our version and of others, cut short and too long
			case 1:
				b[0] = 0xc0
				copy(b[1:], []byte{0, 0, 0, 1, 8})
			case 2:
				b[0] = 0xf0
			case 3:
				b[0] = 0x40
			}
			_, _ = c.Write(b[:1+n*37%1500])
			if n%20 == 0 {
				time.Sleep(time.Millisecond) // 20,000 a second at most: the attacker is on our processors, too
			}
		}
		return n
	})
	under("half open", 4*time.Second, func(ctx context.Context) int {
		conf := strangerTLS(t)
		var wg sync.WaitGroup
		const many = 1500
		for i := range many {
			wg.Go(func() { // ends with ctx
				c, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, byte(1+i/200), byte(1+i%200))})
				if err != nil {
					return
				}
				tr := &quic.Transport{Conn: deaf{c}}
				defer c.Close()
				defer tr.Close()
				_, _ = tr.Dial(ctx, v.addr, conf, &quic.Config{HandshakeIdleTimeout: 4 * time.Second})
			})
			if i%50 == 0 {
				time.Sleep(20 * time.Millisecond)
			}
		}
		wg.Wait()
		return many
	})
	under("strangers", 4*time.Second, func(ctx context.Context) int {
		conf := strangerTLS(t)
		n := 0
		c, err := net.ListenUDP("udp4", nil)
		if err != nil {
			t.Error(err)
			return 0
		}
		tr := &quic.Transport{Conn: c}
		defer c.Close()
		defer tr.Close()
		for ; ctx.Err() == nil; n++ {
			conn, err := tr.Dial(ctx, v.addr, conf, nil)
			if err == nil { // the agent refuses after our end thinks it is up
				_, err = conn.AcceptStream(ctx)
			}
			if err == nil {
				t.Error("a stranger got a stream")
			}
		}
		return n
	})
	t.Run("slow loris", func(t *testing.T) {
		// A controller with a key, which the agent serves, that never says a word.
		key := l.controllerKey(t)
		id, err := session.NewIdentity(key)
		if err != nil {
			t.Fatal(err)
		}
		udp, err := net.ListenUDP("udp4", nil)
		if err != nil {
			t.Fatal(err)
		}
		e := session.NewEndpoint(udp, id)
		defer e.Close()
		agent := l.agentKey(t)
		for range 200 {
			if _, err := e.Dial(t.Context(), v.addr, agent); err != nil {
				t.Fatal(err)
			}
		}
		answers(t)
		if after, _ := v.cost(t); after > before+96 {
			t.Errorf("memory went from %d to %d MiB", before, after)
		}
	})
}

// controllerKey reads the lab's controller's key.
func (l *lab) controllerKey(t *testing.T) ed25519.PrivateKey {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(l.home, "state", "controller.key"))
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(text)
	if block == nil {
		t.Fatal("the controller's key is no PEM")
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return key.(ed25519.PrivateKey)
}

// agentKey reads the key that the controller pinned.
func (l *lab) agentKey(t *testing.T) ed25519.PublicKey {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(l.home, "state", "pins", "*.json"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%v, %v", files, err)
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	var pin struct {
		Agent ed25519.PublicKey `json:"agent"`
	}
	if err := json.Unmarshal(text, &pin); err != nil {
		t.Fatal(err)
	}
	return pin.Agent
}
