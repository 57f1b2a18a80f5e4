package hostagent

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"volant/wire/frame"
)

// journalAge is how long a journal is kept for whoever may ask.
const journalAge = 24 * time.Hour

// uptime is how long the machine is up, suspended or not.
func uptime() time.Duration {
	var ts unix.Timespec
	if unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts) != nil {
		return 0 // as young as can be: nothing is removed
	}
	return time.Duration(ts.Nano())
}

// sweepJournals removes journals that nobody collected for a day, but none of
// the sessions that keep says. Before the first goes, the directory gets another
// id, which is returned: what they knew must not be taken for something that
// never came.
//
// A clock that was set makes everything look old, so that it is not enough that a
// file does: the machine must be up for a day, which it is now for up since boot,
// and what the file says of when it was written must be as long ago.
func sweepJournals(dir string, now time.Time, boot string, up time.Duration, keep map[string]bool) (id string, err error) {
	if up < journalAge {
		return "", nil
	}
	files, _ := filepath.Glob(filepath.Join(dir, "*"+journalSuffix))
	for _, f := range files {
		st, err := os.Stat(f)
		if err != nil || now.Sub(st.ModTime()) <= journalAge || keep[filepath.Base(f)] {
			continue
		}
		if h := lastHeader(f); h.Boot != "" && h.Boot == boot && up-time.Duration(h.Up) <= journalAge+sayAgain {
			continue
		}
		if id == "" {
			fresh := randomID()
			if err := writeFile(filepath.Join(dir, "id"), []byte(fresh)); err != nil {
				return "", err // nothing is removed
			}
			id = fresh
		}
		_ = os.Remove(f)
	}
	return id, nil
}

// lastHeader is the last header of a journal that can be read; empty where there
// is none.
func lastHeader(path string) (last record) {
	f, err := os.Open(path)
	if err != nil {
		return last
	}
	defer f.Close()
	var head [9]byte
	for off := int64(0); ; {
		if _, err := f.ReadAt(head[:], off); err != nil {
			return last
		}
		off += int64(len(head))
		n, kind := int64(binary.BigEndian.Uint32(head[:4])), recordKind(head[8])
		if n > maxRecord {
			return last
		}
		if kind == recHeader {
			body := make([]byte, n)
			var r record
			if _, err := f.ReadAt(body, off); err != nil || recordSum(kind, body) != binary.BigEndian.Uint32(head[4:8]) || frame.Unmarshal(body, &r) != nil {
				return last
			}
			last = r
		}
		off += n
	}
}
