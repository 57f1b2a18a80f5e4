package execute

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"volant/controller/playbook"
	"volant/wire"
)

// becomeOf is who the item's modules run as, nil for the login user. login is
// that user's name, "" when it is not known; within is how long the method may
// take to ask or succeed, 0 for the agent's own.
func (it *item) becomeOf(ctx context.Context, login string, within time.Duration) (*wire.Become, error) {
	on := it.f.become
	if v, ok := it.connVar(ctx, "ansible_become"); ok {
		on, _ = playbook.ToBool(v)
	}
	if !on {
		return nil, nil
	}
	method := cmp.Or(it.connText(ctx, "ansible_become_method"), it.f.becomeMethod, "sudo")
	b := &wire.Become{Method: builtin(method)}
	if known := it.r.opt.Becomes; known != nil && !slices.Contains(known, b.Method) {
		return nil, fmt.Errorf("Invalid become method specified, could not find matching plugin: '%s'. "+ //nolint:staticcheck // the reference's text
			"Use `ansible-doc -t become -l` to list available plugins.", method)
	}
	o := becomeOptions{it: it, ctx: ctx, method: b.Method}
	b.User = o.text("become_user", given(it.f.becomeUser))
	if b.User != "" && b.User == login && (it.r.opt.Config == nil || !it.r.opt.Config.Bool("BECOME_ALLOW_SAME_USER")) {
		return nil, o.err
	}
	b.Password = o.text("become_pass", given(it.r.opt.Login.BecomePassword))
	b.Exe = o.text("become_exe", deref(it.f.becomeExe))
	flags := o.text("become_flags", deref(it.f.becomeFlags))
	b.Flags = &flags
	b.Timeout = int64(within / time.Second)
	switch b.Method {
	case "sudo":
		b.Chdir = o.text("sudo_chdir", nil)
	case "su", "doas", "ksu":
		b.Prompts = o.list("prompt_l10n")
	case "pbrun", "pfexec":
		b.Wrap = o.bool("wrap_exe")
	case "sudosu":
		b.Wrap = o.bool("alt_method")
	}
	return b, o.err
}

// deref is what a keyword gave, nil for nothing.
func deref(s *string) any {
	if s == nil {
		return nil
	}
	return *s
}

// becomeOptions reads the options of one become plugin; the first failure stays.
type becomeOptions struct {
	it     *item
	ctx    context.Context //nolint:containedctx // lives as long as one call
	method string
	firstError
}

func (o *becomeOptions) text(name string, given any) string {
	s, err := o.it.optionText(o.ctx, "become", o.method, name, given)
	o.keep(err)
	return s
}

func (o *becomeOptions) bool(name string) bool {
	b, err := o.it.optionBool(o.ctx, "become", o.method, name)
	o.keep(err)
	return b
}

func (o *becomeOptions) list(name string) []string {
	l, err := o.it.optionList(o.ctx, "become", o.method, name)
	o.keep(err)
	return l
}
