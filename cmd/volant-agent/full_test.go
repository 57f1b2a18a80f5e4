package main

import (
	"bytes"
	"crypto/ed25519"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"volant/controller/fleet"
	"volant/stage/disktest"
	"volant/wire"
)

// TestFullDisk: an agent whose disk is full refuses, with words that say so, what
// it cannot stage or write down, runs nothing twice, and goes on once there is room.
func TestFullDisk(t *testing.T) {
	disk := disktest.New(t, 8<<10)
	p := startProcess(t)
	p.home = filepath.Join(disk.Dir, "home")
	var key ed25519.PrivateKey
	l, calls := p.linkTo(func(c *fleet.Config) { key = c.Key })
	run(t, l, task("echo"))
	agent := p.last().PID
	ran := filepath.Join(t.TempDir(), "ran")
	count := func() int {
		b, _ := os.ReadFile(ran)
		return strings.Count(string(b), "ran")
	}
	// refused runs nothing and says why.
	refused := func(err error, code wire.FaultCode) {
		t.Helper()
		var f *wire.Fault
		if !errors.As(err, &f) || f.Code != code || f.Started || !strings.HasSuffix(f.Text, "no space left on device") {
			t.Errorf("got %v", err)
		}
	}
	content := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
	for turn := range 2 {
		before := count()
		disk.Fill()
		q := task("append", "path", ran)
		q.Files = append(q.Files, memFile("src", "", append(content, byte(turn))))
		_, err := l.Run(t.Context(), q)
		refused(err, wire.FaultStage)
		union := memUnion{}
		text := strings.Repeat(fmt.Sprint("turn ", turn), 20_000)
		layout := func() *fleet.Request {
			q := task("layout")
			q.Union = union
			q.Task.Python = &wire.Python{Base: union.manifest(nil), File: "m.py", Extra: union.manifest(map[string]string{"m.py": text})}
			return q
		}
		var f *wire.Fault
		if _, err := l.Run(t.Context(), layout()); !errors.As(err, &f) || !strings.HasSuffix(f.Text, "no space left on device") {
			t.Errorf("a module's files: %v", err)
		}
		began := 0
		for ; began < 1000; began++ { // there is room in the journal's last block
			if _, err = l.Run(t.Context(), task("append", "path", ran)); err != nil {
				break
			}
		}
		refused(err, wire.FaultInternal)
		if n := count() - before; n != began {
			t.Errorf("%d of %d that were done ran", n, began)
		}
		disk.Empty()
		run(t, l, task("append", "path", ran))
		if got, _ := run(t, l, layout()).Result.Str("text"); got != text {
			t.Errorf("a module's file of %d bytes has %d", len(text), len(got))
		}
		q = task("cat")
		q.Files = append(q.Files, memFile("src", "", append(content, byte(turn))))
		if a := run(t, l, q); a.Result.Lookup("size") != int64(len(content)+1) {
			t.Errorf("got %v", a.Result.Dict)
		}
		if n := count() - before; n != began+1 {
			t.Errorf("%d ran of %d", n, began+1)
		}
	}
	// A new session, whose journal there is no room to begin: refused one by one.
	disk.Fill()
	ssh := sshTo{agent: func() (ed25519.PublicKey, string) {
		r := p.last()
		return r.Agent, net.JoinHostPort(r.Address, strconv.Itoa(r.Port))
	}}
	fresh := link(t, newFleet(t, ssh, quick, func(c *fleet.Config) { c.Key = key }))
	_, err := fresh.Run(t.Context(), task("append", "path", ran))
	refused(err, wire.FaultInternal)
	disk.Empty()
	run(t, fresh, task("append", "path", ran))
	if p.last().PID != agent || *calls != 1 {
		t.Errorf("another agent serves, %d logins: %d instead of %d\n%s", *calls, p.last().PID, agent, p.log())
	}
	if left := staged(p.home); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// staged are the files in an agent's staging directories.
func staged(home string) (left []string) {
	dirs, _ := filepath.Glob(filepath.Join(home, "staging", "*", "*"))
	for _, d := range dirs {
		entries, _ := os.ReadDir(d)
		for _, e := range entries {
			left = append(left, fmt.Sprint(d, "/", e.Name()))
		}
	}
	return left
}
