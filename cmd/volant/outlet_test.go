package main

import (
	"os"
	"strings"
	"testing"
)

func TestOutlet(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip(err)
	}
	defer full.Close()
	cancelled := 0
	o := &outlet{f: full, cancel: func() { cancelled++ }}
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
	o = &outlet{f: w, cancel: func() { cancelled++ }}
	if n, err := o.Write([]byte("text")); n != 4 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if err := o.failed(); err != nil || cancelled != 0 {
		t.Errorf("a reader that went away: %v, cancelled %d times", err, cancelled)
	}
}
