package modules

import (
	"testing"

	"volant/wire/value"
)

func TestGitIsThePythonModule(t *testing.T) {
	const id = "export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b GIT_AUTHOR_DATE=2020-01-01T00:00:00Z GIT_COMMITTER_DATE=2020-01-01T00:00:00Z GIT_CONFIG_GLOBAL=/dev/null; "
	origin := shell(id + `git init -q -b main up; cd up; echo 1 >f; git add f; git commit -qm one; git tag v1; git tag -a -m two v2; git branch dev; git checkout -q dev; echo 2 >f; git commit -qam dev; git checkout -q main`)
	clone := all(origin, shell(id+`git clone -q "file://$PWD/up" w`))
	ahead := all(clone, shell(id+`cd up; echo 3 >f; git commit -qam three`))
	arg := func(kv ...any) *value.Dict {
		a := value.DictOf("repo", "file://@D/up", "dest", "@D/w")
		a.Update(value.DictOf(kv...))
		return a
	}
	d := newDiffer(t)
	d.gitState, d.sampled = true, true
	d.env = append(d.env, "GIT_ALLOW_PROTOCOL=file")
	d.test(t, "git", []diffCase{
		{name: "up to date", args: arg(), setup: clone},
		{name: "path as repo", args: arg("repo", "@D/up"), setup: clone},
		{name: "no update", args: arg("update", false), setup: ahead},
		{name: "branch up to date", args: arg("version", "main"), setup: clone},
		{name: "other branch", args: arg("version", "dev"), setup: clone, handBackCheck: true},
		{name: "tag", args: arg("version", "v1"), setup: clone},
		{name: "annotated tag", args: arg("version", "v2"), setup: clone},
		{name: "tag there", args: arg("version", "v1"), setup: all(clone, shell("git -C w checkout -q v1"))},
		{name: "no such version", args: arg("version", "none"), setup: clone, handBackCheck: true},
		{name: "local changes", args: arg(), setup: all(clone, shell("echo x >w/f"))},
		{name: "local changes, force", args: arg("force", true), setup: all(clone, shell("echo x >w/f"))},
		{name: "new file", args: arg(), setup: all(clone, shell("echo x >w/g"))},
		{name: "other URL", args: arg(), setup: all(clone, shell("cp -r up up2; git -C w remote set-url origin \"file://$PWD/up2\""))},
		{name: "SSH options", args: arg("accept_hostkey", true, "key_file", "/x", "ssh_opts", "-o A=b"), setup: clone},
		{name: "origin is gone", args: arg("version", "main"), setup: all(clone, shell("mv up up2"))},
		{name: "remote's name", args: arg("remote", "mine"), setup: all(clone, shell("git -C w remote rename origin mine 2>/dev/null"))},
		{name: "no such remote", args: arg("remote", "mine"), setup: clone},
		{name: "clone", args: arg(), setup: origin, handBack: true, once: true},
		{name: "bare", args: arg("bare", true), setup: origin, handBack: true, once: true},
		{name: "depth", args: arg("depth", int64(1)), setup: clone, handBack: true, once: true},
		{name: "no clone", args: arg("clone", false), setup: clone, handBack: true, once: true},
		{name: "two of one kind", args: arg("accept_hostkey", true, "accept_newhostkey", true)},
		{name: "prefix without archive", args: arg("archive_prefix", "x")},
		{name: "no repo", args: value.DictOf("dest", "/x")},
	})
	d.noDiff = true
	d.test(t, "git", []diffCase{
		{name: "new commits", args: arg(), setup: ahead},
		{name: "new commits, branch", args: arg("version", "main"), setup: ahead},
		{name: "new submodule", args: arg(), setup: all(clone, shell(id+`git init -q -b main sub; cd sub; echo s >s; git add s; git commit -qm s; cd ../up; export GIT_ALLOW_PROTOCOL=file; git submodule -q add "file://$PWD/../sub" sub; git commit -qm sub`)), once: true},
		{name: "other branch, no diff", args: arg("version", "dev"), setup: clone},
	})
	d.noDiff = false
	d.test(t, "git", []diffCase{{name: "new commits with diff", args: arg(), setup: ahead, once: true, handBackCheck: true}})
}

func TestPackageFactsIsThePythonModule(t *testing.T) {
	d := newDiffer(t)
	d.python = "/usr/bin/python3"
	if !exists("/usr/lib/python3/dist-packages/apt/__init__.py") {
		t.Skip("needs python3-apt")
	}
	d.test(t, "package_facts", []diffCase{
		{name: "all", args: value.DictOf(), once: true},
		{name: "apt", args: value.DictOf("manager", "APT"), once: true},
		{name: "rpm", args: value.DictOf("manager", "rpm"), handBack: true, once: true},
		{name: "bad strategy", args: value.DictOf("strategy", "x"), once: true},
	})
}
