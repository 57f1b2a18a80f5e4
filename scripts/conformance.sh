#!/usr/bin/env bash
# conformance.sh [CORPUS] [ARGUMENT...]: how much of what ansible-core does, Volant does.
# With CORPUS, the recorded playbook and template cases in that folder; without, ansible-core's own
# integration targets (arguments go to conformance.py: names of targets, --fast). Nothing of them is
# kept in the repository: they are fetched from PyPI into .cache once. With --fast (as part of
# `make test`) those that take a second, with the reference of the tests and no throw-away systems.
set -euo pipefail
cd "$(dirname "$0")/.."
corpus=${1-}
[ $# -eq 0 ] || shift
shims=.cache/conformance/shims
mkdir -p "$shims"
shims=$(cd "$shims" && pwd)
bin/volant shims "$shims" >/dev/null

if [ -n "$corpus" ]; then
  code=0
  python3 "$corpus/run_playbooks.py" --bin "$shims" || code=1
  for cases in "$corpus"/templating/*.jsonl; do
    [ -e "$cases" ] || continue
    bin/volant-corpus templating --base "$corpus/templating/base.json" "$cases" || code=1
  done
  exit $code
fi

version=2.19.12
cache=.cache/conformance
suite=$cache/ansible_core-$version
if [ ! -d "$suite" ]; then
  .cache/reference/bin/pip download -q --disable-pip-version-check --no-deps --no-binary :all: -d "$cache" "ansible-core==$version" || {
    echo "volant: the suite of ansible-core $version cannot be fetched: no way to PyPI?" >&2
    [ "${1-}" != --fast ] || { echo "volant: SKIPPED: the fast targets of ansible-core's suite" >&2; exit 0; }
    exit 1
  }
  tar -xzf "$cache/ansible_core-$version.tar.gz" -C "$cache"
fi
if [ "${1-}" = --fast ]; then
  exec python3 scripts/conformance.py --suite "$suite" --reference .cache/reference --cache "$cache" --bin "$shims" --timeout 60 "$@"
fi
# A Python of the system's where there is one: other users of the targets must be able to run it.
venv=$cache/venv
if ! "$venv/bin/python" -c 'import ansible, passlib, pexpect' 2>/dev/null; then
  python=python3
  if /usr/bin/python3 -c 'import sys, ensurepip; raise SystemExit(sys.version_info < (3, 11))' 2>/dev/null; then python=/usr/bin/python3; fi
  rm -rf "$venv"
  "$python" -m venv "$venv"
  "$venv/bin/pip" install -q --disable-pip-version-check "ansible-core==$version" passlib bcrypt pexpect==4.8.0
fi
run() { python3 scripts/conformance.py --suite "$suite" --reference "$venv" --cache "$cache" --lab bin/volant-lab "$@"; }
run --missing "$@" # what ansible-core itself passes is the denominator; found out once
run --bin "$shims" --doc docs/CONFORMANCE.md "$@"
