package modules

import (
	"encoding/json"
	"math/rand/v2"
	"os/exec"
	"strings"
	"testing"

	"volant/hostagent/python/coretest"
	"volant/wire/argspec"
	"volant/wire/shlex"
)

// pythonScript answers each question on its input with Python's own functions.
const pythonScript = `
import fnmatch, json, os, shlex, stat, sys, types
sys.path.insert(0, sys.argv[1])
from ansible.module_utils.basic import AnsibleModule
def ask(kind, a, b):
    try:
        if kind == 'mode':
            os.umask(0o027)
            return AnsibleModule._symbolic_mode_to_octal(types.SimpleNamespace(st_mode=int(b)), a)
        if kind == 'octal':
            return int(a, 8)
        if kind == 'int':
            return int(a)
        if kind == 'split':
            return shlex.split(a)
        if kind == 'quote':
            return shlex.quote(a)
        if kind == 'expand':
            os.environ.clear()
            os.environ.update(HOME='/h/', A='1', AB='x y')
            return os.path.expanduser(os.path.expandvars(a))
        if kind == 'fnmatch':
            return fnmatch.fnmatchcase(b, a)
        if kind == 'join':
            return os.path.join(a, b)
        if kind == 'dirname':
            return os.path.dirname(a)
    except ValueError:
        return 'ValueError'
json.dump([ask(*q) for q in json.load(sys.stdin)], sys.stdout)
`

// ours answers the same questions.
func ours(kind, a, b string) any {
	switch kind {
	case "mode":
		st, _ := pyInt(b)
		m, err := symbolicMode(uint32(st), 0o27, a)
		if err != nil {
			return "ValueError"
		}
		return float64(m)
	case "octal":
		if n, ok := octal(a); ok {
			return float64(n)
		}
		return "ValueError"
	case "int":
		if n, ok := pyInt(a); ok {
			return float64(n)
		}
		return "ValueError"
	case "split":
		w, err := shlex.Split(a)
		if err != nil {
			return "ValueError"
		}
		out := make([]any, len(w))
		for i := range w {
			out[i] = w[i]
		}
		return out
	case "quote":
		return shlex.Quote(a)
	case "expand":
		vars := map[string]string{"HOME": "/h/", "A": "1", "AB": "x y"}
		return argspec.Environment{Getenv: func(k string) string { return vars[k] }}.ExpandPath(a)
	case "fnmatch":
		return fnmatch(a, b)
	case "join":
		return pyJoin(a, b)
	case "dirname":
		return dirname(a)
	}
	return nil
}

// TestPythonAgrees puts random questions to Python and to what stands in for
// its functions here.
func TestPythonAgrees(t *testing.T) {
	core := coretest.Find(t)
	r := rand.New(rand.NewPCG(7, 9))
	text := func(alphabet string, n int) string {
		var b strings.Builder
		letters := []rune(alphabet)
		for range r.IntN(n + 1) {
			b.WriteRune(letters[r.IntN(len(letters))])
		}
		return b.String()
	}
	modes := []string{"33188", "16877", "33261", "36351", "16895", "32768"}
	var questions [][3]string
	for range 600 {
		questions = append(questions,
			[3]string{"mode", text("ugoa", 2) + text("+-=", 1) + text("rwxXstugo", 4) + text(",+=-", 1) + text("ugo", 1) + text("=+", 1) + text("rwxXst", 2), modes[r.IntN(len(modes))]},
			[3]string{"octal", text("01237o_+- 89x", 6), ""},
			[3]string{"int", text("0123456789_+- ", 5), ""},
			[3]string{"split", text(`ab "'\	`+"\n#é", 10), ""},
			[3]string{"quote", text(`ab '"$é/`, 5), ""},
			[3]string{"expand", text("~", 1) + text("$AB{}/h", 8), ""},
			[3]string{"fnmatch", text("ab*?[]!-.é", 7), text("ab-!].é", 5)},
			[3]string{"join", text("a/", 4), text("b/", 4)},
			[3]string{"dirname", text("a/", 6), ""})
	}
	in, err := json.Marshal(questions)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(core.Python, "-c", pythonScript, core.Path+"/..")
	cmd.Stdin = strings.NewReader(string(in))
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var want []any
	if err := json.Unmarshal(out, &want); err != nil || len(want) != len(questions) {
		t.Fatal(err, len(want))
	}
	for i, q := range questions {
		got, _ := json.Marshal(ours(q[0], q[1], q[2]))
		expected, _ := json.Marshal(want[i])
		if string(got) != string(expected) {
			t.Errorf("%s(%q, %q): got %s, Python says %s", q[0], q[1], q[2], got, expected)
		}
	}
}
