package fault

import "fmt"

// Bug is a fault of the program's own: a panic that was caught. It ends the
// run with exit code 250.
type Bug struct {
	Doing string // what was going on, such as "task copy on web1"
	Panic any
	Stack []byte // shown only to those who asked for every detail
}

// Error is one line: what happened, and where it is to be told.
func (b *Bug) Error() string {
	return fmt.Sprintf("Unexpected failure: %s: %v. This is a bug in volant: please report it to its maintainers, with the output of the same run under -vvvv.", b.Doing, b.Panic)
}
