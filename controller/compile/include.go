package compile

import "volant/controller/playbook"

// Include loads what inc names and splices its steps in behind inc.At, after
// those that other inclusions at the same step brought in. Tasks that the tags
// exclude are left out. Handlers of an included role join p.Handlers. A
// *fault.Error of kind fault.Parser ends the run; any other error fails the
// hosts of the inclusion, in the reference's words.
func (p *Plan) Include(inc Inclusion) (*Splice, error) { return nil, nil }

// Locate finds the file that an include_tasks step names, the rendered target:
// relative to the including files upwards, the role's tasks or handlers, and
// the playbook. It returns the path it would have when nothing is found.
func (p *Plan) Locate(at *Step, target string, render func(v any) (any, error)) string { return "" }

// Flush splices the plan's handlers in behind at for the given hosts, as one
// step each, and returns them. The executor runs a handler for the hosts that
// were notified, the others take the step without running it.
func (p *Plan) Flush(at *Step, hosts []string) *Splice { return nil }

// StartAt moves the cursor to the first step whose name matches pattern
// (--start-at-task: the name, or a shell pattern of it, with or without the
// role in front) and reports whether there is one. The Setup step still comes
// first. Without a match the cursor does not move.
func (c *Cursor) StartAt(pattern string) bool { return false }

// Compile makes the plan of a play.
func Compile(l *playbook.Loader, play *playbook.Play, opt Options) (*Plan, error) { return nil, nil }
