package facts

import (
	"net/netip"
	"os/exec"
	"testing"

	"volant/wire/value"
)

// TestRouteIsWhatIPSays compares the kernel's answer with what `ip` prints of it.
func TestRouteIsWhatIPSays(t *testing.T) {
	ip, err := exec.LookPath("ip")
	if err != nil {
		t.Skip("no ip")
	}
	r := &run{ctx: t.Context(), host: &Host{Environ: []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin"}}}
	for _, c := range []struct{ family, target string }{
		{"-4", "8.8.8.8"}, {"-4", "127.0.0.1"}, {"-4", "127.1.2.3"}, {"-4", "224.0.0.1"}, {"-4", "255.255.255.255"},
		{"-6", "2404:6800:400a:800::1012"}, {"-6", "::1"}, {"-6", "ff02::1"},
	} {
		want := r.ipRoute(ip, c.family, c.target)
		got, ok := routeTo(netip.MustParseAddr(c.target))
		if !ok {
			if c.target == "8.8.8.8" {
				t.Errorf("%s: the kernel did not answer", c.target)
			}
			continue
		}
		if !value.Equal(got, want) {
			t.Errorf("%s: got %s, ip says %s", c.target, value.Repr(got), value.Repr(want))
		}
	}
}
