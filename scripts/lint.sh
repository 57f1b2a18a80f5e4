#!/usr/bin/env bash
# gofmt and go vet always; golangci-lint with .golangci.yml where it is installed.
set -euo pipefail
bad=$(gofmt -l $(git ls-files '*.go'))
[ -z "$bad" ] || { echo "not gofmt-ed:"; echo "$bad"; exit 1; }
go vet ./...
if command -v golangci-lint >/dev/null; then golangci-lint run; else echo "golangci-lint is not installed: gofmt and go vet only"; fi
