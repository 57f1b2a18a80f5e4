package hostagent

import (
	"errors"
	"fmt"

	"volant/wire"
)

// Bounds of what is said of one sub-task beside its result, by a worker.
const (
	maxOutput  = wire.MaxResult   // of output that somebody listens to, whoever runs the module; the rest is in the result alone
	outputCost = 256              // what a piece of it counts at least
	maxWanted  = 4 * wire.MaxWant // blobs asked for: files of the sub-task, and two manifests with theirs
)

// say is what a worker may still say of a sub-task that goes on to the
// controller: what was asked for. Its user does with it what he likes.
type say struct {
	output int  // bytes
	wanted int  // blobs
	file   bool // a file was asked for and has not ended
}

func newSay(task *wire.Task) say {
	s := say{wanted: maxWanted, file: task.Module == wire.GetModule}
	if task.Live {
		s.output = maxOutput
	}
	return s
}

var errUnasked = errors.New("the worker sends what it was not asked for")

// may tells whether m goes on. An error ends the worker.
func (s *say) may(task *wire.Task, m wire.Message) (bool, error) {
	switch m := m.(type) {
	case *wire.Output:
		if !task.Live {
			return false, fmt.Errorf("%w: output", errUnasked)
		}
		s.output -= max(len(m.Data), outputCost)
		return s.output > 0, nil
	case *wire.Data:
		if !s.file || len(m.Data) == 0 { // how long a file is, only the controller's sink can bound
			return false, fmt.Errorf("%w: a piece of a file", errUnasked)
		}
	case *wire.FileDone:
		if !s.file {
			return false, fmt.Errorf("%w: the end of a file", errUnasked)
		}
		s.file = false
	case *wire.Want:
		if s.wanted -= len(m.Hashes); len(m.Hashes) == 0 || s.wanted < 0 {
			return false, fmt.Errorf("%w: %d more files", errUnasked, len(m.Hashes))
		}
	}
	return true, nil
}

// agentsOwn refuses a worker's fault that is the agent's to say: that the
// sub-task is to be sent again, but for a link that was lost, and that its host
// is as good as unreachable.
func agentsOwn(f *wire.Fault, lost bool) error {
	if f != nil && (f.Code == wire.FaultSilent || f.Code == wire.FaultWithdrawn && !lost) {
		return errors.New("the worker did not run the sub-task, for a reason that is not its own to give")
	}
	return nil
}
