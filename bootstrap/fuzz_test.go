package bootstrap

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func FuzzSplitWords(f *testing.F) {
	for _, s := range []string{`-o "A B" 'c'`, `a\ b`, `"x`, "\\"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		words, err := splitWords(s)
		if err != nil {
			return
		}
		quoted := make([]string, len(words))
		for i, w := range words {
			quoted[i] = quote(w)
		}
		again, err := splitWords(strings.Join(quoted, " "))
		if err != nil || !cmp.Equal(words, again) {
			t.Errorf("%q became %q, %v", words, again, err)
		}
		var args sshArgs
		_ = parseArgs(s, &args)
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
