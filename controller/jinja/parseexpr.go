package jinja

import (
	"strings"

	"volant/wire/value"
)

func (p *parser) expression(condexpr bool) expr {
	p.enter()
	defer p.leave()
	if condexpr {
		return p.cond()
	}
	return p.or()
}

func (p *parser) cond() expr {
	p.enter()
	defer p.leave()
	at := line(p.cur().line)
	x := p.or()
	for p.skipIf("name:if") {
		c := &condExpr{line: at, then: x, test: p.or()}
		if p.skipIf("name:else") {
			c.els = p.cond()
		}
		x = c
		at = line(p.cur().line)
		p.chain()
	}
	return x
}

// chain counts one more link of a left-leaning chain (a + b + c, x.y.z): run
// time recursion follows the chain, so it is bounded as nesting is, generously.
func (p *parser) chain() {
	if p.links++; p.links > maxLinks {
		p.fail("expression has too many parts", p.cur().line)
	}
}

const maxLinks = 100000

func (p *parser) or() expr {
	at := line(p.cur().line)
	x := p.and()
	for p.skipIf("name:or") {
		x = &logicExpr{at, false, x, p.and()}
		p.chain()
	}
	return x
}

func (p *parser) and() expr {
	at := line(p.cur().line)
	x := p.not()
	for p.skipIf("name:and") {
		x = &logicExpr{at, true, x, p.not()}
		p.chain()
	}
	return x
}

func (p *parser) not() expr {
	if p.cur().is("name:not") {
		p.enter()
		defer p.leave()
		at := line(p.next().line)
		return &notExpr{at, p.not()}
	}
	return p.compare()
}

func (p *parser) compare() expr {
	x := p.sum()
	c := &compareExpr{line: line(p.cur().line), first: x}
	for {
		op := ""
		switch t := p.cur(); {
		case t.is("=="), t.is("!="), t.is("<"), t.is("<="), t.is(">"), t.is(">="):
			op = string(t.kind)
			p.next()
		case t.is("name:in"):
			op = "in"
			p.next()
		case t.is("name:not") && p.look().is("name:in"):
			op = "notin"
			p.next()
			p.next()
		}
		if op == "" {
			break
		}
		c.ops = append(c.ops, op)
		c.rest = append(c.rest, p.sum())
	}
	if len(c.ops) == 0 {
		return x
	}
	return c
}

// binary parses a left-associative chain of the given operators.
func (p *parser) binary(operand func() expr, ops ...string) expr {
	at := line(p.cur().line)
	x := operand()
	for p.any(ops) {
		op := string(p.next().kind)
		x = &binExpr{at, op, x, operand()}
		at = line(p.cur().line)
		p.chain()
	}
	return x
}

func (p *parser) sum() expr { return p.binary(p.concat, "+", "-") }

func (p *parser) concat() expr {
	at := line(p.cur().line)
	x := p.product()
	if !p.cur().is("~") {
		return x
	}
	c := &concatExpr{line: at, items: []expr{x}}
	for p.skipIf("~") {
		c.items = append(c.items, p.product())
	}
	return c
}

func (p *parser) product() expr { return p.binary(p.power, "*", "/", "//", "%") }

func (p *parser) power() expr {
	return p.binary(func() expr { return p.unary(true) }, "**")
}

func (p *parser) unary(filter bool) expr {
	t := p.cur()
	var x expr
	if t.is("-") || t.is("+") {
		p.enter()
		p.next()
		x = &unaryExpr{line(t.line), string(t.kind), p.unary(false)}
		p.leave()
	} else {
		x = p.primary(false)
	}
	x = p.postfix(x)
	if filter {
		x = p.filterExpr(x)
	}
	return x
}

func (p *parser) primary(namespace bool) expr {
	t := p.cur()
	at := line(t.line)
	switch t.kind {
	case kName:
		p.next()
		switch t.text {
		case "true", "True":
			return &constExpr{at, true}
		case "false", "False":
			return &constExpr{at, false}
		case "none", "None":
			return &constExpr{at, nil}
		}
		if namespace && p.cur().is(".") {
			p.next()
			return &nsRef{at, t.text, p.expect("name").text}
		}
		return &nameExpr{at, t.text}
	case kString:
		p.next()
		if p.cur().kind != kString {
			return &constExpr{at, t.text}
		}
		var b strings.Builder
		b.WriteString(t.text)
		for p.cur().kind == kString {
			b.WriteString(p.next().text)
		}
		return &constExpr{at, b.String()}
	case kInteger, kFloat:
		p.next()
		return &constExpr{at, t.num}
	case "(":
		p.next()
		x := p.tuple(tupleRules{condexpr: true, paren: true})
		p.expect(")")
		return x
	case "[":
		return p.list()
	case "{":
		return p.dict()
	}
	p.fail("unexpected "+value.Repr(t.String()), t.line)
	return nil
}

// tupleRules are the variations of parsing expressions separated by commas.
type tupleRules struct {
	simple    bool // only names and literals
	condexpr  bool // inline if allowed
	paren     bool // inside parentheses: may be empty
	namespace bool // ns.attr allowed
}

// tuple parses one expression, or several with commas into a tuple.
func (p *parser) tuple(r tupleRules) expr {
	p.enter()
	defer p.leave()
	at := line(p.cur().line)
	var items []expr
	isTuple := false
	for {
		if len(items) > 0 {
			p.expect(",")
		}
		if p.cur().kind == kVariableEnd || p.cur().kind == kBlockEnd || p.cur().is(")") {
			break
		}
		if r.simple {
			items = append(items, p.primary(r.namespace))
		} else {
			items = append(items, p.expression(r.condexpr))
		}
		if !p.cur().is(",") {
			break
		}
		isTuple = true
		at = line(p.cur().line)
	}
	if !isTuple {
		if len(items) > 0 {
			return items[0]
		}
		if !r.paren {
			p.fail("Expected an expression, got "+value.Repr(p.cur().String()), p.cur().line)
		}
	}
	return &tupleExpr{at, items}
}

func (p *parser) list() expr {
	x := &listExpr{line: line(p.expect("[").line)}
	for !p.cur().is("]") {
		if len(x.items) > 0 {
			p.expect(",")
		}
		if p.cur().is("]") {
			break
		}
		x.items = append(x.items, p.expression(true))
	}
	p.expect("]")
	return x
}

func (p *parser) dict() expr {
	x := &dictExpr{line: line(p.expect("{").line)}
	for !p.cur().is("}") {
		if len(x.keys) > 0 {
			p.expect(",")
		}
		if p.cur().is("}") {
			break
		}
		k := p.expression(true)
		p.expect(":")
		x.keys = append(x.keys, k)
		x.vals = append(x.vals, p.expression(true))
	}
	p.expect("}")
	return x
}

func (p *parser) postfix(x expr) expr {
	for {
		switch t := p.cur(); {
		case t.is("."), t.is("["):
			x = p.subscript(x)
		case t.is("("):
			x = p.call(x)
		default:
			return x
		}
		p.chain()
	}
}

func (p *parser) filterExpr(x expr) expr {
	for {
		switch t := p.cur(); {
		case t.is("|"):
			x = p.filters(x, false)
		case t.is("name:is"):
			x = p.test(x)
		case t.is("("):
			x = p.call(x)
		default:
			return x
		}
		p.chain()
	}
}

func (p *parser) subscript(x expr) expr {
	t := p.next()
	at := line(t.line)
	if t.is(".") {
		a := p.cur()
		p.next()
		switch a.kind {
		case kName:
			return &attrExpr{at, x, a.text}
		case kInteger:
			return &itemExpr{at, x, &constExpr{line(a.line), a.num}}
		}
		p.fail("expected name or number", a.line)
	}
	var args []expr
	for !p.cur().is("]") {
		if len(args) > 0 {
			p.expect(",")
		}
		args = append(args, p.subscribed())
	}
	p.expect("]")
	if len(args) == 1 {
		return &itemExpr{at, x, args[0]}
	}
	return &itemExpr{at, x, &tupleExpr{at, args}}
}

func (p *parser) subscribed() expr {
	at := line(p.cur().line)
	s := &sliceExpr{line: at}
	if !p.cur().is(":") {
		x := p.expression(true)
		if !p.cur().is(":") {
			return x
		}
		s.from = x
	}
	p.next()
	if !p.cur().is(":") && !p.cur().is("]") && !p.cur().is(",") {
		s.to = p.expression(true)
	}
	if p.skipIf(":") && !p.cur().is("]") && !p.cur().is(",") {
		s.step = p.expression(true)
	}
	return s
}

func (p *parser) args() callArgs {
	t := p.expect("(")
	var a callArgs
	ensure := func(ok bool) {
		if !ok {
			p.fail("invalid syntax for function call expression", t.line)
		}
	}
	for first := true; !p.cur().is(")"); first = false {
		if !first {
			p.expect(",")
			if p.cur().is(")") {
				break
			}
		}
		switch {
		case p.cur().is("*"):
			ensure(a.star == nil && a.starstar == nil)
			p.next()
			a.star = p.expression(true)
		case p.cur().is("**"):
			ensure(a.starstar == nil)
			p.next()
			a.starstar = p.expression(true)
		case p.cur().kind == kName && p.look().is("="):
			ensure(a.starstar == nil)
			name := p.next()
			p.next()
			for _, k := range a.kw {
				if k.name == name.text {
					// no error of Jinja2's but of the code it generates
					panic(value.Raise("SyntaxError", "keyword argument repeated: %s (<template>, line %d)", name.text, name.line))
				}
			}
			a.kw = append(a.kw, keyword{name.text, p.expression(true)})
		default:
			ensure(a.star == nil && a.starstar == nil && len(a.kw) == 0)
			a.pos = append(a.pos, p.expression(true))
		}
	}
	p.expect(")")
	return a
}

func (p *parser) call(fn expr) expr {
	at := line(p.cur().line)
	return &callExpr{at, fn, p.args()}
}

func (p *parser) dotted() string {
	name := p.expect("name").text
	for p.skipIf(".") {
		name += "." + p.expect("name").text
	}
	return name
}

// filters parses |name(args)... after x; inline says that the first name has
// no bar before it.
func (p *parser) filters(x expr, inline bool) expr {
	for p.cur().is("|") || inline {
		if !inline {
			p.next()
		}
		inline = false
		f := &filterExpr{line: line(p.cur().line), x: x, name: p.dotted()}
		if p.cur().is("(") {
			f.callArgs = p.args()
		}
		x = f
		p.chain()
	}
	return x
}

func (p *parser) test(x expr) expr {
	at := line(p.next().line)
	negated := p.skipIf("name:not")
	t := &testExpr{line: at, x: x, name: p.dotted()}
	switch c := p.cur(); {
	case c.is("("):
		t.callArgs = p.args()
	case (c.kind == kName && !c.is("name:else") && !c.is("name:or") && !c.is("name:and")) ||
		c.kind == kString || c.kind == kInteger || c.kind == kFloat || c.is("[") || c.is("{"):
		if c.is("name:is") {
			p.fail("You cannot chain multiple tests with is", c.line)
		}
		t.pos = []expr{p.postfix(p.primary(false))}
	}
	if negated {
		return &notExpr{at, t}
	}
	return t
}
