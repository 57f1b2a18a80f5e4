#!/bin/bash
# chaos.sh SEED RUNS: random faults against real agents; the last line says
# "N runs, N faults, N violations". A run is repeated by its seed.
set -eu
cd "$(dirname "$0")/.."
seed=${1:-$(date +%s)} runs=${2:-100}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
go test -c -o "$dir/chaos" ./e2e/chaos
CGO_ENABLED=0 go build -o "$dir/volant-agent" ./cmd/volant-agent
echo "seed $seed"
code=0
VOLANT_BIN=$dir "$dir/chaos" -test.v -test.timeout 24h -seed "$seed" -runs "$runs" -jobs "${JOBS:-4}" > "$dir/out" || code=$?
grep -v -E '^(=== |PASS|FAIL|ok)|^--- |[0-9]+ runs, ' "$dir/out" || true
grep -E '^[0-9]+ runs, ' "$dir/out" | tail -1
exit "$code"
