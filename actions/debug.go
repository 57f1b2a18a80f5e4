package actions

import (
	"context"
	"math"
	"math/big"

	"volant/wire/argspec"
	"volant/wire/value"
)

var debugSpec = argspec.Spec{
	Options: []argspec.Option{
		{Name: "msg", Type: "raw", Default: "Hello world!", HasDef: true},
		{Name: "var", Type: "raw"},
		{Name: "verbosity", Type: "int", Default: int64(0), HasDef: true},
	},
	MutuallyExclusive: [][]string{{"msg", "var"}},
}

// debug shows a message or the value of an expression.
func debug(_ context.Context, r *Run) (Result, error) {
	args, err := validate(r, "debug", r.Args, &debugSpec)
	if err != nil {
		return nil, err
	}
	if v := args.Lookup("var"); v != nil {
		if _, ok := value.Text(v); !ok {
			return nil, Fail("argument 'var' is of type %s and we were unable to convert to _check_type_str_no_conversion: '%s' is not a string and conversion is not allowed", typeName(v), value.Str(v))
		}
	}
	res := value.NewDict(4)
	var verbosity int64
	switch n := args.Lookup("verbosity").(type) {
	case int64:
		verbosity = n
	case *big.Int:
		if n.Sign() > 0 {
			verbosity = math.MaxInt64
		}
	}
	if verbosity > int64(r.Verbosity) {
		res.Set("skipped_reason", "Verbosity threshold not met.")
		res.Set("skipped", true)
		res.Set("failed", false)
		return res, nil
	}
	if name, _ := args.Str("var"); name != "" {
		source := r.RawArgs.Lookup("var")
		if _, ok := source.(*value.Template); !ok {
			source = args.Lookup("var") // data, which is refused
		}
		v, err := r.Controller.Expression(source)
		if err != nil {
			return nil, err
		}
		res.Set(name, v)
	} else {
		res.Set("msg", args.Lookup("msg"))
	}
	res.Set("_ansible_verbose_always", true)
	res.Set("failed", false)
	return res, nil
}
