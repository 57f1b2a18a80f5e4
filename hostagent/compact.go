package hostagent

import (
	"os"
	"syscall"
	"time"

	"volant/wire"
)

// compactAbove is the size from which a journal is worth rewriting, when little
// of it is still wanted: a controller acknowledges late, so that a busy session
// has always something outstanding.
const compactAbove = 4 * truncateAbove

// compact rewrites a journal most of which is acknowledged. mu is held.
//
// The new file takes the old one's name while the old is locked; whoever waits
// for that lock looks at the name again, see openLocked. A journal that another
// agent writes, too, is left alone.
func (j *journal) compact() {
	if j.f == nil || j.size < compactAbove || j.size < 4*j.live {
		return
	}
	unlock := j.lock()
	defer func() { unlock() }()
	if j.catchUp() != nil || j.shared || j.damaged {
		return
	}
	b, err := encodeRecord(nil, recHeader, j.header())
	moved := map[wire.TaskID]int64{}
	for id, e := range j.entries {
		if err != nil {
			return
		}
		owner := record{ID: id, PID: e.ownerPID, Start: e.ownerTime}
		if e.state == wire.StateLost {
			owner.PID, owner.Start = 1, "" // nobody: lost to whoever reads it
		}
		b, err = encodeRecord(b, recStarted, owner)
		switch {
		case err != nil:
		case e.state == wire.StateRunning && e.group != 0:
			b, err = encodeRecord(b, recForked, record{ID: id, PID: e.group, Start: e.start})
		case e.state == wire.StateDone && e.body == nil:
			var r *record
			if r, err = j.readResult(id, e); err == nil {
				moved[id] = int64(len(b))
				b, err = encodeRecord(b, recResult, *r)
			}
		}
	}
	if err != nil {
		return
	}
	f, err := replaceFile(j.path, b)
	if err != nil {
		return // as it was
	}
	_ = j.f.Close() // which unlocks it
	unlock = func() {}
	j.f, j.size, j.acks, j.unsaid, j.said, j.live = f, int64(len(b)), nil, false, time.Now(), 0
	for id, e := range j.entries {
		if off, ok := moved[id]; ok {
			var r *record
			e.off, e.size = off, j.size-off // at most; the record says where it ends
			if r, err = j.readResult(id, e); err == nil {
				if one, err := encodeRecord(nil, recResult, *r); err == nil {
					e.size = int64(len(one))
				}
			}
		}
		if e.state == wire.StateDone {
			j.live += e.size
		}
	}
}

// replaceFile gives path a new content and returns the file, open to append.
func replaceFile(path string, b []byte) (*os.File, error) {
	name := path + ".new"
	_ = os.Remove(name) // of an agent that was killed here
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	if _, err = f.Write(b); err == nil {
		err = os.Rename(name, path)
	}
	if err != nil {
		_ = f.Close()
		_ = os.Remove(name)
		return nil, err
	}
	return f, nil
}

// sameFile reports whether f is still what path names.
func sameFile(f *os.File, path string) bool {
	var a, b syscall.Stat_t
	return syscall.Fstat(int(f.Fd()), &a) == nil && syscall.Stat(path, &b) == nil && a.Ino == b.Ino && a.Dev == b.Dev
}
