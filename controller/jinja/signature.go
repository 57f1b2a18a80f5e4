package jinja

// Signature is how a function takes its arguments: names, defaults, *args and
// **kwargs, with Python's errors for calls that do not fit.
type Signature struct {
	Name   string
	params []param
}

type param struct{ name string }

// Sig parses a signature in Python's notation with literal defaults:
//
//	Sig("truncate(s, length=255, killwords=False, end='...', leeway=None)")
//	Sig("zip(*args, strict=False, **kw)")
//
// Parameters after *args or * are keyword-only. It is meant for package-level
// variables and panics on text that is no signature.
func Sig(text string) *Signature { return nil }

// Bind returns one value per parameter, in the order of the signature. *args
// is a value.Tuple, **kwargs a *value.Dict. The error is Python's TypeError.
func (s *Signature) Bind(a Args) ([]any, error) { return nil, nil }
