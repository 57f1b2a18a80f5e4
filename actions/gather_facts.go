package actions

import (
	"context"
	"strings"

	"volant/wire/value"
)

// gatherFacts runs the fact modules configured (setup unless told otherwise)
// and merges what they found.
func gatherFacts(ctx context.Context, r *Run) (Result, error) {
	modules := r.FactModules
	args := r.Args.Clone()
	args.Delete("parallel")
	facts := value.NewDict(64)
	res := value.DictOf("ansible_facts", facts)
	failed, skipped := value.NewDict(0), value.NewDict(0)
	for _, module := range modules {
		if module == "smart" {
			module = "ansible.legacy.setup"
		}
		got, err := r.Host.Module(ctx, module, factArgs(r, module, args))
		if err != nil {
			return nil, err
		}
		switch {
		case got.Bool("failed"):
			failed.Set(module, got)
		case got.Bool("skipped"):
			skipped.Set(module, got)
		default:
			if f, ok := got.Lookup("ansible_facts").(*value.Dict); ok {
				mergeFacts(facts, f, 0)
			}
			for _, key := range []string{"warnings", "deprecations"} {
				appendList(res, key, got)
			}
		}
	}
	if skipped.Len() > 0 {
		res.Set("msg", "The following modules were skipped: "+keyNames(skipped)+".")
		res.Set("skipped_modules", skipped)
		if skipped.Len() == len(modules) {
			res.Set("skipped", true)
		}
	}
	if failed.Len() > 0 {
		res.Set("failed_modules", failed)
		res.Set("failed", true)
		res.Set("msg", "The following modules failed to execute: "+keyNames(failed)+".")
	}
	facts.Set("_ansible_facts_gathered", true)
	res.Set("_ansible_verbose_override", true)
	return res, nil
}

// factArgs are the arguments one fact module gets: those of setup only for setup.
func factArgs(r *Run, module string, args *value.Dict) *value.Dict {
	own := value.NewDict(args.Len())
	for k, v := range args.All() {
		if v != nil {
			own.Set(k, v)
		}
	}
	if Short(module) != "setup" {
		for _, drop := range []struct{ arg, name string }{{"gather_subset", "subset"}, {"gather_timeout", "timeout"}, {"filter", "filter"}} {
			v, ok := own.Get(drop.arg)
			if !ok {
				continue
			}
			own.Delete(drop.arg)
			if drop.arg == "gather_subset" && isAll(v) {
				continue
			}
			r.Controller.Warn("Not passing " + drop.name + "(" + value.Str(v) + ") to " + module)
		}
	}
	return withDefaults(r, module, own)
}

func isAll(v any) bool {
	if l, ok := v.(*value.List); ok && l.Len() == 1 {
		v = l.Items[0]
	}
	s, _ := value.Text(v)
	return s == "all"
}

// mergeFacts lays src over dst: mappings merge, lists append what they lack,
// the later module wins otherwise.
func mergeFacts(dst, src *value.Dict, depth int) {
	for k, v := range src.All() {
		old, had := dst.Get(k)
		if had && depth < 100 {
			if a, ok := old.(*value.Dict); ok {
				if b, ok := v.(*value.Dict); ok {
					c := a.Clone()
					mergeFacts(c, b, depth+1)
					dst.Set(k, c)
					continue
				}
			}
			if a, ok := old.(*value.List); ok {
				if b, ok := v.(*value.List); ok {
					dst.Set(k, appendUnique(a, b))
					continue
				}
			}
		}
		dst.Set(k, v)
	}
}

// appendUnique is list_merge=append_rp: a without the items of b, then b.
func appendUnique(a, b *value.List) *value.List {
	out := &value.List{Items: make([]any, 0, a.Len()+b.Len())}
	for _, x := range a.Items {
		dup := false
		for _, y := range b.Items {
			dup = dup || value.Equal(x, y)
		}
		if !dup {
			out.Items = append(out.Items, x)
		}
	}
	out.Items = append(out.Items, b.Items...)
	return out
}

func appendList(res Result, key string, got Result) {
	more, ok := got.Lookup(key).(*value.List)
	if !ok || more.Len() == 0 {
		return
	}
	if have, ok := res.Lookup(key).(*value.List); ok {
		more = appendUnique(have, more)
	}
	res.Set(key, more)
}

func keyNames(d *value.Dict) string {
	var names []string
	for k := range d.All() {
		s, _ := value.Text(k)
		names = append(names, s)
	}
	return strings.Join(names, ", ")
}
