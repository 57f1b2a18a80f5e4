package jinja

// The syntax tree. Lines count from 1 within the template.

type expr interface{ at() int }

type line int

func (l line) at() int { return int(l) }

type (
	constExpr struct {
		line
		v any
	}
	nameExpr struct {
		line
		name string
	}
	nsRef struct { // ns.attr as the target of a set
		line
		name, attr string
	}
	tupleExpr struct {
		line
		items []expr
	}
	listExpr struct {
		line
		items []expr
	}
	dictExpr struct {
		line
		keys, vals []expr
	}
	condExpr struct {
		line
		test, then, els expr // els may be nil
	}
	binExpr struct { // arithmetic
		line
		op          string
		left, right expr
	}
	logicExpr struct {
		line
		and         bool
		left, right expr
	}
	notExpr struct {
		line
		x expr
	}
	unaryExpr struct {
		line
		op string
		x  expr
	}
	compareExpr struct {
		line
		first expr
		ops   []string // == != < <= > >= in notin
		rest  []expr
	}
	concatExpr struct {
		line
		items []expr
	}
	attrExpr struct {
		line
		x    expr
		name string
	}
	itemExpr struct {
		line
		x, key expr
	}
	sliceExpr struct {
		line
		from, to, step expr // each may be nil
	}
	callExpr struct {
		line
		fn expr
		callArgs
	}
	filterExpr struct {
		line
		x    expr // nil: the text of the enclosing block
		name string
		callArgs
	}
	testExpr struct {
		line
		x    expr
		name string
		callArgs
	}
)

type callArgs struct {
	pos      []expr
	kw       []keyword
	star     expr // *args, or nil
	starstar expr // **kwargs, or nil
}

type keyword struct {
	name string
	v    expr
}

type stmt interface{ at() int }

type (
	outputStmt struct { // nodes of text (constData) and expressions
		line
		nodes []expr
	}
	dataExpr struct {
		line
		text string
	}
	forStmt struct {
		line
		target     expr
		iter, test expr // test may be nil
		recursive  bool
		body, els  []stmt
	}
	ifStmt struct {
		line
		tests  []expr
		bodies [][]stmt
		els    []stmt
	}
	withStmt struct {
		line
		targets, values []expr
		body            []stmt
	}
	scopeStmt struct { // autoescape, which changes nothing here but the scope
		line
		option expr
		body   []stmt
	}
	blockStmt struct {
		line
		name             string
		scoped, required bool
		body             []stmt
	}
	extendsStmt struct {
		line
		template expr
	}
	includeStmt struct {
		line
		template               expr
		ignoreMissing, context bool
	}
	importStmt struct {
		line
		template expr
		target   string
		context  bool
	}
	fromStmt struct {
		line
		template expr
		names    []importName
		context  bool
	}
	importName struct{ name, alias string }
	setStmt    struct {
		line
		target, v expr
	}
	setBlockStmt struct {
		line
		target expr
		filter expr // filterExpr chain whose innermost x is nil, or nil
		body   []stmt
	}
	macroStmt struct {
		line
		name     string // "" for the body of a call
		args     []string
		defaults []expr // of the last args
		body     []stmt
	}
	callStmt struct {
		line
		call expr // callExpr
		body *macroStmt
	}
	filterStmt struct {
		line
		filter expr
		body   []stmt
	}
)
