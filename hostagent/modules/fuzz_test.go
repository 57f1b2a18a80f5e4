package modules

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"volant/wire/value"
)

// fuzzed are, per module, the options that random cases are made of, with the
// values they take; the first option is always there.
var fuzzed = map[string][]fuzzOption{
	"file": {
		{"path", texts("@D/f", "@D/d", "@D/l", "@D/n", "@D/d/n/m", "@D/b", "f", "@D/d/", "@D/dl", "@D/f/x")},
		{"state", texts("file", "directory", "absent", "touch", "link", "hard", "absent", "directory")},
		{"src", texts("f", "@D/f", "@D/d", "none", "d/x", "@D/l")},
		{"mode", []any{"0600", "u=rw,g=r,o=", "a+X", "+x", int64(420), "0o644", "u+s", "bad", "preserve", "", "755", "g-w,o-rwx"}},
		{"owner", texts("root", "nobody", "0", "no-such-user", "12345")},
		{"group", texts("root", "daemon", "1", "no-such-group")},
		{"recurse", []any{true, false, "yes"}}, {"force", []any{true, false}}, {"follow", []any{true, false}},
		{"modification_time", texts("preserve", "202001020304.05", "now", "x")}, {"access_time", texts("preserve", "202101020304.05")},
	},
	"copy": {
		{"src", texts("@D/f", "@D/d/x", "@D/none", "@D/l", "@D/e")},
		{"dest", texts("@D/f", "@D/n", "@D/d", "@D/d/", "@D/new/", "@D/new/a/b/", "@D/l", "@D/none/x", "@D/b", "n", "@D/d/x")},
		{"remote_src", []any{true, true, true}},
		{"mode", []any{"0600", "preserve", "u=rwx", int64(384), "bad"}}, {"owner", texts("nobody", "no-such-user")}, {"group", texts("daemon")},
		{"force", []any{true, false}}, {"follow", []any{true, false}}, {"backup", []any{false}}, {"directory_mode", texts("0700", "u=rwx")},
		{"validate", texts("grep -q . %s", "false %s", "true")}, {"checksum", texts("00", "da39a3ee5e6b4b0d3255bfef95601890afd80709")},
		{"_original_basename", texts("base", "x")}, {"unsafe_writes", []any{true}},
	},
	"lineinfile": {
		{"path", texts("@D/t", "@D/t", "@D/t", "@D/e", "@D/n", "@D/u", "@D/c")},
		{"line", texts("two", "new", "", "a=b", "\\1", "x\\ny", "é", "  spaced", "three=4")},
		{"regexp", texts("^two$", "o", "^(t)(w)o", "", "three", "(?i)TWO", "[", "^$", "\\bfour", "é", "^#?three=")},
		{"search_string", texts("tw", "none", "=")}, {"state", texts("present", "absent", "present")},
		{"insertafter", texts("EOF", "^one", "none", "BOF", "o")}, {"insertbefore", texts("BOF", "^two", "none")},
		{"backrefs", []any{true, false}}, {"firstmatch", []any{true, false}}, {"create", []any{true, false}}, {"mode", texts("0600")},
	},
	"blockinfile": {
		{"path", texts("@D/t", "@D/m", "@D/e", "@D/n", "@D/u", "@D/m2")},
		{"block", texts("", "one line", "a\nb\n", "\n", "é", "two\n\nthree\n\n", "  indented")},
		{"marker", texts("# {mark} X", "<!-- {mark} -->", "no mark", "# {mark} ANSIBLE MANAGED BLOCK")},
		{"marker_begin", texts("START")}, {"marker_end", texts("STOP")}, {"state", texts("present", "absent", "present")},
		{"insertafter", texts("EOF", "^one", "none")}, {"insertbefore", texts("BOF", "^two", "none")}, {"create", []any{true}},
		{"prepend_newline", []any{true}}, {"append_newline", []any{true}}, {"backup", []any{false}}, {"mode", texts("0640")},
	},
	"replace": {
		{"path", texts("@D/t", "@D/e", "@D/n", "@D/u", "@D/c")},
		{"regexp", texts("o", "^two$", "(t)(w)", "[", "", "\\s+", "(?m)^", "e$", "three=(\\d)", ".", "é", "\\n")},
		{"replace", texts("X", "\\1-\\g<2>", "", "\\9", "é", "a\\nb")},
		{"after", texts("one", "none", "t.o")}, {"before", texts("four", "none", "#")}, {"mode", texts("0600")}, {"backup", []any{false}},
	},
	"find": {
		{"paths", []any{"@D", "@D/d", "@D/none", value.ListOf("@D/d", "@D/dd"), "@D/f"}},
		{"patterns", []any{"*", "*.txt", "x", value.ListOf("f", "d*"), "^[a-f]$", "*,x"}}, {"use_regex", []any{true, false}},
		{"excludes", texts("x", "*.txt", "d*")}, {"recurse", []any{true, true, false}}, {"depth", []any{int64(1), int64(2)}},
		{"file_type", texts("any", "directory", "file", "link")}, {"hidden", []any{true}}, {"follow", []any{false}},
		{"size", texts("0", "1", "-10", "1k", "x")}, {"age", texts("-1d", "1s", "1w")}, {"contains", texts("one", "^two$", ".*")},
		{"mode", []any{"0644", int64(420), "u=rw"}}, {"exact_mode", []any{false}}, {"get_checksum", []any{true}}, {"limit", []any{int64(1)}},
		{"read_whole_file", []any{true}},
	},
	"stat": {
		{"path", texts("@D/f", "@D/d", "@D/l", "@D/n", "@D/b", "f", "@D/", "@D/d/../f", "@D/f/x", "@D/u")},
		{"follow", []any{true, false}}, {"get_checksum", []any{true, false}}, {"get_mime", []any{false}}, {"get_attributes", []any{true, false}},
		{"checksum_algorithm", texts("md5", "sha1", "sha256", "sha512", "crc")},
	},
}

type fuzzOption struct {
	name   string
	values []any
}

func texts(s ...string) []any {
	out := make([]any, len(s))
	for i := range s {
		out[i] = s[i]
	}
	return out
}

// fuzzTree is what the cases work on.
var fuzzTree = all(mkfile("f", "one\n", 0o644), mkdir("d", 0o755), mkfile("d/x", "x\n", 0o600), mkfile("d/y.txt", "two\n", 0o644), mkdir("dd", 0o750),
	mkdir("dd/deep", 0o700), mkfile("dd/deep/.hidden", "", 0o600), symlink("l", "f"), symlink("b", "nowhere"), symlink("dl", "d"),
	mkfile("t", "one\ntwo\n#three=3\n\nfour", 0o640), mkfile("e", "", 0o644), mkfile("u", "é\ntwo é\n", 0o644), mkfile("c", "one\r\ntwo\r\n", 0o600),
	mkfile("m", "one\n# BEGIN ANSIBLE MANAGED BLOCK\nold\n# END ANSIBLE MANAGED BLOCK\ntwo\n", 0o644),
	mkfile("m2", "# BEGIN X\n# END X\nrest\n# END ANSIBLE MANAGED BLOCK\n", 0o644), chtimes("f", 1500000000), chtimes("t", 1500000000))

// TestFuzz compares native and Python on random arguments: few of a fixed seed,
// or VOLANT_TEST_FUZZ of them a module with a seed in VOLANT_FUZZ_SEED.
func TestFuzz(t *testing.T) {
	n, seed := 6, uint64(3)
	if s := os.Getenv("VOLANT_TEST_FUZZ"); s != "" {
		n, _ = strconv.Atoi(s)
	}
	if s := os.Getenv("VOLANT_FUZZ_SEED"); s != "" {
		u, err := strconv.ParseUint(s, 10, 64)
		must(t, err)
		seed = u
	}
	if os.Getuid() != 0 {
		t.Skip("owners need root")
	}
	d := newDiffer(t)
	for module, options := range fuzzed {
		r := rand.New(rand.NewPCG(seed, uint64(len(module))))
		t.Run(module, func(t *testing.T) {
			var cases []diffCase
			for i := range n {
				args := value.NewDict(4)
				for j, o := range options {
					if j == 0 || j == 1 && r.IntN(4) > 0 || module == "copy" && o.name == "remote_src" || r.IntN(4) == 0 {
						args.Set(o.name, o.values[r.IntN(len(o.values))])
					}
				}
				cases = append(cases, diffCase{name: fmt.Sprintf("%d %s", i, value.Repr(args)), args: args, setup: fuzzTree, either: true})
			}
			d.test(t, module, cases)
		})
	}
}
