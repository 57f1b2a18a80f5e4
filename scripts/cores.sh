#!/usr/bin/env bash
# cores.sh: every way a Python module runs, with each supported ansible-core as the source of modules and each
# Python of this machine that it supports. VERSIONS="2.17 2.21" for some; PYTHONS="/path ..." for others.
set -euo pipefail
cd "$(dirname "$0")/.."
cache=$PWD/.cache/cores
declare -A oldest=([2.17]=7 [2.18]=8 [2.19]=8 [2.20]=9 [2.21]=9) # of Python 3, on managed hosts
pythons=(${PYTHONS:-})
if [ ${#pythons[@]} = 0 ]; then
  for minor in 7 8 9 10 11 12 13 14; do
    for p in python3.$minor "$HOME"/.pyenv/versions/3.$minor.*/bin/python; do
      if found=$(command -v "$p") && "$found" -c pass 2>/dev/null; then pythons+=("$("$found" -c 'import sys; print(sys.executable)')"); break; fi
    done
  done
fi
scratch=$(mktemp -d "${TMPDIR:-/tmp}/volant-cores.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
export ANSIBLE_NOCOLOR=1 VOLANT_NATIVE_MODULES=false VOLANT_FACTS=python VOLANT_STATE_DIR=$scratch/state
failed=0
for version in ${VERSIONS:-2.17 2.18 2.19 2.20 2.21}; do
  core=$cache/$version
  if [ ! -d "$core/ansible" ]; then
    mkdir -p "$core"
    python3 -m pip download -q --disable-pip-version-check --no-deps --ignore-requires-python -d "$core" "ansible-core==$version.*"
    python3 -m zipfile -e "$core"/ansible_core-*.whl "$core"
  fi
  for python in "${pythons[@]}"; do
    minor=$("$python" -c 'import sys; print(sys.version_info[1])')
    if [ "$minor" -lt "${oldest[$version]}" ]; then continue; fi
    out=$(VOLANT_ANSIBLE_CORE=$core/ansible timeout 300 bin/volant playbook -i localhost, -c local \
      -e "ansible_python_interpreter=$python scratch=$scratch" e2e/testdata/cores/site.yml 2>&1) && rc=0 || rc=$?
    if [ $rc = 0 ]; then
      echo "ansible-core $version, Python 3.$minor: $(grep '^localhost ' <<<"$out" | tr -s ' ')"
    else
      failed=1
      printf 'ansible-core %s, Python 3.%s: FAILED, exit code %s\n%s\n' "$version" "$minor" "$rc" "$out"
    fi
  done
done
exit $failed
