package modules

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"volant/wire/value"
)

func TestGetURLIsThePythonModule(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("/f.txt", func(w http.ResponseWriter, r *http.Request) {
		http.ServeContent(w, r, "", time.Unix(1600000000, 0), strings.NewReader("hello\n"))
	})
	mux.HandleFunc("/chunked", func(w http.ResponseWriter, _ *http.Request) {
		w.(http.Flusher).Flush()
		fmt.Fprint(w, "in pieces")
	})
	mux.HandleFunc("/echo", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "%s %s %s %s\n", r.Method, r.UserAgent(), r.Header.Get("X-Mine"), r.Header.Get("Cache-Control"))
	})
	mux.Handle("/moved", http.RedirectHandler("/f.txt", http.StatusFound))
	mux.HandleFunc("/named", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Disposition", `attachment; filename="given"`)
		fmt.Fprint(w, "named")
	})
	s := httptest.NewServer(mux)
	defer s.Close()
	const sum = "sha256:5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03"
	arg := func(path string, kv ...any) *value.Dict {
		a := value.DictOf("url", s.URL+path, "dest", "@D/f")
		a.Update(value.DictOf(kv...))
		return a
	}
	there := mkfile("f", "hello\n", 0o640)
	other := mkfile("f", "other\n", 0o640)
	old := all(other, chtimes("f", 1500000000))
	d := newDiffer(t)
	d.sampled = true
	d.env = append(d.env, "HOME=/nonexistent")
	d.volatile = func(s string) string { return downloadName.ReplaceAllString(s, "TMP") }
	d.test(t, "get_url", []diffCase{
		{name: "new", args: arg("/f.txt")},
		{name: "new with mode", args: arg("/f.txt", "mode", "0600", "owner", "nobody")},
		{name: "into directory", args: arg("/f.txt", "dest", "@D")},
		{name: "into directory, moved", args: arg("/moved", "dest", "@D/")},
		{name: "named by the server", args: arg("/named", "dest", "@D"), handBack: true},
		{name: "newer there", args: arg("/f.txt"), setup: other},
		{name: "older there", args: arg("/f.txt"), setup: old},
		{name: "same there, forced", args: arg("/f.txt", "force", true), setup: there},
		{name: "other there, forced", args: arg("/f.txt", "force", true), setup: other},
		{name: "checksum there", args: arg("/f.txt", "checksum", sum), setup: there},
		{name: "checksum there, no server", args: arg("/f.txt", "url", "http://127.0.0.1:1/x", "checksum", sum), setup: there},
		{name: "checksum there, other mode", args: arg("/f.txt", "checksum", sum, "mode", "0600"), setup: there},
		{name: "checksum differs", args: arg("/f.txt", "checksum", sum), setup: other},
		{name: "checksum new", args: arg("/f.txt", "checksum", sum)},
		{name: "wrong checksum", args: arg("/f.txt", "checksum", "md5:00")},
		{name: "wrong checksum there", args: arg("/f.txt", "checksum", "md5:00"), setup: there},
		{name: "checksum with spaces", args: arg("/f.txt", "checksum", "sha1: F572D396-FAE9206628714FB2CE00F72E94F2258F "), setup: there},
		{name: "checksum without algorithm", args: arg("/f.txt", "checksum", "abc")},
		{name: "checksum is no number", args: arg("/f.txt", "checksum", "md5:xyz")},
		{name: "checksum by URL", args: arg("/f.txt", "checksum", "sha256:"+s.URL+"/sums"), handBack: true},
		{name: "unknown algorithm", args: arg("/f.txt", "checksum", "what:00"), setup: there, handBack: true},
		{name: "chunked", args: arg("/chunked"), once: true},
		{name: "headers", args: arg("/echo", "headers", value.DictOf("X-Mine", "yes"), "http_agent", "me")},
		{name: "headers, forced", args: arg("/echo", "force", true), setup: there},
		{name: "not found", args: arg("/none"), handBack: true},
		{name: "no server", args: arg("", "url", "http://127.0.0.1:1/x"), handBack: true},
		{name: "ftp", args: arg("", "url", "ftp://127.0.0.1:1/x"), handBack: true},
		{name: "credentials", args: arg("/f.txt", "url_username", "a", "url_password", "bcd"), handBack: true},
		{name: "no directory", args: arg("/f.txt", "dest", "@D/no/f")},
		{name: "backup", args: arg("/f.txt", "backup", true, "force", true), setup: other, once: true},
		{name: "through link", args: arg("/f.txt", "dest", "@D/l", "force", true), setup: all(other, symlink("l", "f"))},
		{name: "no url", args: value.DictOf("dest", "/x")},
		{name: "unknown", args: arg("/f.txt", "sha256sum", "x")},
	})
}

func TestHostnameIsThePythonModule(t *testing.T) {
	if !inSandbox(t) {
		return
	}
	// It stands for systemd's, which a sandbox has not.
	fake := shell(`mkdir -p /usr/local/bin; cat >/usr/local/bin/hostnamectl <<'X'
#!/bin/sh
case "$*" in
"--transient status") cat /etc/transient;;
"--static status") cat /etc/hostname;;
"--pretty --static set-hostname "*) echo "$4" >/etc/hostname;;
"--transient set-hostname bad") echo no >&2; exit 1;;
"--transient set-hostname "*) echo "$3" >/etc/transient;;
esac
X
chmod 755 /usr/local/bin/hostnamectl; echo one.example >/etc/hostname; echo one.example >/etc/transient
printf 'hosts: files\n' >/etc/nsswitch.conf; printf '127.0.0.1 localhost\n127.0.1.1 %s.example.org %s\n' "$(hostname)" "$(hostname)" >/etc/hosts`)
	d := systemWide(t)
	d.env = append(d.env, "PATH=/usr/local/bin:/usr/bin:/bin")
	d.test(t, "hostname", []diffCase{
		{name: "as it is", args: value.DictOf("name", "one.example", "use", "systemd"), setup: fake},
		{name: "changes", args: value.DictOf("name", "two", "use", "debian"), setup: fake},
		{name: "static changes", args: value.DictOf("name", "one.example", "use", "systemd"), setup: all(fake, shell("echo x >/etc/hostname"))},
		{name: "transient changes", args: value.DictOf("name", "one.example", "use", "systemd"), setup: all(fake, shell("echo x >/etc/transient"))},
		{name: "cannot be", args: value.DictOf("name", "bad", "use", "systemd"), setup: fake},
		{name: "too long", args: value.DictOf("name", strings.Repeat("a", 65), "use", "systemd"), setup: fake},
		{name: "file", args: value.DictOf("name", "two", "use", "redhat"), setup: fake, handBack: true, once: true},
		{name: "bad strategy", args: value.DictOf("name", "two", "use", "x"), setup: fake},
		{name: "no name", args: value.DictOf(), setup: fake},
	})
}

var downloadName = regexp.MustCompile(`/[^\s']*/Test[^/]+/\d+/tmp\w+`)

func TestAptRepositoryIsThePythonModule(t *testing.T) {
	if !inSandbox(t) {
		return
	}
	if !exists("/usr/lib/python3/dist-packages/apt/__init__.py") {
		t.Skip("needs python3-apt")
	}
	lists := shell(`printf '%s\n' '# deb http://old.example/ x main' 'deb   [arch=amd64]  http://a.example/debian stable main # note' >/etc/apt/sources.list
printf 'deb http://b.example/ stable  main\n#deb http://c.example/ stable main\n' >/etc/apt/sources.list.d/b.list`)
	d := systemWide(t)
	d.python = "/usr/bin/python3"
	d.test(t, "apt_repository", []diffCase{
		{name: "there", args: value.DictOf("repo", "deb [arch=amd64] http://a.example/debian stable main"), setup: lists, once: true},
		{name: "there, spaces", args: value.DictOf("repo", "  deb http://b.example/   stable main", "filename", "b"), setup: lists, once: true},
		{name: "absent", args: value.DictOf("repo", "deb http://z.example/ stable main", "state", "absent"), setup: lists, once: true},
		{name: "absent, disabled", args: value.DictOf("repo", "deb http://c.example/ stable main", "state", "absent"), setup: lists, once: true},
		{name: "new", args: value.DictOf("repo", "deb http://z.example/ stable main", "update_cache", false), setup: lists, handBack: true, once: true},
		{name: "disabled", args: value.DictOf("repo", "deb http://c.example/ stable main", "update_cache", false), setup: lists, handBack: true, once: true},
		{name: "no repository", args: value.DictOf("repo", "http://z.example/ # x"), setup: lists, once: true},
		{name: "commented out", args: value.DictOf("repo", "# deb http://z.example/ a b"), setup: lists, once: true},
		{name: "empty", args: value.DictOf("repo", ""), once: true},
		{name: "bad state", args: value.DictOf("repo", "x", "state", "y"), once: true},
	})
}
