package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"volant/controller/fault"
	"volant/controller/journal"
	"volant/hostagent"
)

// takeResume takes --resume and the run it names, if any, out of args: what
// else they say is that run's.
func takeResume(args []string) (name string, rest []string, ok bool) {
	for i, a := range args {
		value, given := strings.CutPrefix(a, "--resume=")
		switch {
		case a == "--":
			return "", args, false
		case given:
			return value, slices.Concat(args[:i], args[i+1:]), true
		case a == "--resume" && i+1 < len(args) && !strings.HasPrefix(args[i+1], "-"):
			return args[i+1], slices.Concat(args[:i], args[i+2:]), true
		case a == "--resume":
			return "", slices.Concat(args[:i], args[i+1:]), true
		}
	}
	return "", args, false
}

// resumeMain goes on with a run that was broken off, with the options it was
// started with and those given now.
func resumeMain(ctx context.Context, p *process, name string, args []string) error {
	var given playbookOptions
	now := *p
	now.optional = true
	if err := parse(&now, &given, "Run playbooks on the hosts of an inventory.", args); err != nil {
		return err
	}
	if len(given.Playbook) > 0 {
		return &fault.Error{Kind: fault.Options, Msg: "--resume goes on with the playbooks of the run; none can be given."}
	}
	j, err := configure(p, 0)
	if err != nil {
		return err
	}
	if name == "" {
		return j.listRuns()
	}
	key, err := j.identity()
	if err != nil {
		return err
	}
	run, err := j.findRun(name)
	if err != nil {
		return err
	}
	past, w, err := journal.Resume(j.runPath(run), key, hostagent.BootID(), time.Now().UnixNano())
	switch {
	case errors.Is(err, journal.ErrBusy):
		return &fault.Error{Msg: fmt.Sprintf("The run %s is going on in another process.", run)}
	case err != nil:
		return err
	case w == nil:
		j.display.Print(fmt.Sprintf("The run %s came to its end on %s with code %d; there is nothing to resume.",
			run, local(past.End.Time), past.End.Code), "")
		if past.End.Code != 0 {
			return &exit{code: int(past.End.Code)}
		}
		return nil
	}
	if err := changed(past.Files); err != nil {
		return errors.Join(err, w.Close())
	}
	h := past.Header
	again := *j.process
	again.dir = h.Dir
	if err := os.Chdir(h.Dir); err != nil {
		return errors.Join(fmt.Errorf("resuming a run: %w", err), w.Close())
	}
	var all playbookOptions
	if err := parse(&again, &all, "Run playbooks on the hosts of an inventory.", slices.Concat(args, h.Args)); err != nil {
		return errors.Join(err, w.Close())
	}
	k, err := configure(&again, all.Verbose)
	if err != nil {
		return errors.Join(err, w.Close())
	}
	k.greet()
	k.display.Print(fmt.Sprintf("Resuming the run %s of %s, begun on %s: %d tasks are done.",
		run, strings.Join(h.Playbooks, ", "), local(h.Created), past.Results()), "")
	return k.playbooks(ctx, &all, &keeper{args: h.Args, header: h, w: w, past: past})
}

func local(ns int64) string { return time.Unix(0, ns).Format("2006-01-02 15:04:05") }

// findRun is the name of the run that is called so, of the only one whose name
// begins so, or of the last that was broken off: only this one is looked for in
// the files.
func (j *project) findRun(name string) (string, error) {
	if name == "last" {
		return j.lastBroken()
	}
	names, err := journal.Names(j.runsDir())
	if err != nil {
		return "", err
	}
	if slices.Contains(names, name) {
		return name, nil
	}
	names = slices.DeleteFunc(names, func(n string) bool { return !strings.HasPrefix(n, name) })
	if len(names) == 1 {
		return names[0], nil
	}
	return "", &fault.Error{Msg: fmt.Sprintf("There is no run %q that could be resumed.", name), Help: "Without a name, --resume lists the runs."}
}

// lastBroken is the name of the last run that was broken off.
func (j *project) lastBroken() (string, error) {
	key, err := j.identity()
	if err != nil {
		return "", err
	}
	runs, err := journal.List(j.runsDir(), key)
	if err != nil {
		return "", err
	}
	for _, r := range runs {
		if r.Err == nil && !r.Running && (r.End == nil || r.End.Interrupted) {
			return r.Name, nil
		}
	}
	return "", &fault.Error{Msg: "There is no run that was broken off."}
}

// runsMain lists the runs that were written down, or removes one.
func runsMain(_ context.Context, p *process, args []string) error {
	var opt struct {
		verbosityOptions
		Remove []string `sep:"none" placeholder:"RUN" help:"Remove what is kept of a run. May be given more than once."`
	}
	if err := parse(p, &opt, "List the runs that are kept: those that were broken off can be resumed (volant playbook --resume RUN).", args); err != nil {
		return err
	}
	j, err := configure(p, opt.Verbose)
	if err != nil {
		return err
	}
	for _, name := range opt.Remove {
		run, err := j.findRun(name)
		if err != nil {
			return err
		}
		if err := journal.Remove(j.runPath(run)); err != nil {
			return err
		}
	}
	if len(opt.Remove) > 0 {
		return nil
	}
	return j.listRuns()
}

func (j *project) listRuns() error {
	key, err := j.identity()
	if err != nil {
		return err
	}
	runs, err := journal.List(j.runsDir(), key)
	if err != nil {
		return err
	}
	if len(runs) == 0 {
		fmt.Fprintln(j.stdout, "There are no runs.")
		return nil
	}
	t := tabwriter.NewWriter(j.stdout, 0, 8, 2, ' ', 0)
	fmt.Fprintln(t, "RUN\tBEGUN\tSTATE\tTASKS DONE\tPLAYBOOKS")
	for _, r := range runs {
		if r.Err != nil {
			fmt.Fprintf(t, "%s\t\tcannot be read: %v\t\t\n", r.Name, r.Err)
			continue
		}
		state, tasks := "broken off", fmt.Sprint(r.Results)
		switch {
		case r.Running:
			state = "running"
		case r.End != nil && r.End.Interrupted:
			state = "interrupted"
		case r.End != nil:
			state, tasks = fmt.Sprintf("ended with code %d", r.End.Code), ""
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", r.Name, local(r.Header.Created), state, tasks, strings.Join(r.Header.Playbooks, ", "))
	}
	return t.Flush()
}
