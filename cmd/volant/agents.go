//go:build !release

package main

import (
	"os"
	"path/filepath"
	"sync"

	"volant/bootstrap"
	"volant/wire"
)

// agents are the agent binaries a build without the tag release installs: those
// that lie beside the volant executable, as `make build` and `go build -o bin/`
// leave them.
var agents = sync.OnceValue(func() bootstrap.Binaries {
	dir := "."
	if exe, err := os.Executable(); err == nil {
		if real, err := filepath.EvalSymlinks(exe); err == nil { // it may be run under another name
			exe = real
		}
		dir = filepath.Dir(exe)
	}
	return bootstrap.FromDir(dir, wire.Release())
})
