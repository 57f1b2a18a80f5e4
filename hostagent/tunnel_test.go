package hostagent

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestOwnPeer: the local socket is for the agent's user and root alone, whoever
// could reach it.
func TestOwnPeer(t *testing.T) {
	dir, err := os.MkdirTemp("", "peer") // not the test's own: others do not get there
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "s")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_ = l.SetDeadline(time.Now().Add(time.Minute))
	for _, p := range []string{dir, path} {
		if err := os.Chmod(p, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	peers := map[int]bool{os.Getuid(): true}
	if os.Getuid() == 0 {
		peers[65534] = false
	}
	for uid, want := range peers {
		failed := make(chan error, 1)
		go func() { failed <- connectAs(uid, path) }()
		c, err := l.AcceptUnix()
		if err != nil {
			t.Fatal(err)
		}
		if got := ownPeer(c); got != want {
			t.Errorf("user %d: %v", uid, got)
		}
		_ = c.Close()
		if err := <-failed; err != nil {
			t.Error(err)
		}
	}
}

// connectAs connects as another user. The thread that became him ends with the
// goroutine.
func connectAs(uid int, path string) error {
	runtime.LockOSThread() // for good
	if uid != os.Getuid() {
		if _, _, e := unix.RawSyscall(unix.SYS_SETRESUID, uintptr(uid), uintptr(uid), uintptr(uid)); e != 0 {
			return fmt.Errorf("becoming %d: %w", uid, e)
		}
	}
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err := unix.Connect(fd, &unix.SockaddrUnix{Name: path}); err != nil {
		return err
	}
	var b [1]byte
	_, _ = unix.Read(fd, b[:]) // until it is closed
	return nil
}
