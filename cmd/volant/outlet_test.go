package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"
)

func TestOutlet(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip(err)
	}
	defer full.Close()
	cancelled := 0
	o := newOutlet(full, func() { cancelled++ })
	for range 2 {
		if n, err := o.Write([]byte("text")); n != 4 || err != nil {
			t.Errorf("%d, %v", n, err)
		}
	}
	if err := o.failed(); err == nil || !strings.HasSuffix(err.Error(), ": no space left on device") || cancelled != 1 {
		t.Errorf("%v, cancelled %d times", err, cancelled)
	}

	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	defer w.Close()
	cancelled = 0
	o = newOutlet(w, func() { cancelled++ })
	if n, err := o.Write([]byte("text")); n != 4 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if err := o.failed(); err != nil || cancelled != 0 {
		t.Errorf("a reader that went away: %v, cancelled %d times", err, cancelled)
	}
}

// TestOutletLater: what is written in the background comes whole, in order and
// before what is written to standard error behind it; a reader that takes nothing
// holds up who writes more than may wait.
func TestOutletLater(t *testing.T) {
	f, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	o := newOutlet(f, func() { t.Error("cancelled") })
	o.later = true
	stderr := beside{f, o}
	var want strings.Builder
	for i := range 2000 {
		line := fmt.Sprintf("line %d\n", i)
		want.WriteString(line)
		if i%100 == 99 {
			fmt.Fprint(stderr, line)
		} else {
			fmt.Fprint(o, line)
		}
	}
	if err := o.failed(); err != nil {
		t.Error(err)
	}
	if got, err := os.ReadFile(f.Name()); err != nil || string(got) != want.String() {
		t.Errorf("%d bytes of %d, %v", len(got), want.Len(), err)
	}

	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	o = newOutlet(w, func() { t.Error("cancelled") })
	o.later = true
	const total = 4 * outletBuffer
	written := make(chan bool)
	go func() { // ends once the pipe is read
		for range total / 4096 {
			_, _ = o.Write(make([]byte, 4096))
			o.mu.Lock()
			if len(o.buf) > outletBuffer+4096 {
				t.Error("more waits than may")
			}
			o.mu.Unlock()
		}
		o.flush()
		close(written)
	}()
	select {
	case <-written:
		t.Error("nobody read it")
	case <-time.After(50 * time.Millisecond):
	}
	if n, err := io.CopyN(io.Discard, r, total); err != nil {
		t.Errorf("%d bytes, %v", n, err)
	}
	<-written
	r.Close()
	_, _ = o.Write([]byte("x"))
	if err := o.failed(); err != nil {
		t.Errorf("a reader that went away: %v", err)
	}
	_, _ = o.Write([]byte("x")) // held up by nothing
}
