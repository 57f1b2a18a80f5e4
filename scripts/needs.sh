#!/usr/bin/env bash
# What building needs: Go. Go 1.21 or newer fetches the version go.mod names by itself.
set -euo pipefail
if ! command -v go >/dev/null; then
  for d in /usr/local/go/bin "$HOME/go/bin" /usr/lib/go/bin; do
    [ -x "$d/go" ] && { echo "volant: Go is in $d but not on PATH: run  export PATH=$d:\$PATH" >&2; exit 1; }
  done
  echo "volant: Go is missing. Install Go 1.21 or newer (https://go.dev/doc/install); the version that go.mod names is then fetched by itself." >&2
  exit 1
fi
if ! go version >/dev/null 2>&1; then
  echo "volant: 'go version' fails: $(go version 2>&1 | head -n 1)" >&2
  exit 1
fi
