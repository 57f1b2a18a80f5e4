package pyre

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"testing"
)

// cases are compared with python3 when there is one.
var cases = []struct {
	pat, text, repl string
	flags           Flags
}{
	{`(`, "abc", "x", 0}, {`[`, "x", "", 0}, {`b`, "abc", `\2`, 0}, {`x`, "x", `\q`, 0}, {`*a`, "", "", 0},
	{`a**`, "", "", 0}, {`a{3,2}`, "", "", 0}, {`(?P<n>a)(?P<n>b)`, "", "", 0}, {`(?P<top>\w+)/`, "/etc/x", `<\g<top>>`, 0},
	{`(a)|b`, "ab", `[\1]`, 0}, {`x*`, "abxd", "-", 0}, {``, "abc", "-", 0}, {`\b`, "hello world", "|", 0},
	{`\w+`, "héllo wörld ✓", "<\\g<0>>", 0}, {`\d+`, "a٣b12", "#", 0}, {`$`, "a\nb\n", "!", 0}, {`^`, "a\nb\n", ">", MultiLine},
	{`$`, "a\nb\n", "!", MultiLine}, {`.`, "a\nb", "x", 0}, {`.`, "a\nb", "x", DotAll}, {`(?i)ABC`, "xabcx", "-", 0},
	{`a(?=b)`, "abac", "x", 0}, {`(?<=a)b`, "abcb", "x", 0}, {`(?<!a)b`, "abcb", "x", 0}, {`(a)\1`, "aab", "x", 0},
	{`(?<=a+)b`, "ab", "x", 0}, {`(?P=x)`, "", "", 0}, {`a)`, "", "", 0}, {`(?z)`, "", "", 0}, {`\`, "", "", 0},
	{`\Aab\Z`, "ab", "ok", 0}, {`[^\W\d]+`, "ab1_c", "w", 0}, {`[a-]`, "a-b", "x", 0}, {`[]a]`, "]a", "x", 0}, {`[z-a]`, "", "", 0},
	{`(?:a|b)+?c`, "ababc", "x", 0}, {`a{,2}`, "aaa", "x", 0}, {`a{}`, "a{}", "x", 0}, {`a{1`, "a{1", "x", 0},
	{`(?x) a b # c`, "ab", "y", 0}, {`(a)?b(?(1)c|d)`, "abc bd", "x", 0}, {`a++b`, "aaab", "x", 0}, {`(?>a+)b`, "aab", "x", 0},
	{`\x41\u00e9`, "Aé", "x", 0}, {`\xg`, "", "", 0}, {`(\w+) (\w+)`, "hello world", `\2 \1`, 0}, {`(?s:.)x`, "\nx", "y", 0},
	{`a`, "banana", `\g<1>`, 0}, {`a`, "banana", `\g<n>`, 0}, {`a`, "banana", `\g<`, 0}, {`a`, "banana", `x\`, 0}, {`a`, "banana", `\n\t\\`, 0},
	{`é`, "É", "x", IgnoreCase}, {`[\s\S]`, "a b", "x", 0}, {`\s`, "a\vb\x1cc\u00a0d", "_", 0}, {`(?i:a)b`, "Ab AB", "x", 0}, {`a|(?i)b`, "", "", 0},
	{`(?#c)a`, "a", "x", 0}, {`(?#c`, "a", "x", 0}, {`(?P<1a>x)`, "", "", 0}, {`(?P<`, "", "", 0}, {`(?P<a`, "", "", 0}, {`\8`, "", "", 0},
	{`a.c`, "a✓c", "x", 0}, {`|a`, "ba", "-", 0}, {`(a*)*`, "aab", "x", 0}, {`[[:alpha:]]`, "a:]", "x", 0}, {`\.conf$`, "x.conf", ".bak", 0},
	{`(a)(b)?`, "a", `[\1\2]`, 0}, {`\N`, "", "", 0}, {"a\n(", "", "", 0}, {`(?-i:a)`, "A", "x", IgnoreCase}, {`[\d-x]`, "5-x", "y", 0},
}

const program = `
import re, json, sys
out = []
for pat, text, repl, flags in json.load(sys.stdin):
    try:
        r = re.compile(pat, flags)
        s, n = r.subn(repl, text)
        m = r.search(text)
        out.append([s, n, m.group() if m else None, bool(r.match(text)), bool(r.fullmatch(text))])
    except (re.error, IndexError) as e:
        out.append(str(e))
json.dump(out, sys.stdout)
`

func TestAgainstPython(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3")
	}
	in := make([]any, len(cases))
	for i, c := range cases {
		in[i] = []any{c.pat, c.text, c.repl, int(c.flags)}
	}
	data, _ := json.Marshal(in)
	cmd := exec.Command(python, "-W", "ignore", "-c", program)
	stdin, _ := cmd.StdinPipe()
	go func() { _, _ = stdin.Write(data); _ = stdin.Close() }() // ends when python has read it
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var want []any
	if err := json.Unmarshal(out, &want); err != nil {
		t.Fatal(err)
	}
	for i, c := range cases {
		if got := run(c.pat, c.text, c.repl, c.flags); fmt.Sprint(got) != fmt.Sprint(want[i]) {
			t.Errorf("%q on %q with %q:\n got %v\nwant %v", c.pat, c.text, c.repl, got, want[i])
		}
	}
}

func run(pat, text, repl string, flags Flags) any {
	re, err := Compile(pat, flags)
	if err != nil {
		return err.Error()
	}
	s, n, err := re.Subn(repl, text, 0)
	if err != nil {
		return err.Error()
	}
	var found any
	if m, _ := re.Search(text); m != nil {
		found, _ = m.Group(0)
	}
	m, _ := re.Match(text)
	f, _ := re.FullMatch(text)
	return []any{s, float64(n), found, m != nil, f != nil}
}

func TestTimeLimit(t *testing.T) {
	re, err := Compile(`(a+)+$(?!x)`, 0)
	if err != nil {
		t.Fatal(err)
	}
	re.prepare()
	re.slow.MatchTimeout = 100e6
	if _, err := re.Search("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab"); err == nil {
		t.Fatal("no error")
	}
}

func FuzzCompile(f *testing.F) {
	for _, c := range cases {
		f.Add(c.pat, c.text, c.repl)
	}
	f.Fuzz(func(_ *testing.T, pat, text, repl string) { run(pat, text, repl, 0) })
}
