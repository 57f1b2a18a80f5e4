package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"time"

	"volant/controller/events"
)

// logLines puts in front of every line of a log what the reference puts there.
type logLines struct {
	w    io.Writer
	user string
	now  func() time.Time
	// failed is told, once, why a line could not be written.
	failed func(error)
	once   sync.Once
}

var _ events.Log = (*logLines)(nil)

// Line implements events.Log. A log that cannot be written stops no run; lines
// are tried again, for there may be room later.
func (l *logLines) Line(level, msg string) {
	_, err := fmt.Fprintf(l.w, "%s p=%d u=%s n=%s %s| %s\n", l.now().Format("2006-01-02 15:04:05,000"), os.Getpid(), l.user, loggerName, level, msg)
	if err != nil && l.failed != nil {
		l.once.Do(func() { l.failed(err) })
	}
}

// loggerName is who the lines of a log are from.
const loggerName = "ansible"

// openLog opens the log, nil for none. filtered are names whose lines are not
// wanted.
func openLog(p *process, path string, filtered []string) events.Log {
	if path == "" || slices.ContainsFunc(filtered, func(n string) bool { return n == "" || n == loggerName }) {
		return nil
	}
	if st, err := os.Stat(path); err == nil && st.IsDir() {
		fmt.Fprintf(p.stderr, "[WARNING]: DEFAULT_LOG_PATH can not be a directory '%s', aborting\n", path)
		return nil
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		fmt.Fprintf(p.stderr, "[WARNING]: log file at '%s' is not writeable and we cannot create it, aborting\n\n", path)
		return nil
	}
	return &logLines{w: f, user: userName(), now: time.Now, failed: func(err error) {
		fmt.Fprintf(p.stderr, "[WARNING]: Lines of the log are missing: %s\n", err)
	}}
}
