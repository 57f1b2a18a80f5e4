package modules

import (
	"context"
	"errors"
	"maps"
	"os"
	"slices"
	"sort"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"volant/hostagent/python"
	"volant/wire/rx"
	"volant/wire/value"
)

type authorizedKeyArgs struct {
	User      string  `arg:"user,required"`
	Key       string  `arg:"key,required"`
	Path      *string `arg:"path,type=path"`
	ManageDir bool    `arg:"manage_dir,default=yes"`
	State     string  `arg:"state,default=present,choices=absent|present"`
	Options   *string `arg:"key_options"`
	Exclusive bool    `arg:"exclusive,default=no"`
	Comment   *string `arg:"comment"`
	Validate  bool    `arg:"validate_certs,default=yes"`
	Follow    bool    `arg:"follow,default=no"`
}

// keyTypes are the kinds of keys that OpenSSH takes.
var keyTypes = func() map[string]bool {
	m := map[string]bool{
		"sk-ecdsa-sha2-nistp256@openssh.com": true, "webauthn-sk-ecdsa-sha2-nistp256@openssh.com": true, "sk-ssh-ed25519@openssh.com": true,
		"ssh-xmss@openssh.com": true, "sk-ecdsa-sha2-nistp256-cert-v01@openssh.com": true, "sk-ssh-ed25519-cert-v01@openssh.com": true,
		"ssh-xmss-cert-v01@openssh.com": true,
	}
	for _, k := range []string{"ecdsa-sha2-nistp256", "ecdsa-sha2-nistp384", "ecdsa-sha2-nistp521", "ssh-ed25519", "ssh-dss", "ssh-rsa", "rsa-sha2-256", "rsa-sha2-512"} {
		m[k], m[k+"-cert-v01@openssh.com"] = true, true
	}
	return m
}()

// keyOption is one option of a key; one without a value has none.
type keyOption struct{ name, value string }

func (o keyOption) String() string { return o.name + o.value } // value has its =

// authorizedKey is a line of the file: a key, or text that is kept.
type authorizedKey struct {
	id, kind, comment string // kind is empty for text
	options           []keyOption
	rank              int
}

func (k *authorizedKey) line() string {
	if k.kind == "" {
		return k.id
	}
	var b strings.Builder
	for i, o := range k.options {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(o.String())
	}
	if len(k.options) > 0 {
		b.WriteByte(' ')
	}
	return b.String() + k.kind + " " + k.id + " " + k.comment + "\n"
}

// same compares everything but the place; options in any order, but the values
// of one in theirs.
func (k *authorizedKey) same(o *authorizedKey) bool {
	values := func(opts []keyOption) map[string]string {
		m := map[string]string{}
		for _, o := range opts {
			m[o.name] += "\x00" + o.value
		}
		return m
	}
	return k.id == o.id && k.kind == o.kind && k.comment == o.comment && maps.Equal(values(k.options), values(o.options))
}

var keyOptionPart = rx.Lazy(`(?:[^,"']|"[^"]*"|'[^']*')+`)

// parseKeyOptions splits options at the commas outside quotes.
func parseKeyOptions(text string) (opts []keyOption) {
	add := func(part string) {
		name, v, has := strings.Cut(part, "=")
		if has {
			v = "=" + v
		}
		opts = append(opts, keyOption{name, v})
	}
	end := -1
	for _, at := range keyOptionPart.FindAllStringIndex(text, -1) {
		if end >= 0 && text[end:at[0]] != "," {
			add(text[end:at[0]])
		}
		add(text[at[0]:at[1]])
		end = at[1]
	}
	return opts
}

// parseAuthorizedKey reads a line; ok is false where there is no key in it.
func parseAuthorizedKey(raw string, rank int) (k *authorizedKey, ok bool, err error) {
	raw = strings.ReplaceAll(raw, `\#`, "#")
	f := strings.FieldsFunc(raw, func(r rune) bool { return r == ' ' || r == '\t' || r == '\r' || r == '\n' })
	if len(f) > 0 && f[0] == "#" {
		return &authorizedKey{id: raw, rank: rank}, true, nil
	}
	at := slices.IndexFunc(f, func(s string) bool { return keyTypes[s] })
	if at < 0 {
		return nil, false, nil
	}
	if len(f) < at+2 {
		return nil, false, handBack("a kind of key without a key")
	}
	return &authorizedKey{
		id: f[at+1], kind: f[at], comment: strings.Join(f[at+2:], " "), options: parseKeyOptions(strings.Join(f[:at], " ")), rank: rank,
	}, true, nil
}

// keyFile is the keys of a user at work.
type keyFile struct {
	*call
	a      *authorizedKeyArgs
	path   string
	before string
	order  []string // as a Python dict has it
	keys   map[string]*authorizedKey
}

func (f *keyFile) set(id string, k *authorizedKey) {
	if f.keys[id] == nil {
		f.order = append(f.order, id)
	}
	f.keys[id] = k
}

func (f *keyFile) drop(id string) {
	delete(f.keys, id)
	f.order = slices.DeleteFunc(f.order, func(s string) bool { return s == id })
}

// posixAuthorizedKey is ansible.posix.authorized_key.
func posixAuthorizedKey(_ context.Context, c *call, a *authorizedKeyArgs) (Result, error) {
	switch {
	case selinuxOn():
		return nil, handBack("SELinux is on")
	case strings.HasPrefix(a.Key, "http") || strings.HasPrefix(a.Key, "file"):
		return nil, handBack("the key is somewhere else")
	}
	f := &keyFile{call: c, a: a, keys: map[string]*authorizedKey{}}
	if err := f.place(false); err != nil {
		return nil, err
	}
	if err := f.read(); err != nil {
		return nil, err
	}
	c.params.Set("keyfile", f.path)
	changed, err := f.merge()
	if err != nil {
		return nil, err
	}
	if changed {
		first := f.path
		if err := f.place(true); err != nil {
			return nil, err
		}
		after := f.render()
		if c.Diff {
			c.params.Set("diff", value.DictOf("before_header", first, "after_header", f.path, "before", f.before, "after", after))
		}
		if !c.Check {
			if err := f.write(after); err != nil {
				return nil, err
			}
		}
		c.params.Set("changed", true)
	}
	return c.params.Clone(), nil
}

// place settles the file; with write, it is made and belongs to the user.
func (f *keyFile) place(write bool) error {
	a := f.a
	if f.Check && a.Path != nil {
		f.path = *a.Path
		if write && a.Follow {
			f.path = realpath(f.p(f.path))
		}
		return nil
	}
	entry := users.entry(a.User)
	if entry == nil {
		if f.Check {
			return fail("Either user must exist or you must provide full path to key file in check mode")
		}
		return fail("Failed to lookup user " + a.User + ": " + value.Repr("getpwnam(): name not found: "+value.Repr(a.User)))
	}
	if len(entry) != 7 {
		return handBack("an odd entry in passwd")
	}
	dir := pyJoin(entry[5], ".ssh")
	f.path = pyJoin(dir, "authorized_keys")
	if a.Path != nil {
		dir, f.path = dirname(*a.Path), *a.Path
	}
	uid, _ := pyInt(entry[2])
	gid, _ := pyInt(entry[3])
	o := &keyOwner{uid: int(uid), gid: int(gid), trust: a.Follow || uid == 0 || os.Geteuid() != 0}
	for _, path := range []string{dir, f.path} {
		if h, err := o.open(f.p(path)); err == nil {
			h.Close()
		} else if errors.Is(err, errAstray) {
			return astray(path, a.User)
		}
	}
	if write && a.Follow {
		f.path = realpath(f.p(f.path))
	}
	if !write || f.Check {
		return nil
	}
	return f.prepare(o, dir)
}

// prepare makes the directory and the file, and gives them to the user.
func (f *keyFile) prepare(o *keyOwner, dir string) error {
	if f.a.ManageDir {
		if !exists(f.p(dir)) {
			if err := os.Mkdir(f.p(dir), 0o700); err != nil {
				return fail("Failed to create directory " + dir + " : " + asOSError(err, dir, false).Error())
			}
		}
		switch err := o.give(f.p(dir), 0o700); {
		case errors.Is(err, errAstray):
			return astray(dir, f.a.User)
		case err != nil:
			return raise(asOSError(err, dir, false).Error())
		}
	}
	if !exists(f.p(f.path)) {
		base := dirname(f.path)
		if err := os.MkdirAll(f.p(base), 0o777&^os.FileMode(f.umask())); err != nil {
			return raise(asOSError(err, base, false).Error())
		}
		if err := os.WriteFile(f.p(f.path), nil, 0o666&^os.FileMode(f.umask())); err != nil {
			return raise(asOSError(err, f.path, false).Error())
		}
	}
	if err := o.give(f.p(f.path), 0o600); errors.Is(err, errAstray) {
		return astray(f.path, f.a.User)
	}
	return nil // as good as it gets without being root
}

// errAstray is of a link by which root would read or give away what is not the user's.
var errAstray = errors.New("a link leads to what is not the user's")

func astray(path, user string) error {
	return fail(path + " is a link to what is neither " + user + "'s nor beside it; with `follow` it is taken as it is")
}

// keyOwner is who the keys belong to.
type keyOwner struct {
	uid, gid int
	trust    bool // links are taken as they are: nobody gains by them, or it was asked for
}

// open holds what path names: what is done to it by the handle cannot become another's meanwhile.
func (o *keyOwner) open(path string) (*os.File, error) {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	h := os.NewFile(uintptr(fd), path)
	var st unix.Stat_t
	if err = unix.Fstat(fd, &st); err == nil && !o.trust && int(st.Uid) != o.uid {
		var real string
		above := strings.TrimRight(realpath(dirname(path)), "/") + "/"
		if real, err = os.Readlink(heldPath(h)); err == nil && !strings.HasPrefix(real, above) {
			err = errAstray
		}
	}
	if err != nil {
		h.Close()
		return nil, err
	}
	return h, nil
}

// heldPath names what a handle holds, whatever its own name leads to by now.
func heldPath(h *os.File) string { return "/proc/self/fd/" + strconv.Itoa(int(h.Fd())) }

func (o *keyOwner) give(path string, mode os.FileMode) error {
	h, err := o.open(path)
	if err != nil {
		return err
	}
	defer h.Close()
	if err := os.Chown(heldPath(h), o.uid, o.gid); err != nil {
		return err
	}
	return os.Chmod(heldPath(h), mode)
}

func (f *keyFile) read() error {
	if !isFile(f.p(f.path)) {
		return nil
	}
	text, err := f.readPlain(f.path)
	if err != nil {
		return handBack("reading the file: %v", err)
	}
	f.before = text
	for i, line := range splitText(f.before) {
		k, ok, err := parseAuthorizedKey(line, i)
		if err != nil {
			return err
		}
		if !ok {
			k = &authorizedKey{id: line, rank: i}
		}
		f.set(k.id, k)
	}
	return nil
}

// merge brings the keys to where they are wanted.
func (f *keyFile) merge() (bool, error) {
	a, changed := f.a, false
	last := len(f.keys)
	keep := map[string]bool{}
	n := -1
	for _, line := range python.SplitLines(a.Key) {
		if line == "" || line[0] == '#' {
			continue
		}
		n++
		k, ok, err := parseAuthorizedKey(line, n)
		if err != nil {
			return false, err
		}
		if !ok {
			return false, fail("invalid key specified: " + line)
		}
		if a.Options != nil {
			k.options = parseKeyOptions(*a.Options)
		}
		if a.Comment != nil {
			k.comment = *a.Comment
		}
		if k.kind == "" {
			return false, handBack("a comment as a key")
		}
		have := f.keys[k.id]
		if a.State == "absent" {
			if have != nil {
				f.drop(k.id)
				changed = true
			}
			continue
		}
		keep[k.id] = true
		if have != nil && k.same(have) {
			continue
		}
		if have != nil {
			f.drop(k.id)
		}
		k.rank = last + n
		f.set(k.id, k)
		changed = true
	}
	if a.State == "present" && a.Exclusive {
		for _, id := range slices.Clone(f.order) {
			if !keep[id] {
				f.drop(id)
				changed = true
			}
		}
	}
	return changed, nil
}

func (f *keyFile) render() string {
	keys := make([]*authorizedKey, 0, len(f.order))
	for _, id := range f.order {
		keys = append(keys, f.keys[id])
	}
	sort.SliceStable(keys, func(i, j int) bool { return keys[i].rank < keys[j].rank })
	var b strings.Builder
	for _, k := range keys {
		b.WriteString(k.line())
	}
	return b.String()
}

func (f *keyFile) write(text string) error {
	return f.put(&placement{
		content: []byte(text), dest: f.path,
		temp: func() (*os.File, error) {
			tmp, err := f.tempFile("tmp")
			if err != nil {
				return nil, raise(asOSError(err, f.tempDir(), false).Error())
			}
			return tmp, nil
		},
		failed: failedWrite,
	})
}
