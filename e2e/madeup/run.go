package madeup

import (
	"bufio"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"volant/controller/template/difftest"
	"volant/wire/rx"
)

//go:embed testdata/forks.py
var forks string

// limit bounds one run of either program.
const limit = 60 * time.Second

// Outcome is what a run left behind.
type Outcome struct {
	Code           int
	Stdout, Stderr string
	Files          map[string]string
}

// Programs runs projects with both programs, in the same directory.
type Programs struct {
	work   string
	volant string
	env    []string
	python string
	ref    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
}

// Start readies both programs: volant is ours, work a directory of the test.
func Start(ctx context.Context, volant, work string) (*Programs, error) {
	py, err := difftest.Python()
	if err != nil {
		return nil, err
	}
	p := &Programs{work: work, volant: volant, python: py, env: []string{
		"PATH=" + filepath.Dir(py) + ":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		"HOME=" + filepath.Join(work, "home"), "LC_ALL=C.UTF-8", "PYTHONHASHSEED=0", "COLUMNS=80",
		"VOLANT_ANSIBLE_CORE=" + filepath.Dir(filepath.Dir(py)), "VOLANT_STATE_DIR=" + filepath.Join(work, "state"),
	}}
	if err := os.MkdirAll(filepath.Join(work, "home"), 0o700); err != nil {
		return nil, err
	}
	script := filepath.Join(work, "forks.py")
	if err := os.WriteFile(script, []byte(forks), 0o600); err != nil {
		return nil, err
	}
	p.ref = exec.CommandContext(ctx, py, script)
	p.ref.Env, p.ref.Dir = p.env, work
	if p.in, err = p.ref.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.ref.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.out = bufio.NewReader(out)
	if err := p.ref.Start(); err != nil {
		return nil, fmt.Errorf("starting ansible-core: %w", err)
	}
	return p, nil
}

// Close ends ansible-core.
func (p *Programs) Close() error {
	return errors.Join(p.in.Close(), p.ref.Wait())
}

func (p *Programs) dir() string { return filepath.Join(p.work, "p") }

// Reference runs a project with ansible-core.
func (p *Programs) Reference(project *Project) (Outcome, error) {
	if err := project.Write(p.dir()); err != nil {
		return Outcome{}, err
	}
	stdout, stderr := filepath.Join(p.work, "stdout"), filepath.Join(p.work, "stderr")
	req, err := json.Marshal(map[string]any{"dir": p.dir(), "out": stdout, "err": stderr,
		"argv": append([]string{filepath.Join(filepath.Dir(p.python), "ansible-playbook")}, project.Args...), "timeout": limit.Seconds()})
	if err != nil {
		return Outcome{}, err
	}
	if _, err := p.in.Write(append(req, '\n')); err != nil {
		return Outcome{}, fmt.Errorf("asking ansible-core: %w", err)
	}
	line, err := p.out.ReadString('\n')
	if err != nil {
		return Outcome{}, fmt.Errorf("reading ansible-core's answer: %w", err)
	}
	o := Outcome{}
	if o.Code, err = strconv.Atoi(strings.TrimSpace(line)); err != nil {
		return Outcome{}, err
	}
	for file, to := range map[string]*string{stdout: &o.Stdout, stderr: &o.Stderr} {
		b, err := os.ReadFile(file)
		if err != nil {
			return Outcome{}, err
		}
		*to = string(b)
	}
	return p.finish(o)
}

// Volant runs a project with ours.
func (p *Programs) Volant(ctx context.Context, project *Project) (Outcome, error) {
	if err := project.Write(p.dir()); err != nil {
		return Outcome{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, p.volant, project.Args...)
	cmd.Args[0] = "ansible-playbook" // answers to that name
	cmd.Dir, cmd.Env = p.dir(), append(slices.Clone(p.env), "PWD="+p.dir())
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.WaitDelay = time.Second
	err := cmd.Run()
	o := Outcome{Stdout: stdout.String(), Stderr: stderr.String()}
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		o.Code = -999
	case errors.As(err, &exit):
		o.Code = exit.ExitCode()
	case err != nil:
		return Outcome{}, fmt.Errorf("running %s: %w", p.volant, err)
	}
	return p.finish(o)
}

// changing are texts that change from run to run of one program.
var changing = []struct {
	find *rx.Pattern
	put  string
}{
	{rx.Lazy(`(?m)^(ansible-playbook) \[core [^\]]*\]\n(?:  .*\n)+`), "$1 [core]\n"},
	{rx.Lazy(`[^\s"'=]*/ansible-tmp-\d+\.\d+-\d+-\d+`), "TMP"},
	{rx.Lazy(`ansible-local-\d+[0-9a-z_]+(/tmp[0-9a-z_]{8})?`), "ansible-local"},
	{rx.Lazy(`\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:\.\d+)?`), "TIME"},
	{rx.Lazy(`\b\d+:\d\d:\d\d\.\d{3,6}\b`), "DELTA"},
	{rx.Lazy(`"elapsed": \d+`), "ELAPSED"},
	{rx.Lazy(`"(mtime|atime|ctime|inode|dev)": [\d.]+`), "$1"},
}

func (p *Programs) finish(o Outcome) (Outcome, error) {
	for _, c := range changing {
		o.Stdout, o.Stderr = c.find.ReplaceAllString(o.Stdout, c.put), c.find.ReplaceAllString(o.Stderr, c.put)
	}
	var err error
	o.Files, err = written(p.dir())
	return o, err
}

// Both runs a project with both programs.
func (p *Programs) Both(ctx context.Context, project *Project) (ref, ours Outcome, err error) {
	if ref, err = p.Reference(project); err != nil {
		return ref, ours, err
	}
	ours, err = p.Volant(ctx, project)
	return ref, ours, err
}

// Equal tells whether two outcomes are the same.
func (o Outcome) Equal(other Outcome) bool {
	return o.Code == other.Code && o.Stdout == other.Stdout && o.Stderr == other.Stderr && maps.Equal(o.Files, other.Files)
}

// String is an outcome as text, to be compared line by line.
func (o Outcome) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "exit code %d\n--- stdout\n%s--- stderr\n%s", o.Code, o.Stdout, o.Stderr)
	for _, name := range slices.Sorted(maps.Keys(o.Files)) {
		fmt.Fprintf(&b, "--- %s\n%s\n", name, o.Files[name])
	}
	return b.String()
}
