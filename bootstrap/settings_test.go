package bootstrap

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestResolve(t *testing.T) {
	home := t.TempDir()
	if err := os.MkdirAll(filepath.Join(home, ".ssh"), 0o700); err != nil {
		t.Fatal(err)
	}
	config := "Host web\n  HostName web.example\n  User cfg\n  Port 2200\n  IdentityFile ~/.ssh/web_%r\n  ProxyJump bastion\n  StrictHostKeyChecking accept-new\nHost *\n  UserKnownHostsFile ~/kh\n"
	if err := os.WriteFile(filepath.Join(home, ".ssh/config"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	type summary struct {
		Host, User, Strict string
		Port               int
		Keys               []string
		Known              string
		Jump               []string
		Timeout            time.Duration
	}
	for name, tc := range map[string]struct {
		o    Options
		want summary
	}{
		"ssh_config": {Options{Host: "web"}, summary{"web.example", "cfg", "accept-new", 2200, []string{home + "/.ssh/web_cfg"}, home + "/kh", []string{"bastion"}, 10 * time.Second}},
		"variables win": {Options{Host: "web", User: "u", Port: 22, PrivateKeyFile: "~/k", NoHostKeyCheck: true, Timeout: 3 * time.Second},
			summary{"web.example", "u", "no", 22, []string{home + "/k", home + "/.ssh/web_u"}, home + "/kh", []string{"bastion"}, 3 * time.Second}},
		"arguments win over ssh_config": {Options{Host: "web", CommonArgs: `-o ProxyJump=none -oUserKnownHostsFile=/dev/null -o "StrictHostKeyChecking yes" -Cp 23`, ExtraArgs: "-o Port=24 -l me"},
			summary{"web.example", "me", "yes", 23, []string{home + "/.ssh/web_me"}, "/dev/null", nil, 10 * time.Second}},
		"no file": {Options{Host: "web", CommonArgs: "-F none", PrivateKeyFile: "/k"}, summary{"web", "local", "yes", 22, []string{"/k"}, home + "/.ssh/known_hosts", nil, 10 * time.Second}},
	} {
		t.Run(name, func(t *testing.T) {
			tc.o.HomeDir, tc.o.LocalUser = home, "local"
			s, err := resolve(tc.o, new(Shared))
			if err != nil {
				t.Fatal(err)
			}
			got := summary{s.hostName, s.user, s.strict, s.port, nil, s.knownHosts[0], s.proxyJump, s.timeout}
			for _, id := range s.identities {
				got.Keys = append(got.Keys, id.path)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	for name, o := range map[string]Options{
		"file":   {Host: "h", CommonArgs: "-F /nosuch/config"},
		"value":  {Host: "h", CommonArgs: "-o Port"},
		"port":   {Host: "h", CommonArgs: "-p http"},
		"strict": {Host: "h", CommonArgs: "-o StrictHostKeyChecking=maybe"},
		"quote":  {Host: "h", CommonArgs: "-o 'x"},
		"word":   {Host: "h", CommonArgs: "-C host"},
	} {
		o.HomeDir = home
		if _, err := resolve(o, new(Shared)); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
