package union

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// nativeModules are the collections' modules that natives stand in for: from
// the first version of the collection on and below the second, which are those
// that are known to do the same.
var nativeModules = map[string][2]string{
	"ansible.posix.authorized_key": {"1.6.2", "2.3"},
	"ansible.posix.mount":          {"1.6.2", "2.2"},
	"ansible.posix.sysctl":         {"1.6.2", "2.3"},
}

// nativeMayStandIn reports whether a found file is a collection's that
// has a native, of a version we know.
func (u *Union) nativeMayStandIn(f *found) bool {
	m := collectionFQN.FindStringSubmatch(filepath.ToSlash(f.path))
	if m == nil {
		return false
	}
	parts := strings.Split(m[1], "/")
	known, ok := nativeModules[f.name]
	if !ok || f.name != parts[1]+"."+parts[2]+"."+parts[len(parts)-1] {
		return false
	}
	root := filepath.Dir(filepath.Dir(filepath.Dir(f.path)))
	b, err := os.ReadFile(filepath.Join(root, "MANIFEST.json"))
	if err != nil {
		return false // a checkout, of a state in between
	}
	var manifest struct {
		Info struct {
			Version string `json:"version"`
		} `json:"collection_info"`
	}
	if json.Unmarshal(b, &manifest) != nil {
		return false
	}
	return !versionBelow(manifest.Info.Version, known[0]) && versionBelow(manifest.Info.Version, known[1])
}

// versionBelow compares dotted numbers; what is no number counts as too new.
func versionBelow(a, b string) bool {
	x, y := strings.Split(a, "."), strings.Split(b, ".")
	for i := range y {
		want, _ := strconv.Atoi(y[i])
		have := 0
		if i < len(x) {
			n, err := strconv.Atoi(x[i])
			if err != nil {
				return false
			}
			have = n
		}
		if have != want {
			return have < want
		}
	}
	return false
}
