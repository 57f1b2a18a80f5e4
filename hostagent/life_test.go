package hostagent

import (
	"crypto/ed25519"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"
	"time"

	"volant/wire"
)

func TestLoginAllowed(t *testing.T) {
	const passwd = "root:x:0:0:root:/root:/bin/bash\ndeploy:x:1000:1000::/home/deploy:/bin/bash\nsvc:x:1001:1001::/:/usr/sbin/nologin\nold:x:1002:1002::/:/bin/sh\n"
	const shadow = "deploy:!:19000:0:99999:7:::\nold:!:19000:0:99999:7::20000:\n"
	for _, c := range []struct {
		uid   int
		today int64
		want  bool
	}{{0, 20500, true}, {1000, 20500, true}, {1001, 20500, false}, {1002, 19999, true}, {1002, 20000, false}, {4242, 20500, true}} {
		if got := loginAllowed(passwd, shadow, c.uid, c.today); got != c.want {
			t.Errorf("uid %d on day %d: %v", c.uid, c.today, got)
		}
	}
}

func TestListenOn(t *testing.T) {
	at := func(s string) *Serving { return &Serving{Listen: s} }
	for _, c := range []struct {
		asked, arrived string
		s              *Serving
		want           string
	}{
		{"10.0.0.1", "10.0.0.2", at("10.0.0.2"), "10.0.0.1"},
		{"none", "10.0.0.2", nil, "none"},
		{"", "10.0.0.2", nil, "10.0.0.2"},
		{"", "10.0.0.2", at("10.0.0.2"), "10.0.0.2"},
		{"", "", at("10.0.0.2"), "10.0.0.2"},
		{"", "10.0.0.3", at("10.0.0.2"), ""}, // two networks: all addresses
		{"", "10.0.0.3", at(""), ""},
		{"", "10.0.0.3", at("none"), "none"},
	} {
		if got := listenOn(c.asked, c.arrived, c.s); got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
	for in, want := range map[string]string{"10.0.0.9 5000 10.0.0.1 22": "10.0.0.1", "fe80::1 1 fe80::2%eth0 22": "", "::1 1 ::1 22": "::1", "": "", "x": ""} {
		if got := arrivedAt(in); got != want {
			t.Errorf("%q: %q", in, got)
		}
	}
}

func TestHome(t *testing.T) {
	h := Home(filepath.Join(t.TempDir(), "home"))
	if err := h.Open(); err != nil {
		t.Fatal(err)
	}
	key, err := h.loadKey("machine a")
	if err != nil {
		t.Fatal(err)
	}
	if again, err := h.loadKey("machine a"); err != nil || !again.Equal(key) {
		t.Errorf("the key changed: %v", err)
	}
	if st, err := os.Stat(h.path("key")); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", st.Mode(), err)
	}
	pub, _, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	g := &gate{home: h}
	// Whoever runs the tests counts as somebody who may log in; TestLoginAllowed has the others.
	g.accounts, g.today = [2]stamp{stampOf("/etc/passwd"), stampOf("/etc/shadow")}, time.Now().Unix()/86400
	if g.allow(pub) == nil {
		t.Error("an unknown key is served")
	}
	if err := h.Grant(pub, "me", time.Hour); err != nil {
		t.Fatal(err)
	}
	if err := g.allow(pub); err != nil {
		t.Error(err)
	}
	if other, _, _ := ed25519.GenerateKey(nil); g.allow(other) == nil {
		t.Error("another key is served")
	}
	g.list[0].Expires = time.Now().Add(-time.Second)
	if g.allow(pub) == nil {
		t.Error("a lease that is over is served")
	}
	if cloned, err := h.loadKey("machine b"); err != nil || cloned.Equal(key) {
		t.Errorf("a clone kept its key: %v", err)
	}
	if (&gate{home: h}).allow(pub) == nil {
		t.Error("a clone serves the old controller")
	}
	if err := os.Chmod(string(h), 0o777); err != nil {
		t.Fatal(err)
	}
	if h.Open() == nil {
		t.Error("a home that others can write to is used")
	}
}

func TestSweepJournals(t *testing.T) {
	dir := t.TempDir()
	for name, age := range map[string]time.Duration{"old": 25 * time.Hour, "young": time.Hour, "live": 48 * time.Hour} {
		path := filepath.Join(dir, name+journalSuffix)
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		at := time.Now().Add(-age)
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	before, err := journalID(dir)
	if err != nil {
		t.Fatal(err)
	}
	// A clock that was set makes all of them look old: not so soon after a boot.
	if id, err := sweepJournals(dir, time.Now().AddDate(30, 0, 0), "boot", time.Hour, nil); err != nil || id != "" {
		t.Fatalf("removed an hour after the boot: %q, %v", id, err)
	}
	id, err := sweepJournals(dir, time.Now(), "boot", 48*time.Hour, map[string]bool{"live" + journalSuffix: true})
	if now, _ := journalID(dir); err != nil || id == "" || id == before || now != id {
		t.Errorf("what was removed may be sent again: %q, %q, %v", before, id, err)
	}
	if id, err := sweepJournals(dir, time.Now(), "boot", 48*time.Hour, map[string]bool{"live" + journalSuffix: true}); err != nil || id != "" {
		t.Errorf("nothing was removed: %q, %v", id, err)
	}
	left, err := filepath.Glob(filepath.Join(dir, "*"+journalSuffix))
	if err != nil || len(left) != 2 || filepath.Base(left[0]) != "live.journal" || filepath.Base(left[1]) != "young.journal" {
		t.Errorf("left: %v, %v", left, err)
	}
}

// TestSweepUnderASetClock: a journal says itself when it was written last, by what
// no clock that is set changes.
func TestSweepUnderASetClock(t *testing.T) {
	if BootID() == "" || uptime() == 0 {
		t.Skip("this kernel does not say which boot it is")
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "one"+journalSuffix)
	j, err := openJournal(path)
	if err != nil {
		t.Fatal(err)
	}
	j.seal = func(_ wire.TaskID, plain []byte) []byte { return plain }
	ids := []wire.TaskID{{Step: 1}, {Step: 2}}
	for i, id := range ids {
		if _, err := j.begin(id); err != nil {
			t.Fatal(err)
		}
		j.finish(id, []byte("result"))
		if i == 0 { // an hour later
			j.said = time.Now().Add(-sayAgain)
		}
	}
	written := uptime()
	j.close(false)
	ahead := time.Now().AddDate(30, 0, 0)
	up := written + journalAge // but for the machine, which may be up for less
	if id, err := sweepJournals(dir, ahead, BootID(), up, nil); err != nil || id != "" {
		t.Errorf("a day after it was written: %q, %v", id, err)
	}
	if last, want := lastHeader(path), time.Minute; last.Boot != BootID() || written-time.Duration(last.Up) > want {
		t.Errorf("it says %+v of itself", last)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if n := headers(b); n != 2 {
		t.Errorf("it says %d times when it was written", n)
	}
	if j, err := openJournal(path); err != nil || j.damaged || len(j.entries) != len(ids) {
		t.Errorf("it is read as %+v, %v", j, err)
	} else {
		j.close(false)
	}
	for name, test := range map[string]struct {
		now  time.Time
		boot string
		up   time.Duration
		goes bool
	}{
		"another boot's":               {ahead, "another", journalAge, true},
		"more than a day ago":          {ahead, BootID(), up + 2*sayAgain, true},
		"by what the clock alone says": {ahead, BootID(), up, false},
		"by what the boot alone says":  {time.Now(), BootID(), up + 2*sayAgain, false},
	} {
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		id, err := sweepJournals(dir, test.now, test.boot, test.up, nil)
		if _, serr := os.Stat(path); err != nil || (id != "") != test.goes || (serr != nil) != test.goes {
			t.Errorf("%s: %q, %v, %v", name, id, err, serr)
		}
	}
	// What agents of before wrote says nothing of that.
	old, err := encodeRecord(nil, recHeader, record{PID: 1, Start: "1", Version: journalVersion})
	if err == nil {
		err = os.WriteFile(path, old, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	if id, err := sweepJournals(dir, ahead, BootID(), up, nil); err != nil || id == "" {
		t.Errorf("of before: %q, %v", id, err)
	}
}

// headers counts the headers of a journal.
func headers(b []byte) (n int) {
	for len(b) >= 9 {
		if recordKind(b[8]) == recHeader {
			n++
		}
		b = b[9+binary.BigEndian.Uint32(b):]
	}
	return n
}
