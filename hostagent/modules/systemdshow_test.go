package modules

import (
	"encoding/binary"
	"strings"
	"testing"

	"volant/hostagent/bus"
)

func count(n uint64) string { return "t:" + string(binary.LittleEndian.AppendUint64(nil, n)) }

// TestShownAgain holds when an output of systemctl show may be given again, and
// what is put in anew.
func TestShownAgain(t *testing.T) {
	kept := &shownUnit{
		properties: bus.Properties{"Id": "s:\x05\x00\x00\x00a.svc", "MemoryCurrent": count(5), "CPUUsageNSec": count(1<<64 - 1), "MainPID": "u:\x01\x00\x00\x00"},
		lines:      strings.Split("Id=a.svc\nMemoryCurrent=5\nCPUUsageNSec=[not set]\nMainPID=1\n", "\n"),
	}
	for _, c := range []struct {
		name string
		set  bus.Properties
		want string
	}{
		{"the same", nil, "Id=a.svc\nMemoryCurrent=5\nCPUUsageNSec=[not set]\nMainPID=1\n"},
		{"a counter", bus.Properties{"MemoryCurrent": count(123456789)}, "Id=a.svc\nMemoryCurrent=123456789\nCPUUsageNSec=[not set]\nMainPID=1\n"},
		{"another process", bus.Properties{"MainPID": "u:\x02\x00\x00\x00"}, ""},
		{"one more property", bus.Properties{"New": "b:\x01\x00\x00\x00"}, ""},
		{"a counter that was none", bus.Properties{"CPUUsageNSec": count(7)}, ""},
		{"a counter that is none now", bus.Properties{"MemoryCurrent": count(1<<64 - 1)}, ""},
		{"a counter of another type", bus.Properties{"MemoryCurrent": "s:\x00\x00\x00\x00"}, ""},
	} {
		now := bus.Properties{}
		for k, v := range kept.properties {
			now[k] = v
		}
		for k, v := range c.set {
			now[k] = v
		}
		got, ok := kept.again(now)
		if got != c.want || ok != (c.want != "") {
			t.Errorf("%s: %q, %v", c.name, got, ok)
		}
	}
}
