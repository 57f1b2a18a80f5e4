#!/usr/bin/env bash
# fuzz.sh TIME: runs every fuzz target of the tree for TIME each.
set -euo pipefail
time=${1:-30s}
grep -rlE '^func Fuzz' --include='*_test.go' . | while read -r file; do
  dir=$(dirname "$file")
  grep -oE '^func Fuzz[A-Za-z0-9_]*' "$file" | cut -c6- | while read -r target; do
    echo "== $dir $target"
    go test "$dir" -run '^$' -fuzz "^$target\$" -fuzztime "$time"
  done
done
