#!/usr/bin/env bash
# test.sh: formatting, vet, every test of the tree with real SSH, real QUIC and the real reference, and
# the quick targets of ansible-core's own integration suite.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/lint.sh
# The module cron is compared with Python's where there is a crontab. Its daemon is not started.
if ! command -v crontab >/dev/null; then
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    export DEBIAN_FRONTEND=noninteractive
    RUNLEVEL=1 apt-get install -y -qq --no-install-recommends cron >/dev/null 2>&1 ||
      { apt-get update -qq >/dev/null 2>&1 && RUNLEVEL=1 apt-get install -y -qq --no-install-recommends cron >/dev/null 2>&1; } || true
  fi
  command -v crontab >/dev/null || echo "test: no crontab (Debian: apt-get install cron): the tests of the module cron are skipped" >&2
fi
export VOLANT_ANSIBLE_CORE=$PWD/.cache/reference VOLANT_BIN=$PWD/bin
go test -timeout 25m ./...
scripts/conformance.sh "" --fast
