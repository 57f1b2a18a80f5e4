package modules

import (
	"strconv"
	"strings"
	"syscall"
	"time"

	"volant/wire/value"
)

// stamp is a wanted time: to be kept, now, or given.
type stamp struct {
	keep, now bool
	at        float64
}

// readTimes reads both times of the arguments; unset they are kept, and touched.
func (f *fileRun) readTimes(state string) error {
	var err error
	if f.mtime, err = f.stamp(f.a.MTime, f.a.MTimeFmt, state); err != nil {
		return err
	}
	f.atime, err = f.stamp(f.a.ATime, f.a.ATimeFmt, state)
	return err
}

func (f *fileRun) stamp(text *string, format, state string) (stamp, error) {
	switch {
	case text == nil && state == "touch":
		return stamp{now: true}, nil
	case text == nil || *text == "preserve":
		return stamp{keep: true}, nil
	case *text == "now":
		return stamp{now: true}, nil
	case state == "absent":
		return stamp{keep: true}, nil // never looked at
	}
	t, ok := strptime(*text, format)
	if !ok {
		return stamp{}, handBack("time %q in the format %q", *text, format)
	}
	return stamp{at: float64(t.Unix())}, nil
}

// strptime reads a local time in a format of plain numeric directives.
func strptime(text, format string) (time.Time, bool) {
	v := map[byte]int{'Y': 1900, 'm': 1, 'd': 1}
	for i := 0; i < len(format); i++ {
		if format[i] != '%' {
			if text == "" || text[0] != format[i] || strings.IndexByte(" \t\n", format[i]) >= 0 {
				return time.Time{}, false
			}
			text = text[1:]
			continue
		}
		if i++; i >= len(format) {
			return time.Time{}, false
		}
		width, ok := map[byte]int{'Y': 4, 'm': 2, 'd': 2, 'H': 2, 'M': 2, 'S': 2}[format[i]]
		if !ok || len(text) < width {
			return time.Time{}, false
		}
		n, err := strconv.ParseUint(text[:width], 10, 16)
		if err != nil {
			return time.Time{}, false
		}
		v[format[i]], text = int(n), text[width:]
	}
	if text != "" || v['m'] < 1 || v['m'] > 12 || v['d'] < 1 || v['H'] > 23 || v['M'] > 59 || v['S'] > 59 {
		return time.Time{}, false
	}
	t := time.Date(v['Y'], time.Month(v['m']), v['d'], v['H'], v['M'], v['S'], 0, time.Local)
	return t, t.Day() == v['d']
}

// setTimes is update_timestamp_for_file.
func (f *fileRun) setTimes(p string, diff *value.Dict) (bool, error) {
	m, a := f.mtime, f.atime
	if m.keep && a.keep {
		return false, nil
	}
	bad := func(err error) error {
		return fail("Error while updating modification or access time: "+asOSError(err, p, true).Error(), "path", p)
	}
	var st syscall.Stat_t
	if err := syscall.Stat(f.p(p), &st); err != nil {
		return false, bad(err)
	}
	haveM, haveA := seconds(st.Mtim), seconds(st.Atim)
	now := float64(f.now().UnixNano()) / 1e9
	pick := func(s stamp, have float64) float64 {
		switch {
		case s.keep:
			return have
		case s.now:
			return now
		}
		return s.at
	}
	wantM, wantA := pick(m, haveM), pick(a, haveA)
	bothNow := m.now && a.now
	if !bothNow && wantM == haveM && wantA == haveA {
		return false, nil
	}
	if !f.Check {
		var err error
		if bothNow {
			err = syscall.UtimesNano(f.p(p), []syscall.Timespec{{Nsec: utimeNow}, {Nsec: utimeNow}})
		} else {
			err = syscall.UtimesNano(f.p(p), []syscall.Timespec{timespec(wantA), timespec(wantM)})
		}
		if err != nil {
			return false, bad(err)
		}
	}
	if diff != nil {
		if wantM != haveM {
			note(diff, "mtime", haveM, wantM)
		}
		if wantA != haveA {
			note(diff, "atime", haveA, wantA)
		}
	}
	return true, nil
}

// utimeNow is UTIME_NOW: the kernel's own clock, which needs no ownership.
const utimeNow = (1 << 30) - 1

func timespec(s float64) syscall.Timespec {
	sec := int64(s)
	return syscall.Timespec{Sec: sec, Nsec: int64((s - float64(sec)) * 1e9)}
}
