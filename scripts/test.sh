#!/usr/bin/env bash
# test.sh: formatting, vet, every test of the tree with real SSH, real QUIC and the real reference.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/lint.sh
export VOLANT_ANSIBLE_CORE=$PWD/.cache/reference VOLANT_BIN=$PWD/bin
go test -timeout 9m ./...
