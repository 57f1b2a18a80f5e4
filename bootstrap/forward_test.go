package bootstrap

import (
	"os"
	"path/filepath"
	"testing"
)

// TestForwards: the ssh-agent is lent where ssh would forward it, and there is one.
func TestForwards(t *testing.T) {
	home := t.TempDir()
	if err := os.Mkdir(filepath.Join(home, ".ssh"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, ".ssh", "config"), []byte("Host trusted\n  ForwardAgent yes\nHost other\n  ForwardAgent $OTHER_AGENT\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		o    Options
		want string
	}{
		"nobody asks":       {Options{Host: "h", AuthSock: "/run/mine"}, ""},
		"-A":                {Options{Host: "h", AuthSock: "/run/mine", ExtraArgs: "-A"}, "/run/mine"},
		"-A, no agent":      {Options{Host: "h", ExtraArgs: "-A"}, ""},
		"-o":                {Options{Host: "h", AuthSock: "/run/mine", CommonArgs: "-o ForwardAgent=yes"}, "/run/mine"},
		"a path":            {Options{Host: "h", CommonArgs: "-o ForwardAgent=~/agent"}, home + "/agent"},
		"configured":        {Options{Host: "trusted", AuthSock: "/run/mine"}, "/run/mine"},
		"configured, not":   {Options{Host: "trusted", AuthSock: "/run/mine", ExtraArgs: "-a"}, ""},
		"a variable":        {Options{Host: "other"}, "/run/other"},
		"IdentityAgent":     {Options{Host: "h", AuthSock: "/run/mine", CommonArgs: "-A -o IdentityAgent=/run/its"}, "/run/its"},
		"a pipe to nowhere": {Options{Host: "h", AuthSock: "/run/mine", ExtraArgs: "-A", Command: []string{"docker"}}, ""},
	} {
		c.o.HomeDir, c.o.Getenv = home, func(name string) (string, bool) { return "/run/other", name == "OTHER_AGENT" }
		if got := Forwards(c.o); got != (c.want != "") {
			t.Errorf("%s: %v", name, got)
		}
		if s, err := resolve(c.o, new(Shared)); err != nil || len(c.o.Command) == 0 && s.forward != c.want {
			t.Errorf("%s: %q, %v", name, s.forward, err)
		}
	}
}

func BenchmarkForwards(b *testing.B) {
	o := Options{Host: "h1", Port: 2222, User: "deploy", AuthSock: "/run/mine", HomeDir: "/root", CommonArgs: "-o UserKnownHostsFile=/x -o StrictHostKeyChecking=yes", Shared: new(Shared)}
	b.ReportAllocs()
	for b.Loop() {
		Forwards(o)
	}
}
