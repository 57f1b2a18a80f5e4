package template_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"volant/controller/template"
	"volant/wire/value"
)

func TestPipeEnds(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	s := template.New(template.Options{}).Scope(ctx, varMap{d: value.NewDict(0)}, template.ScopeOptions{Basedir: t.TempDir()})
	start := time.Now()
	if _, _, err := s.Render(op("{{ lookup('pipe', 'trap \"\" TERM; sleep 300') }}")); err == nil {
		t.Error("no error")
	}
	if d := time.Since(start); d > time.Minute {
		t.Errorf("took %s", d)
	}
}

func TestURL(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, pass, ok := r.BasicAuth(); ok {
			_, _ = w.Write([]byte(user + ":" + pass + "\n"))
			return
		}
		if r.URL.Path == "/none" {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write([]byte("{{ n }}\ntwo\n"))
	}))
	defer srv.Close()
	vars := value.DictOf("u", srv.URL, "n", int64(5))
	for text, want := range map[string]string{
		"{{ lookup('url', u) }}":                                              "'{{ n }},two'",
		"{{ query('url', u, split_lines=false) }}":                            "['{{ n }}\\ntwo\\n']",
		"{{ lookup('url', u, username='a', password='b') }}":                  "'a:b'",
		"{{ lookup('url', u ~ '/none', errors='ignore') }}":                   "None",
		"{{ lookup('url', 'http://127.0.0.1:1/', errors='ignore') is none }}": "True",
	} {
		got, _, err := scope(t, vars).Render(op(text))
		if err != nil || value.Repr(got) != want {
			t.Errorf("%s: got %s %v", text, value.Repr(got), err)
		}
	}
}

func TestPasswordIsKept(t *testing.T) {
	dir := t.TempDir()
	s := template.New(template.Options{}).Scope(t.Context(), varMap{d: value.NewDict(0)}, template.ScopeOptions{Basedir: dir})
	text := "{{ lookup('password', 'sub/pw length=12 chars=digits') }}"
	first, _, err := s.Render(op(text))
	if err != nil {
		t.Fatal(err)
	}
	second, _, err := s.Render(op(text))
	if err != nil || first != second || len(first.(string)) != 12 {
		t.Errorf("got %v then %v, %v", first, second, err)
	}
	st, err := os.Stat(filepath.Join(dir, "sub", "pw"))
	if err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("kept as %v, %v", st, err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "sub", "*lockfile")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestFindFile(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"role/files/a", "role/b", "play/files/c", "play/d", "role/tasks/main.yml", "role/templates/files"} {
		p := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := template.New(template.Options{}).Scope(t.Context(), varMap{d: value.NewDict(0)}, template.ScopeOptions{
		SearchPath: []string{dir + "/role", dir + "/role/tasks"}, RolePath: dir + "/role", Basedir: dir + "/play",
	})
	for name, want := range map[string]string{"a": "role/files/a", "files/a": "role/files/a", "b": "role/b", "c": "play/files/c", "d": "play/d", "zz": ""} {
		got, tried, ok := s.FindFile("files", name)
		if want == "" {
			if ok || len(tried) == 0 {
				t.Errorf("%s: found %s", name, got)
			}
			continue
		}
		if got != filepath.Join(dir, want) {
			t.Errorf("%s: found %s", name, got)
		}
	}
}
