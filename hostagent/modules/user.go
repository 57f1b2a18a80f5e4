package modules

import (
	"context"
	"math"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"volant/wire/rx"
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
	ctx           context.Context
	a             *userArgs
	entry, shadow []string // of passwd and shadow, nil where there is none
	res           Result
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

// user is the user module: it looks in passwd, group and shadow, and has
// useradd, usermod, userdel and chage change them.
func user(ctx context.Context, c *call, a *userArgs) (Result, error) {
	u := &account{call: c, ctx: ctx, a: a}
	if err := u.covered(); err != nil {
		return nil, err
	}
	if a.Groups == nil && a.Append {
		c.Warn("'append' is set, but no 'groups' are specified. Use 'groups' for appending new groups." +
			"This will change to an error in Ansible 2.14.")
	}
	if a.Password != nil && !looksHashed(*a.Password) {
		c.Warn("The input password appears not to have been hashed. The 'password' argument must be encrypted for this module to work properly.")
	}
	if err := u.look(); err != nil {
		return nil, err
	}
	u.res = value.DictOf("name", a.Name, "state", a.State, "changed", false)
	there := u.entry != nil
	var err error
	switch {
	case there == (a.State == "absent") && c.Check:
		return value.DictOf("changed", true), nil
	case there && a.State == "absent":
		return u.res, u.remove()
	case a.State == "absent":
		return u.res, nil
	case there:
		err = u.modify()
	default:
		err = u.create()
	}
	if err != nil {
		return nil, err
	}
	if a.Password != nil {
		u.res.Set("password", "NOT_LOGGING_PASSWORD")
	}
	return u.res, u.finishUp()
}

// readShadow is all of shadow; an error hands back.
func readShadow() (string, error) {
	b, err := os.ReadFile("/etc/shadow")
	if err != nil {
		return "", handBack("reading shadow: %v", err)
	}
	return string(b), nil
}

// look reads the user's entries.
func (u *account) look() error {
	u.entry, u.shadow = users.entry(u.a.Name), nil
	if u.entry == nil {
		return nil
	}
	if len(u.entry) != 7 {
		return handBack("an odd entry in passwd")
	}
	text, err := readShadow()
	if err != nil {
		return err
	}
	for line := range strings.Lines(text) {
		if f := strings.Split(strings.TrimRight(line, "\n"), ":"); f[0] == u.a.Name && len(f) >= 8 {
			u.shadow = f
			break
		}
	}
	if u.shadow == nil && !onlyFiles("shadow") {
		return handBack("shadow is not in files only")
	}
	return nil
}

// finishUp tells what the user is like and sees to home, key and age.
func (u *account) finishUp() error {
	a, res := u.a, u.res
	if u.entry == nil {
		return raise("'bool' object is not subscriptable") // it went away meanwhile
	}
	uid, _ := pyInt(u.entry[2])
	gid, _ := pyInt(u.entry[3])
	for k, v := range value.DictOf("uid", uid, "group", gid, "comment", u.entry[4], "home", u.entry[5], "shell", u.entry[6]).All() {
		res.Set(k, v)
	}
	if a.Groups != nil {
		res.Set("groups", strings.Join(a.Groups, ","))
	}
	home := u.entry[5]
	if a.Home != nil {
		home = *a.Home
	}
	if a.CreateHome && !exists(u.p(home)) {
		if !u.Check {
			if err := u.makeHome(home); err != nil {
				return err
			}
			if err := u.ownHome(home); err != nil {
				return err
			}
		}
		res.Set("changed", true)
	}
	if a.GenerateKey != nil && *a.GenerateKey {
		if err := u.key(); err != nil {
			return err
		}
	}
	return u.age()
}

// covered hands back what takes more than these.
func (u *account) covered() error {
	a := u.a
	switch {
	case a.Local != nil && *a.Local:
		return handBack("a user of files only")
	case a.Expires != nil && (math.IsNaN(*a.Expires) || math.Abs(*a.Expires) > 1e11):
		return handBack("an unusual date")
	case a.GenerateKey != nil && *a.GenerateKey && a.KeyPassphrase != nil:
		return handBack("a key with a passphrase")
	case a.SEUser != nil:
		return handBack("a user of SELinux")
	case a.Name == "" || strings.ContainsAny(a.Name, ":\n"):
		return handBack("an unusual name")
	case exists("/etc/alpine-release") || exists("/etc/SuSE-release"):
		return handBack("users are another tool's")
	case a.Groups != nil && !groupsInFiles():
		return handBack("groups are not in files only")
	}
	for _, tool := range []string{"useradd", "usermod", "userdel", "chage"} {
		bin, ok := u.binPath(tool)
		if !ok {
			return handBack("there is no %s", tool)
		}
		if unix.Access(bin, unix.X_OK) != nil {
			return handBack("%s may not be run", tool)
		}
	}
	return nil
}

var notInHash = rx.Lazy(`[^a-zA-Z0-9./=]`)

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

// groupOf looks a group up by its number, else by its name.
func groupOf(s string) []string {
	if gid, ok := pyInt(s); ok && gid >= 0 {
		if n, ok := groups.name(uint32(gid)); ok {
			return groups.entry(n)
		}
	}
	return groups.entry(s)
}
