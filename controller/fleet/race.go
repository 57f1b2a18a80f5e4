package fleet

import (
	"context"
	"sync"
	"time"

	"volant/wire/session"
)

// race runs first, and beside it second once first has gone without an answer
// for besideAfter since it began. The first that succeeds wins and the other is
// ended. When first fails before second began, its error is returned; else
// second's.
func (d *dialer) race(ctx context.Context, first func(ctx context.Context, began func()) (*live, error), second func(context.Context) (*live, error)) (*live, error) {
	type end struct {
		lv  *live
		err error
	}
	ctx1, stop1 := context.WithCancel(ctx)
	ctx2, stop2 := context.WithCancel(ctx)
	defer stop1()
	defer stop2()
	began := make(chan struct{})
	ends1, ends2 := make(chan end, 1), make(chan end, 1)
	if !d.f.spawn(func() { // ends with its context at the latest
		lv, err := first(ctx1, sync.OnceFunc(func() { close(began) }))
		ends1 <- end{lv, err}
	}) {
		return nil, errOver
	}
	// reap closes what came second.
	reap := func(c chan end) {
		wait := func() { // ends with the attempt that was just cancelled
			if e := <-c; e.lv != nil {
				_ = e.lv.conn.Close(session.CodeReconnect, "another way was faster")
			}
		}
		if !d.f.spawn(wait) {
			wait()
		}
	}
	var e1 end
	select {
	case e1 = <-ends1:
		return e1.lv, e1.err
	case <-began:
	}
	timer := time.NewTimer(besideAfter + time.Duration(len(d.f.dials))*crowding)
	defer timer.Stop()
	select {
	case e1 = <-ends1:
		return e1.lv, e1.err
	case <-timer.C:
	}
	if !d.f.spawn(func() { // ends with its context at the latest
		lv, err := second(ctx2)
		ends2 <- end{lv, err}
	}) {
		ends2 <- end{nil, errOver}
	}
	select {
	case e1 = <-ends1:
		if e1.err == nil {
			stop2()
			reap(ends2)
			return e1.lv, nil
		}
		e2 := <-ends2
		return e2.lv, e2.err
	case e2 := <-ends2:
		if e2.err == nil {
			stop1()
			reap(ends1)
			return e2.lv, nil
		}
		if e1 = <-ends1; e1.err == nil {
			return e1.lv, nil
		}
		return nil, e2.err
	}
}
