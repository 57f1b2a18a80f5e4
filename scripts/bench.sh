#!/usr/bin/env bash
# bench.sh [SECTION...]: volant beside ansible-core 2.19 with pipelining, without, and with Mitogen, on the same two
# systemd hosts (root): the whole runs of docs/PERFORMANCE.md, in one run. Text on standard output, JSON in
# dist/bench.json. Sections: roles cold modules community budget memory many fleet first; default: all.
#
#   PLAYBOOK=site.yml     another playbook than the four public roles, or bench/modules.yml where they cannot be fetched
#   ANSIBLE_ROLES_PATH    where the four roles are, if they are
#   RUNS=3                timed runs of each contender
set -euo pipefail
cd "$(dirname "$0")/.."
cache=$PWD/.cache
export VOLANT_ANSIBLE_CORE=${VOLANT_ANSIBLE_CORE:-$cache/reference}
export BENCH_ANSIBLE=$VOLANT_ANSIBLE_CORE/bin/ansible-playbook
mkdir -p dist "$cache"
if [ -z "${PLAYBOOK:-}" ]; then
  roles=(geerlingguy.security,3.0.2 geerlingguy.nginx,3.3.1 geerlingguy.git,3.0.1 geerlingguy.pip,3.1.2)
  where=${ANSIBLE_ROLES_PATH:-$cache/roles}
  if [ -d "$where/geerlingguy.pip" ] || timeout 60 "$VOLANT_ANSIBLE_CORE/bin/ansible-galaxy" role install -p "$where" "${roles[@]}" >/dev/null 2>&1; then
    export ANSIBLE_ROLES_PATH=$where PLAYBOOK=$cache/roles.yml
    cat >"$PLAYBOOK" <<'END'
- hosts: all
  become: true
  vars: {security_ssh_permit_root_login: prohibit-password}
  roles: [geerlingguy.security, geerlingguy.nginx, geerlingguy.git, geerlingguy.pip]
END
  else
    echo "the four roles cannot be fetched: bench/modules.yml stands in for them" >&2
    export PLAYBOOK=bench/modules.yml
  fi
fi
# Mitogen in an environment of its own, with the same ansible-core.
mitogen=$cache/mitogen
if [ ! -x "$mitogen/bin/ansible-playbook" ]; then
  python=$("$VOLANT_ANSIBLE_CORE/bin/python" -c 'import sys; print(sys.base_prefix)')/bin/python3
  if ! { "$python" -m venv "$mitogen" && "$mitogen/bin/pip" install -q --disable-pip-version-check ansible-core==2.19.12 mitogen==0.3.54; } >&2; then
    echo "Mitogen cannot be installed: it is not compared" >&2
    rm -rf "$mitogen"
  fi
fi
if [ -x "$mitogen/bin/ansible-playbook" ]; then export BENCH_MITOGEN=$mitogen/bin/ansible-playbook; fi
# community.general and ansible.posix, from the ansible package of the reference's release.
collections=$cache/collections
if [ -z "${ANSIBLE_COLLECTIONS_PATH:-}" ]; then
  if [ ! -d "$collections/ansible_collections/community/general" ]; then
    wheel=$(mktemp -d)
    if python3 -m pip download -q --disable-pip-version-check --no-deps --ignore-requires-python -d "$wheel" 'ansible==12.*' >&2; then
      python3 - "$wheel"/ansible-*.whl "$collections" <<'END'
import sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as z:
    z.extractall(sys.argv[2], [n for n in z.namelist() if n.startswith(('ansible_collections/community/general/', 'ansible_collections/ansible/posix/')) and '/tests/' not in n])
END
    else
      echo "community.general cannot be fetched: its modules are not measured" >&2
    fi
    rm -rf "$wheel"
  fi
  if [ -d "$collections" ]; then export ANSIBLE_COLLECTIONS_PATH=$collections; fi
fi
python3 scripts/bench.py "$@" | tee dist/bench.txt
