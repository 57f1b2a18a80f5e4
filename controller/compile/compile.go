package compile

import (
	"volant/controller/playbook"
	"volant/wire/value"
)

// Compile makes the plan of a play for one batch of hosts. The play must have
// been finished (Loader.Finish). What is included while the plan runs changes
// a copy of the play, p.Play.
func Compile(l *playbook.Loader, play *playbook.Play, opt Options) (*Plan, error) {
	p := &Plan{Play: play.Clone(), opts: opt, loader: l}
	p.head, p.tail = marker(bound, nil, nil), marker(bound, nil, nil)
	insert(p.head, p.tail)
	at := p.head
	if err := p.setup(&at); err != nil {
		return nil, err
	}
	roles := p.Play.Roles
	var roleBlocks, roleHandlers []*playbook.Block
	for _, r := range roles {
		if !r.FromInclude {
			roleBlocks = append(roleBlocks, l.RoleBlocks(r, nil)...)
			roleHandlers = append(roleHandlers, playbook.RoleHandlers(r, nil)...)
		}
	}
	p.Play.Handlers = append(roleHandlers, p.Play.Handlers...)
	p.listHandlers()

	force := opt.ForceHandlers
	if v := play.Values; v != nil && v.ForceHandlers != nil {
		force = *v.ForceHandlers
	}
	for _, section := range [][]*playbook.Block{p.Play.PreTasks, append(roleBlocks, p.Play.Tasks...), p.Play.PostTasks} {
		if force {
			section = []*playbook.Block{p.forced(section)}
		} else {
			section = append(section[:len(section):len(section)], p.flushBlock())
		}
		for _, b := range section {
			if err := p.emit(&at, b, nil, InBlock, nil); err != nil {
				return nil, err
			}
		}
	}
	return p, nil
}

// setup puts the `Gathering Facts` task in front.
func (p *Plan) setup(at **Step) error {
	play := p.Play
	b := &playbook.Block{Vars: value.NewDict(0), Implicit: true, Play: play}
	b.Keywords.Set(playbook.RunOnce, false, value.Pos{})
	t := &playbook.Task{
		ID: p.loader.NewID(), Action: "gather_facts", Resolved: "ansible.builtin.gather_facts", Args: value.NewDict(3),
		Vars: value.NewDict(0), Parent: b, LoopControl: &playbook.LoopControl{},
	}
	t.Keywords.Set(playbook.Name, "Gathering Facts", value.Pos{})
	if len(play.Keywords.List(playbook.Tags)) == 0 {
		t.Keywords.Set(playbook.Tags, value.Strings("always"), value.Pos{})
	}
	for _, k := range []playbook.Keyword{playbook.GatherSubset, playbook.GatherTimeout, playbook.FactPath} {
		if v := play.Keywords.Value(k); v != nil {
			t.Args.Set(k.String(), v)
		}
	}
	if len(play.Conditional) > 0 {
		t.Keywords.Set(playbook.When, value.ListOf(play.Conditional...), value.Pos{})
	}
	b.Block = []playbook.Node{t}
	if err := p.emit(at, b, nil, InBlock, nil); err != nil {
		return err
	}
	for s := range p.Steps() {
		p.Setup = s
	}
	return nil
}

// flushBlock is a block with the implicit `meta: flush_handlers`.
func (p *Plan) flushBlock() *playbook.Block {
	b := &playbook.Block{Vars: value.NewDict(0), Implicit: true, Play: p.Play}
	t := p.loader.MetaTask("flush_handlers", b)
	t.Keywords.Set(playbook.Tags, value.Strings("always"), value.Pos{})
	b.Block = []playbook.Node{t}
	return b
}

// forced puts a section of the play in a block whose always list flushes
// handlers (force_handlers).
func (p *Plan) forced(section []*playbook.Block) *playbook.Block {
	b := &playbook.Block{Vars: value.NewDict(0), Implicit: true, Play: p.Play}
	for _, inner := range section {
		b.Block = append(b.Block, inner)
	}
	if len(section) == 0 {
		b.Block = []playbook.Node{p.loader.MetaTask("noop", b)}
	}
	b.Always = []playbook.Node{p.flushBlock()}
	return b
}

// listHandlers brings p.Handlers up to date with the play's.
func (p *Plan) listHandlers() {
	p.Handlers = p.Handlers[:0:0]
	for _, b := range p.Play.Handlers {
		for _, n := range b.Block {
			if t, ok := n.(*playbook.Task); ok {
				p.Handlers = append(p.Handlers, t)
			}
		}
	}
}

// emit appends the steps of a block behind *at and moves it on. A block of
// which the tags leave nothing leaves no trace.
func (p *Plan) emit(at **Step, b *playbook.Block, parent *Span, part Part, sp *Splice) error {
	span := &Span{Block: b, Parent: parent, Part: part}
	before, number := *at, p.number
	mark := func(m mark) *Step {
		s := marker(m, span, sp)
		insert(*at, s)
		*at = s
		return s
	}
	span.start = mark(spanStart)
	if err := p.nodes(at, b.Block, span, InBlock, sp); err != nil {
		return err
	}
	span.rescue = mark(rescueStart)
	if err := p.nodes(at, b.Rescue, span, InRescue, sp); err != nil {
		return err
	}
	span.always = mark(alwaysStart)
	if err := p.nodes(at, b.Always, span, InAlways, sp); err != nil {
		return err
	}
	span.end = mark(spanEnd)
	if p.number == number { // nothing in it
		next := span.end.Next
		before.Next = next
		if next != nil {
			next.Prev = before
		}
		*at = before
	}
	return nil
}

func (p *Plan) nodes(at **Step, nodes []playbook.Node, span *Span, part Part, sp *Splice) error {
	for _, n := range nodes {
		switch n := n.(type) {
		case *playbook.Block:
			if err := p.emit(at, n, span, part, sp); err != nil {
				return err
			}
		case *playbook.Task:
			s := &Step{Task: n, Keywords: playbook.Effective(n), Span: span, Part: part, Splice: sp}
			run, err := p.selected(s)
			if err != nil {
				return err
			}
			if run {
				p.place(at, s)
			}
		}
	}
	return nil
}

// place numbers a step and puts it behind *at.
func (p *Plan) place(at **Step, s *Step) {
	p.number++
	s.Number = p.number
	insert(*at, s)
	*at = s
	if s.Splice != nil {
		s.Splice.Steps = append(s.Splice.Steps, s)
	}
}
