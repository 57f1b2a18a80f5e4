#!/usr/bin/env bash
# test.sh: formatting, vet, every test of the tree with real SSH, real QUIC and the real reference, and
# the quick targets of ansible-core's own integration suite.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/lint.sh
export VOLANT_ANSIBLE_CORE=$PWD/.cache/reference VOLANT_BIN=$PWD/bin
go test -timeout 25m ./...
scripts/conformance.sh "" --fast
