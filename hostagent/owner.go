package hostagent

import (
	"os"
	"syscall"
)

// owner is the user id that owns a file.
func owner(st os.FileInfo) (int, bool) {
	sys, ok := st.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return int(sys.Uid), true
}
