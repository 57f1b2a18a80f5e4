package main

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"volant/controller/events"
)

// A task that takes longer than progressAfter has a line on the terminal that
// says what is waited for, until the next line of output.
const (
	progressAfter = 2 * time.Second
	progressEvery = 500 * time.Millisecond
	progressNames = 3 // hosts named
)

// progress is that line. It is shown where standard error is a terminal.
type progress struct {
	show  func(text string)
	asked func() bool // a question is on the terminal
	width int
	now   func() time.Time
	stop  chan struct{}

	mu    sync.Mutex // guards the fields below
	begin time.Time  // of the task
	done  int
	busy  map[string]bool
	shown bool
}

// progress returns the callback; where there is no terminal it does nothing.
func (j *project) progress() events.Callback {
	p := &progress{show: func(string) {}, now: time.Now, busy: map[string]bool{}}
	f := fileOf(j.stderr)
	if f == nil || !term.IsTerminal(int(f.Fd())) {
		return p
	}
	p.show, p.width = j.display.Progress, max(20, j.display.Columns)
	if w, _, err := term.GetSize(int(f.Fd())); err == nil && w > 0 {
		p.width = w - 1
	}
	p.asked = func() bool { return false }
	if j.prompt != nil {
		j.prompt.before = func() { p.clear() }
		p.asked = j.prompt.busy
	}
	p.stop = make(chan struct{})
	go func() { // ends with the recap, or with the process when there is none
		t := time.NewTicker(progressEvery)
		defer t.Stop()
		for {
			select {
			case <-t.C:
				p.tick()
			case <-p.stop:
				return
			}
		}
	}()
	return p
}

// Event implements events.Callback.
func (p *progress) Event(e events.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e := e.(type) {
	case events.TaskStart:
		p.begin, p.done = p.now(), 0
		p.hide()
	case events.HostStart:
		p.busy[e.Host] = true
	case events.Result:
		delete(p.busy, e.Host)
		p.done++
	case events.StatsReady:
		clear(p.busy)
		p.hide()
		if p.stop != nil {
			close(p.stop)
			p.stop = nil
		}
	}
}

func (p *progress) clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hide()
}

func (p *progress) hide() {
	if p.shown {
		p.show("")
		p.shown = false
	}
}

func (p *progress) tick() {
	p.mu.Lock()
	defer p.mu.Unlock()
	took := p.now().Sub(p.begin)
	if len(p.busy) == 0 || p.begin.IsZero() || took < progressAfter || p.asked() {
		p.hide()
		return
	}
	p.show(p.text(took))
	p.shown = true
}

// text is the line for a task that has taken so long.
func (p *progress) text(took time.Duration) string {
	names := make([]string, 0, len(p.busy))
	for h := range p.busy {
		names = append(names, h)
	}
	slices.Sort(names)
	more := ""
	if n := len(names) - progressNames; n > 0 {
		more = fmt.Sprintf(" and %d more", n)
		names = names[:progressNames]
	}
	text := fmt.Sprintf("%d of %d hosts done after %d s, waiting for %s%s", p.done, p.done+len(p.busy), int(took/time.Second), strings.Join(names, ", "), more)
	if r := []rune(text); len(r) > p.width {
		text = string(r[:p.width])
	}
	return text
}
