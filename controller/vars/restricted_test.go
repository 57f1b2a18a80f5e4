package vars

import (
	"regexp"
	"strings"
	"testing"
)

// TestRestricted: names are dropped as ansible-core's patterns drop them.
func TestRestricted(t *testing.T) {
	patterns := regexp.MustCompile(`^ansible_become_|^ansible_.*_interpreter$|^volant_|^ansible_(local|paramiko|paramiko_ssh|psrp|ssh|winrm)_`)
	bridge := regexp.MustCompile(`^ansible_(local|paramiko|paramiko_ssh|psrp|ssh|winrm)_(.*_)?(gw)?bridge$`)
	for _, start := range []string{"", "ansible_", "x_ansible_", "volant_", "ansible_ansible_"} {
		for _, middle := range []string{"", "ssh", "ssh_", "paramiko_", "paramiko_ssh_", "local_", "winrm_", "psrp_", "become_", "python", "ssh_host_key_", "distribution", "a\nb", "_"} {
			for _, end := range []string{"", "_interpreter", "_interpreter\n", "interpreter", "_bridge", "_gwbridge", "bridge", "_user"} {
				name := start + middle + end
				want := restricted[name] || patterns.MatchString(name) && !(bridge.MatchString(name) && !strings.HasSuffix(name, "_interpreter"))
				if strings.HasPrefix(name, "ansible_ssh_host_key_") {
					want = false
				}
				if got := Restricted(name); got != want {
					t.Errorf("%q: %v, want %v", name, got, want)
				}
			}
		}
	}
	for name := range restricted {
		if !Restricted(name) {
			t.Errorf("%q is not", name)
		}
	}
}
