package actions

import (
	"context"
	"errors"
	"testing"
)

// TestAheadEndsWithItsTask: a file that takes long to hash is waited for no
// longer than the task has time.
func TestAheadEndsWithItsTask(t *testing.T) {
	reading := make(chan struct{})
	defer close(reading)
	ctx, cancel := context.WithCancel(t.Context())
	open := ahead(ctx, func() (Source, error) {
		<-reading
		return Source{}, nil
	})
	cancel()
	if _, err := open.open(); !errors.Is(err, context.Canceled) {
		t.Errorf("the wait ended with %v", err)
	}
	read := ahead(t.Context(), func() (Source, error) { return Source{SHA1: "x"}, nil })
	for range 2 {
		if src, err := read.open(); err != nil || src.SHA1 != "x" {
			t.Errorf("%+v, %v", src, err)
		}
	}
}
