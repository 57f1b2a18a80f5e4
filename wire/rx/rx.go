// Package rx is regular expressions that cost a process nothing until they
// are used: most commands need few of the patterns the program knows, and
// compiling all of them at start took longer than the work of a short command.
//
// Every pattern of the source is compiled by a test (rules_test.go), so one
// that does not compile fails there and not at its first use.
package rx

import (
	"regexp"
	"sync/atomic"
)

// Pattern is a regular expression of package regexp that is compiled at its
// first use. A use costs one atomic load over a compiled one. It is safe for
// concurrent use.
type Pattern struct {
	expr string
	re   atomic.Pointer[regexp.Regexp]
}

// Lazy is the pattern of expr, which must be a constant and compile. It is
// small enough for the compiler to lay a package-level pattern out as data.
func Lazy(expr string) *Pattern { return &Pattern{expr: expr} }

// Regexp is the compiled pattern, for the methods that Pattern does not have.
func (p *Pattern) Regexp() *regexp.Regexp {
	if re := p.re.Load(); re != nil {
		return re
	}
	return p.compile()
}

// compile may run twice when first uses meet; either result serves.
func (p *Pattern) compile() *regexp.Regexp {
	re := regexp.MustCompile(p.expr)
	p.re.Store(re)
	return re
}
