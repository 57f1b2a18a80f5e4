package jinja

// Template is a compiled template or expression. It is immutable and safe for
// concurrent use.
type Template struct {
	name string
}

// Compile compiles template text. name is what an included template is called
// ("" for others). The error is a *SyntaxError.
func Compile(source, name string, table Table, opts Options) (*Template, error) { return nil, nil }

// CompileExpr compiles a bare expression, without delimiters.
func CompileExpr(source string, table Table, opts Options) (*Template, error) { return nil, nil }

// Render returns the native result: the value of a sole node, else the text
// of all nodes, nil when there are none; for an expression its value. The
// result is not finalized. A failure inside is the error (a *value.Undefined
// for something undefined, *LimitError, a Python error), while a marker that
// is the result is returned as the value.
func (t *Template) Render(r *Render) (any, error) { return nil, nil }

// RenderFinal is Render followed by Context.Finalize.
func (t *Template) RenderFinal(r *Render) (any, error) { return nil, nil }

// RenderText is RenderFinal as text; no result is "".
func (t *Template) RenderText(r *Render) (string, error) { return "", nil }
