package template

import "maps"

// builtinLookups are the reference's lookups.
var builtinLookups = func() map[string]*Lookup {
	out := map[string]*Lookup{}
	for _, t := range []map[string]*Lookup{dataLookups, fileLookups, execLookups, iniLookups, passwordLookups, urlLookups} {
		maps.Copy(out, t)
	}
	return out
}()
