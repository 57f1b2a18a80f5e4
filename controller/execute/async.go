package execute

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"math/big"
	"os"
	"time"

	"volant/actions"
	"volant/controller/events"
	"volant/wire/value"
)

// jobID is the name of a background job, in the reference's form.
func jobID() string {
	n, err := rand.Int(rand.Reader, big.NewInt(1_000_000_000_000))
	if err != nil {
		n = big.NewInt(time.Now().UnixNano() % 1_000_000_000_000)
	}
	return fmt.Sprintf("j%012d.%d", n.Int64(), os.Getpid())
}

// poll waits for the background job that res describes.
func (it *item) poll(ctx context.Context, res Dict) (Dict, error) {
	jid, ok := res.Get("ansible_job_id")
	if !ok || jid == nil {
		res := value.DictOf("failed", true, "msg", "No job id was returned by the async task")
		it.emit(events.AsyncFailed{Host: it.h.name, Outcome: &events.Outcome{Value: res, Status: events.Failed}})
		return res, nil
	}
	final, err := it.wait(ctx, text(jid))
	if err != nil {
		return nil, err
	}
	o := events.Outcome{Value: final, Status: status(final)}
	if value.Truth(final.Lookup("failed")) {
		it.emit(events.AsyncFailed{Host: it.h.name, Outcome: &o})
	} else {
		it.emit(events.AsyncOK{Host: it.h.name, Outcome: &o})
	}
	return final, nil
}

func (it *item) wait(ctx context.Context, jid string) (Dict, error) {
	ask := func(mode string) (Dict, error) {
		args := value.DictOf("jid", jid)
		if mode != "" {
			args.Set("mode", mode)
		}
		run := it.actionRun(ctx)
		t := *run.Task
		t.Action, t.Args, t.RawArgs, t.Async, t.Poll = "ansible.legacy.async_status", args, args, 0, 0
		run.Task = &t
		return actions.Start(ctx, run)
	}
	var last Dict
	for left := it.f.async; left > 0; left -= it.f.poll {
		if !sleep(ctx, time.Duration(it.f.poll)*time.Second) {
			return nil, ctx.Err()
		}
		res, err := ask("")
		if err != nil {
			if ctx.Err() != nil || left <= it.f.poll {
				return nil, err
			}
			var gone *actions.Unreachable
			if !errors.As(err, &gone) {
				it.r.opt.Display.Verbose(4, fmt.Sprintf("Exception during async poll, retrying... (%s)", err))
			}
			continue
		}
		last = res
		if value.Truth(res.Lookup("finished")) || value.Truth(res.Lookup("failed")) && value.Truth(res.Lookup("_ansible_parsed")) || value.Truth(res.Lookup("skipped")) {
			break
		}
		o := events.Outcome{Value: res, Status: status(res)}
		it.emit(events.AsyncPoll{Host: it.h.name, Outcome: &o})
	}
	if last == nil {
		last = value.NewDict(0)
	}
	if !value.Truth(last.Lookup("finished")) {
		if value.Truth(last.Lookup("_ansible_parsed")) || last.Has("ansible_job_id") {
			return value.DictOf("failed", true, "msg", fmt.Sprintf("async task did not complete within the requested time - %ds", it.f.async), "async_result", last), nil
		}
		return value.DictOf("failed", true, "msg", "async task produced unparsable results", "async_result", last), nil
	}
	if _, err := ask("cleanup"); err != nil && ctx.Err() != nil {
		return nil, err
	}
	return last, nil
}
