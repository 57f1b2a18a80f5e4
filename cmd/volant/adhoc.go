package main

import (
	"context"
	"errors"
)

func adhocMain(_ context.Context, p *process, _ []string) error {
	return errors.New(p.name + ": not yet")
}
