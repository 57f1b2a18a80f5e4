#!/bin/bash
# soak.sh TIME: the same short runs again and again; fails when memory,
# descriptors or goroutines of either end grow.
set -eu
cd "$(dirname "$0")/.."
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
go test -c -o "$dir/chaos" ./e2e/chaos
CGO_ENABLED=0 go build -o "$dir/volant-agent" ./cmd/volant-agent
VOLANT_BIN=$dir "$dir/chaos" -test.v -test.run 'TestSoak$' -test.timeout 24h -soak "${1:-10m}"
