package actions

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"volant/wire/value"
)

// gatherFacts runs the fact modules configured (setup unless told otherwise)
// and merges what they found.
func gatherFacts(ctx context.Context, r *Run) (Result, error) {
	modules, err := factModules(r)
	if err != nil {
		return nil, err
	}
	args := r.Args.Clone()
	limit := moduleLimit(r, len(modules))
	args.Delete("parallel")
	facts := value.NewDict(64)
	res := value.DictOf("ansible_facts", facts)
	failed, skipped := value.NewDict(0), value.NewDict(0)
	said := value.ListOf() // what each of the failed had to say
	for _, module := range modules {
		got, err := factsOf(ctx, r, module, factArgs(r, module, args), limit)
		if err != nil {
			return nil, err
		}
		switch {
		case got.Bool("failed"):
			if exc, ok := got.Get("exception"); ok {
				said.Items = append(said.Items, exc)
				got.Set("exception", "(traceback unavailable)")
			} else {
				said.Items = append(said.Items, got.Lookup("msg"))
			}
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
		res.Set("exception", said)
		res.Set("msg", "The following modules failed to execute: "+keyNames(failed)+".")
	}
	facts.Set("_ansible_facts_gathered", true)
	res.Set("_ansible_verbose_override", true)
	return res, nil
}

// moduleLimit is how long a module may take that has no gather_timeout of its
// own, 0 for as long as it wants: it bounds those that run in parallel.
func moduleLimit(r *Run, modules int) time.Duration {
	parallel := modules > 1
	if v, ok := r.Args.Get("parallel"); ok && v != nil {
		parallel = truth(v)
	}
	seconds, err := strconv.Atoi(value.Str(r.Args.Lookup("gather_timeout")))
	if !parallel || err != nil || seconds <= 0 {
		return 0
	}
	return time.Duration(seconds) * time.Second
}

// factsOf runs one module.
func factsOf(ctx context.Context, r *Run, module string, args *value.Dict, limit time.Duration) (Result, error) {
	if limit <= 0 || args.Has("gather_timeout") {
		return r.Host.Module(ctx, module, args)
	}
	bounded, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	got, err := r.Host.Module(bounded, module, args)
	if err != nil && ctx.Err() == nil && bounded.Err() != nil {
		return value.DictOf("failed", true, "msg", "Timeout exceeded"), nil
	}
	return got, err
}

// factModules are the modules to run, one for each name but smart, which stands
// for what the network platform of the host calls for, else for setup where that
// is not named already.
func factModules(r *Run) ([]string, error) {
	smart := slices.Index(r.FactModules, "smart")
	if smart < 0 {
		return r.FactModules, nil
	}
	modules := slices.Delete(slices.Clone(r.FactModules), smart, smart+1)
	setup := slices.ContainsFunc(modules, func(m string) bool { return Short(m) == "setup" })
	platform := ""
	if v, ok := r.Args.Get("network_os"); ok {
		platform, _ = value.Text(v)
	} else if r.NetworkOS != nil {
		platform = r.NetworkOS()
	}
	if platform == "" && !r.Args.Has("network_os") {
		platform, _ = r.Host.Facts().Str("network_os")
	}
	if platform == "" {
		if !setup {
			modules = append(modules, "ansible.legacy.setup")
		}
		return modules, nil
	}
	if module, ok := r.NetworkFacts.Str(platform); ok {
		modules = append(modules, module)
	} else if len(modules) == 0 {
		return nil, Fail("No fact modules available and we could not find a fact module for your network OS (%s), "+
			"try setting one via the `FACTS_MODULES` configuration.", platform)
	}
	if setup {
		r.Controller.Warn("Detected 'setup' module and a network OS is set, the output when running it will reflect 'localhost'" +
			" and not the target when a networking connection plugin is used.")
	}
	return modules, nil
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
