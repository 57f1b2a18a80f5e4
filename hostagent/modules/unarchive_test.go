package modules

import (
	"testing"

	"volant/wire/value"
)

func TestUnarchiveIsThePythonModule(t *testing.T) {
	const made = `mkdir -p s/top/sub out; echo one >s/top/a; echo two >s/top/sub/b; ln -s a s/top/l; chmod 640 s/top/a; touch -d 2020-01-01 s/top/a s/top/sub/b s/top/sub s/top; touch -h -d 2020-01-01 s/top/l; `
	archive := func(flag, name string) func(*testing.T, string) {
		return shell(made + "tar -C s " + flag + " -cf " + name + " top")
	}
	tgz := archive("-z", "x.tgz")
	there := all(tgz, shell("tar -C out -xf x.tgz"))
	arg := func(kv ...any) *value.Dict {
		a := value.DictOf("src", "@D/x.tgz", "dest", "@D/out", "remote_src", true)
		a.Update(value.DictOf(kv...))
		return a
	}
	d := newDiffer(t)
	d.sampled = true
	d.test(t, "unarchive", []diffCase{
		{name: "new", args: arg(), setup: tgz},
		{name: "there", args: arg(), setup: there},
		{name: "there, list", args: arg("list_files", true), setup: there},
		{name: "one changed", args: arg(), setup: all(there, shell("echo x >out/top/a"))},
		{name: "one gone", args: arg(), setup: all(there, shell("rm out/top/sub/b"))},
		{name: "mode changed", args: arg(), setup: all(there, shell("chmod 600 out/top/a"))},
		{name: "owner changed", args: arg(), setup: all(there, shell("chown 7:8 out/top/a"))},
		{name: "owner set", args: arg("owner", "nobody", "group", "daemon"), setup: there},
		{name: "mode set", args: arg("mode", "u=rwX,go="), setup: tgz},
		{name: "no such owner", args: arg("owner", "no-such-user"), setup: there},
		{name: "exclude", args: arg("exclude", value.ListOf("top/sub/", "*/l")), setup: tgz},
		{name: "include", args: arg("include", "top/a"), setup: tgz},
		{name: "both", args: arg("include", "a", "exclude", "b"), setup: tgz},
		{name: "extra options", args: arg("extra_opts", value.ListOf("--strip-components=1")), setup: tgz},
		{name: "keep newer", args: arg("keep_newer", true), setup: all(there, shell("echo x >out/top/a"))},
		{name: "plain", args: arg("src", "@D/x.tar"), setup: archive("", "x.tar")},
		{name: "bzip2", args: arg("src", "@D/x.tar.bz2"), setup: archive("-j", "x.tar.bz2")},
		{name: "xz", args: arg("src", "@D/x.tar.xz"), setup: archive("-J", "x.tar.xz")},
		{name: "zstd", args: arg("src", "@D/x.tar.zst"), setup: archive("$(command -v zstd >/dev/null && echo --zstd || echo -J)", "x.tar.zst")},
		{name: "slash", args: arg("dest", "@D/out/"), setup: tgz},
		{name: "broken", args: arg(), setup: all(tgz, shell("head -c 100 x.tgz >y; mv y x.tgz")), handBack: true},
		{name: "no archive", args: arg(), setup: shell("mkdir out; echo x >x.tgz"), handBack: true},
		{name: "empty", args: arg(), setup: shell("mkdir out; : >x.tgz")},
		{name: "missing", args: arg(), setup: shell("mkdir out")},
		{name: "not come", args: arg("remote_src", false), setup: shell("mkdir out")},
		{name: "no dest", args: arg("dest", "@D/none"), setup: tgz},
		{name: "relative", args: arg("dest", "out"), setup: tgz, handBack: true, once: true},
		{name: "no src", args: value.DictOf("dest", "/x")},
	})
}
