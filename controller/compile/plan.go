package compile

import (
	"volant/controller/playbook"
	"volant/wire/value"
)

// Plan is a compiled play.
type Plan struct {
	Play *playbook.Play
	// Setup is the `Gathering Facts` step, first in the list, or nil when tags
	// exclude it. Whether a host gathers depends on gather_facts and the
	// gathering setting: the executor decides, and takes the step without
	// running it for a host that does not gather.
	Setup *Step
	// Handlers are the play's handlers in order, those of roles and of what has
	// been included since. A notification is for the *playbook.Task.
	Handlers []*playbook.Task

	head   *Step // marker in front of everything
	tail   *Step // marker behind everything
	number int
	opts   Options
	loader *playbook.Loader

	handlerKw map[*playbook.Task]playbook.Keywords
}

// Options choose among the tasks of a play.
type Options struct {
	Tags, SkipTags []string // no Tags means "all"
	ForceHandlers  bool     // --force-handlers or the setting
}

// Step is one task in the list of a plan. Steps are linked, so that others can
// be spliced in while hosts stand on them. Next and Prev may be markers, whose
// Task is nil: they bound spans and splices and matter to Cursor only.
type Step struct {
	// Number is unique in the plan and never changes. Steps spliced in have
	// higher numbers than the steps around them.
	Number int
	Task   *playbook.Task // nil for a marker
	// Keywords are the effective keywords: own and inherited, raw. Conditions,
	// tags and the like are joined.
	Keywords playbook.Keywords
	// Span is the innermost block around the step; Part says in which of its
	// lists the step is.
	Span *Span
	Part Part
	// Splice is the inclusion or flush that brought the step in, nil for what
	// the play had from the start.
	Splice *Splice

	Next, Prev *Step

	mark mark
	last *Step // behind which the next splice at this step goes
}

// Part is one of the three lists of a block.
type Part uint8

// The lists of a block.
const (
	InBlock Part = iota
	InRescue
	InAlways
)

// mark is the kind of a marker.
type mark uint8

const (
	noMark mark = iota
	spanStart
	rescueStart
	alwaysStart
	spanEnd
	spliceEnd
	bound // head and tail of a plan
)

// Span is a block of the plan:
//
//	start [block steps] rescue [rescue steps] always [always steps] end
//
// where the words are markers. Spans nest.
type Span struct {
	Block  *playbook.Block
	Parent *Span // nil for the blocks at the top of the play
	Part   Part  // in which list of the parent it stands

	start, rescue, always, end *Step
}

// HasRescue reports whether the block has rescue tasks.
func (s *Span) HasRescue() bool { return s.rescue.Next != s.always }

// HasAlways reports whether the block has always tasks.
func (s *Span) HasAlways() bool { return s.always.Next != s.end }

// Splice is a run of steps put in at run time for some hosts only.
type Splice struct {
	Parent *Splice
	At     *Step // the including or flushing step
	Hosts  map[string]bool
	Flush  bool    // handlers of a flush rather than an inclusion
	Steps  []*Step // in order, without markers; may be empty

	end *Step
}

// For reports whether host walks the steps of s. A nil Splice is for everyone.
func (s *Splice) For(host string) bool { return s.without(host) == nil }

// without is the outermost splice around s that is not for host, or nil.
func (s *Splice) without(host string) *Splice {
	var out *Splice
	for ; s != nil; s = s.Parent {
		if !s.Hosts[host] {
			out = s
		}
	}
	return out
}

// Inclusion is what a dynamic include brings in, once the executor knows what
// it names for some hosts. Hosts whose File or Role, Args and Vars are equal
// share one.
type Inclusion struct {
	At    *Step
	Hosts []string
	// File is the absolute path of the task file (include_tasks), see Locate.
	File string
	// Role is the rendered name (include_role), From the rendered *_from
	// arguments: "tasks", "vars", "defaults", "handlers".
	Role string
	From map[string]string
	// Vars are the loop's variables of the item and such; they come on top of
	// the statement's vars. May be nil.
	Vars *value.Dict
	// Options are the rendered public, allow_duplicates and rolespec_validate
	// of include_role, those that were given. May be nil.
	Options *value.Dict
}
