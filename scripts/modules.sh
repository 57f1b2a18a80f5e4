#!/usr/bin/env bash
# modules.sh REFERENCE COLLECTIONS: every case of the differential tests of the native modules, ansible.posix's too, of the
# `ansible` package that goes with the reference; it is fetched once.
set -euo pipefail
export VOLANT_ANSIBLE_CORE=$1 VOLANT_TEST_COLLECTIONS=$2 VOLANT_TEST_MODULES=all VOLANT_TEST_FUZZ=${VOLANT_TEST_FUZZ:-40}
if [ ! -d "$2/ansible_collections/ansible/posix" ]; then
  tmp=$(mktemp -d)
  trap 'rm -rf "$tmp"' EXIT
  "$1/bin/python3" -m pip download -q --no-deps -d "$tmp" 'ansible==12.*'
  mkdir -p "$2"
  "$1/bin/python3" - "$tmp" "$2" <<'PY'
import glob, sys, zipfile
z = zipfile.ZipFile(glob.glob(sys.argv[1] + '/*.whl')[0])
z.extractall(sys.argv[2], [n for n in z.namelist() if n.startswith('ansible_collections/ansible/posix/')])
PY
fi
python3 -c 'import apt' 2>/dev/null || echo "no python3-apt: the tests of apt, package_facts and apt_repository are skipped"
[ "$(id -u)" = 0 ] || echo "not root: what changes the machine is skipped"
go test -count=1 -timeout 60m ./hostagent/modules ./wire/argspec "${@:3}"
