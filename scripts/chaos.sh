#!/bin/bash
# chaos.sh SEED RUNS: random faults against real agents; the last line says
# "N runs, N faults, N violations". A run is repeated by its seed. STEPS=n adds
# each of some faults after each of the first n datagrams; CLI=n chooses how many runs
# are of the command itself, killed and continued with --resume (every twentieth);
# JOBS=n runs n at once.
set -eu
cd "$(dirname "$0")/.."
seed=${1:-$(date +%s)} runs=${2:-100}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
# A standard library whose clock is off by CHAOS_CLOCK seconds: no clock of this
# machine is touched, and nothing of it is in the code.
time=$(go env GOROOT)/src/time/time.go
sed -e 's/^\tsec, nsec, mono := runtimeNow()$/&\n\tsec += clockOffset/' "$time" > "$dir/time.go"
cat >> "$dir/time.go" <<'GO'

var clockOffset = func() int64 {
	s, _ := syscall.Getenv("CHAOS_CLOCK")
	neg := len(s) > 0 && s[0] == '-'
	if neg {
		s = s[1:]
	}
	n, _ := atoi(s)
	if neg {
		n = -n
	}
	return int64(n)
}()
GO
sed -i '0,/^import (/s//import (\n\t"syscall"/' "$dir/time.go"
# A controller that notes, in the file CHAOS_SYNCED, how much of a run's journal is
# on the disk: what is behind it a power cut may take.
writer=$PWD/controller/journal/writer.go
sed -e 's/unix\.Fdatasync(int(w\.f\.Fd()))/notedSync(w.f)/' "$writer" > "$dir/writer.go"
sed -i '0,/^import (/s//import (\n\t"path\/filepath"/' "$dir/writer.go"
grep -q 'notedSync(w.f)' "$dir/writer.go"
cat >> "$dir/writer.go" <<'GO'

func notedSync(f *os.File) error {
	st, err := f.Stat()
	if err == nil {
		err = unix.Fdatasync(int(f.Fd()))
	}
	if path := os.Getenv("CHAOS_SYNCED"); err == nil && path != "" && filepath.Ext(f.Name()) == Suffix {
		err = os.WriteFile(path+".new", fmt.Append(nil, st.Size()), 0o600)
		if err == nil {
			err = os.Rename(path+".new", path)
		}
	}
	return err
}
GO
echo "{\"Replace\": {\"$time\": \"$dir/time.go\", \"$writer\": \"$dir/writer.go\"}}" > "$dir/overlay.json"
go test -c -o "$dir/chaos" ./e2e/chaos
CGO_ENABLED=0 go build -overlay "$dir/overlay.json" -o "$dir/volant-agent" ./cmd/volant-agent
CGO_ENABLED=0 go build -overlay "$dir/overlay.json" -o "$dir/volant" ./cmd/volant
CGO_ENABLED=0 go build -o "$dir/" ./cmd/volant-lab
echo "seed $seed"
# Violations are shown as they come; the count once more as the last line.
set -o pipefail
code=0
VOLANT_BIN=$dir "$dir/chaos" -test.v -test.run 'TestChaos$' -test.timeout 24h -seed "$seed" -runs "$runs" -jobs "${JOBS:-4}" -steps "${STEPS:-0}" -cli "${CLI:-$((runs / 20))}" |
  tee "$dir/out" | { grep -a --line-buffered -v -E '^(=== |PASS|FAIL|ok)|^--- |[0-9]+ runs, ' || true; } || code=$?
grep -a -E '^[0-9]+ runs, ' "$dir/out" | tail -1
exit "$code"
