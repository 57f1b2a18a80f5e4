#!/usr/bin/env bash
# bench-links.sh: what links cost. Agents are simulated on the same machine
# (volant-lab simulate: in as few processes as the limit of descriptors allows),
# each with a key, port and QUIC of its own.
#   warm connect of 1,000 and 10,000    a ping each, no SSH, links from nothing
#   memory and descriptors a link       of the controller while the links are held
#   reconnect storm                     the controller killed at 10,000 links and started again
#   few descriptors                     the same with ulimit -n 256
#   cold bootstrap of 100 hosts         the process lab: SSH, upload, enrolment, ping
# SIZES="1000 10000" COLD=100 choose how much. The last line says "bench-links: ok" or what fell short.
set -euo pipefail
bin=${VOLANT_BIN:-$PWD/bin}
sizes=${SIZES:-1000 10000}
cold=${COLD:-100}
work=$(mktemp -d /tmp/volant-bench-links-XXXX)
sim=
cleanup() {
  [ -z "$sim" ] || { kill "$sim" 2>/dev/null || true; wait "$sim" 2>/dev/null || true; }
  [ ! -d "$work/cold" ] || "$bin/volant-lab" down --dir "$work/cold" > /dev/null 2>&1 || true
  rm -rf "$work"
}
trap cleanup EXIT
ulimit -n "$(ulimit -Hn)"
export ANSIBLE_NOCOLOR=1 ANSIBLE_CONFIG="$work/ansible.cfg" XDG_CACHE_HOME="$work/cache" ANSIBLE_PYTHON_INTERPRETER=/usr/bin/python3
printf '[defaults]\ngathering = explicit\n' > "$work/ansible.cfg"
cat > "$work/ping.yml" <<'EOF'
- hosts: all
  tasks:
  - ping:
EOF
cat > "$work/hold.yml" <<'EOF'
- hosts: all
  tasks:
  - ping:
  - debug: {msg: held}
    run_once: true
  - pause: {seconds: 600}
EOF
short=

# timed NAME COMMAND...: runs it and says wall and processor seconds, and the largest resident size.
timed() {
  local name=$1; shift
  python3 - "$name" "$work/out" "$@" <<'EOF'
import os, resource, subprocess, sys, time
name, out, cmd = sys.argv[1], sys.argv[2], sys.argv[3:]
begin = time.time()
with open(out, "wb") as f:
    code = subprocess.call(cmd, stdout=f, stderr=subprocess.STDOUT)
r = resource.getrusage(resource.RUSAGE_CHILDREN)
print("%-44s %7.1f s wall %7.1f s cpu %6d MB" % (name, time.time() - begin, r.ru_utime + r.ru_stime, r.ru_maxrss // 1024))
sys.exit(code)
EOF
}

# fell NAME: what fell short, and why.
fell() { short="$short; $1"; tail -n 5 "$work/out" || true; }

ok_hosts() { grep -cE '^[a-z0-9]+ +: ok=1 ' "$work/out" || true; }

for n in $sizes; do
  "$bin/volant-lab" simulate --agents "$n" --memory --dir "$work/sim$n" > "$work/sim.log" 2>&1 &
  sim=$!
  until grep -q simulated "$work/sim.log"; do
    kill -0 "$sim" 2>/dev/null || { cat "$work/sim.log"; echo "bench-links: $n agents cannot be simulated"; exit 1; }
    sleep 0.2
  done
  export VOLANT_STATE_DIR="$work/sim$n/state"
  timed "warm connect of $n agents and a ping each" "$bin/volant" playbook -i "$work/sim$n/inventory.ini" "$work/ping.yml" || fell "connect $n"
  [ "$(ok_hosts)" = "$n" ] || fell "only $(ok_hosts) of $n answered"

  "$bin/volant" playbook -i "$work/sim$n/inventory.ini" "$work/hold.yml" > "$work/hold.log" 2>&1 &
  hold=$!
  for _ in $(seq 1200); do grep -q '"msg": "held"' "$work/hold.log" && break; kill -0 $hold 2>/dev/null || break; sleep 0.1; done
  sleep 10 # what connecting needed is given back once that is over
  rss=$(awk '/VmRSS/{print $2}' "/proc/$hold/status"); fds=$(ls "/proc/$hold/fd" | wc -l)
  a=$(awk '{print $14+$15}' "/proc/$hold/stat"); sleep 10; b=$(awk '{print $14+$15}' "/proc/$hold/stat")
  printf '%-44s %7d MB, %d KB a link, %d descriptors, %s %% of a core idle\n' "controller with $n links held" $((rss / 1024)) $((rss / n)) "$fds" $(((b - a) * 100 / 1000))
  kill -9 $hold; wait $hold 2>/dev/null || true
  timed "reconnect storm: killed, all $n back" "$bin/volant" playbook -i "$work/sim$n/inventory.ini" "$work/ping.yml" || fell "storm $n"
  [ "$(ok_hosts)" = "$n" ] || fell "only $(ok_hosts) of $n came back"
  ( ulimit -n 256; timed "the same with ulimit -n 256" "$bin/volant" playbook -i "$work/sim$n/inventory.ini" "$work/ping.yml" ) || fell "few descriptors $n"
  [ "$(ok_hosts)" = "$n" ] || fell "only $(ok_hosts) of $n with 256 descriptors"
  kill "$sim"; wait "$sim" 2>/dev/null || true; sim=
done

if [ "$cold" -gt 0 ]; then
  "$bin/volant-lab" process up --hosts "$cold" --dir "$work/cold" > /dev/null
  export VOLANT_STATE_DIR="$work/coldstate"
  timed "cold bootstrap of $cold process-lab hosts" "$bin/volant" playbook -i "$work/cold/inventory.ini" "$work/ping.yml" || fell "cold bootstrap"
  [ "$(ok_hosts)" = "$cold" ] || fell "only $(ok_hosts) of $cold were installed"
  timed "the same again, agents resident" "$bin/volant" playbook -i "$work/cold/inventory.ini" "$work/ping.yml" || fell "warm"
fi
[ -z "$short" ] || { echo "bench-links:${short#;}"; exit 1; }
echo "bench-links: ok"
