//go:build release

package main

import (
	"embed"
	"io/fs"
	"sync"

	"volant/bootstrap"
	"volant/wire"
)

//go:embed agents/*.gz agents/*.json
var packedAgents embed.FS

// agents are the agent binaries a release carries; `make build` packs them.
var agents = sync.OnceValue(func() bootstrap.Binaries {
	dir, err := fs.Sub(packedAgents, "agents")
	if err != nil { // only for a name that is no path
		dir = packedAgents
	}
	return bootstrap.FromFS(dir, wire.Release())
})
