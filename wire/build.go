package wire

import (
	"runtime/debug"
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
