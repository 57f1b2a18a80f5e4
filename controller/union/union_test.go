package union

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestScanImports(t *testing.T) {
	for _, c := range []struct {
		name, src, fqn string
		pkg            bool
		want           []string // "?" marks optional ones
	}{
		{"plain", "import ansible.module_utils.basic as b, os\nimport ansible.module_utils\n", "", false, []string{"ansible.module_utils.basic"}},
		{"from", "from ansible.module_utils.basic import AnsibleModule, env_fallback as e\n", "", false,
			[]string{"ansible.module_utils.basic.AnsibleModule", "ansible.module_utils.basic.env_fallback"}},
		{"parens", "from ansible.module_utils.urls import (  # why\n    a,\n\n    b as c,\n)\n", "", false,
			[]string{"ansible.module_utils.urls.a", "ansible.module_utils.urls.b"}},
		{"continued", "from ansible.module_utils.urls \\\n  import a\n", "", false, []string{"ansible.module_utils.urls.a"}},
		{"try", "try:\n    from ansible.module_utils.x import y\nexcept ImportError: import ansible.module_utils.z\n", "", false,
			[]string{"?ansible.module_utils.x.y", "?ansible.module_utils.z"}},
		{"function", "def f():\n\tfrom ansible.module_utils.x import y; import ansible.module_utils.z\n", "", false,
			[]string{"?ansible.module_utils.x.y", "?ansible.module_utils.z"}},
		{"semicolon", "x = 1; import ansible.module_utils.z\n", "", false, []string{"ansible.module_utils.z"}},
		{"strings", "\"\"\"\nimport ansible.module_utils.no\n\"\"\"\ns = r'\\'; t = 'it\\'s'\n# import ansible.module_utils.no\nimport ansible.module_utils.yes\n", "", false,
			[]string{"ansible.module_utils.yes"}},
		{"relative", "from ..module_utils.a import b\nfrom . import c\n", "ansible_collections.n.c.plugins.modules.m", false,
			[]string{"ansible_collections.n.c.plugins.module_utils.a.b"}},
		{"relative in package", "from .a import b\nfrom . import c\nfrom ..d import e\n", "ansible.module_utils.p.q", true,
			[]string{"ansible.module_utils.p.q.a.b", "ansible.module_utils.p.q.c", "ansible.module_utils.p.d.e"}},
		{"relative in module", "from .a import b\n", "ansible.module_utils.p.q", false, []string{"ansible.module_utils.p.a.b"}},
		{"star", "from ansible.module_utils.basic import *\n", "", false, []string{"ansible.module_utils.basic.*"}},
		{"other collection parts", "from ansible_collections.n.c.plugins.lookup import x\n", "", false, nil},
		{"not statements", "raise E from ansible\nx = d['from']\ny = {'import': 1}\nlambda: imports\n", "", false, nil},
		{"dots", "from ... import x\n", "ansible.modules.m", false, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, im := range scanImports([]byte(c.src), c.fqn, c.pkg) {
				n := im.name
				if im.optional {
					n = "?" + n
				}
				got = append(got, n)
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func FuzzScanImports(f *testing.F) {
	f.Add([]byte("from . import (a,\n b)\ntry: import x\n'''"))
	f.Fuzz(func(_ *testing.T, b []byte) { scanImports(b, "a.b.c", true) })
}

func TestClassify(t *testing.T) {
	for src, want := range map[string]Style{
		"#!/usr/bin/python\nfrom ansible.module_utils.basic import AnsibleModule\n": StylePython,
		"from ..module_utils.x import y\n":                                          StylePython,
		"#<<INCLUDE_ANSIBLE_MODULE_COMMON>>\n":                                      StylePython,
		"#!/bin/sh\n# WANT_JSON\n":                                                  StyleWantJSON,
		"#!/usr/bin/perl\n<<INCLUDE_ANSIBLE_MODULE_JSON_ARGS>>\n":                   StyleJSONArgs,
		"#!/bin/sh\necho\n":                                                         StyleOld,
		"\x7fELF\x00":                                                               StyleBinary,
		"#Requires -Module x\n":                                                     StylePS,
	} {
		if got := classify([]byte(src)); got != want {
			t.Errorf("%q: got %d, want %d", src, got, want)
		}
	}
}

// core is the installed ansible-core, for tests against the real thing.
func core(t testing.TB) *Core {
	t.Helper()
	c, err := FindCore(Places{Env: os.Getenv("VOLANT_ANSIBLE_CORE"), PATH: filepath.SplitList(os.Getenv("PATH"))})
	if err != nil {
		t.Skip(err)
	}
	return c
}

func files(t *testing.T, root string, tree map[string]string) {
	t.Helper()
	for name, body := range tree {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(body), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

const basic = "from ansible.module_utils.basic import AnsibleModule\n"

func TestResolve(t *testing.T) {
	dir := t.TempDir()
	files(t, dir, map[string]string{
		"library/mine.py":      basic,
		"library/sub/deep.py":  basic,
		"library/ping.py":      basic,
		"role/library/mine.py": basic,
		"role/library/only.sh": "#!/bin/sh\n",
		"library/notes.txt":    "no",
		"module_utils/help.py": "from ansible.module_utils.common.text.converters import to_text\n",
		"library/uses.py":      basic + "from ansible.module_utils.help import x\n",
		"library/lacks.py":     basic + "from ansible.module_utils.nowhere import x\n",
		"library/may_lack.py":  basic + "try:\n    from ansible.module_utils.nowhere import x\nexcept ImportError:\n    pass\n",
		"ansible_collections/n/c/meta/runtime.yml": "plugin_routing:\n  modules:\n    old: {redirect: n.c.act}\n    gone: {tombstone: {removal_version: 2.0.0, warning_text: Use act.}}\n" +
			"    soon: {redirect: n.c.act, deprecation: {removal_version: 9.0.0, warning_text: Use act.}}\n    loop: {redirect: n.c.pool}\n    pool: {redirect: n.c.loop}\n" +
			"  module_utils:\n    former: {redirect: n.c.pkg.now}\n" +
			"  action:\n    went: {tombstone: {removal_date: \"2023-05-16\", warning_text: Use act}}\n",
		"ansible_collections/n/c/plugins/modules/act.py":                basic + "from ..module_utils.pkg.now import x\nfrom ansible_collections.n.c.plugins.module_utils.former import y\n",
		"ansible_collections/n/c/plugins/module_utils/pkg/__init__.py":  "",
		"ansible_collections/n/c/plugins/module_utils/pkg/now.py":       "from . import sibling\n",
		"ansible_collections/n/c/plugins/module_utils/pkg/sibling.py":   "",
		"ansible_collections/n/c/plugins/modules/bare.py":               basic + "from ..module_utils.bare.deep.one import x\nfrom ..module_utils import bare\n",
		"ansible_collections/n/c/plugins/module_utils/bare/deep/one.py": "",
	})
	u := New(Options{Core: core(t), Adjacent: []string{dir + "/library"}, ModuleUtilsPath: []string{dir + "/module_utils"}, Collections: []string{dir}, CacheDir: t.TempDir()})
	role := Scope{Library: []string{dir + "/role/library"}}
	for _, c := range []struct {
		name  string
		scope Scope
		want  string
		path  string
	}{
		{"copy", Scope{}, "ansible.builtin.copy", "copy.py"},
		{"ansible.builtin.ping", Scope{}, "ansible.builtin.ping", "modules/ping.py"},
		{"ping", Scope{}, "ansible.legacy.ping", "library/ping.py"},
		{"ansible.legacy.ping", Scope{}, "ansible.legacy.ping", "library/ping.py"},
		{"mine", role, "ansible.legacy.mine", dir + "/library/mine.py"},
		{"only", role, "ansible.legacy.only", "only.sh"},
		{"deep", Scope{}, "ansible.legacy.deep", "sub/deep.py"},
		{"n.c.act", Scope{}, "n.c.act", "act.py"},
		{"act", Scope{Collections: []string{"n.c"}}, "n.c.act", "act.py"},
		{"copy", Scope{Collections: []string{"n.c"}}, "ansible.builtin.copy", "copy.py"},
		{"n.c.old", Scope{}, "n.c.act", "act.py"},
		{"n.c.soon", Scope{}, "n.c.act", "act.py"},
	} {
		m, err := u.Resolve(c.name, c.scope)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if m.Name != c.want || !strings.HasSuffix(m.Path, c.path) {
			t.Errorf("%s: got %s at %s", c.name, m.Name, m.Path)
		}
		if m.Builtin != strings.HasPrefix(c.want, "ansible.builtin.") {
			t.Errorf("%s: builtin is %v", c.name, m.Builtin)
		}
	}
	if _, err := u.Resolve("nosuch", Scope{}); !errors.Is(err, ErrNotFound) {
		t.Errorf("nosuch: %v", err)
	}
	var removed *RemovedError
	if _, err := u.Resolve("n.c.gone", Scope{}); !errors.As(err, &removed) || removed.Msg != "The 'n.c.gone' module has been removed. Use act. This feature was removed from collection 'n.c' version 2.0.0." {
		t.Errorf("gone: %v", err)
	}
	if _, err := u.Resolve("n.c.went", Scope{}); !errors.As(err, &removed) || removed.Msg != "The 'n.c.went' action plugin has been removed. Use act. This feature was removed from collection 'n.c' in a release after 2023-05-16." {
		t.Errorf("went: %v", err)
	}
	if _, err := u.Resolve("n.c.loop", Scope{}); err == nil || !strings.Contains(err.Error(), "redirect loop") {
		t.Errorf("loop: %v", err)
	}
	if m, err := u.Resolve("n.c.soon", Scope{}); err != nil || len(m.Warnings) != 1 {
		t.Errorf("soon: %v, %v", m, err)
	}
	paths := func(name string) []string {
		m, err := u.Resolve(name, Scope{})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var out []string
		for _, f := range m.Extra.Files {
			out = append(out, f.Path)
			r, err := u.Open(f.Hash)
			if err != nil {
				t.Fatal(err)
			}
			b, _ := io.ReadAll(r)
			r.Close()
			if int64(len(b)) != f.Size {
				t.Errorf("%s: %d bytes, want %d", f.Path, len(b), f.Size)
			}
		}
		return out
	}
	if d := cmp.Diff([]string{".base", "ansible/legacy/__init__.py", "ansible/legacy/uses.py", "ansible/module_utils/help.py"}, paths("uses")); d != "" {
		t.Error(d)
	}
	pre := "ansible_collections/n/c/plugins/"
	want := []string{".base", "ansible_collections/__init__.py", "ansible_collections/n/__init__.py", "ansible_collections/n/c/__init__.py",
		pre + "__init__.py", pre + "module_utils/__init__.py", pre + "module_utils/former/__init__.py", pre + "module_utils/pkg/__init__.py",
		pre + "module_utils/pkg/now.py", pre + "module_utils/pkg/sibling.py", pre + "modules/__init__.py", pre + "modules/act.py"}
	slices.Sort(want)
	if d := cmp.Diff(want, paths("n.c.act")); d != "" {
		t.Error(d)
	}
	// A directory of a collection's module_utils is a package without an __init__.py, too.
	bare := paths("n.c.bare")
	for _, name := range []string{"bare/__init__.py", "bare/deep/__init__.py", "bare/deep/one.py"} {
		if !slices.Contains(bare, pre+"module_utils/"+name) {
			t.Errorf("n.c.bare: %s is not among %q", name, bare)
		}
	}
	paths("may_lack")
	var missing *ImportError
	if _, err := u.Resolve("lacks", Scope{}); !errors.As(err, &missing) || err.Error() !=
		"Could not find imported module support code for ansible.legacy.lacks. Looked for (['ansible.module_utils.nowhere.x', 'ansible.module_utils.nowhere'])" {
		t.Errorf("lacks: %v", err)
	}
}

// TestCoreModules resolves every module of the core, twice: the second union
// knows everything from its cache.
func TestCoreModules(t *testing.T) {
	c := core(t)
	names, err := filepath.Glob(filepath.Join(c.Path, "modules", "*.py"))
	if err != nil || len(names) < 60 {
		t.Fatal(len(names), err)
	}
	cache := t.TempDir()
	for range 2 {
		u := New(Options{Core: c, CacheDir: cache})
		for _, path := range names {
			name := strings.TrimSuffix(filepath.Base(path), ".py")
			if name == "__init__" {
				continue
			}
			m, err := u.Resolve(name, Scope{})
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			if m.Style == StyleOld && m.Shebang == "" {
				continue // only documents what an action does
			}
			if m.Style != StylePython {
				t.Errorf("%s has style %d", name, m.Style)
			}
			if len(m.Extra.Files) != 3 && m.Style == StylePython {
				t.Errorf("%s needs %d files beyond the base: %v", name, len(m.Extra.Files), m.Extra.Files)
			}
		}
		if err := u.Save(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestClosureIsTheReferences compares the imports of every module_utils file
// with what Python's own parser finds.
func TestClosureIsTheReferences(t *testing.T) {
	c := core(t)
	py := c.Python
	if py == "" {
		py = "python3"
	}
	script := `
import ast, os, sys
root = sys.argv[1]
for sub in ('module_utils', 'modules'):
    for d, _, fs in os.walk(os.path.join(root, sub)):
        for f in sorted(fs):
            if not f.endswith('.py'): continue
            p = os.path.join(d, f)
            fqn = os.path.relpath(p, os.path.dirname(root))[:-3].replace('/', '.')
            pkg = fqn.endswith('.__init__')
            if pkg: fqn = fqn[:-9]
            tree = ast.parse(open(p).read())
            got = set()
            for n in ast.walk(tree):
                if isinstance(n, ast.Import):
                    got |= set(a.name for a in n.names)
                elif isinstance(n, ast.ImportFrom):
                    mod = n.module or ''
                    if n.level:
                        parts = fqn.split('.')
                        lvl = n.level - 1 if pkg else n.level
                        base = parts[:len(parts) - lvl]
                        mod = '.'.join(base + ([n.module] if n.module else []))
                    got |= set(mod + '.' + a.name for a in n.names)
            got = sorted(g for g in got if g.startswith('ansible.module_utils.'))
            print(p, int(pkg), fqn, *got)
`
	out, err := exec.Command(py, "-c", script, c.Path).Output()
	if err != nil {
		t.Skip(err)
	}
	n := 0
	for line := range strings.Lines(string(out)) {
		f := strings.Fields(line)
		b, err := os.ReadFile(f[0])
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, im := range scanImports(b, f[2], f[1] == "1") {
			got = append(got, im.name)
		}
		slices.Sort(got)
		got = slices.Compact(got)
		if d := cmp.Diff(append([]string(nil), f[3:]...), got); d != "" {
			t.Errorf("%s: %s", f[0], d)
		}
		n++
	}
	if n < 200 {
		t.Errorf("only %d files", n)
	}
}

func TestFindCore(t *testing.T) {
	if _, err := FindCore(Places{Env: t.TempDir()}); err == nil || !strings.Contains(err.Error(), "there is no ansible-core") {
		t.Errorf("empty directory: %v", err)
	}
	var missing *MissingError
	if _, err := FindCore(Places{Venvs: []string{t.TempDir()}}); !errors.As(err, &missing) || !strings.Contains(err.Error(), "volant setup") {
		t.Errorf("nothing: %v", err)
	}
	dir := t.TempDir()
	files(t, dir, map[string]string{"lib/python3.12/site-packages/ansible/release.py": "__version__ = '2.19.12'\n", "lib/python3.12/site-packages/ansible/module_utils/basic.py": ""})
	c, err := FindCore(Places{Config: dir})
	if err != nil || c.Version != "2.19.12" || c.Python != dir+"/bin/python3" {
		t.Errorf("%+v, %v", c, err)
	}
}

func BenchmarkWarmUnion(b *testing.B) {
	c := core(b)
	cache := b.TempDir()
	for b.Loop() {
		u := New(Options{Core: c, CacheDir: cache})
		for _, n := range []string{"apt", "copy", "file", "service", "template", "lineinfile", "user", "setup"} {
			_, _ = u.Resolve(n, Scope{})
		}
		if err := u.Save(); err != nil {
			b.Fatal(err)
		}
	}
}
