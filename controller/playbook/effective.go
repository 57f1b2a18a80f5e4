package playbook

// Effective returns every keyword that applies to t: its own and those it
// inherits from the blocks, static imports, roles and the play around it, each
// by the keyword's rule (nearest wins, or lists joined). It is computed once
// per task when steps are made. Includes that are dynamic pass nothing on but
// through `apply` blocks, as in the reference.
func Effective(t *Task) Keywords { return nil }
