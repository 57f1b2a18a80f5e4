package facts

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"reflect"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"testing"
	"time"

	"volant/wire/value"
)

// reference finds ansible-core's Python, or skips the test.
func reference(t *testing.T) string {
	t.Helper()
	if dir := os.Getenv("VOLANT_ANSIBLE_CORE"); dir != "" {
		if p := filepath.Join(dir, "bin", "python"); exists(p) {
			return p
		}
	}
	ansible, err := exec.LookPath("ansible")
	if err != nil {
		t.Skip("ansible-core is not installed")
	}
	return filepath.Join(filepath.Dir(ansible), "python")
}

// volatile facts differ between two gatherings by their nature.
var volatile = regexp.MustCompile(`^ansible_(date_time|loadavg|uptime_seconds|memfree_mb|memory_mb|swapfree_mb|env|mounts)$`)

// TestAgainstReference gathers everything natively and with the reference's
// own setup module on this machine, and compares key for key.
func TestAgainstReference(t *testing.T) {
	python := reference(t)
	if _, err := user.LookupId(strconv.Itoa(os.Getuid())); err != nil {
		t.Skip("neither side has facts of an account that has no entry: ", err)
	}
	differ := differences(t, python)
	for range 2 { // a machine may change between two gatherings
		if len(differ) == 0 {
			break
		}
		differ = differences(t, python)
	}
	for _, text := range differ {
		t.Error(text)
	}
}

// differences are those between one gathering of each.
func differences(t *testing.T, python string) (differ []string) {
	t.Helper()
	cmd := exec.Command(python, "-c", `
import json, sys
from ansible.module_utils import basic
from ansible.modules import setup
basic._ANSIBLE_ARGS = json.dumps({"ANSIBLE_MODULE_ARGS": {"gather_subset": ["all", "!facter", "!ohai"], "_ansible_version": "2.19.12"}}).encode()
basic._ANSIBLE_PROFILE = "legacy"
setup.main()`)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("the reference's setup: %v\n%s", err, out)
	}
	var ref struct {
		Facts map[string]any `json:"ansible_facts"`
	}
	if err := json.Unmarshal(out, &ref); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	got, err := Collect(context.Background(), &Host{Environ: os.Environ(), Python: python}, &Request{Subset: []string{"all", "!facter", "!ohai"}, FactPath: "/etc/ansible/facts.d"})
	if err != nil {
		t.Fatalf("handed back: %v", err)
	}
	t.Logf("native facts in %v", time.Since(start))
	text, err := value.EncodeJSON(got.Facts, value.JSONStyle{Indent: -1})
	if err != nil {
		t.Fatal(err)
	}
	var have map[string]any
	if err := json.Unmarshal([]byte(text), &have); err != nil {
		t.Fatal(err)
	}
	keys := map[string]bool{}
	for k := range ref.Facts {
		keys[k] = true
	}
	for k := range have {
		keys[k] = true
	}
	names := make([]string, 0, len(keys))
	for k := range keys {
		names = append(names, k)
	}
	sort.Strings(names)
	for _, k := range names {
		want, ok := ref.Facts[k]
		if !ok {
			differ = append(differ, fmt.Sprintf("%s is not in the reference's facts", k))
			continue
		}
		if _, ok := have[k]; !ok {
			differ = append(differ, fmt.Sprintf("%s is missing", k))
			continue
		}
		a, b := stable(k, have[k]), stable(k, want)
		if volatile.MatchString(k) {
			a, b = shape(a), shape(b)
		}
		if !reflect.DeepEqual(a, b) {
			differ = append(differ, fmt.Sprintf("%s\n got %v\nwant %v", k, a, b))
		}
	}
	return differ
}

// stable sorts lists that come from sets or from the order of a directory.
func stable(key string, v any) any {
	list, ok := v.([]any)
	if ok && (strings.Contains(key, "tech_") || strings.Contains(key, "interfaces") || strings.Contains(key, "ansible_all_ip")) {
		sort.Slice(list, func(i, j int) bool { return list[i].(string) < list[j].(string) })
	}
	if list, ok := v.([]any); ok && key == "ansible_mounts" {
		sort.Slice(list, func(i, j int) bool {
			return list[i].(map[string]any)["mount"].(string) < list[j].(map[string]any)["mount"].(string)
		})
	}
	return v
}

// shape keeps keys and types of a value and forgets what changes.
func shape(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for k, e := range v {
			switch k {
			case "LC_CTYPE", "_", "OLDPWD", "PYENV_DIR", "PYENV_HOOK_PATH", "PYENV_VERSION", "PATH": // what starting Python adds
				continue
			}
			out[k] = shape(e)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = shape(e)
		}
		return out
	case string:
		return "string"
	case float64:
		return "number"
	}
	return v
}

func TestSubsets(t *testing.T) {
	for _, c := range []struct {
		subset []string
		has    []string
		lacks  []string
	}{
		{[]string{"!all"}, []string{"user", "distribution", "pkg_mgr"}, []string{"network", "hardware", "virtual"}},
		{[]string{"!all", "!min"}, nil, []string{"user", "network"}},
		{[]string{"!all", "!min", "network"}, []string{"network", "distribution", "platform"}, []string{"hardware", "user"}},
		{[]string{"!hardware"}, []string{"user"}, []string{"hardware", "network"}}, // as the reference: exclusions alone leave min
		{[]string{"!all", "!min", "mounts"}, []string{"hardware"}, []string{"network"}},
		{nil, []string{"hardware", "ohai"}, nil},
	} {
		got, err := choose(c.subset)
		if err != nil {
			t.Fatal(err)
		}
		names := map[string]bool{}
		for _, g := range got {
			names[g.name] = true
		}
		for _, n := range c.has {
			if !names[n] {
				t.Errorf("%v: %s is missing", c.subset, n)
			}
		}
		for _, n := range c.lacks {
			if names[n] {
				t.Errorf("%v: %s should not be there", c.subset, n)
			}
		}
	}
	if _, err := choose([]string{"nosuch"}); err == nil {
		t.Error("an unknown subset was accepted")
	}
}

func TestFilter(t *testing.T) {
	facts := value.DictOf("ansible_pkg_mgr", "apt", "ansible_eth0", "x", "gather_subset", "all")
	for pattern, want := range map[string]string{"ansible_pkg_mgr": "['ansible_pkg_mgr']", "pkg_*": "['ansible_pkg_mgr']", "ansible_eth[!1]": "['ansible_eth0']", "gather*": "['gather_subset']"} {
		if got := value.Repr(value.ListOf(filter(facts, []string{pattern}).Keys()...)); got != want {
			t.Errorf("%s: got %s, want %s", pattern, got, want)
		}
	}
}

func BenchmarkCollect(b *testing.B) {
	python, err := exec.LookPath("python3")
	if err != nil {
		b.Skip(err)
	}
	for b.Loop() {
		if _, err := Collect(context.Background(), &Host{Environ: os.Environ(), Python: python}, &Request{}); err != nil {
			b.Fatal(err)
		}
	}
}
