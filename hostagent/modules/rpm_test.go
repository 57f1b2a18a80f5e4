package modules

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"volant/wire/value"
)

// TestReadRPM compares a database as we read it with what rpm lists.
func TestReadRPM(t *testing.T) {
	path, _ := rpmStamp()
	if path == "" {
		t.Skip("no rpm database")
	}
	ours, err := readRPM(path)
	must(t, err)
	theirs, err := listRPM(t.Context(), &call{Env: &Env{Environ: os.Environ(), Umask: -1}})
	must(t, err)
	for what, c := range map[string][2]map[string]bool{"names": {theirs.names, ours.names}, "provides": {theirs.provides, ours.provides}} {
		if want, got := slices.Sorted(maps.Keys(c[0])), slices.Sorted(maps.Keys(c[1])); len(want) == 0 || !slices.Equal(want, got) {
			t.Errorf("%s: %q, want %q", what, got, want)
		}
	}
}

// A database whose log holds something is rpm's to read.
func TestReadRPMWithALog(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "rpmdb.sqlite")
	b, err := os.ReadFile("testdata/names.sqlite")
	must(t, err)
	must(t, os.WriteFile(path, b, 0o644))
	p, err := readRPM(path)
	if err != nil || !p.names["package-07x"] || p.names["bytes"] || !p.provides["bytes"] {
		t.Fatal(p, err)
	}
	for _, beside := range []string{"-wal", "-journal"} {
		must(t, os.WriteFile(path+beside, nil, 0o644))
		if _, err := readRPM(path); err != nil {
			t.Errorf("empty %s: %v", beside, err)
		}
		must(t, os.WriteFile(path+beside, []byte("x"), 0o644))
		if _, err := readRPM(path); err == nil {
			t.Errorf("%s was not seen", beside)
		}
		must(t, os.Remove(path+beside))
	}
	if _, err := readRPM(filepath.Join(dir, "Packages")); err == nil {
		t.Error("another kind of database was read")
	}
}

// TestListRPM has an rpm that lists two packages, as on hosts whose database is of another kind.
func TestListRPM(t *testing.T) {
	dir := t.TempDir()
	script := "#!/bin/sh\n[ \"$LC_ALL $1 $2\" = 'C -qa --qf' ] || exit 1\nprintf '=bash\\nbash\\nconfig(bash)\\n=x\\nx\\n/bin/y\\n'\n"
	must(t, os.WriteFile(filepath.Join(dir, "rpm"), []byte(script), 0o755))
	c := &call{Env: &Env{Environ: []string{"PATH=" + dir + ":/usr/bin:/bin"}, Umask: -1}}
	p, err := listRPM(t.Context(), c)
	must(t, err)
	if !maps.Equal(p.names, map[string]bool{"bash": true, "x": true}) || len(p.provides) != 4 || !p.provides["config(bash)"] {
		t.Errorf("%v", p)
	}
	must(t, os.WriteFile(filepath.Join(dir, "rpm"), []byte("#!/bin/sh\necho =bash\necho error: damaged >&2\n"), 0o755))
	if _, err := listRPM(t.Context(), c); err == nil {
		t.Error("what rpm complains about is no list")
	}
}

func BenchmarkReadRPM(b *testing.B) {
	path, _ := rpmStamp()
	if path == "" || exec.Command("rpm", "--version").Run() != nil {
		b.Skip("no rpm database")
	}
	for b.Loop() {
		if _, err := readRPM(path); err != nil {
			b.Fatal(err)
		}
	}
}

func TestReadRPMFacts(t *testing.T) {
	got, err := readRPMFacts("kernel\t6.1\t1.el9\t(none)\tx86_64\nbash\t5\t2\t1\tnoarch\nkernel\t6.2\t1.el9\t(none)\tx86_64\ngpg-pubkey\ta\tb\t(none)\t(none)\n")
	must(t, err)
	const want = "{'kernel': [{'name': 'kernel', 'version': '6.1', 'release': '1.el9', 'epoch': 'None', 'arch': 'x86_64', 'source': 'rpm'}, " +
		"{'name': 'kernel', 'version': '6.2', 'release': '1.el9', 'epoch': 'None', 'arch': 'x86_64', 'source': 'rpm'}], " +
		"'bash': [{'name': 'bash', 'version': '5', 'release': '2', 'epoch': '1', 'arch': 'noarch', 'source': 'rpm'}], " +
		"'gpg-pubkey': [{'name': 'gpg-pubkey', 'version': 'a', 'release': 'b', 'epoch': 'None', 'arch': 'None', 'source': 'rpm'}]}"
	if r := value.Repr(got); r != want {
		t.Errorf("got  %s\nwant %s", r, want)
	}
	for _, odd := range []string{"", "a\tb\n"} {
		if _, err := readRPMFacts(odd); err == nil {
			t.Errorf("%q was read", odd)
		}
	}
}
