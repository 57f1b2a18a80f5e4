package compile

import "iter"

// Steps iterates over the steps in order, without markers. Steps spliced in
// while it runs are seen when they are ahead.
func (p *Plan) Steps() iter.Seq[*Step] {
	return func(yield func(*Step) bool) {
		for s := p.head; s != nil; s = s.Next {
			if s.Task != nil && !yield(s) {
				return
			}
		}
	}
}

// Lockstep returns the step that comes first behind cur in the list among
// those wanted (the hosts' next steps), starting over at the front when there
// is none behind. cur is the step returned last, nil at first. It returns nil
// when none is wanted.
func (p *Plan) Lockstep(cur *Step, wanted map[*Step]bool) *Step {
	if len(wanted) == 0 {
		return nil
	}
	if cur == nil {
		cur = p.head
	}
	for s := cur.Next; s != nil; s = s.Next {
		if wanted[s] {
			return s
		}
	}
	for s := p.head; s != nil; s = s.Next {
		if wanted[s] {
			return s
		}
		if s == cur {
			break
		}
	}
	return nil
}

// insert puts n behind at.
func insert(at, n *Step) {
	n.Prev, n.Next = at, at.Next
	if at.Next != nil {
		at.Next.Prev = n
	}
	at.Next = n
}

// marker makes a marker step of a span or splice.
func marker(m mark, span *Span, splice *Splice) *Step {
	return &Step{mark: m, Span: span, Splice: splice}
}
