package modules

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"volant/hostagent/proc"
)

// localeDir is where glibc keeps locales, compiled one by one or in an archive.
const localeDir = "/usr/lib/locale"

// coerceLocale returns environ as a module, and what it starts, sees it: a
// Python that starts in the C locale, or in one that the host does not have,
// sets LC_CTYPE to C.UTF-8 (PEP 538), and its children inherit that.
func coerceLocale(environ []string) []string {
	get := func(key string) string {
		v, _ := proc.Getenv(environ, key)
		return v
	}
	if get("LC_ALL") != "" || get("PYTHONCOERCECLOCALE") == "0" {
		return environ
	}
	name := get("LC_CTYPE")
	if name == "" {
		name = get("LANG")
	}
	if hasLocale(name) {
		return environ
	}
	if onMusl() {
		return environ // its default locale is UTF-8 already
	}
	out := make([]string, 0, len(environ)+1)
	for _, kv := range environ {
		if !strings.HasPrefix(kv, "LC_CTYPE=") {
			out = append(out, kv)
		}
	}
	return append(out, "LC_CTYPE=C.UTF-8")
}

// onMusl reports whether the host's C library is musl. It is looked for once:
// a host does not change its C library under a running agent.
var onMusl = sync.OnceValue(func() bool {
	found, _ := filepath.Glob("/lib/ld-musl-*")
	return found != nil
})

// hasLocale reports whether the host has a locale of that name that is not C.
func hasLocale(name string) bool {
	switch name {
	case "", "C", "POSIX":
		return false
	case "C.UTF-8", "C.utf8":
		return true
	}
	if strings.Contains(name, "/") {
		return false
	}
	base, codeset, dotted := strings.Cut(name, ".")
	codeset, modifier, modified := strings.Cut(codeset, "@")
	normal := base
	if dotted {
		normal += "." + strings.ReplaceAll(strings.ToLower(codeset), "-", "")
	}
	if modified {
		normal += "@" + modifier
	}
	for _, n := range []string{name, normal} {
		if _, err := os.Stat(filepath.Join(localeDir, n, "LC_CTYPE")); err == nil {
			return true
		}
	}
	return archived.has(normal)
}

// archived is the archive of compiled locales as it was last read.
var archived localeArchive

type localeArchive struct {
	mu    sync.Mutex
	size  int64
	mtime time.Time
	names []byte
}

// has reports whether the archive holds the locale.
func (a *localeArchive) has(name string) bool {
	path := filepath.Join(localeDir, "locale-archive")
	info, err := os.Stat(path)
	if err != nil {
		return false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.size != info.Size() || !a.mtime.Equal(info.ModTime()) {
		f, err := os.Open(path)
		if err != nil {
			return false
		}
		defer f.Close()
		head := make([]byte, 256<<10) // the names are in front of the locales themselves
		n, _ := f.Read(head)
		a.names, a.size, a.mtime = head[:n], info.Size(), info.ModTime()
	}
	return bytes.Contains(a.names, []byte("\x00"+name+"\x00"))
}

// parsableOnce keeps what parsable found: a host's locales change rarely.
var parsableOnce struct {
	sync.Mutex
	name string
	at   time.Time
}

// parsable is get_best_parsable_locale: the locale in which words are read.
func (e *Env) parsable(ctx context.Context) string {
	parsableOnce.Lock()
	defer parsableOnce.Unlock()
	if parsableOnce.name != "" && time.Since(parsableOnce.at) < time.Minute {
		return parsableOnce.name
	}
	found := "C"
	if bin, ok := e.binPath("locale"); ok {
		if r, err := e.run(ctx, &command{argv: []string{bin, "-a"}}); err == nil && r.rc == 0 {
			have := strings.Fields(string(r.stdout))
			for _, l := range []string{"C.utf8", "C.UTF-8", "en_US.utf8", "en_US.UTF-8"} {
				if slices.Contains(have, l) {
					found = l
					break
				}
			}
		}
	}
	if ctx.Err() == nil {
		parsableOnce.name, parsableOnce.at = found, time.Now()
	}
	return found
}
