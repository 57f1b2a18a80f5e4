package modules

import (
	"context"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"volant/wire/value"
)

// TestLargeFilesAreLeftToPython: a sparse file in a user's hands must not fill the memory of an agent that root runs.
func TestLargeFilesAreLeftToPython(t *testing.T) {
	const size = 1 << 30
	dir := t.TempDir()
	path := filepath.Join(dir, "large")
	must(t, os.WriteFile(path, nil, 0o600))
	must(t, os.Truncate(path, size))
	endless := filepath.Join(dir, "endless")
	must(t, os.Symlink("/dev/zero", endless))
	key := "ssh-ed25519 AAAA"
	for module, args := range map[string]*value.Dict{
		"cron":                         value.DictOf("name", "n", "job", "true", "user", "root", "cron_file", path),
		"known_hosts":                  value.DictOf("name", "n", "key", "n "+key, "path", path),
		"ansible.posix.authorized_key": value.DictOf("user", "root", "key", key, "path", path, "manage_dir", false),
		"ansible.posix.mount":          value.DictOf("path", "/x", "src", "/y", "fstype", "z", "state", "present", "fstab", path),
		"ansible.posix.sysctl":         value.DictOf("name", "a.b", "value", "1", "sysctl_file", path, "reload", false),
		"async_status":                 value.DictOf("jid", "large", "_async_dir", dir),
	} {
		t.Run(module, func(t *testing.T) {
			run := func(args *value.Dict) {
				t.Helper()
				var was, is runtime.MemStats
				runtime.ReadMemStats(&was)
				res, err := Table[module](t.Context(), &Env{Name: module, Check: module != "async_status", Version: "2.19.12", Environ: os.Environ(), Cwd: dir, Umask: -1, Tmpdir: given(dir)}, args)
				runtime.ReadMemStats(&is)
				var h *HandBack
				if msg, _ := res.Str("msg"); strings.HasPrefix(msg, "Failed to find required executable") {
					t.Skip(msg)
				} else if !errors.As(err, &h) {
					t.Errorf("%v, %v", value.Repr(res), err)
				} else if strings.HasPrefix(h.Reason, "there is no ") {
					t.Skip(h.Reason)
				}
				if n := is.TotalAlloc - was.TotalAlloc; n > size/2 {
					t.Errorf("takes %d MiB", n>>20)
				}
			}
			run(args)
			if t.Failed() || strings.HasSuffix(module, "_key") || strings.HasSuffix(module, "sysctl") {
				return // or nothing but a regular file is read
			}
			run(place(renamed(args, path, endless), dir).(*value.Dict))
		})
	}
}

// renamed has another file in place of one in all arguments.
func renamed(args *value.Dict, from, to string) *value.Dict {
	out := value.NewDict(args.Len())
	for k, v := range args.All() {
		switch v {
		case from, filepath.Base(from):
			v = strings.Replace(v.(string), filepath.Base(from), filepath.Base(to), 1)
		}
		out.Set(k, v)
	}
	return out
}

// TestReadsAreBounded: only what the kernel or the system itself keeps is read whole; what a task names, or lies where a
// user may put it, is read by readEdited.
func TestReadsAreBounded(t *testing.T) {
	files, err := filepath.Glob("*.go")
	must(t, err)
	own := map[string]bool{`d.path`: true} // the databases of users and groups
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		set := token.NewFileSet()
		src, err := os.ReadFile(name)
		must(t, err)
		f, err := parser.ParseFile(set, name, src, 0)
		must(t, err)
		ast.Inspect(f, func(n ast.Node) bool {
			c, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			at := func(n ast.Node) string {
				return string(src[set.Position(n.Pos()).Offset:set.Position(n.End()).Offset])
			}
			if at(c.Fun) != "os.ReadFile" {
				return true
			}
			arg := at(c.Args[0])
			if !strings.HasPrefix(arg, `"/proc/`) && !strings.HasPrefix(arg, `"/etc/`) && !own[arg] {
				t.Errorf("%s: %s", set.Position(c.Pos()), at(c))
			}
			return true
		})
	}
}

// Sums of large files end with their sub-task.
func TestSumsEnd(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	if s, err := digest(ctx, path, "sha1"); err != nil || s != "3b71f43ff30f4b15b5cd85dd9e95ebc7e84eb5a3" {
		t.Fatalf("%q, %v", s, err)
	}
	cancel()
	if _, err := digest(ctx, path, "sha1"); !errors.Is(err, context.Canceled) {
		t.Errorf("digest: %v", err)
	}
	if _, _, err := digests(ctx, path); !errors.Is(err, context.Canceled) {
		t.Errorf("digests: %v", err)
	}
}
