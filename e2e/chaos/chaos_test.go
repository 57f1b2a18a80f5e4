package chaos

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

var (
	seed = flag.Uint64("seed", 1, "the first run's seed; the others follow")
	runs = flag.Int("runs", 6, "how many runs")
	jobs = flag.Int("jobs", 4, "runs at once")
	only = flag.String("only", "", "only this fault")
	// A sub-task is over after some 30 datagrams.
	steps = flag.Int("steps", 0, "also each of some faults after each of so many datagrams")
	cli   = flag.Int("cli", 0, "also so many runs of the command itself, killed and continued with --resume")
)

// lifetime is more than a run ever needs: so many sub-tasks, each with patience.
const lifetime = 15 * time.Minute

// agentBinary builds the agent once.
var agentBinary = sync.OnceValues(func() (string, error) {
	if bin := os.Getenv("VOLANT_BIN"); bin != "" {
		if path := filepath.Join(bin, "volant-agent"); exists(path) {
			return path, nil
		}
	}
	dir, err := os.MkdirTemp("", "volant-chaos-bin-")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "volant-agent")
	cmd := exec.Command("go", "build", "-o", path, "volant/cmd/volant-agent")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", errors.New(string(out))
	}
	return path, nil
})

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func TestMain(m *testing.M) {
	flag.Parse()
	code := m.Run()
	if bin, err := agentBinary(); err == nil && os.Getenv("VOLANT_BIN") == "" {
		os.RemoveAll(filepath.Dir(bin))
	}
	os.Exit(code)
}

func TestChaos(t *testing.T) {
	if testing.Short() {
		t.Skip("starts many agents")
	}
	bin, err := agentBinary()
	if err != nil {
		t.Fatal(err)
	}
	if *only != "" && !slices.ContainsFunc(kinds, func(f fault) bool { return f.name == *only }) {
		t.Fatalf("there is no fault %q", *only)
	}
	var faults, violations, done atomic.Int64
	var wg sync.WaitGroup
	tokens := make(chan struct{}, *jobs)
	all := *runs + *steps*len(stepFaults) + *cli
	for i := range all {
		tokens <- struct{}{}
		s := *seed + uint64(i)
		step, named := 0, ""
		if n := i - *runs; n >= 0 && i < all-*cli {
			step, named = 1+n/len(stepFaults), stepFaults[n%len(stepFaults)]
		}
		wg.Go(func() {
			defer func() { <-tokens }()
			r := &chaosRun{seed: s, rng: rand.New(rand.NewPCG(s, 0)), bin: bin, dir: filepath.Join(t.TempDir(), fmt.Sprint(s)), step: step, named: named}
			late := time.AfterFunc(lifetime, func() {
				stacks := make([]byte, 4<<20)
				stacks = stacks[:runtime.Stack(stacks, true)]
				fmt.Fprintf(os.Stderr, "seed %d (%v) does not end:\n%s\n", s, r.story, stacks)
				violations.Add(1)
				t.Errorf("seed %d does not end", s)
			})
			if i < all-*cli {
				r.run()
			} else {
				r.rng = cliSeed(s)
				r.cli()
			}
			late.Stop()
			faults.Add(int64(r.faults))
			violations.Add(int64(len(r.violations)))
			for _, v := range r.violations {
				t.Errorf("seed %d (%v): %s", s, r.story, v)
			}
			if n := done.Add(1); n%100 == 0 && n < int64(all) {
				fmt.Printf("after %d of %d: %d faults, %d violations\n", n, all, faults.Load(), violations.Load())
			}
		})
	}
	wg.Wait()
	fmt.Printf("%d runs, %d faults, %d violations\n", all, faults.Load(), violations.Load())
}
