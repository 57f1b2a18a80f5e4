package actions

import (
	"context"
	"fmt"
	"time"

	"volant/wire/value"
)

// waitForConnection tries the whole path to the host until it answers.
func waitForConnection(ctx context.Context, r *Run) (Result, error) {
	opt := map[string]int{"connect_timeout": 5, "delay": 0, "sleep": 1, "timeout": 600}
	for name := range opt {
		if v, ok := r.Args.Get(name); ok {
			n, err := integer(v)
			if err != nil {
				return nil, err
			}
			opt[name] = n
		}
	}
	if r.Check {
		return value.DictOf("skipped", true), nil
	}
	start := time.Now()
	if err := sleep(ctx, seconds(opt["delay"])); err != nil {
		return nil, err
	}
	end := time.Now().Add(seconds(opt["timeout"]))
	var last error
	for time.Now().Before(end) {
		if last = pingAnew(ctx, r, seconds(opt["connect_timeout"])); last == nil {
			break
		}
		if err := sleep(ctx, seconds(opt["sleep"])); err != nil {
			return nil, err
		}
	}
	res := value.NewDict(3)
	if last != nil {
		res.Set("failed", true)
		res.Set("msg", fmt.Sprintf("timed out waiting for ping module test: %v", last))
	}
	res.Set("elapsed", int64(time.Since(start)/time.Second))
	return res, nil
}

// pingAnew drops the link, builds another and runs the ping module over it.
func pingAnew(ctx context.Context, r *Run, limit time.Duration) error {
	dial, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if !r.Local {
		if _, err := r.Host.Reconnect(dial); err != nil {
			return err
		}
	}
	res, err := r.Host.Module(ctx, "ansible.legacy.ping", value.NewDict(0))
	if err != nil {
		return err
	}
	if pong, _ := res.Str("ping"); pong != "pong" {
		return fmt.Errorf("ping test failed")
	}
	return nil
}

func seconds(n int) time.Duration { return time.Duration(n) * time.Second }

// sleep waits for d or until ctx ends.
func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
