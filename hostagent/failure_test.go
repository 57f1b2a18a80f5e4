package hostagent

import (
	"context"
	"errors"
	"testing"

	"volant/wire"
)

// TestFailure: how far a sub-task came when it did not end by itself.
func TestFailure(t *testing.T) {
	broken := errors.New("broken")
	for name, tc := range map[string]struct {
		cause   error // of the sub-task's end; nil: it did not have to end
		err     error
		started bool
		want    wire.FaultCode
	}{
		"its own error":            {err: broken, started: true, want: wire.FaultInternal},
		"cancelled":                {cause: errCancelled, err: context.Canceled, started: true, want: wire.FaultCancelled},
		"cancelled before":         {cause: errCancelled, err: context.Canceled, want: wire.FaultCancelled},
		"timeout":                  {cause: errTimeout, err: context.Canceled, started: true, want: wire.FaultTimeout},
		"told to end, in between":  {cause: context.Canceled, err: context.Canceled, started: true, want: wire.FaultLost},
		"told to end, before":      {cause: context.Canceled, err: context.Canceled, want: wire.FaultWithdrawn},
		"agent closed, in between": {cause: errLost, err: context.Canceled, started: true, want: wire.FaultLost},
		"link lost before":         {err: errWithdrawn, want: wire.FaultWithdrawn},
		"no blob":                  {err: errNoBlob, want: wire.FaultStage},
		"its own fault":            {err: &wire.Fault{Code: wire.FaultPassword}, want: wire.FaultPassword},
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		if tc.cause != nil {
			cancel(tc.cause)
		}
		got := (&executor{}).failure(ctx, tc.err, wire.FaultInternal, tc.started)
		if got.Fault == nil || got.Fault.Code != tc.want {
			t.Errorf("%s: %+v, want code %d", name, got.Fault, tc.want)
		}
		cancel(nil)
	}
}
