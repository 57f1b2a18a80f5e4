package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"volant/metrics"
	"volant/wire/rx"
)

// benchOptions are the options of `volant bench`.
type benchOptions struct {
	Playbook    string        `arg:"" help:"Playbook to run; its hosts should be converged, so that every run does the same."`
	Inventory   []string      `short:"i" sep:"none" required:"" help:"Inventory, as for volant playbook."`
	Runs        int           `default:"3" help:"Timed runs of each contender, after one that is not timed."`
	Ansible     string        `help:"ansible-playbook to compare with; default: the one on PATH."`
	Mitogen     string        `help:"ansible-playbook of an installation that has Mitogen; default: --ansible's, where it has."`
	Only        []string      `help:"Contenders to run: volant, pipelining, plain, mitogen."`
	Extra       []string      `name:"arg" sep:"none" help:"Further argument for every contender, such as --arg=--limit=web."`
	JSON        string        `help:"Write every time and the ratios as JSON to this file."`
	MetricsFile string        `help:"Write medians and ratios as Prometheus text to this file."`
	Timeout     time.Duration `default:"30m" help:"Bound of one run."`
}

// contender is one way to run the playbook.
type contender struct {
	Name string
	argv []string
	env  []string

	optional bool // that it cannot run the playbook at all is said, and is no error
}

// benchResult is what one contender did.
type benchResult struct {
	Name    string    `json:"name"`
	Version string    `json:"version"`
	Seconds []float64 `json:"seconds"`     // timed runs, in order
	CPU     []float64 `json:"cpu_seconds"` // of the controller's processes in each
	Median  float64   `json:"median_seconds"`
	Ratio   float64   `json:"times_volant"` // its median over volant's
	Exit    int       `json:"exit_code"`
	Recap   []string  `json:"recap"`
	Same    bool      `json:"same_recap_as_volant"`
}

// benchMain runs one playbook on one inventory with Volant and with
// ansible-core, and compares recaps and times, all in this one run.
func benchMain(ctx context.Context, p *process, args []string) error {
	var opt benchOptions
	if err := parse(p, &opt, "Run a playbook with volant and with ansible-core (pipelining on and off, Mitogen where it is installed), compare the recaps and print medians and ratios.", args); err != nil {
		return err
	}
	contenders, skipped, err := findContenders(ctx, &opt)
	if err != nil {
		return err
	}
	for _, s := range skipped {
		fmt.Fprintln(p.stderr, "volant bench: "+s)
	}
	var results []benchResult
	for _, c := range contenders {
		r, err := benchOne(ctx, p, &opt, c)
		if err != nil && c.optional {
			fmt.Fprintf(p.stderr, "volant bench: %s is not compared: %v\n", c.Name, err)
			continue
		}
		if err != nil {
			return fmt.Errorf("%s: %w", c.Name, err)
		}
		results = append(results, r)
	}
	same := compareBench(results)
	if err := printBench(p.stdout, results); err != nil {
		return err
	}
	if opt.JSON != "" {
		out, err := json.MarshalIndent(map[string]any{
			"playbook": opt.Playbook, "inventory": opt.Inventory, "runs": opt.Runs,
			"when": time.Now().UTC().Format(time.RFC3339), "results": results,
		}, "", "  ")
		if err != nil {
			return err
		}
		if err := os.WriteFile(opt.JSON, append(out, '\n'), 0o644); err != nil {
			return err
		}
	}
	if opt.MetricsFile != "" {
		if err := benchMetrics(opt.MetricsFile, opt.Playbook, results); err != nil {
			return err
		}
	}
	if !same {
		return &exit{code: codeError, err: errors.New("the recaps differ: the times compare different work")}
	}
	return nil
}

func findContenders(ctx context.Context, opt *benchOptions) (list []contender, skipped []string, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, nil, fmt.Errorf("finding this program: %w", err)
	}
	wanted := func(name string) bool { return len(opt.Only) == 0 || slices.Contains(opt.Only, name) }
	common := []string{}
	for _, i := range opt.Inventory {
		common = append(common, "-i", i)
	}
	common = append(append(common, opt.Extra...), opt.Playbook)
	if wanted("volant") {
		list = append(list, contender{Name: "volant", argv: append([]string{self, "playbook"}, common...)})
	}
	ansible := opt.Ansible
	if ansible == "" {
		ansible, err = exec.LookPath("ansible-playbook")
		if err == nil {
			// A link of ours would compare volant with itself.
			if real, e := filepath.EvalSymlinks(ansible); e == nil && real == self {
				err = errors.New("ansible-playbook on PATH is volant's")
			}
		}
		if err != nil {
			return list, []string{"no ansible-playbook to compare with: " + err.Error()}, nil
		}
	}
	argv := append([]string{ansible}, common...)
	if wanted("pipelining") {
		list = append(list, contender{Name: "ansible-core, pipelining", argv: argv, env: []string{"ANSIBLE_PIPELINING=True"}})
	}
	if wanted("plain") {
		list = append(list, contender{Name: "ansible-core", argv: argv, env: []string{"ANSIBLE_PIPELINING=False"}})
	}
	if wanted("mitogen") {
		with := ansible
		if opt.Mitogen != "" {
			with = opt.Mitogen
		}
		dir, err := mitogen(ctx, with)
		if err != nil {
			skipped = append(skipped, "Mitogen is not compared: "+err.Error())
		} else {
			list = append(list, contender{
				Name: "ansible-core, Mitogen", argv: append([]string{with}, common...),
				env: []string{"ANSIBLE_STRATEGY_PLUGINS=" + dir, "ANSIBLE_STRATEGY=mitogen_linear"}, optional: true,
			})
		}
	}
	return list, skipped, nil
}

// mitogen finds Mitogen's strategy plugins in the Python that ansible-playbook
// runs with.
func mitogen(ctx context.Context, ansible string) (string, error) {
	python := filepath.Join(filepath.Dir(ansible), "python")
	if _, err := os.Stat(python); err != nil {
		python = "python3"
	}
	out, err := exec.CommandContext(ctx, python, "-c", "import ansible_mitogen, os; print(os.path.dirname(ansible_mitogen.__file__))").Output()
	if err != nil {
		return "", errors.New("it is not installed beside " + ansible)
	}
	return filepath.Join(strings.TrimSpace(string(out)), "plugins", "strategy"), nil
}

// recapLine is one host's line of a recap.
var recapLine = rx.Lazy(`^(\S+)\s+: ((?:\w+=\d+\s*)+)$`)

func benchOne(ctx context.Context, p *process, opt *benchOptions, c contender) (benchResult, error) {
	r := benchResult{Name: c.Name, Version: benchVersion(ctx, c)}
	for i := range opt.Runs + 1 {
		fmt.Fprintf(p.stderr, "%s: run %d of %d\n", c.Name, i, opt.Runs)
		run, cancel := context.WithTimeout(ctx, opt.Timeout)
		cmd := exec.CommandContext(run, c.argv[0], c.argv[1:]...)
		cmd.Env = append(append(os.Environ(), "ANSIBLE_NOCOLOR=1"), c.env...)
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		start := time.Now()
		err := cmd.Run()
		took := time.Since(start)
		cancel()
		var failed *exec.ExitError
		if err != nil && !errors.As(err, &failed) {
			return r, err
		}
		r.Exit = cmd.ProcessState.ExitCode()
		r.Recap = nil
		for _, line := range strings.Split(out.String(), "\n") {
			if m := recapLine.FindStringSubmatch(line); m != nil {
				r.Recap = append(r.Recap, m[1]+": "+strings.Join(strings.Fields(m[2]), " "))
			}
		}
		slices.Sort(r.Recap)
		if len(r.Recap) == 0 {
			return r, fmt.Errorf("no recap; it printed:\n%s", tail(out.String(), 20))
		}
		if i > 0 {
			r.Seconds = append(r.Seconds, took.Seconds())
			r.CPU = append(r.CPU, (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds())
		}
	}
	r.Median = median(r.Seconds)
	return r, nil
}

func benchVersion(ctx context.Context, c contender) string {
	args := []string{"--version"}
	out, err := exec.CommandContext(ctx, c.argv[0], args...).Output()
	if err != nil {
		return ""
	}
	first, _, _ := strings.Cut(string(out), "\n")
	return first
}

func tail(s string, n int) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

func median(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(v))
	if n := len(s); n%2 == 0 {
		return (s[n/2-1] + s[n/2]) / 2
	}
	return s[len(s)/2]
}

// compareBench fills in the ratios and whether the recaps are equal.
func compareBench(results []benchResult) (same bool) {
	same = true
	for i := range results {
		r := &results[i]
		if results[0].Median > 0 {
			r.Ratio = r.Median / results[0].Median
		}
		r.Same = slices.Equal(r.Recap, results[0].Recap)
		same = same && r.Same
	}
	return same
}

func printBench(w io.Writer, results []benchResult) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "contender\tmedian\tfastest\tslowest\tcontroller CPU\tvolant is\trecap")
	for i, r := range results {
		ratio := fmt.Sprintf("%.1f times faster", r.Ratio)
		if i == 0 {
			ratio = "-"
		}
		recap := "same"
		if !r.Same {
			recap = "DIFFERS"
		}
		fmt.Fprintf(t, "%s\t%.3f s\t%.3f s\t%.3f s\t%.3f s\t%s\t%s\n", r.Name, r.Median, slices.Min(r.Seconds), slices.Max(r.Seconds), median(r.CPU), ratio, recap)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, r := range results {
		if r.Same && r.Name != results[0].Name {
			continue
		}
		fmt.Fprintf(w, "%s:\n", r.Name)
		for _, line := range r.Recap {
			fmt.Fprintf(w, "  %s\n", line)
		}
	}
	return nil
}

func benchMetrics(path, playbook string, results []benchResult) error {
	reg := prometheus.NewRegistry()
	seconds := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "volant_bench_median_seconds", Help: "Median wall time of a contender of volant bench."}, []string{"playbook", "contender"})
	ratio := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "volant_bench_ratio", Help: "Median of a contender over volant's."}, []string{"playbook", "contender"})
	reg.MustRegister(seconds, ratio)
	for _, r := range results {
		seconds.WithLabelValues(playbook, r.Name).Set(r.Median)
		ratio.WithLabelValues(playbook, r.Name).Set(r.Ratio)
	}
	return metrics.WriteFile(reg, path)
}
