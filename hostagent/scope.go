package hostagent

import (
	"fmt"
	"os"

	"volant/hostagent/bus"
	"volant/wire/rx"
)

// sessionScope is the cgroup of a login session, as systemd names it.
var sessionScope = rx.Lazy(`(?m)/session-[^/\n]+\.scope(/|$)`)

// killed is how the bus says that processes end with the session they are of.
const killed = "b:\x01\x00\x00\x00"

// EndsWithSession tells whether systemd ends the agent when the login ends that
// started it: there was no unit to be had for it (lingering is not allowed), and
// KillUserProcesses is on. Where that cannot be found out it is assumed.
func (s *Serving) EndsWithSession() bool {
	if s.Unit != "" {
		return false
	}
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", s.PID))
	if err != nil || !sessionScope.Match(b) {
		return false
	}
	p, err := bus.Logins()
	return err != nil || p["KillUserProcesses"] == killed
}
