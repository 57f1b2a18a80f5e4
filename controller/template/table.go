package template

import (
	"maps"
	"slices"
	"strings"

	"volant/controller/jinja"
)

// builtinFilters, builtinTests and builtinGlobals are everything the
// reference adds to Jinja's own.
var (
	builtinFilters = named(dataFilters, setFilters, randomFilters, mathFilters, textFilters, hashFilters, pathFilters, timeFilters, serialFilters, urlFilters, internalFilters)
	builtinTests   = named(dataTests, resultTests, fileTests, versionTests, internalTests)
)

// named joins tables and gives every plugin its full name.
func named(tables ...map[string]*jinja.Plugin) map[string]*jinja.Plugin {
	out := map[string]*jinja.Plugin{}
	for _, t := range tables {
		for name, p := range t {
			p.Name = "ansible.builtin." + name
			if strings.Contains(name, ".") {
				p.Name = name
			}
			out[name] = p
		}
	}
	return out
}

// table resolves names for the compiler: ours, Jinja's, then the project's.
type table struct{ project jinja.Table }

// short takes the prefixes off that name what is built in.
func short(name string) (string, bool) {
	if s, ok := strings.CutPrefix(name, "ansible.builtin."); ok {
		return s, true
	}
	return strings.CutPrefix(name, "ansible.legacy.")
}

// Filter implements jinja.Table.
func (t *table) Filter(name string) (*jinja.Plugin, bool) {
	return find(t, name, builtinFilters, jinja.Builtins.Filter, func(p jinja.Table) (*jinja.Plugin, bool) { return p.Filter(name) })
}

// Test implements jinja.Table.
func (t *table) Test(name string) (*jinja.Plugin, bool) {
	return find(t, name, builtinTests, jinja.Builtins.Test, func(p jinja.Table) (*jinja.Plugin, bool) { return p.Test(name) })
}

func find(t *table, name string, ours map[string]*jinja.Plugin, builtin func(string) (*jinja.Plugin, bool), project func(jinja.Table) (*jinja.Plugin, bool)) (*jinja.Plugin, bool) {
	base, qualified := short(name)
	if p, ok := ours[base]; ok {
		return p, true
	}
	if p, ok := builtin(base); ok {
		return p, true
	}
	if t.project != nil && !qualified {
		return project(t.project)
	}
	return nil, false
}

// Global implements jinja.Table.
func (t *table) Global(name string) (any, bool) {
	if v, ok := builtinGlobals[name]; ok {
		return v, true
	}
	if t.project != nil {
		return t.project.Global(name)
	}
	return nil, false
}

// Row is one filter, test or lookup of the reference as docs/COMPATIBILITY.md
// lists it.
type Row struct {
	Kind, Name string
	Ours       bool
	Differs    string // what is not as in the reference, "" when nothing
}

// differences are what we do otherwise, on purpose.
var differences = map[string]string{
	"filter union":                "keeps the order of first appearance; the reference's order changes from run to run",
	"filter intersect":            "keeps the first list's order",
	"filter difference":           "keeps the first list's order",
	"filter symmetric_difference": "keeps the order of first appearance",
	"filter unique":               "",
	"filter fileglob":             "sorted; the reference gives the directory's order",
	"filter hash":                 "the shake and sm3 algorithms are not offered",
	"filter regex_replace":        "a match may take 5 seconds at most",
	"filter regex_search":         "a match may take 5 seconds at most",
	"filter regex_findall":        "a match may take 5 seconds at most",
	"lookup fileglob":             "sorted; the reference gives the directory's order",
	"lookup url":                  "GSSAPI is not supported",
	"lookup pipe":                 "ends with the task; a command that a managed host's value is part of is refused",
	"lookup lines":                "ends with the task; a command that a managed host's value is part of is refused",
}

// Compatibility lists every filter, test and lookup of the reference by kind
// and name. reference are the names it has, by kind.
func Compatibility(reference map[string][]string) []Row {
	var rows []Row
	t := &table{}
	for _, kind := range slices.Sorted(maps.Keys(reference)) {
		names := slices.Clone(reference[kind])
		slices.Sort(names)
		for _, name := range slices.Compact(names) {
			r := Row{Kind: kind, Name: name, Differs: differences[kind+" "+name]}
			switch kind {
			case "filter":
				_, r.Ours = t.Filter(name)
			case "test":
				_, r.Ours = t.Test(name)
			case "lookup":
				_, r.Ours = builtinLookups[name]
			}
			rows = append(rows, r)
		}
	}
	return rows
}

// Reference are the names of ansible-core 2.19's filters, tests and lookups,
// Jinja's own included.
func Reference() map[string][]string { return maps.Clone(referenceNames) }
