package jinja

// exprs calls visit for every expression directly inside x.
func exprs(x expr, visit func(expr)) {
	each := func(xs ...expr) {
		for _, e := range xs {
			if e != nil {
				visit(e)
			}
		}
	}
	args := func(a callArgs) {
		each(a.pos...)
		for _, k := range a.kw {
			visit(k.v)
		}
		each(a.star, a.starstar)
	}
	switch x := x.(type) {
	case *tupleExpr:
		each(x.items...)
	case *listExpr:
		each(x.items...)
	case *dictExpr:
		each(x.keys...)
		each(x.vals...)
	case *condExpr:
		each(x.test, x.then, x.els)
	case *binExpr:
		each(x.left, x.right)
	case *logicExpr:
		each(x.left, x.right)
	case *notExpr:
		each(x.x)
	case *unaryExpr:
		each(x.x)
	case *compareExpr:
		each(x.first)
		each(x.rest...)
	case *concatExpr:
		each(x.items...)
	case *attrExpr:
		each(x.x)
	case *itemExpr:
		each(x.x, x.key)
	case *sliceExpr:
		each(x.from, x.to, x.step)
	case *callExpr:
		each(x.fn)
		args(x.callArgs)
	case *filterExpr:
		each(x.x)
		args(x.callArgs)
	case *testExpr:
		each(x.x)
		args(x.callArgs)
	}
}

// walk calls visit for every expression in body, those in nested bodies too.
func walk(body []stmt, visit func(expr), tag func(stmt)) {
	var deep func(x expr)
	deep = func(x expr) {
		if x != nil {
			visit(x)
			exprs(x, deep)
		}
	}
	var stmts func(b []stmt)
	stmts = func(b []stmt) {
		for _, s := range b {
			if tag != nil {
				tag(s)
			}
			switch s := s.(type) {
			case *outputStmt:
				for _, n := range s.nodes {
					deep(n)
				}
			case *forStmt:
				deep(s.target)
				deep(s.iter)
				deep(s.test)
				stmts(s.body)
				stmts(s.els)
			case *ifStmt:
				for i := range s.tests {
					deep(s.tests[i])
					stmts(s.bodies[i])
				}
				stmts(s.els)
			case *withStmt:
				for i := range s.values {
					deep(s.targets[i])
					deep(s.values[i])
				}
				stmts(s.body)
			case *scopeStmt:
				deep(s.option)
				stmts(s.body)
			case *blockStmt:
				stmts(s.body)
			case *extendsStmt:
				deep(s.template)
			case *includeStmt:
				deep(s.template)
			case *importStmt:
				deep(s.template)
			case *fromStmt:
				deep(s.template)
			case *setStmt:
				deep(s.target)
				deep(s.v)
			case *setBlockStmt:
				deep(s.target)
				deep(s.filter)
				stmts(s.body)
			case *macroStmt:
				for _, d := range s.defaults {
					deep(d)
				}
				stmts(s.body)
			case *callStmt:
				deep(s.call)
				stmts([]stmt{s.body})
			case *filterStmt:
				deep(s.filter)
				stmts(s.body)
			}
		}
	}
	stmts(body)
}

// uses reports whether body reads the name.
func uses(body []stmt, name string) bool {
	found := false
	walk(body, func(x expr) {
		if n, ok := x.(*nameExpr); ok && n.name == name {
			found = true
		}
	}, nil)
	return found
}
