package bootstrap

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// FuzzParseArgs: ssh arguments are the user's, but may hold anything.
func FuzzParseArgs(f *testing.F) {
	for _, s := range []string{`-o "A B" -F 'c'`, `-oA=b -Cp 22`, `-o "x`, "-"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var args sshArgs
		if err := parseArgs(s, &args); err != nil {
			return
		}
		for _, kv := range args.options {
			if kv[0] == "" || kv[0] != strings.ToLower(kv[0]) {
				t.Errorf("%q has the keyword %q", s, kv[0])
			}
		}
	})
}

func FuzzParseProbe(f *testing.F) {
	f.Add("VOLANT-PROBE-BEGIN\nsystem Linux\nmachine x86_64\nhome /h\nfree 1\nrefused /x: y\nVOLANT-PROBE-END")
	f.Fuzz(func(t *testing.T, s string) {
		p, err := parseProbe(s)
		if err == nil && (len(p.refused) > 16 || p.freeKiB < -1) {
			t.Errorf("%+v", p)
		}
	})
}

// FuzzSSHWords: what the system's ssh prints, most of which a host can choose.
func FuzzSSHWords(f *testing.F) {
	f.Add("debug1: Server host key: ssh-ed25519 SHA256:abc\r\ndebug1: Host 'h' is known and matches the ED25519 host key.\r\nAuthenticated to h ([127.0.0.1]:22) using \"publickey\".\r\n")
	f.Add("x\x1b[2J\r\nPermission denied (publickey).\r\n")
	f.Fuzz(func(t *testing.T, s string) {
		m := parseMet(s)
		if strings.ContainsAny(m.address, "]\n") {
			t.Errorf("address %q", m.address)
		}
		if w := plainWords(s, "or"); w == "" || strings.ContainsAny(w, "\x1b\x07") || len(w) > 5000 {
			t.Errorf("%d bytes: %q", len(w), w)
		}
	})
}

// FuzzConfigScan: ssh_config files are the user's, but may hold anything.
func FuzzConfigScan(f *testing.F) {
	f.Add("Host *\n GSSAPIAuthentication yes\nMatch exec \"x\"\nInclude nosuch/*\n")
	f.Add("Match\nInclude [\nKexAlgorithms=x")
	f.Fuzz(func(t *testing.T, s string) {
		file := filepath.Join(t.TempDir(), "config")
		if err := os.WriteFile(file, []byte(s), 0o600); err != nil {
			t.Skip()
		}
		c := &configScan{home: "/nosuch", root: file}
		c.file(file, 0)
		_ = needsOpen(Options{Host: "h", HomeDir: "/nosuch", CommonArgs: "-F " + file}, new(Shared))
	})
}
