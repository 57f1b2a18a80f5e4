package main

import (
	"log/slog"
	"strings"

	"volant/controller/events"
)

// debugLog is the log of what goes on inside, shown with the setting
// DEFAULT_DEBUG (ANSIBLE_DEBUG); nil without it.
func (j *project) debugLog() *slog.Logger {
	if !j.display.Debugging {
		return nil
	}
	noTime := func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey || a.Key == slog.LevelKey {
			return slog.Attr{}
		}
		return a
	}
	return slog.New(slog.NewTextHandler(debugLines{j.display}, &slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: noTime}))
}

// debugLines shows every line written to it.
type debugLines struct{ d *events.Display }

func (w debugLines) Write(p []byte) (int, error) {
	w.d.Debug(strings.TrimSuffix(string(p), "\n"))
	return len(p), nil
}
