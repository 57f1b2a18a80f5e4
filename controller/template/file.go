package template

import "volant/wire/value"

// FileOptions are the options of the template module and lookup that change
// how a file is read. Zero values are Jinja's own, trim_blocks on.
type FileOptions struct {
	BlockStart, BlockEnd       string
	VariableStart, VariableEnd string
	CommentStart, CommentEnd   string
	NewlineSequence            string // \n, \r\n or \r
	NoTrimBlocks               bool
	LstripBlocks               bool
	// OutputEncoding is the encoding of the text returned; empty is utf-8.
	OutputEncoding string
}

// TemplateFile renders the template at path, found already, as the template
// module does, with extra on top of the scope's variables.
func (s *Scope) TemplateFile(path string, opt FileOptions, extra *value.Dict) (text []byte, marked bool, err error) {
	return nil, false, nil
}

// FindFile looks a file up on the controller as the reference does: each
// directory of the search path, first with dir ("files", "templates", "vars")
// below it, then without. ok is false when there is none; tried lists where it
// was looked for.
func (s *Scope) FindFile(dir, name string) (path string, tried []string, ok bool) {
	return "", nil, false
}
