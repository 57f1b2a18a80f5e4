package become

import (
	"errors"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"
)

// TestCopyIsNotBusy: the copy of the program runs at once, whatever the agent
// starts while it is written.
func TestCopyIsNotBusy(t *testing.T) {
	program, err := exec.LookPath("true")
	if err != nil {
		t.Skip(err)
	}
	over := make(chan struct{})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() { // ends with over
			for {
				select {
				case <-over:
					return
				default:
					_ = exec.Command(program).Run()
				}
			}
		})
	}
	dir := t.TempDir()
	for begin := time.Now(); time.Since(begin) < 2*time.Second; {
		path, err := copyTo(dir, program)
		if err != nil {
			t.Fatal(err)
		}
		if err := exec.Command(path).Run(); errors.Is(err, syscall.ETXTBSY) {
			t.Errorf("%s: %v", filepath.Base(path), err)
			break
		}
	}
	close(over)
	wg.Wait()
}
