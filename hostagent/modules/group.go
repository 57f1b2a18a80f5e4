package modules

import (
	"context"
	"strconv"

	"volant/wire/argspec"
	"volant/wire/value"
)

type groupArgs struct {
	State     string `arg:"state,default=present,choices=absent|present"`
	Name      string `arg:"name,required"`
	Force     bool   `arg:"force,default=no"`
	GID       *int64 `arg:"gid"`
	System    bool   `arg:"system,default=no"`
	Local     bool   `arg:"local,default=no"`
	NonUnique bool   `arg:"non_unique,default=no"`
	GIDMin    *int64 `arg:"gid_min"`
	GIDMax    *int64 `arg:"gid_max"`
}

func groupRules(s *argspec.Spec) {
	s.RequiredIf = []argspec.RequiredIf{{Key: "non_unique", Value: true, Need: []string{"gid"}}}
}

// group is the group module: it looks in the group database, and has groupadd,
// groupmod or groupdel change it.
func group(ctx context.Context, c *call, a *groupArgs) (Result, error) {
	switch {
	case a.Local:
		return nil, handBack("a group of files only")
	case a.Name == "":
		return nil, handBack("an unusual name")
	case exists("/etc/alpine-release"):
		return nil, handBack("groups are BusyBox's")
	}
	gid, there := groups.id(a.Name)
	if there == (a.State == "absent") && c.Check {
		return value.DictOf("changed", true), nil
	}
	argv, err := a.command(c, gid, there)
	if err != nil {
		return nil, err
	}
	res := value.DictOf("name", a.Name, "state", a.State, "changed", false)
	if len(argv) > 0 {
		res.Set("changed", true)
		if !c.Check {
			if err := c.account(ctx, res, argv, "name", a.Name); err != nil {
				return nil, err
			}
		}
	}
	if gid, there = groups.id(a.Name); there {
		res.Set("system", a.System)
		res.Set("gid", int64(gid))
	}
	return res, nil
}

// command is what brings the group to where it is wanted; none when it is there.
func (a *groupArgs) command(c *call, gid uint32, there bool) ([]string, error) {
	tool := "groupadd"
	switch {
	case a.State == "absent" && !there:
		return nil, nil
	case a.State == "absent":
		tool = "groupdel"
	case there:
		tool = "groupmod"
	}
	bin, ok := c.binPath(tool)
	if !ok {
		return nil, handBack("there is no %s", tool)
	}
	argv := []string{bin}
	switch tool {
	case "groupdel":
		if a.Force {
			argv = append(argv, "-f")
		}
		return append(argv, a.Name), nil
	case "groupmod":
		if a.GID == nil || *a.GID == int64(gid) {
			return nil, nil
		}
	}
	if a.GID != nil {
		argv = append(argv, "-g", strconv.FormatInt(*a.GID, 10))
		if a.NonUnique {
			argv = append(argv, "-o")
		}
	}
	if tool == "groupadd" {
		if a.System {
			argv = append(argv, "-r")
		}
		argv = keyed(argv, "GID_MIN", a.GIDMin)
		argv = keyed(argv, "GID_MAX", a.GIDMax)
	}
	return append(argv, a.Name), nil
}

// keyed adds a setting of login.defs to a command line.
func keyed(argv []string, key string, n *int64) []string {
	if n == nil {
		return argv
	}
	return append(argv, "-K", key+"="+strconv.FormatInt(*n, 10))
}

// account runs a tool that changes users or groups; what it says is the
// result's, and the module fails where it does, with further keys.
func (c *call) account(ctx context.Context, res Result, argv []string, kv ...any) error {
	r, err := c.run(ctx, &command{argv: argv})
	if err != nil {
		return commandFailed(err, argv)
	}
	if r.rc != 0 {
		return fail(string(r.stderr), kv...)
	}
	said(res, string(r.stdout), string(r.stderr))
	return nil
}

// said adds what a command printed.
func said(res Result, out, errs string) {
	if out != "" {
		res.Set("stdout", out)
	}
	if errs != "" {
		res.Set("stderr", errs)
	}
}

// commandFailed is what run_command ends a module with when a program cannot
// be started.
func commandFailed(err error, argv []string) error {
	oe, ok := err.(*osError) //nolint:errorlint // as run makes it
	if !ok {
		return err
	}
	return failBecause(oe, "Error executing command.", "rc", int64(oe.errno), "stdout", "", "stderr", "", "cmd", cleanArgs(argv))
}
