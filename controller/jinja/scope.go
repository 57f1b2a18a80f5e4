package jinja

// Names are resolved to slots when a template is compiled. A function (the
// template's root, a block, a macro, a recursive loop's body shares its
// function's) has one frame of slots; every scope inside it (a loop's body, a
// with) has slots of its own in that frame, cleared when the scope is entered.
// A name that is assigned somewhere in a scope has a slot there; while the slot
// is not set, reading falls back to the enclosing scopes and finally to the
// variables of the render. That gives what Jinja2's static analysis gives.

// slot is a place for a local value.
type slot struct {
	v   any
	set bool
}

// frame is the locals of one running function; up is the frame of the function
// around it.
type frame struct {
	slots []slot
	up    *frame
}

func newFrame(fn *function, up *frame) *frame { return &frame{make([]slot, fn.slots), up} }

// function is what has a frame of its own.
type function struct {
	slots int
	depth int // functions around it
}

// scope maps the names assigned in one scope to slots.
type scope struct {
	fn     *function
	parent *scope // nil at the root of a template and of a block
	names  map[string]int
	from   int // first slot
	top    bool
}

func (s *scope) declare(name string) int {
	if i, ok := s.names[name]; ok {
		return i
	}
	i := s.fn.slots
	s.fn.slots++
	s.names[name] = i
	return i
}

// inner opens a scope in the same function.
func (s *scope) inner() *scope {
	return &scope{fn: s.fn, parent: s, names: map[string]int{}, from: s.fn.slots}
}

// function opens the scope of a function inside s.
func (s *scope) function() *scope {
	return &scope{fn: &function{depth: s.fn.depth + 1}, parent: s, names: map[string]int{}}
}

// place is a slot as seen from some scope.
type place struct{ up, slot int }

func (f *frame) at(p place) *slot {
	for range p.up {
		f = f.up
	}
	return &f.slots[p.slot]
}

// places lists where name may be set, innermost first.
func (s *scope) places(name string) []place {
	var out []place
	depth := s.fn.depth
	for ; s != nil; s = s.parent {
		if i, ok := s.names[name]; ok {
			out = append(out, place{depth - s.fn.depth, i})
		}
	}
	return out
}

// visible maps every local name to its places.
func (s *scope) visible() map[string][]place {
	out := map[string][]place{}
	for sc := s; sc != nil; sc = sc.parent {
		for name := range sc.names {
			if _, ok := out[name]; !ok {
				out[name] = s.places(name)
			}
		}
	}
	return out
}

// assigned calls declare for each name that body assigns in its own scope.
func assigned(body []stmt, declare func(name string)) {
	for _, s := range body {
		switch s := s.(type) {
		case *setStmt:
			targets(s.target, declare)
		case *setBlockStmt:
			targets(s.target, declare)
		case *macroStmt:
			declare(s.name)
		case *importStmt:
			declare(s.target)
		case *fromStmt:
			for _, n := range s.names {
				declare(n.alias)
			}
		case *ifStmt:
			for _, b := range s.bodies {
				assigned(b, declare)
			}
			assigned(s.els, declare)
		}
	}
}

// targets calls declare for each name in an assignment target.
func targets(x expr, declare func(name string)) {
	switch x := x.(type) {
	case *nameExpr:
		declare(x.name)
	case *tupleExpr:
		for _, e := range x.items {
			targets(e, declare)
		}
	}
}
