#!/usr/bin/env bash
# bench.sh: one playbook on two real systemd hosts (root), converged, with volant and with ansible-core
# side by side in one run: medians and ratios, also as JSON in dist/bench.json.
#
#   PLAYBOOK=site.yml INVENTORY=hosts  another playbook, and other hosts than a lab's
#   RUNS=3                             timed runs of each
# Without PLAYBOOK: the four roles geerlingguy.security, nginx, git and pip where ansible-galaxy can
# fetch them, else bench/modules.yml.
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH=$PWD/bin:$PATH ANSIBLE_NOCOLOR=1
reference=$PWD/.cache/reference
export VOLANT_ANSIBLE_CORE=${VOLANT_ANSIBLE_CORE:-$reference}
mkdir -p dist
if [ -z "${INVENTORY:-}" ]; then
  lab=$(mktemp -d "${TMPDIR:-/tmp}/volant-bench.XXXXXX")
  trap 'volant-lab down --dir "$lab/lab" >/dev/null 2>&1 || true; rm -rf "$lab"' EXIT
  volant-lab systemd up --hosts 2 --dir "$lab/lab"
  INVENTORY=$lab/lab/inventory.ini
  export VOLANT_STATE_DIR=$lab/state
fi
if [ -z "${PLAYBOOK:-}" ]; then
  roles=.cache/roles
  PLAYBOOK=bench/modules.yml
  if [ -d $roles/geerlingguy.pip ] || timeout 60 "$reference/bin/ansible-galaxy" role install -p $roles \
    geerlingguy.security,3.0.2 geerlingguy.nginx,3.3.1 geerlingguy.git,3.0.1 geerlingguy.pip,3.1.2 >/dev/null 2>&1; then
    PLAYBOOK=$roles/site.yml
    cat >$roles/site.yml <<'END'
- hosts: all
  become: true
  vars: {security_ssh_permit_root_login: prohibit-password}
  roles: [geerlingguy.security, geerlingguy.nginx, geerlingguy.git, geerlingguy.pip]
END
  fi
fi
export ANSIBLE_ROLES_PATH=${ANSIBLE_ROLES_PATH:-$(dirname "$PLAYBOOK")}
echo "== converging pass with volant: $PLAYBOOK"
time volant playbook -i "$INVENTORY" "$PLAYBOOK" | tail -n 4
echo "== converged passes"
volant bench -i "$INVENTORY" --ansible "$reference/bin/ansible-playbook" --runs "${RUNS:-3}" --json dist/bench.json "$PLAYBOOK"
