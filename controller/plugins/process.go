package plugins

import (
	"bufio"
	"context"
	_ "embed"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"volant/wire/pyjson"
	"volant/wire/value"
)

//go:embed helper.py
var helperSource string

//go:embed inventory.py
var inventorySource string

//go:embed action.py
var actionSource string

// maxFrame bounds a frame either way.
const maxFrame = 64 << 20

// process is one running helper. It serves one call at a time.
type process struct {
	cmd  *exec.Cmd
	to   *os.File
	from *bufio.Reader
	raw  *os.File
	errs *tail
	dirs int // how many of the directories it knows
	// limit bounds what is sent: maxFrame, less in tests.
	limit int
	vault Decrypter
}

// codec says how the answer to a frame is read: what an inventory plugin makes
// are variables as they were written.
func (p *process) codec(frame *value.Dict) codec {
	name, _ := frame.Str("op")
	return codec{raw: name == "inventory", vault: p.vault}
}

// start starts a helper and tells it where things are.
func (h *Helper) start(ctx context.Context) (*process, error) {
	ours, theirs, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	in, to, err := os.Pipe()
	if err != nil {
		_ = ours.Close()
		_ = theirs.Close()
		return nil, err
	}
	p := &process{to: to, raw: ours, from: bufio.NewReaderSize(ours, 64<<10), errs: &tail{}, limit: maxFrame, vault: h.opt.Vault}
	p.cmd = exec.Command(h.opt.Python, "-") //nolint:noctx // it outlives the call that starts it; Close ends it
	p.cmd.Stdin = strings.NewReader(helperSource + inventorySource + actionSource)
	p.cmd.Stdout, p.cmd.Stderr = h.opt.Stdout, p.errs
	p.cmd.Dir, p.cmd.Env = h.opt.Dir, h.opt.Environ
	p.cmd.ExtraFiles = []*os.File{in, theirs}
	p.cmd.WaitDelay = time.Second
	err = p.cmd.Start()
	_ = in.Close()
	_ = theirs.Close()
	if err != nil {
		_ = ours.Close()
		_ = to.Close()
		return nil, fmt.Errorf("starting %s for Python plugins: %w", h.opt.Python, err)
	}
	hello := value.NewDict(2)
	hello.Set("path", h.opt.Path)
	hello.Set("collections", value.Strings(h.opt.Collections...))
	if _, err := p.call(ctx, hello, nil); err != nil {
		p.end()
		return nil, fmt.Errorf("ansible-core's Python (%s) cannot load plugins: %w", h.opt.Python, err)
	}
	return p, nil
}

// end kills the process and waits for it.
func (p *process) end() {
	_ = p.to.Close()
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
	_ = p.raw.Close()
}

// serve answers what the helper says before its answer: notes (reply nil) and
// questions.
type serve func(frame *value.Dict) (reply *value.Dict)

// errDied is a helper that ended, or said what is none of its words.
type errDied struct{ why string }

func (e *errDied) Error() string { return e.why }

// call sends a frame and returns the answer. When ctx ends first, or the helper
// fails, the process is of no further use.
func (p *process) call(ctx context.Context, frame *value.Dict, on serve) (any, error) {
	stop := context.AfterFunc(ctx, func() { _ = p.cmd.Process.Kill() })
	defer stop()
	v, err := p.exchange(frame, on)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return v, err
}

func (p *process) exchange(frame *value.Dict, on serve) (any, error) {
	if err := p.send(frame); err != nil {
		return nil, err
	}
	for {
		got, err := p.receive()
		if err != nil {
			return nil, err
		}
		if got.Has("note") || got.Has("ask") {
			var reply *value.Dict
			if on != nil {
				reply = on(got)
			}
			if got.Has("ask") {
				if reply == nil {
					reply = refusal("nothing can be asked here")
				}
				if err := p.reply(reply); err != nil {
					return nil, err
				}
			}
			continue
		}
		return answer(got, p.codec(frame))
	}
}

// reply answers a question; one whose answer cannot be sent gets a refusal, for
// the helper waits.
func (p *process) reply(frame *value.Dict) error {
	err := p.send(frame)
	if err == nil || errors.As(err, new(*errDied)) {
		return err
	}
	return p.send(refusal(err.Error()))
}

func (p *process) send(frame *value.Dict) error {
	b, err := pyjson.Append(make([]byte, 4, 512), frame)
	if err != nil {
		return err
	}
	if len(b)-4 > p.limit {
		return errors.New("what a Python plugin is given is over 64 MiB")
	}
	binary.BigEndian.PutUint32(b, uint32(len(b)-4)) //nolint:gosec // bounded above
	if _, err := p.to.Write(b); err != nil {
		return p.died(err)
	}
	return nil
}

func (p *process) receive() (*value.Dict, error) {
	var head [4]byte
	if _, err := io.ReadFull(p.from, head[:]); err != nil {
		return nil, p.died(err)
	}
	n := binary.BigEndian.Uint32(head[:])
	if n > maxFrame {
		return nil, &errDied{"the helper for Python plugins sent a frame over 64 MiB"}
	}
	b := make([]byte, n)
	if _, err := io.ReadFull(p.from, b); err != nil {
		return nil, p.died(err)
	}
	v, err := pyjson.Decode(b)
	if err != nil {
		return nil, &errDied{"the helper for Python plugins sent what is no JSON: " + err.Error()}
	}
	d, ok := v.(*value.Dict)
	if !ok {
		return nil, &errDied{"the helper for Python plugins sent what is no object"}
	}
	return d, nil
}

// died says what is known of a helper that went away.
func (p *process) died(err error) error {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait() // what it wrote is complete then
	why := "the helper for Python plugins ended"
	if p.cmd.ProcessState != nil && !p.cmd.ProcessState.Exited() {
		why += " (" + p.cmd.ProcessState.String() + ")"
	}
	if text := p.errs.last(); text != "" {
		return &errDied{why + ": " + text}
	}
	return &errDied{fmt.Sprintf("%s: %s", why, err)}
}

func refusal(text string) *value.Dict {
	d := value.NewDict(1)
	d.Set("error", text)
	return d
}

// tail keeps the end of what a helper wrote to its standard error.
type tail struct{ b []byte }

const maxTail = 8 << 10

func (t *tail) Write(b []byte) (int, error) {
	t.b = append(t.b, b...)
	if n := len(t.b) - maxTail; n > 0 {
		t.b = append(t.b[:0], t.b[n:]...)
	}
	return len(b), nil
}

// last is the last line that says something.
func (t *tail) last() string {
	text := strings.TrimSpace(string(t.b))
	return text[strings.LastIndexByte(text, '\n')+1:]
}
