package hostagent

import (
	"os"
	"path/filepath"
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

// Executable is the path of this program, also where /proc is not mounted, as in
// a bare chroot: then it is the absolute path that it was run by.
func Executable() (string, error) {
	exe, err := os.Executable()
	if err != nil && filepath.IsAbs(os.Args[0]) {
		if _, serr := os.Stat(os.Args[0]); serr == nil {
			return filepath.Clean(os.Args[0]), nil
		}
	}
	return exe, err
}
