// Package leaktest ends a package's tests with the question whether a goroutine
// was left behind.
package leaktest

import (
	"fmt"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// patience is how long goroutines may take to end; a busy machine needs a while.
const patience = 30 * time.Second

// Main is a TestMain. It ends the process, with an error where tests failed or
// goroutines do not end.
func Main(m *testing.M) {
	code := m.Run()
	err := goleak.Find()
	for end := time.Now().Add(patience); err != nil && time.Now().Before(end); {
		err = goleak.Find()
	}
	if code == 0 && err != nil {
		fmt.Fprintln(os.Stderr, "goroutines left behind:", err)
		code = 1
	}
	os.Exit(code)
}
