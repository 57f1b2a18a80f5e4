package private

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

const role = "PRIVATE_TEST_ROLE"

// TestMain lets the test binary be a program that keeps its memory to itself, and
// one that such a program starts: each says whether it may be dumped.
func TestMain(m *testing.M) {
	r := os.Getenv(role)
	if r == "" {
		os.Exit(m.Run())
	}
	if r == "keeps" {
		Keep()
	}
	n, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0)
	fmt.Println(r, n, err)
	if r == "keeps" {
		c := exec.Command(os.Args[0])
		c.Env = append(os.Environ(), role+"=started")
		c.Stdout, c.Stderr = os.Stdout, os.Stderr
		if err := c.Run(); err != nil {
			fmt.Println(err)
		}
	}
	os.Exit(0)
}

// TestKeep: a process that keeps to itself cannot be dumped, nor, which is the
// same to the kernel, be read by others of its user; what it starts can, and so
// can itself where that is asked for.
func TestKeep(t *testing.T) {
	for set, want := range map[string]string{"": "keeps 0 <nil>\nstarted 1 <nil>\n", Core + "=1": "keeps 1 <nil>\nstarted 1 <nil>\n"} {
		c := exec.Command(os.Args[0])
		c.Env = []string{role + "=keeps"}
		if set != "" {
			c.Env = append(c.Env, set)
		}
		out, err := c.CombinedOutput()
		if err != nil || strings.TrimSpace(string(out)) != strings.TrimSpace(want) {
			t.Errorf("%q: %q, %v", set, out, err)
		}
	}
}
