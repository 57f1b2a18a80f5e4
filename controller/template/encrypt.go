package template

import (
	"context"
	"strings"

	"volant/controller/jinja"
	"volant/wire/value"
)

// Encrypt hashes secret for vars_prompt with an algorithm under one of its
// names, "sha512_crypt" or "sha512". salt and size may be nil.
func (e *Engine) Encrypt(ctx context.Context, secret any, kind string, salt, size any) (string, error) {
	if full, ok := schemeNames[kind]; ok {
		kind = full
	}
	if _, ok := schemes[kind]; !ok {
		return "", failf("passlib does not support '%s' algorithm", kind)
	}
	if t, ok := value.Text(salt); ok {
		salt = t
	}
	if t, ok := value.Text(size); ok { // YAML text, as in salt_size: "8"
		n, err := toInt(strings.TrimSpace(t))
		if err != nil {
			return "", err
		}
		size = n
	}
	c := jinja.NewContext(&jinja.Render{Ctx: ctx, Table: e.table, Limits: e.opt.Limits}, e.table)
	out, err := hashPassword(c, kind, secret, salt, size, nil, nil)
	if err != nil {
		return "", err
	}
	return value.Str(out), nil
}
