#!/usr/bin/env bash
# demo.sh: several hosts, a playbook with a role through SSH bootstrap and QUIC, twice, with the
# recap, where the time went and a few metrics; then everything is taken down again.
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH=$PWD/bin:$PATH
hosts=${HOSTS:-3}
dir=$(mktemp -d "${TMPDIR:-/tmp}/volant-demo.XXXXXX")
kind=process
if [ "$(id -u)" = 0 ] && [ -z "${DEMO_PROCESS:-}" ] && [ "$(uname -s)" = Linux ] && command -v apt-get >/dev/null; then kind=systemd; fi
cleanup() {
  volant-lab down --dir "$dir/lab" >/dev/null 2>&1 || true
  rm -rf "$dir"
}
trap cleanup EXIT
trap 'exit 130' INT TERM

say() { printf '\n\033[1m== %s\033[0m\n' "$*"; }
[ -t 1 ] || say() { printf '\n== %s\n' "$*"; }

say "ansible-core, the source of the Python modules"
volant setup

say "$hosts $kind hosts"
if ! volant-lab "$kind" up --hosts "$hosts" --dir "$dir/lab"; then
  [ "$kind" = systemd ] || exit 1
  echo "systemd hosts cannot be started here; going on with hosts that are processes"
  volant-lab down --dir "$dir/lab" >/dev/null 2>&1 || true
  kind=process
  volant-lab process up --hosts "$hosts" --dir "$dir/lab"
fi

export VOLANT_STATE_DIR=$dir/state ANSIBLE_NOCOLOR=${ANSIBLE_NOCOLOR:-}
run() { # run N: the playbook, timed, its metrics in N.prom
  local start end
  start=$(date +%s%N)
  volant playbook -i "$dir/lab/inventory.ini" demo/site.yml --metrics-file "$dir/$1.prom"
  end=$(date +%s%N)
  echo "pass $1: $(((end - start) / 1000000)) ms"
}
say "first pass: agents are installed over SSH, then everything runs over QUIC"
run 1
say "second pass: the agents are resident, nothing changes"
run 2 | tee "$dir/second"
if ! grep -qE 'changed=0 ' "$dir/second" || grep -qE 'changed=[1-9]' "$dir/second"; then
  echo "the second pass changed something" >&2
  exit 1
fi

say "a few metrics of the second pass"
grep -hE '^volant_(run_duration|run_hosts|connects|union_bytes|subtasks_total|round_trip_seconds_(sum|count))' "$dir/2.prom" | sort
say "where the time of its tasks went (sum over hosts, seconds)"
grep -hE '^volant_(task_phase|subtask)_seconds_(sum|count)' "$dir/2.prom" | sort
