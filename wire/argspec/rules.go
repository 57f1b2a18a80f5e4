package argspec

import (
	"sort"
	"strings"

	"volant/wire/value"
)

func (v *validator) mutuallyExclusive(groups [][]string, params *value.Dict, path []string) {
	var broken []string
	for _, g := range groups {
		if count(g, params) > 1 {
			broken = append(broken, strings.Join(g, "|"))
		}
	}
	if len(broken) > 0 {
		v.fail(path, "parameters are mutually exclusive: %s", strings.Join(broken, ", "))
	}
}

// count is how many of the names are set, None included.
func count(names []string, params *value.Dict) int {
	n := 0
	for _, name := range names {
		if params.Has(name) {
			n++
		}
	}
	return n
}

func (v *validator) required(spec *Spec, params *value.Dict, path []string) {
	var missing []string
	for _, o := range spec.Options {
		if o.Required && !params.Has(o.Name) {
			missing = append(missing, o.Name)
		}
	}
	if len(missing) > 0 {
		sort.Strings(missing)
		v.fail(path, "missing required arguments: %s", strings.Join(missing, ", "))
	}
}

// rules checks the dependencies between options; each kind reports its first
// fault only.
func (v *validator) rules(spec *Spec, params *value.Dict, path []string) {
	for _, g := range spec.RequiredTogether {
		if n := count(g, params); n > 0 && n < len(g) {
			v.fail(path, "parameters are required together: %s", strings.Join(g, ", "))
			break
		}
	}
	for _, g := range spec.RequiredOneOf {
		if count(g, params) == 0 {
			v.fail(path, "one of the following is required: %s", strings.Join(g, ", "))
			break
		}
	}
	for _, r := range spec.RequiredIf {
		got, ok := params.Get(r.Key)
		if !ok || !value.Equal(got, r.Value) {
			continue
		}
		missing := absent(r.Need, params, false)
		how := "all"
		if r.Any {
			how = "any"
		}
		if len(missing) > 0 && (!r.Any || len(missing) >= len(r.Need)) {
			v.fail(path, "%s is %s but %s of the following are missing: %s", r.Key, value.Str(r.Value), how, strings.Join(missing, ", "))
			break
		}
	}
	for _, r := range spec.RequiredBy {
		if params.Lookup(r.Key) == nil {
			continue
		}
		if missing := absent(r.Need, params, true); len(missing) > 0 {
			v.fail(path, "missing parameter(s) required by '%s': %s", r.Key, strings.Join(missing, ", "))
			break
		}
	}
}

// absent lists the names that are not set; with none, None counts as not set.
func absent(names []string, params *value.Dict, none bool) (out []string) {
	for _, n := range names {
		if v, ok := params.Get(n); !ok || none && v == nil {
			out = append(out, n)
		}
	}
	return out
}
