package wire

import (
	"runtime/debug"
	"strconv"
	"strings"
)

// Build is the release of this binary, linked in by the Makefile.
var Build = ""

// Release is the release of this binary: linked in, else what the Go toolchain
// recorded, else 0.0.0-devel.
func Release() string {
	if Build != "" {
		return Build
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		if v := info.Main.Version; v != "" && !strings.HasPrefix(v, "(") {
			return strings.TrimPrefix(v, "v")
		}
	}
	return "0.0.0-devel"
}

// NewerRelease tells whether release a is strictly newer than b. What is no
// MAJOR.MINOR.PATCH is never newer; what follows a dash or plus does not count.
func NewerRelease(a, b string) bool {
	x, okX := parseRelease(a)
	y, okY := parseRelease(b)
	if !okX || !okY {
		return false
	}
	for i := range x {
		if x[i] != y[i] {
			return x[i] > y[i]
		}
	}
	return false
}

func parseRelease(s string) (v [3]int, ok bool) {
	s = strings.TrimPrefix(strings.TrimSpace(s), "v")
	if i := strings.IndexAny(s, "-+"); i >= 0 {
		s = s[:i]
	}
	parts := strings.Split(s, ".")
	if len(parts) != 3 {
		return v, false
	}
	for i, p := range parts {
		n, err := strconv.Atoi(p)
		if err != nil || n < 0 {
			return v, false
		}
		v[i] = n
	}
	return v, true
}
