package chaos

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	cliHosts = 2
	// cliPatience is for the command's last attempt, which nobody kills.
	cliPatience = 4 * time.Minute
	lostText    = "The agent on this host stopped while the task ran; it may or may not have completed."
)

// cliRun is a whole command that is killed and continued with --resume until it
// comes to its end, on a lab of its own.
type cliRun struct {
	*chaosRun
	bin   string
	tasks []string // names of what runs on every host
	boot  string   // the controller's boot id where it is not the machine's: a file
	begun bool     // one attempt got as far as a journal
}

// cli runs the seed's.
func (r *chaosRun) cli() {
	c := &cliRun{chaosRun: r, bin: filepath.Dir(r.bin)}
	if err := os.MkdirAll(filepath.Join(r.dir, "ran"), 0o755); err != nil {
		r.violate("%v", err)
		return
	}
	lab := filepath.Join(r.dir, "lab")
	defer func() {
		if out, err := c.command("volant-lab", "down", "--dir", lab).CombinedOutput(); err != nil {
			r.violate("taking the lab down: %v: %s", err, out)
		}
	}()
	up := []string{"process", "up", "--hosts", fmt.Sprint(cliHosts), "--dir", lab}
	if r.rng.IntN(4) == 0 { // where the agent's binary can be
		up = append(up, "--env", fmt.Sprintf("CHAOS_CLOCK=%d", (r.rng.IntN(80*365)-40*365)*24*3600))
		r.tell("clocks of the hosts years off")
	}
	if out, err := c.command("volant-lab", up...).CombinedOutput(); err != nil {
		r.violate("starting the lab: %v: %s", err, out)
		return
	}
	site := filepath.Join(r.dir, "site.yml")
	if err := os.WriteFile(site, []byte(c.playbook()), 0o600); err != nil {
		r.violate("%v", err)
		return
	}
	first := []string{"playbook", "-i", filepath.Join(lab, "inventory.ini"), site}
	args := first
	before := ""
	for range 1 + r.rng.IntN(3) {
		out, code, ended := c.killed(args)
		if ended {
			c.judge(out, code, before)
			return
		}
		before += out
		args = c.next(first)
		c.harm()
	}
	out, code := c.whole(args)
	if strings.Contains(out, nothingLeft) && !c.begun {
		out, code = c.whole(first)
	}
	c.judge(out, code, before)
}

const nothingLeft = "There is no run that was broken off."

// playbook is what runs: tasks that say in files of their own that they ran, and
// whose results have to arrive.
func (c *cliRun) playbook() string {
	var b strings.Builder
	strategy := "linear"
	if c.rng.IntN(3) == 0 {
		strategy = "free"
	}
	fmt.Fprintf(&b, "- hosts: all\n  gather_facts: false\n  strategy: %s\n  tasks:\n  - set_fact: {token: \"{{ 1000000 | random }}\"}\n", strategy)
	ran := func(name string) string {
		return fmt.Sprintf(`echo "ran" >> %s/ran/{{ inventory_hostname }}-%s`, c.dir, name)
	}
	for i := range 3 + c.rng.IntN(4) {
		name := fmt.Sprintf("t%d", i)
		sleep := fmt.Sprintf("0.%d", c.rng.IntN(5))
		switch c.rng.IntN(4) {
		case 0: // a loop
			n := 2 + c.rng.IntN(3)
			for k := range n {
				c.tasks = append(c.tasks, fmt.Sprintf("%s.%d", name, k))
			}
			fmt.Fprintf(&b, "  - shell: %s.{{ item }}; sleep %s; echo {{ item }} {{ token }}\n    loop: \"{{ range(%d) | list }}\"\n    register: %s\n", ran(name), sleep, n, name)
			fmt.Fprintf(&b, "  - assert: {that: \"(%s.results | map(attribute='stdout') | list) == (range(%d) | map('string') | map('regex_replace', '$', ' ' ~ token) | list)\"}\n", name, n)
		case 1: // with a file on its way
			c.tasks = append(c.tasks, name)
			fmt.Fprintf(&b, "  - copy: {content: \"{{ token }}{{ 'x' * %d }}\", dest: \"%s/{{ inventory_hostname }}-%s\"}\n", 1+c.rng.IntN(200_000), c.dir, name)
			fmt.Fprintf(&b, "  - shell: %s; head -c {{ token | string | length }} %s/{{ inventory_hostname }}-%s\n    register: %s\n", ran(name), c.dir, name, name)
			fmt.Fprintf(&b, "  - assert: {that: \"%s.stdout == token | string\"}\n", name)
		default:
			c.tasks = append(c.tasks, name)
			fmt.Fprintf(&b, "  - shell: %s; sleep %s; echo %s {{ token }}\n    register: %s\n    notify: last\n", ran(name), sleep, name, name)
			fmt.Fprintf(&b, "  - assert: {that: \"%s.stdout == '%s ' ~ token\"}\n", name, name)
		}
	}
	c.tasks = append(c.tasks, "end")
	fmt.Fprintf(&b, "  - command: \"true\"\n    notify: last\n  handlers:\n  - name: last\n    shell: %s\n", ran("end"))
	return b.String()
}

// command is one of ours, run as on a machine whose boot id is the one there is now.
func (c *cliRun) command(name string, args ...string) *exec.Cmd {
	args = append([]string{filepath.Join(c.bin, name)}, args...)
	if c.boot != "" {
		args = append([]string{"unshare", "--mount", "sh", "-c", `mount --bind "$0" /proc/sys/kernel/random/boot_id && exec "$@"`, c.boot}, args...)
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = c.dir
	cmd.Env = append(os.Environ(), "HOME="+c.dir, "VOLANT_STATE_DIR="+filepath.Join(c.dir, "state"), "XDG_CACHE_HOME="+filepath.Join(c.dir, "cache"),
		"ANSIBLE_NOCOLOR=1", "ANSIBLE_CONFIG=/dev/null", "CHAOS_SYNCED="+c.synced())
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd
}

// killed starts the command and kills it some time later; ended: it was quicker.
func (c *cliRun) killed(args []string) (out string, code int, ended bool) {
	var b bytes.Buffer
	cmd := c.command("volant", args...)
	cmd.Stdout, cmd.Stderr = &b, &b
	if err := cmd.Start(); err != nil {
		c.violate("%v", err)
		return "", 0, false
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }() // ends with the command, which is killed
	select {
	case <-time.After(time.Duration(100+c.rng.IntN(4000)) * time.Millisecond):
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	case <-done:
		if len(args) > 1 && args[1] == "--resume" && !c.begun && cmd.ProcessState.ExitCode() != 0 {
			return b.String(), 0, false // there was nothing to resume yet
		}
		return b.String(), cmd.ProcessState.ExitCode(), true
	}
	err := <-done
	if cmd.ProcessState.Exited() { // a moment before it was killed
		return b.String(), cmd.ProcessState.ExitCode(), true
	}
	c.faults++
	c.tell("the command killed (%v)", err)
	return b.String(), 0, false
}

// next is how to go on: there is a journal, or the run never got that far.
func (c *cliRun) next(first []string) []string {
	if runs, _ := filepath.Glob(filepath.Join(c.dir, "state", "runs", "*.run")); len(runs) > 0 {
		c.begun = true
		return []string{"playbook", "--resume", "last"}
	}
	return first
}

// harm does what else may go wrong before the command is continued.
func (c *cliRun) harm() {
	switch c.rng.IntN(6) {
	case 0:
		c.faults++
		c.lossy = true
		c.tell("agents killed")
		for h := range cliHosts {
			c.signalAgent(h+1, syscall.SIGKILL)
		}
	case 1:
		c.faults++
		c.tell("an agent ended")
		c.signalAgent(1+c.rng.IntN(cliHosts), syscall.SIGTERM)
	case 2:
		if !ownBoot() {
			return
		}
		c.faults++
		c.tell("the controller's machine rebooted")
		c.boot = filepath.Join(c.dir, "boot_id")
		id := fmt.Sprintf("%08x-0000-4000-8000-%012x\n", c.rng.Uint32(), c.rng.Uint64()>>16)
		if err := os.WriteFile(c.boot, []byte(id), 0o644); err != nil {
			c.violate("%v", err)
		}
		if c.rng.IntN(3) > 0 {
			c.cut()
		}
	case 3:
		time.Sleep(time.Duration(c.rng.IntN(1500)) * time.Millisecond)
	}
}

// synced is a file that says how much of the journal is on the disk, where the
// command can.
func (c *cliRun) synced() string { return filepath.Join(c.dir, "synced") }

// cut takes off the journal's end, as a power cut does: any part of what was
// written and never synced.
func (c *cliRun) cut() {
	b, err := os.ReadFile(c.synced())
	if err != nil {
		return // nothing was synced yet, or nobody says
	}
	journals, _ := filepath.Glob(filepath.Join(c.dir, "state", "runs", "*.run"))
	kept, err := strconv.ParseInt(string(b), 10, 64)
	if len(journals) != 1 || err != nil {
		return
	}
	st, err := os.Stat(journals[0])
	if err != nil || st.Size() <= kept {
		return
	}
	end := kept + c.rng.Int64N(st.Size()-kept+1)
	c.tell("%d of %d bytes of its journal lost", st.Size()-end, st.Size())
	if err := os.Truncate(journals[0], end); err != nil {
		c.violate("%v", err)
	}
}

func (c *cliRun) signalAgent(host int, s syscall.Signal) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cmd := c.command("volant-lab", "exec", "--dir", filepath.Join(c.dir, "lab"), fmt.Sprintf("h%d", host),
		`sed -n 's/.*"pid":[ ]*\([0-9]*\).*/\1/p' "$VOLANT_AGENT_HOME/agent.json" | xargs -r kill -`+fmt.Sprint(int(s)))
	stop := context.AfterFunc(ctx, func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
	defer stop()
	_, _ = cmd.CombinedOutput() // there may be none yet
}

// whole runs the command to its end.
func (c *cliRun) whole(args []string) (out string, code int) {
	cmd := c.command("volant", args...)
	var b bytes.Buffer
	cmd.Stdout, cmd.Stderr = &b, &b
	if err := cmd.Start(); err != nil {
		c.violate("%v", err)
		return "", 0
	}
	late := time.AfterFunc(cliPatience, func() {
		c.violate("%v does not end", args)
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	})
	_ = cmd.Wait()
	late.Stop()
	return b.String(), cmd.ProcessState.ExitCode()
}

// judge compares how the last attempt ended with what ran. before is what those said
// that were killed: one may have come to its end, and nothing was left to be
// resumed; one may have said what was lost.
func (c *cliRun) judge(out string, code int, before string) {
	lost := c.lossy && strings.Contains(before+out, lostText)
	if c.begun && strings.Contains(out, nothingLeft) {
		if out, code = before, 0; lost {
			code = 2
		}
	}
	lost = lost && code == 2
	if code != 0 && !lost {
		c.violate("exit %d:\n%s", code, out)
	}
	for h := range cliHosts {
		for _, name := range c.tasks {
			b, err := os.ReadFile(filepath.Join(c.dir, "ran", fmt.Sprintf("h%d-%s", h+1, name)))
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				c.violate("%v", err)
			}
			if n := strings.Count(string(b), "ran"); n > 1 || n == 0 && code == 0 {
				c.violate("%s on h%d ran %d times, exit %d:\n%s", name, h+1, n, code, out)
			}
		}
	}
}

// cliSeed keeps a command's chance apart from that of the runs beside it.
func cliSeed(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 1<<32)) }
