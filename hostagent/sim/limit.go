package sim

import (
	"fmt"

	"golang.org/x/sys/unix"
)

func raiseLimit(pid int) (int, error) {
	var old unix.Rlimit
	if err := unix.Prlimit(pid, unix.RLIMIT_NOFILE, nil, &old); err != nil {
		return 0, fmt.Errorf("reading the descriptor limit: %w", err)
	}
	if err := unix.Prlimit(pid, unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: old.Max, Max: old.Max}, nil); err != nil {
		return 0, fmt.Errorf("raising the descriptor limit: %w", err)
	}
	return int(min(old.Max, 1<<30)), nil
}
