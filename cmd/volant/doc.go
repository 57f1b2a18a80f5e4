package main

import "context"

func docMain(_ context.Context, p *process, args []string) error {
	var opt struct{}
	return parse(p, &opt, "Show documentation.", args)
}
