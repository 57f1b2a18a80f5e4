package argspec

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"volant/wire/pyjson"
	"volant/wire/value"
)

// pythonValidator answers each [spec, rules, arguments] on its input with what
// the reference's validator makes of it.
const pythonValidator = `
import json, sys, os
sys.path.insert(0, sys.argv[1])
os.environ.clear()
os.environ.update(HOME='/h', A='1')
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
out = []
for spec, rules, args in json.load(sys.stdin):
    if rules.get('required_if'):
        rules['required_if'] = [tuple(r) for r in rules['required_if']]
    try:
        r = ArgumentSpecValidator(spec, **rules).validate(args)
        out.append([r.error_messages, repr(r.validated_parameters), sorted(str(v) for v in r._no_log_values),
                    [w['option'] + '|' + w['alias'] for w in r._warnings]])
    except Exception as ex:
        out.append(['raised ' + type(ex).__name__])
json.dump(out, sys.stdout)
`

// reference is the directory of the installed ansible package and an
// interpreter for it; the test skips where there is none.
func reference(t *testing.T) (dir, python string) {
	t.Helper()
	if core := os.Getenv("VOLANT_ANSIBLE_CORE"); core != "" {
		for _, pattern := range []string{".", "ansible", "lib/python3*/site-packages/ansible"} {
			found, _ := filepath.Glob(filepath.Join(core, pattern))
			for _, f := range found {
				if _, err := os.Stat(filepath.Join(f, "module_utils", "basic.py")); err == nil {
					python = filepath.Join(f, "..", "..", "..", "..", "bin", "python3")
					if _, err := os.Stat(python); err != nil {
						python = "python3"
					}
					return filepath.Dir(f), python
				}
			}
		}
	}
	t.Skip("no ansible-core: set VOLANT_ANSIBLE_CORE")
	return "", ""
}

type maker struct{ *rand.Rand }

func (r maker) pick(from ...string) string { return from[r.IntN(len(from))] }

// scalar is some argument value.
func (r maker) scalar() any {
	return []any{
		"a", "b", "1", "07", "yes", "no", "True", "false", "", " x ", "a,b", "1,2", "1.5", "~/x", "$A/y", "k=v", "k=v, l='m n'", `{"k": 1}`, "{'k': 'v'}",
		"{bad", "0x1f", "1K", "é", int64(0), int64(1), int64(42), 1.5, 3.0, true, false, nil, "None", "secret", "on", "off",
	}[r.IntN(35)]
}

func (r maker) value(depth int) any {
	switch n := r.IntN(10); {
	case n < 7 || depth > 2:
		return r.scalar()
	case n < 8:
		l := value.ListOf()
		for range r.IntN(3) {
			l.Items = append(l.Items, r.value(depth+1))
		}
		return l
	default:
		d := value.NewDict(2)
		for range r.IntN(3) {
			d.Set(r.pick("a", "b", "c", "k"), r.value(depth+1))
		}
		return d
	}
}

func (r maker) spec(depth int) *value.Dict {
	spec := value.NewDict(4)
	for _, name := range []string{"a", "b", "c", "d", "e"}[:1+r.IntN(5)] {
		o := value.DictOf("type", r.pick("str", "str", "bool", "int", "float", "list", "dict", "path", "raw", "jsonarg", "bytes", "bits"))
		kind, _ := o.Str("type")
		if kind == "list" && r.IntN(2) == 0 {
			o.Set("elements", r.pick("str", "int", "bool", "dict", "float", "path"))
		}
		elements, _ := o.Str("elements")
		switch r.IntN(6) {
		case 0:
			o.Set("required", true)
		case 1:
			switch kind {
			case "int":
				o.Set("default", int64(3))
			case "bool":
				o.Set("default", false)
			case "str", "raw", "path":
				o.Set("default", "a")
			}
		}
		if r.IntN(4) == 0 {
			o.Set("aliases", value.ListOf("alias_"+name))
		}
		if r.IntN(6) == 0 {
			o.Set("no_log", true)
		}
		if kind == "str" && r.IntN(4) == 0 || kind == "list" && elements == "str" && r.IntN(3) == 0 {
			o.Set("choices", value.ListOf("a", "b", r.pick("yes", "no", "c")))
			if o.Has("default") {
				o.Set("default", "a")
			}
		}
		if (kind == "dict" || elements == "dict") && depth < 2 && r.IntN(2) == 0 {
			o.Set("options", r.spec(depth+1))
			if kind == "dict" && r.IntN(4) == 0 {
				o.Set("apply_defaults", true)
			}
			o.Update(r.rules())
		}
		spec.Set(name, o)
	}
	return spec
}

func (r maker) rules() *value.Dict {
	d := value.NewDict(2)
	two := func() *value.List { return value.ListOf(r.pick("a", "b"), r.pick("c", "d")) }
	for _, k := range []string{"mutually_exclusive", "required_together", "required_one_of"} {
		if r.IntN(6) == 0 {
			d.Set(k, value.ListOf(two()))
		}
	}
	if r.IntN(6) == 0 {
		rule := value.ListOf(r.pick("a", "b"), r.scalar(), two())
		if r.IntN(2) == 0 {
			rule.Items = append(rule.Items, true)
		}
		d.Set("required_if", value.ListOf(rule))
	}
	if r.IntN(6) == 0 {
		d.Set("required_by", value.DictOf(r.pick("a", "b"), two()))
	}
	return d
}

// TestReference puts random specs and arguments to the reference's validator
// and to ours.
func TestReference(t *testing.T) {
	dir, python := reference(t)
	seed := uint64(11)
	n := 1500
	if s := os.Getenv("VOLANT_FUZZ_SEED"); s != "" {
		if _, err := fmt.Sscan(s, &seed); err != nil {
			t.Fatal(err)
		}
		n = 20000
	}
	r := maker{rand.New(rand.NewPCG(seed, 1))}
	questions := value.ListOf()
	for range n {
		args := value.NewDict(3)
		for range r.IntN(5) {
			args.Set(r.pick("a", "b", "c", "d", "e", "a", "b", "alias_a", "alias_b", "x"), r.value(0))
		}
		questions.Items = append(questions.Items, value.ListOf(r.spec(0), r.rules(), args))
	}
	in, err := pyjson.Encode(questions)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(python, "-c", pythonValidator, dir)
	cmd.Stdin = strings.NewReader(string(in))
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	answers, err := pyjson.DecodeString(string(out))
	if err != nil {
		t.Fatal(err)
	}
	bad := 0
	for i, q := range questions.Items {
		want := answers.(*value.List).Items[i].(*value.List)
		if s, ok := want.Items[0].(string); ok {
			if !strings.HasPrefix(s, "raised ") {
				t.Fatal(s)
			}
			continue // the spec itself made it raise
		}
		three := q.(*value.List).Items
		got := ours(t, three[0].(*value.Dict), three[1].(*value.Dict), three[2].(*value.Dict))
		settleWords(want.Items[0])
		settleWords(got.Items[0])
		if value.Repr(want) == value.Repr(got) {
			continue
		}
		// What did not convert stays half done in different ways; errors say enough.
		if errs := want.Items[0].(*value.List); errs.Len() > 0 && value.Repr(errs) == value.Repr(got.Items[0]) {
			continue
		}
		if bad++; bad <= 10 {
			t.Errorf("spec %s\nrules %s\nargs %s\nwant %s\ngot  %s", value.Repr(three[0]), value.Repr(three[1]), value.Repr(three[2]), value.Repr(want), value.Repr(got))
		}
	}
	if bad > 0 {
		t.Errorf("%d of %d differ", bad, n)
	}
}

var boolWords = regexp.MustCompile(`(Valid booleans include: )[^;]*?'?(?:$| found in)`)

// settleWords takes out what no two processes of the reference share: the order
// of the words for truth, and which level's parameters are named.
func settleWords(errs any) {
	l, ok := errs.(*value.List)
	for i := 0; ok && i < l.Len(); i++ {
		text := boolWords.ReplaceAllString(value.Str(l.Items[i]), "$1")
		// Of several levels, the reference says what is supported on any one.
		if names, _, ok := strings.Cut(text, ". Supported parameters include"); ok && strings.Contains(names, ", ") && strings.Contains(names, ".") {
			text = names
		}
		l.Items[i] = text
	}
}

func ours(t *testing.T, dict, rules, args *value.Dict) *value.List {
	t.Helper()
	spec, err := FromDict(dict)
	if err != nil {
		t.Fatal(err)
	}
	spec.readRules(rules)
	env := Environment{Getenv: func(k string) string { return map[string]string{"HOME": "/h", "A": "1"}[k] }}
	res := ValidateIn(env, spec, args)
	errs, noLog, warned := value.ListOf(), value.ListOf(), value.ListOf()
	for _, e := range res.Errors {
		errs.Items = append(errs.Items, e.Text)
	}
	slices.Sort(res.NoLog)
	for _, s := range slices.Compact(res.NoLog) {
		noLog.Items = append(noLog.Items, s)
	}
	for _, w := range res.Warnings {
		w = strings.TrimSuffix(strings.TrimPrefix(w, "Both option "), " are set.")
		warned.Items = append(warned.Items, strings.Replace(w, " and its alias ", "|", 1))
	}
	return value.ListOf(errs, value.Repr(res.Params), noLog, warned)
}
