package execute

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"volant/actions"
	"volant/bootstrap"
	"volant/wire/shlex"
)

// pipePlugins are connections by a program of the controller's that runs a
// command at the target, with standard input and output: the agent lives in
// that pipe for the run (the way "ssh", without SSH).
var pipePlugins = map[string]func(p pipe) []string{
	"chroot": func(p pipe) []string {
		return []string{p.text("chroot", "ansible_chroot_exe"), p.host, "/bin/sh", "-c"}
	},
	"docker": func(p pipe) []string { return p.container("docker", "ansible_docker_extra_args", "-u") },
	"podman": func(p pipe) []string {
		return p.container(p.text("podman", "ansible_podman_executable"), "ansible_podman_extra_args", "--user")
	},
	// command is Volant's own: volant_command is the program with its
	// arguments, the command line for the target's sh comes behind it.
	"command": func(p pipe) []string { return p.words("volant_command") },
}

// builtin is the short name of a connection or become plugin that we have: of
// ansible-core's, and of the collections that ours are modelled on.
func builtin(name string) string {
	short := actions.Short(name)
	for _, c := range []string{"community.general.", "community.docker.", "containers.podman.", "volant."} {
		if s, ok := strings.CutPrefix(short, c); ok {
			return s
		}
	}
	return short
}

// pipe is what such a connection is made of.
type pipe struct {
	it         *item
	ctx        context.Context //nolint:containedctx // lives as long as one call
	host, user string
	bad        *firstError
}

func (p pipe) text(or string, names ...string) string {
	return cmp.Or(p.it.connText(p.ctx, names...), or)
}

func (p pipe) words(name string) []string {
	words, err := shlex.Split(p.it.connText(p.ctx, name))
	if err != nil {
		p.bad.keep(fmt.Errorf("%s: %w", name, err))
	}
	return words
}

func (p pipe) container(program, extra, userFlag string) []string {
	args := append([]string{program}, p.words(extra)...)
	args = append(args, "exec", "-i")
	if p.user != "" {
		args = append(args, userFlag, p.user)
	}
	return append(args, p.host, "/bin/sh", "-c")
}

// pipeOptions are how to run commands at a target of a pipe plugin.
func (it *item) pipeOptions(ctx context.Context, plugin, name string) (bootstrap.Options, error) {
	var bad firstError
	p := pipe{it: it, ctx: ctx, bad: &bad,
		host: cmp.Or(it.connText(ctx, "ansible_"+plugin+"_host", "ansible_host"), name),
		user: cmp.Or(it.connText(ctx, "ansible_"+plugin+"_user", "ansible_user"), it.f.remoteUser)}
	o := bootstrap.Options{Host: plugin + ":" + p.host, User: p.user, Timeout: it.r.opt.Login.Timeout, Log: it.r.opt.Log}
	o.Command = pipePlugins[plugin](p)
	if len(o.Command) == 0 || strings.TrimSpace(o.Command[0]) == "" {
		bad.keep(fmt.Errorf("the connection '%s' needs volant_command", plugin))
	}
	return o, bad.err
}
