package modules

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha1"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"volant/wire/rx"
	"volant/wire/value"
)

type knownHostsArgs struct {
	Name     string  `arg:"name,required,alias=host"`
	Key      *string `arg:"key"`
	Path     string  `arg:"path,type=path,default=~/.ssh/known_hosts"`
	HashHost bool    `arg:"hash_host,default=no"`
	State    string  `arg:"state,default=present,choices=absent|present"`
}

// knownHost is one key looked for in a file of known hosts.
type knownHost struct {
	*call
	ctx       context.Context
	a         *knownHostsArgs
	keygen    string
	host, key string
	found     bool
	replace   bool // it is there with another key, or is to be added
	line      int  // of the key there; 0: none
}

// knownHosts is the known_hosts module; like it, it has ssh-keygen look names up.
func knownHosts(ctx context.Context, c *call, a *knownHostsArgs) (Result, error) {
	k := &knownHost{call: c, ctx: ctx, a: a, host: strings.ToLower(a.Name)}
	var err error
	if k.keygen, err = c.needBin("ssh-keygen"); err != nil {
		return nil, err
	}
	before, there, err := k.content()
	if err != nil {
		return nil, err
	}
	if a.Key == nil || *a.Key == "" {
		if a.State != "absent" {
			return nil, fail("No key specified when adding a host")
		}
	} else {
		k.key = *a.Key
		if a.HashHost {
			if k.key, err = hashHost(k.host, k.key); err != nil {
				return nil, err
			}
		}
		if !strings.HasSuffix(k.key, "\n") {
			k.key += "\n"
		}
	}
	if err := k.sane(); err != nil {
		return nil, err
	}
	if err := k.search(); err != nil {
		return nil, err
	}
	diff := k.diff(before, there)
	changed := k.replace || (a.State == "present") != k.found
	if a.State == "absent" && k.line == 0 && k.key != "" {
		changed = false
	} else if c.Check {
		return value.DictOf("changed", changed, "diff", diff), nil
	} else if changed {
		if err := k.write(); err != nil {
			return nil, err
		}
	}
	res := c.params.Clone()
	res.Set("changed", changed)
	res.Set("diff", diff)
	return res, nil
}

func (k *knownHost) content() (text string, there bool, err error) {
	if filepath.Dir(k.a.Path) == "." {
		return "", false, handBack("a path without directory")
	}
	text, err = k.readPlain(k.a.Path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return "", false, nil
	case err != nil:
		return "", false, handBack("reading the file: %v", err)
	}
	return text, true, nil
}

// hashHost replaces the host of a key by its hash.
func hashHost(host, key string) (string, error) {
	f := strings.Fields(key)
	at := 0
	if len(f) > 0 && f[0][0] == '@' {
		at = 1
	}
	if len(f) <= at {
		return "", handBack("an odd key")
	}
	var salt [20]byte
	_, _ = rand.Read(salt[:]) // never fails
	mac := hmac.New(sha1.New, salt[:])
	mac.Write([]byte(host))
	f[at] = "|1|" + base64.StdEncoding.EncodeToString(salt[:]) + "|" + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	return strings.Join(f, " "), nil
}

var commaNames = rx.Lazy(`\S+(\s+)?,(\s+)?`)

// sane refuses a key that is not the host's.
func (k *knownHost) sane() error {
	if k.key == "" {
		return nil
	}
	if commaNames.MatchString(k.host) {
		return fail("Comma separated list of names is not supported. Please pass a single name to lookup in the known_hosts file.")
	}
	f, err := k.tempFile("tmp")
	if err != nil {
		return handBack("a temporary file: %v", err)
	}
	defer os.Remove(f.Name())
	_, err = f.WriteString(k.key)
	if err = errors.Join(err, f.Close()); err != nil {
		return handBack("a temporary file: %v", err)
	}
	r, err := k.run(k.ctx, &command{argv: []string{k.keygen, "-F", k.host, "-f", f.Name()}})
	if err != nil {
		return commandFailed(err, []string{k.keygen})
	}
	if len(r.stdout) == 0 {
		return fail("Host parameter does not match hashed host field in supplied key")
	}
	return nil
}

var foundLine = rx.Lazy(`found: line (\d+)`)

// hostKey is a line of known hosts in its parts.
type hostKey struct{ marker, host, kind, key string }

func parseHostKey(line string) (hostKey, bool) {
	f := strings.FieldsFunc(line, pySpace)
	marker := ""
	if len(f) > 0 && f[0][0] == '@' {
		marker, f = f[0], f[1:]
	}
	if len(f) < 3 {
		return hostKey{}, false
	}
	return hostKey{marker, f[0], f[1], f[2]}, true
}

func (k *knownHost) search() error {
	if !exists(k.p(k.a.Path)) {
		return nil
	}
	r, err := k.run(k.ctx, &command{argv: []string{k.keygen, "-F", k.host, "-f", k.a.Path}})
	if err != nil {
		return commandFailed(err, []string{k.keygen})
	}
	switch {
	case len(r.stdout) == 0 && len(r.stderr) == 0 && (r.rc == 0 || r.rc == 1):
		return nil
	case r.rc != 0:
		return fail(fmt.Sprintf("ssh-keygen failed (rc=%d, stdout='%s',stderr='%s')", r.rc, r.stdout, r.stderr))
	case k.key == "":
		k.found = true
		return nil
	}
	want, ok := parseHostKey(k.key)
	if !ok {
		return handBack("an odd key")
	}
	at := 0
	for _, l := range strings.Split(string(r.stdout), "\n") {
		if l == "" {
			continue
		}
		if l[0] == '#' {
			m := foundLine.FindStringSubmatch(l)
			if m == nil {
				return handBack("an odd answer of ssh-keygen")
			}
			at, _ = strconv.Atoi(m[1])
			continue
		}
		have, ok := parseHostKey(l)
		if !ok {
			return handBack("an odd line in the file")
		}
		marked := strings.HasPrefix(have.marker, "@cert-authority") || strings.HasPrefix(have.marker, "@revoke")
		if !marked && strings.HasPrefix(want.host, "|1|") && strings.HasPrefix(have.host, "|1|") {
			want.host = have.host // a hash stays as it is
		}
		switch {
		case want == have:
			k.found, k.line = true, at
			return nil
		case !marked && want.kind == have.kind:
			k.found, k.replace, k.line = true, true, at
			return nil
		}
	}
	k.found, k.replace = true, true
	return nil
}

func (k *knownHost) diff(before string, there bool) *value.Dict {
	d := value.DictOf("before_header", k.a.Path, "after_header", k.a.Path, "before", before, "after", "")
	if !there {
		d.Set("before_header", "/dev/null")
	}
	lines := splitText(before)
	if (k.replace || k.a.State == "absent") && k.line >= 1 && k.line <= len(lines) {
		lines = append(lines[:k.line-1:k.line-1], lines[k.line:]...)
	}
	if k.a.State == "present" && (k.replace || k.line == 0) {
		lines = append(lines, k.key)
	}
	d.Set("after", strings.Join(lines, ""))
	return d
}

func (k *knownHost) write() error {
	path := k.p(k.a.Path)
	if k.found && k.key == "" && k.a.State == "absent" {
		argv := []string{k.keygen, "-R", k.host, "-f", k.a.Path}
		r, err := k.run(k.ctx, &command{argv: argv})
		if err != nil {
			return commandFailed(err, argv)
		}
		if r.rc != 0 {
			return failedCommand(r, argv)
		}
	}
	b, err := k.readEdited(k.a.Path)
	if isHandBack(err) {
		return afterChange(err)
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return raise("Failed to read "+value.Repr(k.a.Path)+".", asOSError(err, k.a.Path, false).Error())
	}
	var out strings.Builder
	n := 0
	for l := range strings.Lines(string(b)) {
		n++
		if n == k.line && (k.replace || k.a.State == "absent") {
			continue
		}
		out.WriteString(l)
	}
	if k.a.State == "present" {
		out.WriteString(k.key)
	}
	failed := func(err error, at string) error {
		return raise("Failed to write to file "+value.Repr(k.a.Path)+".", asOSError(err, at, false).Error())
	}
	return k.put(&placement{
		content: []byte(out.String()), dest: k.a.Path,
		temp: func() (*os.File, error) {
			f, err := tempFileIn(dirname(path), "tmp", "")
			if err != nil {
				return nil, failed(err, pyJoin(dirname(path), "tmp"+randomName()))
			}
			return f, nil
		},
		failed: func(err error, _ string) error { return failed(err, "") },
	})
}

// failedCommand is how run_command with check_rc ends a module.
func failedCommand(r *ran, argv []string) error {
	msg := strings.TrimRightFunc(string(r.stderr), pySpace)
	return fail(msg, "cmd", cleanArgs(argv), "rc", int64(r.rc), "stdout", string(r.stdout), "stderr", string(r.stderr))
}
