package template

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"
	"testing"

	"volant/controller/fault"
)

// TestURLErrors: what Go's HTTP client says is told as Python's urllib does,
// apart from the error that it ended.
func TestURLErrors(t *testing.T) {
	refused := &net.OpError{Op: "dial", Err: fmt.Errorf("connect: %w", syscall.ECONNREFUSED)}
	reset := &net.OpError{Op: "read", Err: fmt.Errorf("read: %w", syscall.ECONNRESET)}
	for _, c := range []struct {
		err   error
		want  string
		apart bool
	}{
		{refused, "Failed lookup url for u : <urlopen error [Errno 111] Connection refused>", true},
		{&net.DNSError{IsNotFound: true}, "Failed lookup url for u : <urlopen error [Errno -2] Name or service not known>", true},
		{&net.DNSError{IsTemporary: true}, "Failed lookup url for u : <urlopen error [Errno -3] Temporary failure in name resolution>", true},
		{reset, "[Errno 104] Connection reset by peer", false},
		{fmt.Errorf("Get: %w", io.EOF), "Remote end closed connection without response", false},
		{errors.New("what"), "Failed lookup url for u : <urlopen error what>", true},
	} {
		err := urlError("u", c.err)
		if fault.Brief(err) != c.want {
			t.Errorf("%v: %s", c.err, fault.Brief(err))
		}
		text := fault.Verbose(&fault.Error{Msg: "The lookup plugin 'url' failed.", Cause: err})
		if strings.Contains(text, "<<< caused by >>>") != c.apart {
			t.Errorf("%v: %s", c.err, text)
		}
	}
}
