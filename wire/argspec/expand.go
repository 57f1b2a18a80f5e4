package argspec

// ExpandPath is os.path.expanduser(os.path.expandvars(s)).
func (e Environment) ExpandPath(s string) string { return e.expand(s) }

// ExpandVars replaces $NAME and ${NAME}; what is not set stays as it is.
func (e Environment) ExpandVars(s string) string { return e.expandVars(s) }
