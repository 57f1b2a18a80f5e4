package hostagent

import (
	"crypto/ed25519"
	"os"
	"path/filepath"
	"testing"
	"time"
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
	if id, err := sweepJournals(dir, time.Now().AddDate(30, 0, 0), time.Hour, nil); err != nil || id != "" {
		t.Fatalf("removed an hour after the boot: %q, %v", id, err)
	}
	id, err := sweepJournals(dir, time.Now(), 48*time.Hour, map[string]bool{"live" + journalSuffix: true})
	if now, _ := journalID(dir); err != nil || id == "" || id == before || now != id {
		t.Errorf("what was removed may be sent again: %q, %q, %v", before, id, err)
	}
	if id, err := sweepJournals(dir, time.Now(), 48*time.Hour, map[string]bool{"live" + journalSuffix: true}); err != nil || id != "" {
		t.Errorf("nothing was removed: %q, %v", id, err)
	}
	left, err := filepath.Glob(filepath.Join(dir, "*"+journalSuffix))
	if err != nil || len(left) != 2 || filepath.Base(left[0]) != "live.journal" || filepath.Base(left[1]) != "young.journal" {
		t.Errorf("left: %v, %v", left, err)
	}
}
