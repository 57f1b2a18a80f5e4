package actions

import (
	"context"
	"os"
	"strings"
)

// unarchive has an archive of the controller, or one on the host, unpacked.
func unarchive(ctx context.Context, r *Run) (Result, error) {
	args := without(r.Args, "decrypt")
	remote := option(args, "remote_src", false)
	if v, ok := args.Get("copy"); ok {
		if args.Has("remote_src") {
			return nil, Fail("parameters are mutually exclusive: ('copy', 'remote_src')")
		}
		remote = !truth(v)
		args.Delete("copy")
		args.Set("remote_src", remote)
	}
	src, hasSrc := args.Str("src")
	dest, hasDest := args.Str("dest")
	if !hasSrc || !hasDest {
		return nil, Fail("src (or content) and dest are required")
	}
	if creates, _ := args.Str("creates"); creates != "" {
		path, err := expandUser(ctx, r, creates)
		if err != nil {
			return nil, err
		}
		there, err := remoteExists(ctx, r, path)
		if err != nil {
			return nil, err
		}
		if there {
			return nil, &Skip{Msg: "skipped, since " + path + " exists"}
		}
	}
	dest, err := expandUser(ctx, r, dest)
	if err != nil {
		return nil, err
	}
	var source Source
	if !remote {
		if r.markedFile("src") {
			return nil, errMarkedSource
		}
		if strings.HasPrefix(src, "~/") {
			if home, err := os.UserHomeDir(); err == nil {
				src = home + src[1:]
			}
		}
		found, err := r.Controller.Find("files", src)
		if err != nil {
			return nil, err
		}
		if info, err := os.Stat(found); err == nil && info.IsDir() {
			return nil, Fail("src is a directory, not an archive: %s", src)
		}
		if source, err = r.Controller.Open(found, option(r.Args, "decrypt", true)); err != nil {
			return nil, err
		}
	}
	have, err := remoteStat(ctx, r, dest, true, true)
	if err != nil {
		return nil, err
	}
	if !have.exists || !have.isDir {
		return nil, Fail("dest '%s' must be an existing dir", dest)
	}
	if remote {
		return r.Host.Module(ctx, "ansible.legacy.unarchive", args)
	}
	file := source.File
	file.Arg, file.Suffix = "src", "/source"
	return r.Host.Module(ctx, "ansible.legacy.unarchive", args, file)
}
