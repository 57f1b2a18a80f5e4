package execute

import (
	"context"
	"errors"
	"fmt"
	"io"

	"volant/controller/events"
	"volant/controller/playbook"
	"volant/wire/value"
)

// prompts asks for the variables of vars_prompt.
func (r *Runner) prompts(ctx context.Context, p *playbook.Play) (*value.Dict, error) {
	out := value.NewDict(len(p.VarsPrompt))
	for _, raw := range p.VarsPrompt {
		v, err := r.opt.Loader.Render.Render(p, nil, nil, raw)
		if err != nil {
			return nil, err
		}
		d, ok := v.(*value.Dict)
		if !ok {
			continue
		}
		name, _ := d.Str("name")
		if r.opt.Store.Extra().Has(name) {
			continue
		}
		answer, err := r.prompt(ctx, name, d)
		if err != nil {
			return nil, err
		}
		out.Set(name, answer)
	}
	return out, nil
}

// question is one entry of vars_prompt.
type question struct {
	name             string
	text             string // what is shown, without colon and default
	def              any    // nil: none
	private, confirm bool
	unsafe           bool // the answer is no template
}

func questionOf(name string, d *value.Dict) (*question, error) {
	q := &question{name: name, text: name, def: d.Lookup("default"), private: true}
	if p, ok := d.Get("prompt"); ok {
		q.text = ""
		if value.Truth(p) {
			q.text = text(p)
		}
	}
	for key, to := range map[string]*bool{"private": &q.private, "confirm": &q.confirm, "unsafe": &q.unsafe} {
		v, ok := d.Get(key)
		if !ok {
			continue
		}
		b, ok := playbook.ToBool(v)
		if !ok {
			return nil, &Unexpected{fmt.Errorf("The value '%s' is not a valid boolean. Valid booleans include: 0, 1, '0', '1', 'f', 'false', 'n', 'no', 'off', 'on', 't', 'true', 'y', 'yes'", text(v))} //nolint:staticcheck // the reference's text
		}
		*to = b
	}
	return q, nil
}

// prompt asks for one variable. Without a terminal it has its default.
func (r *Runner) prompt(ctx context.Context, name string, d *value.Dict) (any, error) {
	q, err := questionOf(name, d)
	if err != nil {
		return nil, err
	}
	r.opt.Bus.Event(events.VarsPrompt{Name: name, Prompt: q.text})
	var answer any
	if r.opt.Prompt == nil {
		r.opt.Display.Note("Not prompting as we are not in interactive mode")
	} else if answer, err = r.question(ctx, q); errors.Is(err, io.EOF) {
		return nil, ErrNoLine
	} else if err != nil {
		return nil, err
	}
	if !value.Truth(answer) && q.def != nil {
		answer = q.def
	}
	if kind := d.Lookup("encrypt"); value.Truth(kind) {
		if answer, err = r.opt.Engine.Encrypt(ctx, answer, text(kind), d.Lookup("salt"), d.Lookup("salt_size")); err != nil {
			return nil, err
		}
	}
	if q.unsafe {
		return text(answer), nil
	}
	return value.NewTemplate(text(answer), value.Pos{}), nil
}

// question asks until two answers agree where that is wanted.
func (r *Runner) question(ctx context.Context, q *question) (string, error) {
	msg := q.text + ": "
	switch {
	case q.text == "":
		msg = fmt.Sprintf("input for %s: ", q.name)
	case q.def != nil:
		msg = fmt.Sprintf("%s [%s]: ", q.text, text(q.def))
	}
	for {
		answer, err := r.opt.Prompt(ctx, msg, !q.private, 0)
		if err != nil || !q.confirm {
			return answer, err
		}
		again, err := r.opt.Prompt(ctx, "confirm "+msg, !q.private, 0)
		if err != nil || again == answer {
			return answer, err
		}
		r.opt.Display.Print("***** VALUES ENTERED DO NOT MATCH ****", "")
	}
}
