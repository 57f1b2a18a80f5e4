package difftest

import (
	"bufio"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

// ErrNoReference says that no ansible-core was found to compare with.
var ErrNoReference = errors.New("no ansible-core: set VOLANT_ANSIBLE_CORE to its virtual environment")

//go:embed testdata/templar.py
var templar string

// Answer is what a template gave.
type Answer struct {
	Want  string `json:"want,omitempty"`  // the repr of its value
	Class string `json:"class,omitempty"` // or the class of its error
	Error string `json:"error,omitempty"` // and the first line of its message
	Skip  bool   `json:"skip,omitempty"`  // nothing to compare with
	// Seconds is how long what Time asked for took.
	Seconds float64 `json:"seconds,omitempty"`
}

// Reference is a Python process with ansible-core's templar in it.
type Reference struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// Python is the interpreter of the ansible-core that VOLANT_ANSIBLE_CORE names,
// else of the one on the path.
func Python() (string, error) {
	if dir := os.Getenv("VOLANT_ANSIBLE_CORE"); dir != "" {
		path := filepath.Join(dir, "bin", "python")
		if _, err := os.Stat(path); err != nil {
			return "", ErrNoReference
		}
		return path, nil
	}
	ansible, err := exec.LookPath("ansible")
	if err != nil {
		return "", ErrNoReference
	}
	if ansible, err = filepath.EvalSymlinks(ansible); err != nil {
		return "", ErrNoReference
	}
	path := filepath.Join(filepath.Dir(ansible), "python3")
	if _, err := os.Stat(path); err != nil {
		return "", ErrNoReference
	}
	return path, nil
}

// StartReference starts the process; it ends with ctx or Close. vars is a JSON
// file of variables.
func StartReference(ctx context.Context, vars, home string) (*Reference, error) {
	python, err := Python()
	if err != nil {
		return nil, err
	}
	config := filepath.Join(home, "empty.cfg")
	if err := os.WriteFile(config, nil, 0o600); err != nil {
		return nil, fmt.Errorf("writing a configuration: %w", err)
	}
	cmd := exec.CommandContext(ctx, python, "-c", templar, vars)
	cmd.Env = []string{"PATH=/usr/bin:/bin", "HOME=" + home, "LC_ALL=C.UTF-8", "ANSIBLE_CONFIG=" + config, "PYTHONHASHSEED=0"}
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("opening the reference's input: %w", err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("opening the reference's output: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting the reference: %w", err)
	}
	return &Reference{cmd: cmd, in: in, out: bufio.NewReader(out)}, nil
}

// Render has the reference render a template.
func (r *Reference) Render(template string) (Answer, error) {
	return r.ask(map[string]any{"template": template})
}

// Time has engine, "jinja2" or "templar", render a template times times. What
// Jinja2 compiles it compiles once.
func (r *Reference) Time(template, engine string, times int) (Answer, error) {
	return r.ask(map[string]any{"template": template, "engine": engine, "times": times})
}

func (r *Reference) ask(question map[string]any) (Answer, error) {
	line, err := json.Marshal(question)
	if err != nil {
		return Answer{}, fmt.Errorf("writing a template: %w", err)
	}
	if _, err := r.in.Write(append(line, '\n')); err != nil {
		return Answer{}, fmt.Errorf("writing to the reference: %w", err)
	}
	if line, err = r.out.ReadBytes('\n'); err != nil {
		return Answer{}, fmt.Errorf("reading from the reference: %w", err)
	}
	var a Answer
	if err := json.Unmarshal(line, &a); err != nil {
		return Answer{}, fmt.Errorf("reading the reference's answer: %w", err)
	}
	return a, nil
}

// Close ends the process.
func (r *Reference) Close() error {
	_ = r.in.Close()
	if err := r.cmd.Wait(); err != nil {
		return fmt.Errorf("ending the reference: %w", err)
	}
	return nil
}
