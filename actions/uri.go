package actions

import (
	"context"
	"path"
	"strconv"

	"volant/stage"
	"volant/wire/value"
)

// uri has the host speak HTTP, with controller files as the body when named.
func uri(ctx context.Context, r *Run) (Result, error) {
	run := runModule(r)
	if option(r.Args, "remote_src", false) {
		return run(ctx, "ansible.legacy.uri", r.Args)
	}
	args := r.Args.Clone()
	var files []stage.File
	open := func(name, arg string) error {
		if r.Marked("src") || r.Marked("body") {
			return errMarkedSource
		}
		found, err := r.Controller.Find("files", name)
		if err != nil {
			return err
		}
		src, err := r.Controller.Open(found, false)
		if err != nil {
			return err
		}
		file := src.File
		file.Arg, file.Suffix = arg, "/"+path.Base(found)
		files = append(files, file)
		return nil
	}
	format, _ := args.Str("body_format")
	if src, _ := args.Str("src"); src != "" {
		if err := open(src, "src"); err != nil {
			return nil, err
		}
	} else if format == "form-multipart" {
		body, ok := args.Lookup("body").(*value.Dict)
		if !ok {
			return nil, Fail("body must be mapping, cannot be type %s", value.TaggedName(args.Lookup("body")))
		}
		body = body.Clone()
		args.Set("body", body)
		for i, n := 0, body.Len(); i < n; i++ {
			key, v := body.At(i)
			part, ok := v.(*value.Dict)
			if !ok {
				continue
			}
			name, _ := part.Str("filename")
			if name == "" || present(part.Lookup("content")) {
				continue
			}
			field, ok := value.Text(key)
			if !ok {
				field = strconv.Itoa(i)
			}
			body.Set(key, part.Clone())
			if err := open(name, "body."+field+".filename"); err != nil {
				return nil, err
			}
		}
	}
	return run(ctx, "ansible.legacy.uri", args, files...)
}
