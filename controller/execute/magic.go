package execute

import (
	"cmp"
	"context"
)

// tellConnection makes the connection's settings variables of the item where
// nothing else sets them, as the reference does between a task's loop and its
// conditionals: ansible_host, ansible_user and their like.
func (it *item) tellConnection(ctx context.Context) {
	busy := false
	it.v.Fallback = func(name string) (any, bool) {
		find, ok := connectionFacts[name]
		if !ok || busy || it.cv == nil {
			return nil, false
		}
		busy = true
		defer func() { busy = false }()
		f := it.f
		if f == nil {
			var err error
			if f, err = it.r.fields(it.scope(ctx, it.v), it.task, it.step.Keywords, false); err != nil {
				return nil, false
			}
		}
		v := find(ctx, it, f)
		return v, v != nil
	}
}

// connectionFacts are these variables; what they give is nil where nothing is set.
var connectionFacts = map[string]func(context.Context, *item, *fields) any{
	"ansible_connection":           connPlugin,
	"ansible_host":                 connHost,
	"ansible_ssh_host":             connHost,
	"ansible_user":                 connUser,
	"ansible_ssh_user":             connUser,
	"ansible_connection_user":      connUser,
	"ansible_port":                 connPort,
	"ansible_ssh_port":             connPort,
	"ansible_password":             connPassword,
	"ansible_ssh_pass":             connPassword,
	"ansible_timeout":              connTimeout,
	"ansible_ssh_timeout":          connTimeout,
	"ansible_pipelining":           connPipelining,
	"ansible_ssh_pipelining":       connPipelining,
	"ansible_private_key_file":     connKey,
	"ansible_ssh_private_key_file": connKey,
	"ansible_shell_executable":     connShell,
	"ansible_module_compression":   connCompression,
}

// orNil is s, or nil when it is empty.
func orNil(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func connPlugin(ctx context.Context, it *item, f *fields) any {
	return cmp.Or(it.connText(ctx, "ansible_connection"), f.connection, "ssh")
}

func connHost(ctx context.Context, it *item, _ *fields) any {
	name := it.h.name
	if it.delegate != "" {
		name = it.r.hostNamed(it.delegate)
	}
	return cmp.Or(it.connText(ctx, "ansible_ssh_host", "ansible_host"), name)
}

func connUser(ctx context.Context, it *item, f *fields) any {
	return orNil(cmp.Or(it.connText(ctx, "ansible_ssh_user", "ansible_user"), f.remoteUser))
}

func connPort(ctx context.Context, it *item, f *fields) any {
	if v, ok := it.connVar(ctx, "ansible_ssh_port", "ansible_port"); ok {
		return v
	}
	if f.port > 0 {
		return int64(f.port)
	}
	return nil
}

func connPassword(ctx context.Context, it *item, _ *fields) any {
	return orNil(cmp.Or(it.connText(ctx, "ansible_ssh_pass", "ansible_password"), it.r.opt.Login.Password))
}

func connTimeout(ctx context.Context, it *item, _ *fields) any {
	if v, ok := it.connVar(ctx, "ansible_ssh_timeout", "ansible_timeout"); ok {
		return v
	}
	return int64(it.r.opt.Login.Timeout.Seconds())
}

func connPipelining(ctx context.Context, it *item, _ *fields) any {
	if v, ok := it.connVar(ctx, "ansible_ssh_pipelining", "ansible_pipelining"); ok {
		return v
	}
	return it.r.opt.Config != nil && it.r.opt.Config.Bool("ANSIBLE_PIPELINING")
}

func connKey(ctx context.Context, it *item, _ *fields) any {
	return orNil(cmp.Or(it.connText(ctx, "ansible_ssh_private_key_file", "ansible_private_key_file"), it.r.opt.Login.PrivateKey))
}

func connShell(_ context.Context, it *item, _ *fields) any {
	if it.r.opt.Config == nil {
		return "/bin/sh"
	}
	return orNil(it.r.opt.Config.String("DEFAULT_EXECUTABLE"))
}

func connCompression(_ context.Context, it *item, _ *fields) any {
	if it.r.opt.Config == nil {
		return nil
	}
	return orNil(it.r.opt.Config.String("DEFAULT_MODULE_COMPRESSION"))
}
