package modules

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"volant/hostagent/bus"
)

// `systemctl show` costs as much as twenty other tasks, and formats some 250
// properties in ways that change between releases. So its output is kept with
// the raw properties it was made of; while those are the same over the bus, so
// is the output. What only counts up is put in anew.

// counters are the properties that change while a unit runs undisturbed, and
// that systemctl prints as plain numbers.
var counters = map[string]bool{
	"MemoryCurrent": true, "MemoryPeak": true, "MemorySwapCurrent": true, "MemorySwapPeak": true, "MemoryZSwapCurrent": true,
	"MemoryAvailable": true, "CPUUsageNSec": true, "TasksCurrent": true, "NFileDescriptorStore": true,
	"IPIngressBytes": true, "IPIngressPackets": true, "IPEgressBytes": true, "IPEgressPackets": true,
	"IOReadBytes": true, "IOReadOperations": true, "IOWriteBytes": true, "IOWriteOperations": true,
}

// shownKey is what an output depends on besides the unit's properties.
type shownKey struct{ unit, systemctl, environ, zone string }

// shownUnit is an output and what it was made of.
type shownUnit struct {
	properties bus.Properties
	lines      []string
}

// maxShown bounds how many outputs are kept, some 50 KB each.
const maxShown = 64

// shownUnits are the outputs kept, for the life of the agent or worker.
var shownUnits struct {
	mu   sync.Mutex // guards kept
	kept map[shownKey]*shownUnit
}

// show is `systemctl show` of the unit.
func (u *unit) show() (*ran, error) {
	key, ok := u.shownKey()
	if !ok {
		return u.ctl("show", u.name)
	}
	before, err := bus.Unit(key.unit)
	if err != nil {
		return u.ctl("show", u.name)
	}
	shownUnits.mu.Lock()
	kept := shownUnits.kept[key]
	shownUnits.mu.Unlock()
	if kept != nil {
		if out, ok := kept.again(before); ok {
			return &ran{stdout: []byte(out)}, nil
		}
	}
	r, err := u.ctl("show", u.name)
	if err != nil || r.rc != 0 || len(r.stderr) > 0 {
		return r, err
	}
	after, err := bus.Unit(key.unit)
	fresh := &shownUnit{properties: after, lines: strings.Split(string(r.stdout), "\n")}
	if err != nil || !sameUnit(before, after) || !slices.Contains(fresh.lines, "Id="+plainText(after["Id"])) {
		return r, nil
	}
	shownUnits.mu.Lock()
	if shownUnits.kept == nil || len(shownUnits.kept) >= maxShown {
		shownUnits.kept = map[shownKey]*shownUnit{}
	}
	shownUnits.kept[key] = fresh
	shownUnits.mu.Unlock()
	return r, nil
}

// shownKey says under which key the unit's output may be kept, false where it
// may not.
func (u *unit) shownKey() (shownKey, bool) {
	if len(u.systemctl) != 1 || u.Getenv("SYSTEMD_OFFLINE") != "" || inChroot() {
		return shownKey{}, false
	}
	k := shownKey{unit: u.name}
	for _, c := range u.name {
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune("_.@-:", c)) {
			return k, false
		}
	}
	if !unitSuffixes[filepath.Ext(u.name)] {
		k.unit += ".service"
	}
	info, err := os.Stat(u.systemctl[0])
	if err != nil {
		return k, false
	}
	k.systemctl = fmt.Sprint(u.systemctl[0], info.Size(), info.ModTime().UnixNano())
	k.environ = strings.Join(u.Environ, "\x00")
	if zone, err := os.Lstat("/etc/localtime"); err == nil {
		target, _ := os.Readlink("/etc/localtime")
		k.zone = fmt.Sprint(target, zone.ModTime().UnixNano())
	}
	return k, true
}

// unitSuffixes are the endings that make a word a unit's full name.
var unitSuffixes = map[string]bool{
	".service": true, ".socket": true, ".target": true, ".device": true, ".mount": true, ".automount": true,
	".swap": true, ".timer": true, ".path": true, ".slice": true, ".scope": true,
}

// sameUnit reports whether two looks at a unit differ in nothing but counters.
func sameUnit(a, b bus.Properties) bool {
	if len(a) != len(b) {
		return false
	}
	for name, v := range a {
		w, ok := b[name]
		if !ok || v != w && !counters[name] {
			return false
		}
	}
	return true
}

// again is the output for the properties the unit has now, false when it has
// to be asked for.
func (s *shownUnit) again(now bus.Properties) (string, bool) {
	if !sameUnit(s.properties, now) {
		return "", false
	}
	var b strings.Builder
	for i, line := range s.lines {
		if i > 0 {
			b.WriteByte('\n')
		}
		name, text, ok := strings.Cut(line, "=")
		if !ok || !counters[name] || s.properties[name] == now[name] {
			b.WriteString(line)
			continue
		}
		n, ok := counted(now[name])
		if !ok || strings.Trim(text, "0123456789") != "" {
			return "", false // one of both is no number but a word such as [not set]
		}
		fmt.Fprintf(&b, "%s=%d", name, n)
	}
	return b.String(), true
}

// counted is the value of an unsigned property, false for the one that stands
// for none.
func counted(v string) (uint64, bool) {
	switch kind, raw, _ := strings.Cut(v, ":"); {
	case kind == "t" && len(raw) == 8:
		n := binary.LittleEndian.Uint64([]byte(raw))
		return n, n != 1<<64-1
	case kind == "u" && len(raw) == 4:
		n := binary.LittleEndian.Uint32([]byte(raw))
		return uint64(n), n != 1<<32-1
	}
	return 0, false
}

// plainText is the value of a property that is a string.
func plainText(v string) string {
	if len(v) < 6 || v[:2] != "s:" {
		return ""
	}
	return v[6:]
}
