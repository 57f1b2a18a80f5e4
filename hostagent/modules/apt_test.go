package modules

import (
	"os"
	"os/exec"
	"testing"

	"volant/wire/value"
)

// TestAptIsThePythonModule opens apt's cache three times a case, which takes
// seconds each: it runs where VOLANT_TEST_APT is set.
func TestAptIsThePythonModule(t *testing.T) {
	if os.Getenv("VOLANT_TEST_APT") == "" {
		t.Skip("slow: set VOLANT_TEST_APT to run it")
	}
	d := newDiffer(t)
	d.python = "/usr/bin/python3"
	if exec.Command(d.python, "-c", "import apt").Run() != nil || os.Getuid() != 0 {
		t.Skip("needs root and python3-apt")
	}
	must(t, exec.Command("apt-mark", "manual", "dpkg", "tar").Run())
	d.test(t, "apt", []diffCase{
		{name: "installed", args: value.DictOf("name", "dpkg"), once: true},
		{name: "several, cache fresh", args: value.DictOf("pkg", value.ListOf("dpkg", " tar"), "cache_valid_time", int64(1<<31)), once: true},
		{name: "comma list, state", args: value.DictOf("package", "dpkg,tar", "state", "present", "install_recommends", false), once: true},
		{name: "absent", args: value.DictOf("name", "no-such-package-here", "state", "absent"), once: true},
		{name: "only cache, fresh", args: value.DictOf("update_cache", true, "cache_valid_time", int64(1<<31)), once: true},
		{name: "both", args: value.DictOf("name", "dpkg", "deb", "/x.deb"), once: true},
	})
}

func TestAptHandsBack(t *testing.T) {
	for name, args := range map[string]*value.Dict{
		"not installed": value.DictOf("name", "no-such-package-here"),
		"wildcard":      value.DictOf("name", "dpk?"),
		"version":       value.DictOf("name", "dpkg=1"),
		"latest":        value.DictOf("name", "dpkg", "state", "latest"),
		"upgrade":       value.DictOf("upgrade", "dist"),
		"stale cache":   value.DictOf("update_cache", true),
		"clean":         value.DictOf("name", "dpkg", "clean", true),
	} {
		_, err := Table["apt"](t.Context(), &Env{Name: "apt", Umask: -1}, args)
		if _, ok := err.(*HandBack); !ok { //nolint:errorlint // as it is made
			t.Errorf("%s: %v", name, err)
		}
	}
}
