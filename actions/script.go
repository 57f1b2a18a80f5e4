package actions

import (
	"context"
	"path"
	"strings"

	"volant/wire/argspec"
	"volant/wire/shlex"
	"volant/wire/value"
)

var scriptSpec = argspec.Spec{
	Options: []argspec.Option{
		{Name: "_raw_params"}, {Name: "cmd"}, {Name: "creates"}, {Name: "removes"}, {Name: "chdir"}, {Name: "executable"},
	},
	RequiredOneOf:     [][]string{{"_raw_params", "cmd"}},
	MutuallyExclusive: [][]string{{"_raw_params", "cmd"}},
}

// script runs a controller file on the host.
func script(ctx context.Context, r *Run) (Result, error) {
	args, err := validate(r, "script", r.Args, &scriptSpec)
	if err != nil {
		return nil, err
	}
	creates, _ := args.Str("creates")
	removes, _ := args.Str("removes")
	if creates != "" {
		there, err := remoteExists(ctx, r, creates)
		if err != nil {
			return nil, err
		}
		if there {
			return nil, &Skip{Msg: creates + " exists, matching creates option"}
		}
	}
	if removes != "" {
		there, err := remoteExists(ctx, r, removes)
		if err != nil {
			return nil, err
		}
		if !there {
			return nil, &Skip{Msg: removes + " does not exist, matching removes option"}
		}
	}
	chdir, _ := args.Str("chdir")
	if chdir != "" && !strings.HasPrefix(chdir, "/") {
		return nil, Fail("chdir %s must be an absolute path for a Unix-aware remote node", chdir)
	}
	line, ok := args.Str("_raw_params")
	arg := "_raw_params"
	if !ok || line == "" {
		line, _ = args.Str("cmd")
		arg = "cmd"
	}
	line = strings.TrimSpace(line)
	name, err := firstWord(line)
	if err != nil {
		return nil, err
	}
	if r.Marked(arg) && !plainRelative(name) {
		return nil, errMarkedSource
	}
	found, err := r.Controller.Find("files", name)
	if err != nil {
		return nil, &Failure{Msg: err.Error(), During: true}
	}
	if r.Check {
		if creates != "" || removes != "" {
			return value.DictOf("changed", true), nil
		}
		return nil, &Skip{Msg: "Check mode is not supported for this task.", Result: value.DictOf("changed", false)}
	}
	src, err := r.Controller.Open(found, true)
	if err != nil {
		return nil, err
	}
	command := line
	if exe, _ := args.Str("executable"); exe != "" {
		command = exe + " " + line
	}
	if chdir != "" {
		command = "cd " + shlex.Quote(chdir) + " && " + command
	}
	file := src.File
	file.Arg, file.Suffix = name, "/"+path.Base(found)
	res, err := r.Host.Raw(ctx, command, "", file)
	if err != nil {
		return nil, err
	}
	return ranCommand(res), nil
}

// firstWord is the first word of a line as a POSIX shell splits it.
func firstWord(line string) (string, error) {
	var b strings.Builder
	quote := byte(0)
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case quote == '\'' && c != '\'':
			b.WriteByte(c)
		case quote != 0 && c == quote:
			quote = 0
		case c == '\\' && i+1 < len(line) && (quote == 0 || line[i+1] == '"' || line[i+1] == '\\'):
			i++
			b.WriteByte(line[i])
		case quote != 0:
			b.WriteByte(c)
		case c == '\'' || c == '"':
			quote = c
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			return b.String(), nil
		default:
			b.WriteByte(c)
		}
	}
	if quote != 0 {
		return "", &pythonError{"No closing quotation"}
	}
	return b.String(), nil
}
