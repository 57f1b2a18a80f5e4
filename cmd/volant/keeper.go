package main

import (
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"
	"lukechampine.com/blake3"

	"volant/controller/fault"
	"volant/controller/journal"
	"volant/hostagent"
	"volant/wire"
)

// keeper writes a run down as it goes, so that it can be resumed.
type keeper struct {
	args   []string
	header *journal.Header
	w      *journal.Writer // nil: nothing is kept
	past   *journal.Past   // of a run that is resumed

	mu    sync.Mutex // guards files
	files map[string]wire.Hash
}

// runsDir is where the journals of runs are.
func (j *project) runsDir() string { return filepath.Join(j.stateDir(), "runs") }

// runPath is the journal of the run of a name.
func (j *project) runPath(name string) string { return filepath.Join(j.runsDir(), name+journal.Suffix) }

// seen notes a file that the run read.
func (k *keeper) seen(path string, data []byte) {
	f := &journal.File{Path: path, Hash: blake3.Sum256(data)}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.files == nil {
		k.files = map[string]wire.Hash{}
	}
	if k.files[path] == f.Hash {
		return
	}
	k.files[path] = f.Hash
	k.w.Put(f)
}

// begin makes the journal of a new run. Where none can be kept the run goes on
// without.
func (k *keeper) begin(j *project, opt *playbookOptions) error {
	keep := j.config.Int("VOLANT_KEEP_RUNS")
	if k.w != nil || keep <= 0 {
		return nil
	}
	key, err := j.identity()
	if err != nil {
		return err
	}
	dir := j.runsDir()
	h := &journal.Header{
		Run: wire.NewRunID(), SessionKey: make([]byte, wire.SessionKeyLen), Created: time.Now().UnixNano(),
		Args: k.args, Dir: j.dir, Playbooks: opt.Playbook, BootID: hostagent.BootID(), Release: release(), Command: j.name,
	}
	_, _ = rand.Read(h.SessionKey) // never fails, see crypto/rand
	if err = os.MkdirAll(dir, 0o700); err == nil {
		err = journal.Prune(dir, keep-1)
	}
	var w *journal.Writer
	if err == nil {
		w, err = journal.Create(filepath.Join(dir, journal.Name(time.Now(), h.Run)+journal.Suffix), key, h)
	}
	if err != nil {
		j.display.Verbose(1, "This run cannot be resumed: "+err.Error())
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.header, k.w = h, w
	for path, hash := range k.files {
		w.Put(&journal.File{Path: path, Hash: hash})
	}
	return nil
}

// end writes down how the run ended: by itself, or before it was done. One that
// ended before any host did anything has nothing that could be gone on with.
func (k *keeper) end(j *project, code int, err error, begun bool) {
	if k.w == nil {
		return
	}
	lost := k.w.Err()
	interrupted := err != nil && (begun || k.past != nil)
	if e := k.w.End(&journal.End{Time: time.Now().UnixNano(), Code: int64(codeAfter(code, err)), Interrupted: interrupted}); lost == nil {
		lost = e
	}
	if lost != nil {
		j.display.Note("This run could not have been resumed: %s", lost)
		return
	}
	if f := fileOf(j.stderr); f != nil && interrupted && term.IsTerminal(int(f.Fd())) {
		fmt.Fprintf(f, "\nGo on with: volant playbook --resume %s\n", strings.TrimSuffix(filepath.Base(k.w.Path()), journal.Suffix))
	}
}

// changed refuses a run whose files are not what they were.
func changed(files []*journal.File) error {
	last := map[string]wire.Hash{}
	var order []string
	for _, f := range files {
		if _, ok := last[f.Path]; !ok {
			order = append(order, f.Path)
		}
		last[f.Path] = f.Hash
	}
	for _, path := range order {
		b, err := os.ReadFile(path)
		switch {
		case err != nil:
			return &fault.Error{Msg: fmt.Sprintf("The run cannot be resumed: %s, which it read, cannot be read any more.", path), Cause: err}
		case blake3.Sum256(b) != last[path]:
			return &fault.Error{
				Msg:  fmt.Sprintf("The run cannot be resumed: %s is not what it was when the run read it.", path),
				Help: "Put back what it was, or start a new run, for example with --start-at-task.",
			}
		}
	}
	return nil
}
