package template

import (
	"crypto/sha1"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"volant/wire/value"
)

var passwordLookups = map[string]*Lookup{"password": {Run: passwordLookup, Reads: true}}

// charSets are the names of Python's string module that chars may use.
var charSets = map[string]string{
	"ascii_letters":   "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ",
	"ascii_lowercase": "abcdefghijklmnopqrstuvwxyz",
	"ascii_uppercase": "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
	"digits":          "0123456789",
	"hexdigits":       "0123456789abcdefABCDEF",
	"octdigits":       "01234567",
	"punctuation":     "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~",
	"printable":       "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~ \t\n\r\x0b\x0c",
	"whitespace":      " \t\n\r\x0b\x0c",
}

const maxPassword = 1 << 20 // characters

func passwordLookup(l *LookupCall) ([]any, error) {
	var out []any
	global := l.Opts
	for _, term := range l.Terms {
		t, ok := value.Text(term)
		if !ok {
			return nil, value.Raise("AttributeError", "'%s' object has no attribute 'split'", lazyName(term))
		}
		l.Opts = global.Clone()
		rel, err := l.passwordTerm(t)
		if err != nil {
			return nil, err
		}
		v, err := l.password(l.Scope.unfrack(unquote(rel), l.Scope.opt.Basedir))
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}

// passwordTerm takes the options out of a term.
func (l *LookupCall) passwordTerm(t string) (string, error) {
	rel, rest, ok := strings.Cut(t, " ")
	if !ok {
		return t, nil
	}
	kv, raw, err := parseKV(l.C, rest)
	if err != nil {
		return "", err
	}
	if raw != "" {
		rel += " " + raw
		if !strings.HasPrefix(t, rel) {
			return "", failf("Unrecognized value after key=value parameters given to password lookup")
		}
	}
	var bad []string
	for k, v := range kv.All() {
		name, _ := value.Text(k)
		switch name {
		case "length", "encrypt", "chars", "ident", "seed":
			l.Opts.Set(name, v)
		default:
			bad = append(bad, name)
		}
	}
	if len(bad) > 0 {
		return "", failf("Unrecognized parameter(s) given to password lookup: %s", strings.Join(bad, ", "))
	}
	return rel, nil
}

func (l *LookupCall) candidateChars() string {
	specs := []any{"ascii_letters", "digits", ".,:-_"}
	switch v := l.Opts.Lookup("chars").(type) {
	case *value.List:
		specs = v.Items
	case string:
		specs = nil
		if strings.Contains(v, ",,") {
			specs = append(specs, ",")
		}
		for _, part := range strings.Split(strings.ReplaceAll(v, ",,", ","), ",") {
			if part != "" {
				specs = append(specs, part)
			}
		}
	}
	var b strings.Builder
	for _, spec := range specs {
		s := value.Str(spec)
		if set, ok := charSets[s]; ok {
			s = set
		}
		b.WriteString(s)
	}
	return strings.NewReplacer(`"`, "", `'`, "").Replace(b.String())
}

// randomText draws n characters, from a seed if there is one.
func randomText(n int64, chars string, seed any) (string, error) {
	r, err := newRandom(seed)
	if err != nil {
		return "", err
	}
	if n > maxPassword {
		return "", failf("a password of %d characters exceeds the limit of %d", n, maxPassword)
	}
	pool := []rune(chars)
	if len(pool) == 0 && n > 0 {
		return "", value.Raise("IndexError", "Cannot choose from an empty sequence")
	}
	out := make([]rune, max(n, 0))
	for i := range out {
		out[i] = pool[r.below(uint64(len(pool)))]
	}
	return string(out), nil
}

func (l *LookupCall) password(path string) (any, error) {
	length, err := l.number("length", 20)
	if err != nil {
		return nil, err
	}
	encrypt, err := l.text("encrypt", "")
	if err != nil {
		return nil, err
	}
	ident, err := l.text("ident", "")
	if err != nil {
		return nil, err
	}
	var seed any
	if s, err := l.text("seed", ""); err != nil {
		return nil, err
	} else if l.Opts.Lookup("seed") != nil {
		seed = s
	}
	kind := encrypt
	if full, ok := schemeNames[kind]; ok && encrypt != "" {
		kind = full
	}
	plain, salt, err := l.storedPassword(path, length, seed, kind, encrypt, &ident)
	if err != nil {
		return nil, err
	}
	if encrypt == "" {
		return plain, nil
	}
	if _, ok := schemes[encrypt]; !ok {
		return nil, failf("Installed passlib version does not support the %s algorithm.", value.Repr(encrypt))
	}
	return hashPassword(l.C, encrypt, plain, salt, nil, nil, ident)
}

// storedPassword reads the password kept at path, making and keeping it first
// where there is none.
func (l *LookupCall) storedPassword(path string, length int64, seed any, _, encrypt string, ident *string) (plain, salt string, err error) {
	null := path == "/dev/null"
	if !null {
		release, err := lockPassword(l.Scope.ctx.Done(), path)
		if err != nil {
			return "", "", err
		}
		defer release()
	}
	content, err := os.ReadFile(path)
	changed := false
	stored := ""
	if null || errors.Is(err, fs.ErrNotExist) {
		if plain, err = randomText(length, l.candidateChars(), seed); err != nil {
			return "", "", err
		}
		changed = true
	} else if err != nil {
		return "", "", osError(err, path)
	} else {
		plain, salt, stored = parsePassword(strings.TrimRight(string(content), " \t\n\r\v\f"))
	}
	s, known := schemes[encrypt]
	if encrypt != "" && salt == "" {
		changed = true
		size := 8
		if known {
			size = s.saltSize
		}
		salt = drawSalt("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789./", size)
	}
	switch {
	case stored == "":
	case *ident != "" && *ident != stored:
		return "", "", failf("The ident parameter provided (%s) does not match the stored one (%s).", *ident, stored)
	default:
		*ident = stored
	}
	if encrypt == "bcrypt" && *ident == "" {
		*ident, changed = s.ident, true
	}
	if changed && !null {
		text := plain
		if salt != "" {
			text += " salt=" + salt
			if *ident != "" {
				text += " ident=" + *ident
			}
		}
		if err := writePassword(path, text+"\n"); err != nil {
			return "", "", err
		}
	}
	return plain, salt, nil
}

// parsePassword takes a stored password apart.
func parsePassword(content string) (plain, salt, ident string) {
	i := strings.LastIndex(content, " salt=")
	if i < 0 {
		return content, "", ""
	}
	plain, salt = content[:i], content[i+len(" salt="):]
	if j := strings.LastIndex(salt, " ident="); j >= 0 {
		salt, ident = salt[:j], salt[j+len(" ident="):]
	}
	return plain, salt, ident
}

func writePassword(path, text string) error {
	dir, _ := splitPath(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return osError(err, dir)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return osError(err, path)
	}
	return os.Chmod(path, 0o600)
}

// lockPassword keeps other processes, the reference's included, from making
// the same password at the same time.
func lockPassword(done <-chan struct{}, path string) (release func(), err error) {
	dir, _ := splitPath(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, osError(err, dir)
	}
	lock := joinPath(dir, fmt.Sprintf("%x.ansible_lockfile", sha1.Sum([]byte(path))))
	for wait := 10 * time.Millisecond; ; wait *= 2 {
		f, err := os.OpenFile(lock, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err == nil {
			_ = f.Close()
			return func() { _ = os.Remove(lock) }, nil
		}
		if !errors.Is(err, fs.ErrExist) {
			return nil, osError(err, lock)
		}
		if wait > 4*time.Second {
			return nil, failf("Password lookup cannot get the lock in 7 seconds, abort...This may caused by un-removed lockfileyou can manually remove it from controller machine at %s and try again", lock)
		}
		select {
		case <-done:
			return nil, errors.New("the task has ended")
		case <-time.After(wait):
		}
	}
}
