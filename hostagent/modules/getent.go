package modules

import (
	"context"
	"strings"
	"unicode/utf8"

	"volant/hostagent/python"
	"volant/wire/value"
)

type getentArgs struct {
	Database string  `arg:"database,required"`
	Key      *string `arg:"key"`
	Service  *string `arg:"service"`
	Split    *string `arg:"split"`
	FailKey  bool    `arg:"fail_key,default=yes"`
}

func getent(ctx context.Context, c *call, a *getentArgs) (Result, error) {
	bin, ok := c.binPath("getent")
	if !ok {
		return nil, handBack("there is no getent")
	}
	argv := []string{bin, a.Database}
	if a.Key != nil {
		argv = append(argv, *a.Key)
	}
	if a.Service != nil {
		argv = append(argv, "-s", *a.Service)
	}
	split := a.Split
	if split == nil {
		switch a.Database {
		case "passwd", "shadow", "group", "gshadow":
			colon := ":"
			split = &colon
		}
	}
	if split != nil && *split == "" {
		return nil, handBack("an empty separator")
	}
	r, err := c.run(ctx, &command{argv: argv})
	if err != nil {
		return nil, handBack("running getent: %v", err)
	}
	tree := value.NewDict(0)
	facts := value.DictOf("getent_"+a.Database, tree)
	msg := "Unexpected failure!"
	switch r.rc {
	case 0:
		out := string(r.stdout)
		if !utf8.ValidString(out) {
			return nil, handBack("the answer is not UTF-8")
		}
		if err := records(out, split, tree); err != nil {
			return nil, err
		}
		return value.DictOf("ansible_facts", facts), nil
	case 1:
		msg = "Missing arguments, or database unknown."
	case 2:
		msg = "One or more supplied key could not be found in the database."
		if !a.FailKey {
			tree.Set(opt(a.Key), nil)
			return value.DictOf("ansible_facts", facts, "msg", msg), nil
		}
	case 3:
		msg = "Enumeration not supported on this database."
	}
	return nil, fail(msg)
}

// records reads getent's lines; a name that occurs again has a list of its records.
func records(out string, split *string, into *value.Dict) error {
	seen := map[string]int{}
	for _, line := range python.SplitLines(out) {
		var f []string
		if split != nil {
			f = strings.Split(line, *split)
		} else {
			f = strings.FieldsFunc(line, pySpace)
		}
		if len(f) == 0 {
			return handBack("an empty record")
		}
		rest := &value.List{Items: make([]any, 0, len(f)-1)}
		for _, s := range f[1:] {
			rest.Items = append(rest.Items, s)
		}
		switch seen[f[0]] {
		case 0:
			into.Set(f[0], rest)
		case 1:
			into.Set(f[0], value.ListOf(into.Lookup(f[0]), rest))
		default:
			l, ok := into.Lookup(f[0]).(*value.List)
			if !ok {
				return handBack("an odd record")
			}
			l.Items = append(l.Items, rest)
		}
		seen[f[0]]++
	}
	return nil
}

// pySpace is what str.split() splits at.
func pySpace(r rune) bool {
	switch {
	case r == ' ', r >= '\t' && r <= '\r', r >= 0x1c && r <= 0x1f, r == 0x85, r == 0xa0, r == 0x1680, r >= 0x2000 && r <= 0x200a,
		r == 0x2028, r == 0x2029, r == 0x202f, r == 0x205f, r == 0x3000:
		return true
	}
	return false
}
