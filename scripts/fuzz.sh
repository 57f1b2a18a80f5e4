#!/usr/bin/env bash
# fuzz.sh TIME: runs every fuzz target of the tree for TIME each, and has ansible-core and ours render
# made-up templates for as long, from another seed each time.
set -euo pipefail
time=${1:-30s}
grep -rlE '^func Fuzz' --include='*_test.go' . | while read -r file; do
  dir=$(dirname "$file")
  grep -oE '^func Fuzz[A-Za-z0-9_]*' "$file" | cut -c6- | while read -r target; do
    echo "== $dir $target"
    # What goroutines do differs from one try to the next: making inputs small by trying would take a minute each.
    go test "$dir" -run '^$' -fuzz "^$target\$" -fuzztime "$time" -fuzzminimizetime 10x
  done
done
[ -n "${VOLANT_ANSIBLE_CORE-}" ] || export VOLANT_ANSIBLE_CORE=$PWD/.cache/reference
seed=$(date +%s)
echo "== templates against ansible-core, seed $seed"
go test ./controller/template/difftest -run TestGenerated -count=1 -timeout 0 -args -difftest.time "$time" -difftest.seed "$seed"

echo "== arguments and modules against ansible-core, seed $seed"
VOLANT_FUZZ_SEED=$seed go test ./wire/argspec -run TestReference -count=1
VOLANT_FUZZ_SEED=$seed VOLANT_TEST_FUZZ=60 go test ./hostagent/modules -run TestFuzz -count=1 -timeout 30m
