#!/usr/bin/env bash
# reference.sh DIR: ansible-core 2.19.12 in a virtual environment at DIR, made once. Tests compare
# with it and modules that are not native come from it.
set -euo pipefail
dir=$1 want=2.19.12
if [ -x "$dir/bin/ansible" ] && "$dir/bin/python" -c "import ansible.release as r; raise SystemExit(r.__version__ != '$want')" 2>/dev/null; then
  exit 0
fi
python=""
for p in python3.13 python3.12 python3.11 python3; do
  if command -v "$p" >/dev/null && "$p" -c 'import sys; raise SystemExit(sys.version_info < (3, 11))' 2>/dev/null; then python=$p; break; fi
done
if [ -z "$python" ]; then
  echo "volant: Python 3.11 or newer is missing; ansible-core $want needs it (Debian: apt-get install python3 python3-venv)" >&2
  exit 1
fi
rm -rf "$dir"
if ! "$python" -m venv "$dir" >/tmp/volant-venv.$$ 2>&1; then
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    apt-get install -y -qq python3-venv >/dev/null 2>&1 || { apt-get update -qq && apt-get install -y -qq python3-venv >/dev/null; }
    rm -rf "$dir" && "$python" -m venv "$dir"
  else
    cat /tmp/volant-venv.$$ >&2; rm -f /tmp/volant-venv.$$
    echo "volant: cannot make a virtual environment (Debian: apt-get install python3-venv)" >&2
    exit 1
  fi
fi
rm -f /tmp/volant-venv.$$
"$dir/bin/pip" install -q --disable-pip-version-check "ansible-core==$want" passlib bcrypt ||
  { echo "volant: pip cannot install ansible-core==$want: no way to PyPI?" >&2; rm -rf "$dir"; exit 1; }
