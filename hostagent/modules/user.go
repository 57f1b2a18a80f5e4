package modules

import (
	"context"
	"os"
	"regexp"
	"strings"

	"volant/wire/value"
)

type userArgs struct {
	State         string   `arg:"state,default=present,choices=absent|present"`
	Name          string   `arg:"name,required,alias=user"`
	UID           *int64   `arg:"uid"`
	NonUnique     bool     `arg:"non_unique,default=no"`
	Group         *string  `arg:"group"`
	Groups        []string `arg:"groups"`
	Comment       *string  `arg:"comment"`
	Home          *string  `arg:"home,type=path"`
	Shell         *string  `arg:"shell,type=path"`
	Password      *string  `arg:"password,nolog"`
	LoginClass    *string  `arg:"login_class"`
	ExpireMax     *int64   `arg:"password_expire_max"`
	ExpireMin     *int64   `arg:"password_expire_min"`
	ExpireWarn    *int64   `arg:"password_expire_warn"`
	Hidden        *bool    `arg:"hidden"`
	SEUser        *string  `arg:"seuser"`
	Force         bool     `arg:"force,default=no"`
	Remove        bool     `arg:"remove,default=no"`
	CreateHome    bool     `arg:"create_home,default=yes,alias=createhome"`
	Skeleton      *string  `arg:"skeleton"`
	System        bool     `arg:"system,default=no"`
	MoveHome      bool     `arg:"move_home,default=no"`
	Append        bool     `arg:"append,default=no"`
	GenerateKey   *bool    `arg:"generate_ssh_key"`
	KeyBits       int64    `arg:"ssh_key_bits,default=0"`
	KeyType       string   `arg:"ssh_key_type,default=rsa"`
	KeyFile       *string  `arg:"ssh_key_file,type=path"`
	KeyComment    *string  `arg:"ssh_key_comment"`
	KeyPassphrase *string  `arg:"ssh_key_passphrase,nolog"`
	Update        string   `arg:"update_password,default=always,choices=always|on_create"`
	Expires       *float64 `arg:"expires"`
	Lock          *bool    `arg:"password_lock"`
	Local         *bool    `arg:"local"`
	Profile       *string  `arg:"profile"`
	Authorization *string  `arg:"authorization"`
	Role          *string  `arg:"role"`
	Umask         *string  `arg:"umask"`
	Inactive      *int64   `arg:"password_expire_account_disable"`
	UIDMin        *int64   `arg:"uid_min"`
	UIDMax        *int64   `arg:"uid_max"`
}

// account is one run of user.
type account struct {
	*call
	a     *userArgs
	entry []string // of passwd
}

// userModule is user with the default that the host's name is part of.
func userModule(ctx context.Context, env *Env, args *value.Dict) (Result, error) {
	host, err := os.Hostname()
	if err != nil {
		return nil, handBack("the host's name: %v", err)
	}
	comment := option("ssh_key_comment", func(o *optionSpec) { o.Default, o.HasDef = "ansible-generated on "+host, true })
	return native(user, comment)(ctx, env, args)
}

// user is the user module where there is nothing to do; changes are left to
// the Python module.
func user(_ context.Context, c *call, a *userArgs) (Result, error) {
	u := &account{call: c, a: a}
	if err := u.covered(); err != nil {
		return nil, err
	}
	if a.Groups == nil && a.Append {
		c.Warn("'append' is set, but no 'groups' are specified. Use 'groups' for appending new groups." +
			"This will change to an error in Ansible 2.14.")
	}
	res := value.DictOf("name", a.Name, "state", a.State, "changed", false)
	u.entry = users.entry(a.Name)
	there := u.entry != nil
	switch {
	case there == (a.State == "absent"):
		if c.Check {
			return value.DictOf("changed", true), nil
		}
		return nil, handBack("the user is to change")
	case !there:
		return res, nil
	}
	if len(u.entry) != 7 {
		return nil, handBack("an odd entry in passwd")
	}
	if err := u.unchanged(); err != nil {
		return nil, err
	}
	uid, _ := pyInt(u.entry[2])
	gid, _ := pyInt(u.entry[3])
	for k, v := range value.DictOf("append", a.Append, "move_home", a.MoveHome, "uid", uid, "group", gid,
		"comment", u.entry[4], "home", u.entry[5], "shell", u.entry[6]).All() {
		res.Set(k, v)
	}
	if a.Groups != nil {
		res.Set("groups", strings.Join(a.Groups, ","))
	}
	if a.Password != nil {
		res.Set("password", "NOT_LOGGING_PASSWORD")
	}
	return res, nil
}

// covered hands back what takes more than passwd, group and shadow.
func (u *account) covered() error {
	a := u.a
	switch {
	case a.Local != nil && *a.Local:
		return handBack("a user of files only")
	case a.Expires != nil || a.Inactive != nil || a.ExpireMax != nil || a.ExpireMin != nil || a.ExpireWarn != nil:
		return handBack("the password's age")
	case a.GenerateKey != nil && *a.GenerateKey:
		return handBack("a key is to be made")
	case a.SEUser != nil || a.LoginClass != nil || a.Profile != nil || a.Authorization != nil || a.Role != nil || a.Hidden != nil:
		return handBack("options of other systems")
	case a.Name == "" || strings.ContainsAny(a.Name, ":\n"):
		return handBack("an unusual name")
	case fileExists("/etc/alpine-release"):
		return handBack("users are BusyBox's")
	case a.Password != nil && !looksHashed(*a.Password):
		return handBack("the password does not look hashed")
	}
	if _, ok := u.binPath("usermod"); !ok {
		return handBack("there is no usermod")
	}
	return nil
}

var notInHash = regexp.MustCompile(`[^a-zA-Z0-9./=]`)

// looksHashed reports whether the module does not warn of a password.
func looksHashed(p string) bool {
	switch p {
	case "", "*", "!", "*************":
		return true
	}
	f := strings.Split(p, "$")
	if strings.ContainsAny(p, ":*!") || len(f) < 3 {
		return false
	}
	last := f[len(f)-1]
	length := map[string]int{"1": 22, "5": 43, "6": 86, "y": 43}[f[1]]
	return !notInHash.MatchString(last) && (length == 0 || len(last) == length)
}

// unchanged hands back when anything is to change, and fails where the module
// does before that.
func (u *account) unchanged() error {
	a := u.a
	differs := func(want *string, at int) bool { return want != nil && *want != u.entry[at] }
	if a.Group != nil {
		g := groupOf(*a.Group)
		if g == nil {
			return fail("Group " + *a.Group + " does not exist")
		}
		if g[2] != u.entry[3] {
			return handBack("the user's group is to change")
		}
	}
	if a.Groups != nil {
		if err := u.groups(); err != nil {
			return err
		}
	}
	uid, _ := pyInt(u.entry[2])
	switch {
	case a.UID != nil && *a.UID != uid:
		return handBack("the user's number is to change")
	case differs(a.Comment, 4) || differs(a.Home, 5) || differs(a.Shell, 6):
		return handBack("the user's entry is to change")
	}
	home := u.entry[5]
	if a.Home != nil {
		home = *a.Home
	}
	if a.CreateHome && !exists(u.p(home)) {
		return handBack("the home directory is to be made")
	}
	return u.secret()
}

// secret compares what is in shadow.
func (u *account) secret() error {
	a := u.a
	if a.Lock == nil && (a.Password == nil || a.Update != "always") {
		return nil
	}
	b, err := os.ReadFile("/etc/shadow")
	if err != nil {
		return handBack("reading shadow: %v", err)
	}
	hash, found := u.entry[1], false
	for line := range strings.Lines(string(b)) {
		if f := strings.Split(strings.TrimRight(line, "\n"), ":"); f[0] == a.Name && len(f) > 1 {
			hash, found = f[1], true
			break
		}
	}
	switch {
	case len(u.entry[1]) <= 1 && !found:
		return handBack("the user is not in shadow")
	case len(u.entry[1]) > 1:
		hash = u.entry[1]
	}
	locked := strings.HasPrefix(hash, "!")
	switch {
	case a.Lock != nil && *a.Lock != locked:
		return handBack("the password's lock is to change")
	case a.Password != nil && a.Update == "always" && strings.TrimLeft(hash, "!") != strings.TrimLeft(*a.Password, "!"):
		return handBack("the password is to change")
	}
	return nil
}

// groups compares the groups the user is in beside the main one.
func (u *account) groups() error {
	if !onlyFiles("group", "systemd") || fileExists("/run/systemd/userdb/io.systemd.Home") || fileExists("/etc/userdb") || fileExists("/run/userdb") {
		return handBack("groups are not in files only")
	}
	want := map[string]bool{}
	for _, g := range strings.Split(strings.Join(u.a.Groups, ","), ",") {
		if g == "" {
			continue
		}
		f := groupOf(strings.Trim(g, " \t\r\n\v\f"))
		if f == nil {
			return fail("Group " + strings.Trim(g, " \t\r\n\v\f") + " does not exist")
		}
		want[f[0]] = true
	}
	have := groups.of(u.a.Name)
	for g := range want {
		if !have[g] {
			return handBack("the user's groups are to change")
		}
	}
	if !u.a.Append && len(have) != len(want) {
		return handBack("the user's groups are to change")
	}
	return nil
}

// groupOf looks a group up by its number, else by its name.
func groupOf(s string) []string {
	if gid, ok := pyInt(s); ok && gid >= 0 {
		if n, ok := groups.name(uint32(gid)); ok {
			return groups.entry(n)
		}
	}
	return groups.entry(s)
}
