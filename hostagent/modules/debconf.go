package modules

import (
	"context"
	"strings"

	"volant/hostagent/python"
	"volant/wire/argspec"
	"volant/wire/rx"
	"volant/wire/value"
)

type debconfArgs struct {
	Name     string  `arg:"name,required,alias=pkg"`
	Question *string `arg:"question,alias=selection|setting"`
	Vtype    *string `arg:"vtype,choices=boolean|error|multiselect|note|password|seen|select|string|text|title"`
	Value    any     `arg:"value,type=raw,alias=answer"`
	Unseen   bool    `arg:"unseen,default=no"`
}

func debconfRules(s *argspec.Spec) {
	s.RequiredTogether = [][]string{{"question", "vtype", "value"}}
}

var plainPackage = rx.Lazy(`^[A-Za-z0-9][A-Za-z0-9.+:_/-]*$`)

// debconf is the debconf module for answers that are texts or truths.
func debconf(ctx context.Context, c *call, a *debconfArgs) (Result, error) {
	if !plainPackage.MatchString(a.Name) {
		return nil, handBack("a package's name that needs quoting")
	}
	want, text := a.Value.(string)
	if a.Question != nil {
		switch {
		case opted(a.Vtype) == "boolean":
			if b, ok := a.Value.(bool); ok {
				want, text = value.Str(b), true
			}
			want = strings.ToLower(want)
		case opted(a.Vtype) == "password":
			return nil, handBack("a password")
		}
		if !text {
			return nil, handBack("an answer that is no text")
		}
	}
	show, err := c.needBin("debconf-show")
	if err != nil {
		return nil, err
	}
	argv := []string{show, a.Name}
	r, err := c.run(ctx, &command{argv: argv})
	if err != nil {
		return nil, commandFailed(err, argv)
	}
	if r.rc != 0 {
		return nil, fail(string(r.stderr))
	}
	prev := value.NewDict(8)
	for _, line := range python.SplitLines(string(r.stdout)) {
		k, v, ok := strings.Cut(line, ":")
		if !ok {
			return nil, handBack("an odd answer of debconf-show")
		}
		prev.Set(strings.TrimFunc(strings.Trim(k, "*"), pySpace), strings.TrimFunc(v, pySpace))
	}
	if a.Question == nil {
		return value.DictOf("changed", false, "msg", "", "current", prev), nil
	}
	have, there := prev.Str(*a.Question)
	compared := have
	if *a.Vtype == "boolean" {
		compared = strings.ToLower(have)
	}
	if there && compared == want {
		return value.DictOf("changed", false, "msg", "", "current", prev), nil
	}
	msg := ""
	if !c.Check {
		if msg, err = c.answer(ctx, a, want); err != nil {
			return nil, err
		}
	}
	if there {
		prev = value.DictOf(*a.Question, have)
	} else {
		prev.Set(*a.Question, "")
	}
	diff := value.NewDict(2)
	if c.Diff {
		after := prev.Clone()
		after.Set(*a.Question, want)
		diff = value.DictOf("before", prev, "after", after)
	}
	return value.DictOf("changed", true, "msg", msg, "current", value.DictOf(*a.Question, want), "previous", prev, "diff", diff), nil
}

// answer sets the answer and returns what was said.
func (c *call) answer(ctx context.Context, a *debconfArgs, want string) (string, error) {
	set, err := c.needBin("debconf-set-selections")
	if err != nil {
		return "", err
	}
	argv := []string{set}
	if a.Unseen {
		argv = append(argv, "-u")
	}
	r, err := c.run(ctx, &command{argv: argv, stdin: []byte(strings.Join([]string{a.Name, *a.Question, *a.Vtype, want}, " ") + "\n")})
	if err != nil {
		return "", commandFailed(err, argv)
	}
	if r.rc != 0 {
		return "", fail(string(r.stderr))
	}
	return string(r.stdout), nil
}
