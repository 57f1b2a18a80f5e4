package modules

import (
	"context"

	"volant/wire/value"
)

type pingArgs struct {
	Data string `arg:"data,default=pong"`
}

func ping(_ context.Context, _ *call, a *pingArgs) (Result, error) {
	if a.Data == "crash" {
		return nil, raise("boom")
	}
	return value.DictOf("ping", a.Data), nil
}
