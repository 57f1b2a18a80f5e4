package template

import (
	"testing"
	"time"

	"volant/wire/value"
)

// The values were recorded from CPython 3.11.
func TestRandomSeeds(t *testing.T) {
	for _, c := range []struct {
		seed any
		n    uint64
		want uint64
	}{
		{"web1", 100, 41}, {"web2", 100, 45}, {int64(42), 60, 40}, {1.5, 100, 70}, {"", 100, 58}, {int64(7), 10, 5},
	} {
		r, err := newRandom(c.seed)
		if err != nil {
			t.Fatal(err)
		}
		if got := r.below(c.n); got != c.want {
			t.Errorf("seed %v: got %d, want %d", c.seed, got, c.want)
		}
	}
	if _, err := newRandom(value.ListOf()); err == nil {
		t.Error("a list is a seed")
	}
}

func TestStrftime(t *testing.T) {
	at := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	for layout, want := range map[string]string{
		"%Y-%m-%d %H:%M:%S":                    "2026-03-04 05:06:07",
		"%j %U %W %w %a %b %d %V %G":           "063 09 09 3 Wed Mar 04 10 2026",
		"%A, %d %B %Y %I:%M %p %y %e %-d %Z%z": "Wednesday, 04 March 2026 05:06 AM 26  4 4 GMT+0000",
		"%F %T %D %R %s %%":                    "2026-03-04 05:06:07 03/04/26 05:06 1772600767 %",
		"%q %":                                 "%q %",
	} {
		if got := Strftime(layout, at, "GMT"); got != want {
			t.Errorf("%s: got %q, want %q", layout, got, want)
		}
	}
}

func TestStrptime(t *testing.T) {
	for _, c := range []struct{ in, layout, want string }{
		{"2026-03-04 05:06:07", "%Y-%m-%d %H:%M:%S", "2026-03-04T05:06:07"},
		{"4 Mar 26 05 pm", "%d %b %y %I %p", "2026-03-04T17:00:00"},
		{"063 2026", "%j %Y", "2026-03-04T00:00:00"},
		{"2026-03-04T05:06:07.5+0200", "%Y-%m-%dT%H:%M:%S.%f%z", "2026-03-04T05:06:07.500000+02:00"},
		{"bad", "%Y", "time data 'bad' does not match format '%Y'"},
		{"2026x", "%Y", "unconverted data remains: x"},
		{"2026-02-30", "%Y-%m-%d", "day is out of range for month"},
		{"x", "%Q", "'Q' is a bad directive in format '%Q'"},
	} {
		v, err := strptime(c.in, c.layout)
		got := ""
		if err != nil {
			got = err.Error()
		} else {
			got = value.FormatTime(v.(time.Time), "T")
		}
		if got != c.want {
			t.Errorf("%s as %s: got %q, want %q", c.in, c.layout, got, c.want)
		}
	}
}

func TestPaths(t *testing.T) {
	for in, want := range map[string]string{"a//b/../c/.": "a/c", "//x": "//x", "///x/": "/x", "": ".", "/..": "/", "../a": "../a"} {
		if got := normPath(in); got != want {
			t.Errorf("normPath(%q) = %q, want %q", in, got, want)
		}
	}
	for in, want := range map[string][2]string{"a/b.tar.gz": {"a/b.tar", ".gz"}, ".bashrc": {".bashrc", ""}, "a.d/b": {"a.d/b", ""}, "..x": {"..x", ""}} {
		if r, e := splitExt(in); r != want[0] || e != want[1] {
			t.Errorf("splitExt(%q) = %q, %q", in, r, e)
		}
	}
	for in, want := range map[string][2]string{`C:\a\b`: {"C:", `\a\b`}, `\\h\s\x`: {`\\h\s`, `\x`}, "a": {"", "a"}} {
		if d, r := winDrive(in); d != want[0] || r != want[1] {
			t.Errorf("winDrive(%q) = %q, %q", in, d, r)
		}
	}
	for name, safe := range map[string]bool{"a/b": true, "Debian.yml": true, "/a": false, "a/../b": false, "a//b": false, "~/x": false, "": false, "$HOME/x": false, "./a": false} {
		if safeName(name) != safe {
			t.Errorf("safeName(%q) is %v", name, !safe)
		}
	}
}

func TestPasswords(t *testing.T) {
	for _, c := range []struct {
		kind, salt string
		rounds     int64
		want       string
	}{
		{"sha512_crypt", "fixedsalt", 5000, "$6$fixedsalt$7AmDuj.e.Vmh2imaMoejkt2h1reZvJYdc8EOamC0hD8MHW.aBz4Gt1yxd9b3EkaCPJSFcK5PWFYnBxS37hDE30"},
		{"md5_crypt", "saltsalt", 0, "$1$saltsalt$9xy1btjgzLYfb7hivXtC//"},
		{"bcrypt", "1234567890123456789012", 5, "$2b$05$123456789012345678901u.97m5mwuxOR3RvRKYm9sasohx5Mnzwq"},
	} {
		var rounds any
		if c.rounds > 0 {
			rounds = c.rounds
		}
		got, err := hashPassword(nil, c.kind, "secret", c.salt, nil, rounds, nil)
		if err != nil || got != c.want {
			t.Errorf("%s: got %v %v", c.kind, got, err)
		}
	}
}

func TestIniFile(t *testing.T) {
	f := &iniFile{interpolate: true}
	err := f.read("[DEFAULT]\nshared = yes\n[a]\nport: 80\nUrl = http://h:%(port)s/\nlong = one\n  two\n; note\n[b]\nx=1\n")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ section, key, want string }{
		{"a", "url", "http://h:80/"}, {"a", "shared", "yes"}, {"a", "LONG", "one\ntwo"}, {"b", "x", "1"},
	} {
		if v, ok, err := f.get(c.section, c.key); !ok || err != nil || v != c.want {
			t.Errorf("%s.%s: %v %v %v", c.section, c.key, v, ok, err)
		}
	}
	if err := (&iniFile{}).read("[a]\nx=1\nx=2\n"); err == nil {
		t.Error("a duplicate key passes")
	}
}

func TestVersions(t *testing.T) {
	for _, c := range []struct {
		kind, a, b string
		less       bool
	}{
		{"loose", "1.9", "1.10.2", true}, {"loose", "1.0", "1.0.0", true}, {"strict", "1.0a1", "1.0", true},
		{"semver", "2.0.0-alpha.1", "2.0.0-alpha.beta", true}, {"semver", "2.0.0", "2.0.0-rc1", false},
		{"pep440", "1.0.dev1", "1.0a1", true}, {"pep440", "1.0", "1.0.post1", true}, {"pep440", "9.9", "1!0.5", true}, {"pep440", "1.0rc1", "1.0", true},
	} {
		a, err := versionKinds[c.kind](c.a)
		if err != nil {
			t.Fatal(err)
		}
		b, err := versionKinds[c.kind](c.b)
		if err != nil {
			t.Fatal(err)
		}
		if less, err := value.Less(a, b); err != nil || less != c.less {
			t.Errorf("%s < %s (%s): %v %v", c.a, c.b, c.kind, less, err)
		}
	}
}
