package jinja

import (
	"strings"

	"volant/wire/value"
)

// maxNesting bounds how deep expressions and blocks nest, so that neither
// parsing nor running them can exhaust the stack.
const maxNesting = 200

// parser builds the tree. Inside it errors travel as panics of *SyntaxError,
// which parse and parseExpr turn back into errors.
type parser struct {
	toks  []token
	i     int
	name  string
	deep  int
	links int        // parts of chains met so far
	tags  []string   // open tags
	ends  [][]string // what the open bodies end with
}

func parse(source, name string, set *settings) (body []stmt, err error) {
	p := &parser{toks: lex(source, "", set), name: name}
	defer p.recover(&err)
	p.check()
	return p.subparse(nil), nil
}

func parseExpr(source string, set *settings) (x expr, err error) {
	p := &parser{toks: lex(source, "variable", set)}
	defer p.recover(&err)
	p.check()
	x = p.expression(true)
	if p.cur().kind != kEOF {
		p.fail("chunk after expression", p.cur().line)
	}
	return x, nil
}

func (p *parser) recover(err *error) {
	switch r := recover().(type) {
	case nil:
	case *SyntaxError:
		*err = r
	case *value.Exception:
		*err = r
	default:
		panic(r)
	}
}

func (p *parser) fail(msg string, line int) {
	panic(&SyntaxError{Msg: msg, Line: line, Name: p.name})
}

// check fails when the current token is what the lexer could not read.
func (p *parser) check() {
	if t := p.toks[p.i]; t.kind == kError {
		p.fail(t.err, t.line)
	}
}

func (p *parser) cur() token { return p.toks[p.i] }

func (p *parser) look() token {
	if p.i+1 >= len(p.toks) {
		return p.toks[p.i]
	}
	if t := p.toks[p.i+1]; t.kind == kError {
		p.fail(t.err, t.line)
	}
	return p.toks[p.i+1]
}

func (p *parser) next() token {
	t := p.toks[p.i]
	if p.i+1 < len(p.toks) {
		p.i++
		p.check()
	}
	return t
}

func (p *parser) skipIf(expr string) bool {
	if p.cur().is(expr) {
		p.next()
		return true
	}
	return false
}

func (p *parser) any(exprs []string) bool {
	for _, e := range exprs {
		if p.cur().is(e) {
			return true
		}
	}
	return false
}

func (p *parser) expect(expr string) token {
	t := p.cur()
	if t.is(expr) {
		return p.next()
	}
	want := value.Repr(describe(expr))
	if t.kind == kEOF {
		p.fail("unexpected end of template, expected "+want+".", t.line)
	}
	p.fail("expected token "+want+", got "+value.Repr(t.String()), t.line)
	return t
}

// enter counts one level of nesting; the caller leaves with leave.
func (p *parser) enter() {
	if p.deep++; p.deep > maxNesting {
		p.fail("template is nested deeper than 200 levels", p.cur().line)
	}
}

func (p *parser) leave() { p.deep-- }

// unfinished reports an unknown tag or the end of the template where a body
// had to be closed.
func (p *parser) unfinished(tag string, ends [][]string, line int) {
	msg := "Unexpected end of template."
	if tag != "" {
		msg = "Encountered unknown tag " + value.Repr(tag) + "."
	}
	if len(ends) > 0 {
		expected := false
		for _, set := range ends {
			for _, e := range set {
				expected = expected || describe(e) == tag
			}
		}
		var want []string
		for _, e := range ends[len(ends)-1] {
			want = append(want, value.Repr(describe(e)))
		}
		looking := strings.Join(want, " or ")
		if tag != "" && expected {
			msg += " You probably made a nesting mistake. Jinja is expecting this tag, but currently looking for " + looking + "."
		} else {
			msg += " Jinja was looking for the following tags: " + looking + "."
		}
	}
	if n := len(p.tags); n > 0 {
		msg += " The innermost block that needs to be closed is " + value.Repr(p.tags[n-1]) + "."
	}
	p.fail(msg, line)
}

// subparse parses a body up to a tag of ends, which stays the current token,
// or to the end of the template.
func (p *parser) subparse(ends []string) []stmt {
	p.enter()
	defer p.leave()
	if ends != nil {
		p.ends = append(p.ends, ends)
		defer func() { p.ends = p.ends[:len(p.ends)-1] }()
	}
	var body []stmt
	var nodes []expr
	flush := func() {
		if len(nodes) > 0 {
			body = append(body, &outputStmt{line: line(nodes[0].at()), nodes: nodes})
			nodes = nil
		}
	}
	for {
		t := p.cur()
		switch t.kind {
		case kEOF:
			flush()
			return body
		case kData:
			nodes = append(nodes, &dataExpr{line(t.line), t.text})
			p.next()
		case kVariableBegin:
			p.next()
			nodes = append(nodes, p.tuple(tupleRules{condexpr: true}))
			p.expect("variable_end")
		case kBlockBegin:
			flush()
			p.next()
			if ends != nil && p.any(ends) {
				return body
			}
			body = append(body, p.statement())
			p.expect("block_end")
		default:
			p.fail("unexpected "+value.Repr(t.String()), t.line)
		}
	}
}

// statements parses the body of a tag up to one of ends; the end tag stays
// the current token unless drop is set.
func (p *parser) statements(drop bool, ends ...string) []stmt {
	p.skipIf(":")
	p.expect("block_end")
	body := p.subparse(ends)
	if p.cur().kind == kEOF {
		p.unfinished("", append(append([][]string(nil), p.ends...), ends), p.cur().line)
	}
	if drop {
		p.next()
	}
	return body
}

func (p *parser) statement() stmt {
	t := p.cur()
	if t.kind != kName {
		p.fail("tag name expected", t.line)
	}
	p.tags = append(p.tags, t.text)
	defer func() { p.tags = p.tags[:len(p.tags)-1] }()
	at := line(t.line)
	switch t.text {
	case "for":
		return p.forTag()
	case "if":
		return p.ifTag()
	case "block":
		return p.blockTag()
	case "extends":
		p.next()
		return &extendsStmt{at, p.expression(true)}
	case "print":
		return p.printTag()
	case "macro":
		p.next()
		m := &macroStmt{line: at}
		m.name = p.nameTarget()
		p.signature(m)
		m.body = p.statements(true, "name:endmacro")
		return m
	case "include":
		return p.includeTag()
	case "from":
		return p.fromTag()
	case "import":
		p.next()
		s := &importStmt{line: at, template: p.expression(true)}
		p.expect("name:as")
		s.target = p.nameTarget()
		s.context = p.importContext(false)
		return s
	case "set":
		return p.setTag()
	case "with":
		return p.withTag()
	case "autoescape":
		p.next()
		s := &scopeStmt{line: at, option: p.expression(true)}
		s.body = p.statements(true, "name:endautoescape")
		return s
	case "call":
		return p.callTag()
	case "filter":
		p.next()
		s := &filterStmt{line: at, filter: p.filters(nil, true)}
		s.body = p.statements(true, "name:endfilter")
		return s
	}
	// only tags outside this one count for the message
	p.tags = p.tags[:len(p.tags)-1]
	defer func() { p.tags = append(p.tags, t.text) }()
	p.unfinished(t.text, p.ends, t.line)
	return nil
}

func (p *parser) printTag() stmt {
	s := &outputStmt{line: line(p.next().line)}
	for p.cur().kind != kBlockEnd {
		if len(s.nodes) > 0 {
			p.expect(",")
		}
		s.nodes = append(s.nodes, p.expression(true))
	}
	return s
}

func (p *parser) setTag() stmt {
	at := line(p.next().line)
	target := p.target(tupleRules{simple: true, namespace: true})
	if p.skipIf("=") {
		return &setStmt{at, target, p.tuple(tupleRules{condexpr: true})}
	}
	s := &setBlockStmt{line: at, target: target}
	s.filter = p.filters(nil, false)
	s.body = p.statements(true, "name:endset")
	return s
}

func (p *parser) forTag() stmt {
	s := &forStmt{line: line(p.expect("name:for").line)}
	s.target = p.target(tupleRules{simple: true})
	p.expect("name:in")
	s.iter = p.tuple(tupleRules{})
	if p.skipIf("name:if") {
		s.test = p.expression(true)
	}
	s.recursive = p.skipIf("name:recursive")
	s.body = p.statements(false, "name:endfor", "name:else")
	if p.next().text != "endfor" {
		s.els = p.statements(true, "name:endfor")
	}
	return s
}

func (p *parser) ifTag() stmt {
	s := &ifStmt{line: line(p.expect("name:if").line)}
	for {
		s.tests = append(s.tests, p.tuple(tupleRules{}))
		s.bodies = append(s.bodies, p.statements(false, "name:elif", "name:else", "name:endif"))
		switch p.next().text {
		case "elif":
			continue
		case "else":
			s.els = p.statements(true, "name:endif")
		}
		return s
	}
}

func (p *parser) withTag() stmt {
	s := &withStmt{line: line(p.next().line)}
	for p.cur().kind != kBlockEnd {
		if len(s.targets) > 0 {
			p.expect(",")
		}
		s.targets = append(s.targets, p.target(tupleRules{simple: true}))
		p.expect("=")
		s.values = append(s.values, p.expression(true))
	}
	s.body = p.statements(true, "name:endwith")
	return s
}

func (p *parser) blockTag() stmt {
	s := &blockStmt{line: line(p.next().line)}
	s.name = p.expect("name").text
	s.scoped = p.skipIf("name:scoped")
	s.required = p.skipIf("name:required")
	if p.cur().is("-") {
		p.fail("Block names in Jinja have to be valid Python identifiers and may not contain hyphens, use an underscore instead.", p.cur().line)
	}
	s.body = p.statements(true, "name:endblock")
	if s.required {
		for _, b := range s.body {
			out, ok := b.(*outputStmt)
			for i := 0; ok && i < len(out.nodes); i++ {
				d, isData := out.nodes[i].(*dataExpr)
				ok = isData && strings.TrimSpace(d.text) == ""
			}
			if !ok {
				p.fail("Required blocks can only contain comments or whitespace", p.cur().line)
			}
		}
	}
	p.skipIf("name:" + s.name)
	return s
}

func (p *parser) importContext(def bool) bool {
	if (p.cur().is("name:with") || p.cur().is("name:without")) && p.look().is("name:context") {
		with := p.next().text == "with"
		p.next()
		return with
	}
	return def
}

func (p *parser) includeTag() stmt {
	s := &includeStmt{line: line(p.next().line), template: p.expression(true)}
	if p.cur().is("name:ignore") && p.look().is("name:missing") {
		s.ignoreMissing = true
		p.next()
		p.next()
	}
	s.context = p.importContext(true)
	return s
}

func (p *parser) fromTag() stmt {
	s := &fromStmt{line: line(p.next().line), template: p.expression(true)}
	p.expect("name:import")
	context := func() bool {
		if (p.cur().text == "with" || p.cur().text == "without") && p.look().is("name:context") {
			s.context = p.next().text == "with"
			p.next()
			return true
		}
		return false
	}
	for {
		if len(s.names) > 0 {
			p.expect(",")
		}
		if p.cur().kind != kName {
			p.expect("name")
		}
		if context() {
			return s
		}
		at := p.cur().line
		n := importName{name: p.nameTarget()}
		if strings.HasPrefix(n.name, "_") {
			p.fail("names starting with an underline can not be imported", at)
		}
		n.alias = n.name
		if p.skipIf("name:as") {
			n.alias = p.nameTarget()
		}
		s.names = append(s.names, n)
		if context() || !p.cur().is(",") {
			return s
		}
	}
}

func (p *parser) callTag() stmt {
	at := line(p.next().line)
	m := &macroStmt{line: at}
	if p.cur().is("(") {
		p.signature(m)
	}
	call := p.expression(true)
	if _, ok := call.(*callExpr); !ok {
		p.fail("expected call", int(at))
	}
	m.body = p.statements(true, "name:endcall")
	return &callStmt{at, call, m}
}

func (p *parser) signature(m *macroStmt) {
	p.expect("(")
	for !p.cur().is(")") {
		if len(m.args) > 0 {
			p.expect(",")
		}
		m.args = append(m.args, p.nameTarget())
		if p.skipIf("=") {
			m.defaults = append(m.defaults, p.expression(true))
		} else if len(m.defaults) > 0 {
			p.fail("non-default argument follows default argument", p.cur().line)
		}
	}
	p.expect(")")
}

func (p *parser) nameTarget() string {
	t := p.expect("name")
	if reservedName(t.text) {
		p.fail("can't assign to 'name'", t.line)
	}
	return t.text
}

func reservedName(s string) bool {
	switch s {
	case "true", "false", "none", "True", "False", "None":
		return true
	}
	return false
}

// target parses what a value may be assigned to.
func (p *parser) target(r tupleRules) expr {
	x := p.tuple(r)
	if what := unassignable(x); what != "" {
		p.fail("can't assign to "+value.Repr(what), x.at())
	}
	return x
}

func unassignable(x expr) string {
	switch x := x.(type) {
	case *nameExpr:
		if reservedName(x.name) {
			return "name"
		}
		return ""
	case *nsRef:
		return ""
	case *tupleExpr:
		for _, e := range x.items {
			if unassignable(e) != "" {
				return "tuple"
			}
		}
		return ""
	case *constExpr:
		return "const"
	case *listExpr:
		return "list"
	case *dictExpr:
		return "dict"
	}
	return "expr"
}
