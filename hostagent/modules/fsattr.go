package modules

import (
	"context"
	"errors"
	"os"
	"strconv"
	"strings"
	"syscall"

	"volant/wire/value"
)

// fileCommon are the arguments of every module that sets a file's attributes.
type fileCommon struct {
	Mode       any     `arg:"mode,type=raw"`
	Owner      *string `arg:"owner"`
	Group      *string `arg:"group"`
	SEUser     *string `arg:"seuser"`
	SERole     *string `arg:"serole"`
	SELevel    *string `arg:"selevel"`
	SEType     *string `arg:"setype"`
	Attributes *string `arg:"attributes,alias=attr"`
	Unsafe     bool    `arg:"unsafe_writes,default=no"`
}

// unsafeWritesRule is the fallback of unsafe_writes.
var unsafeWritesRule = option("unsafe_writes", func(o *optionSpec) { o.Fallback = []string{"ANSIBLE_UNSAFE_WRITES"} })

// attrs are the attributes to give to path.
type attrs struct {
	path         string
	mode         any
	owner, group *string
	attributes   *string
}

// commonArgs is load_file_common_arguments: with follow, a link's target.
func (c *call) commonArgs(f *fileCommon, path string, follow bool) attrs {
	path = c.args().ExpandPath(path)
	if follow && isLink(c.p(path)) {
		path = realpath(c.p(path))
	}
	return attrs{path: path, mode: f.Mode, owner: f.Owner, group: f.Group, attributes: f.Attributes}
}

// part returns diff's dict of that name, making it.
func part(diff *value.Dict, name string) *value.Dict {
	d, ok := diff.Lookup(name).(*value.Dict)
	if !ok {
		d = value.NewDict(2)
		diff.Set(name, d)
	}
	return d
}

func note(diff *value.Dict, key string, before, after any) {
	if diff != nil {
		part(diff, "before").Set(key, before)
		part(diff, "after").Set(key, after)
	}
}

// absentInCheck is check_file_absent_if_check_mode.
func (c *call) absentInCheck(path string) bool { return c.Check && !exists(c.p(path)) }

// setAttrs is set_fs_attributes_if_different. It returns whether anything
// changed, changed being what did before; in check mode nothing is done.
func (c *call) setAttrs(ctx context.Context, a attrs, changed bool, diff *value.Dict) (bool, error) {
	changed, err := c.setOwner(a.path, a.owner, changed, diff)
	if err == nil {
		changed, err = c.setGroup(a.path, a.group, changed, diff)
	}
	if err == nil {
		changed, err = c.setMode(a.path, a.mode, changed, diff)
	}
	if err == nil {
		changed, err = c.setAttributes(ctx, a.path, a.attributes, changed, diff)
	}
	return changed, err
}

// pyInt is int() of text: a decimal number with spaces and underscores.
func pyInt(s string) (int64, bool) { return pyNumber(s, 10) }

// pyNumber is int(s, base) for bases without prefixes.
func pyNumber(s string, base int) (int64, bool) {
	s = strings.TrimSpace(s)
	digits := s
	if s != "" && (s[0] == '-' || s[0] == '+') {
		digits = s[1:]
	}
	if digits == "" || strings.HasPrefix(digits, "_") || strings.HasSuffix(digits, "_") || strings.Contains(digits, "__") || strings.ContainsAny(digits, "+-") {
		return 0, false
	}
	n, err := strconv.ParseInt(strings.ReplaceAll(s, "_", ""), base, 64)
	return n, err == nil
}

func (c *call) setOwner(path string, owner *string, changed bool, diff *value.Dict) (bool, error) {
	if owner == nil {
		return changed, nil
	}
	if c.absentInCheck(path) {
		return true, nil
	}
	var st syscall.Stat_t
	if err := syscall.Lstat(c.p(path), &st); err != nil {
		return changed, raise(asOSError(err, path, true).Error())
	}
	uid, ok := pyInt(*owner)
	if !ok {
		id, ok := users.id(*owner)
		if !ok {
			return changed, fail("chown failed: failed to look up user "+*owner, "path", path)
		}
		uid = int64(id)
	}
	if int64(st.Uid) == uid {
		return changed, nil
	}
	note(diff, "owner", int64(st.Uid), uid)
	if c.Check {
		return true, nil
	}
	if err := os.Lchown(c.p(path), int(uid), -1); err != nil {
		return changed, failBecause(asOSError(err, path, true), "chown failed", "path", path)
	}
	return true, nil
}

func (c *call) setGroup(path string, group *string, changed bool, diff *value.Dict) (bool, error) {
	if group == nil {
		return changed, nil
	}
	if c.absentInCheck(path) {
		return true, nil
	}
	var st syscall.Stat_t
	if err := syscall.Lstat(c.p(path), &st); err != nil {
		return changed, raise(asOSError(err, path, true).Error())
	}
	gid, ok := pyInt(*group)
	if !ok {
		id, ok := groups.id(*group)
		if !ok {
			return changed, fail("chgrp failed: failed to look up group "+*group, "path", path)
		}
		gid = int64(id)
	}
	if int64(st.Gid) == gid {
		return changed, nil
	}
	note(diff, "group", int64(st.Gid), gid)
	if c.Check {
		return true, nil
	}
	if err := os.Lchown(c.p(path), -1, int(gid)); err != nil {
		return changed, fail("chgrp failed", "path", path)
	}
	return true, nil
}

func (c *call) setMode(path string, mode any, changed bool, diff *value.Dict) (bool, error) {
	if mode == nil {
		return changed, nil
	}
	if c.absentInCheck(path) {
		return true, nil
	}
	var st syscall.Stat_t
	if err := syscall.Lstat(c.p(path), &st); err != nil {
		return changed, raise(asOSError(err, path, true).Error())
	}
	want, err := c.wantedMode(path, mode, &st)
	if err != nil {
		return changed, err
	}
	have := int64(st.Mode & 0o7777)
	if have == want {
		return changed, nil
	}
	note(diff, "mode", modeText(uint32(have)), pyModeText(want))
	if c.Check {
		return true, nil
	}
	if err := c.chmod(path, want); err != nil {
		return changed, err
	}
	if err := syscall.Lstat(c.p(path), &st); err != nil {
		return changed, raise(asOSError(err, path, true).Error())
	}
	return changed || int64(st.Mode&0o7777) != have, nil
}

// pyModeText is '0%03o' of any integer.
func pyModeText(n int64) string {
	if n < 0 {
		s := strconv.FormatInt(-n, 8)
		for len(s) < 2 {
			s = "0" + s
		}
		return "0-" + s
	}
	s := strconv.FormatInt(n, 8)
	for len(s) < 3 {
		s = "0" + s
	}
	return "0" + s
}

// wantedMode reads a mode: a number as it is, text as octal, else symbolic.
func (c *call) wantedMode(path string, mode any, st *syscall.Stat_t) (int64, error) {
	switch m := mode.(type) {
	case int64:
		return m, nil
	case bool: // a bool is a number in Python
		if m {
			return 1, nil
		}
		return 0, nil
	}
	text, ok := mode.(string)
	if !ok {
		return 0, handBack("mode is a %s", value.TypeName(mode))
	}
	n, ok := octal(text)
	if !ok {
		m, err := symbolicMode(st.Mode, c.umask(), text)
		if err != nil {
			return 0, fail("mode must be in octal or symbolic form", "path", path, "details", err.Error())
		}
		n = int64(m)
	}
	return n, nil
}

// octal is int(s, 8).
func octal(s string) (int64, bool) {
	s = strings.TrimSpace(s)
	sign := ""
	if s != "" && (s[0] == '-' || s[0] == '+') {
		sign, s = s[:1], s[1:]
	}
	if l := strings.ToLower(s); strings.HasPrefix(l, "0o") {
		s = strings.TrimPrefix(s[2:], "_")
	}
	if s == "" || s[0] == ' ' || s[0] == '\t' || s[0] == '-' || s[0] == '+' {
		return 0, false
	}
	return pyNumber(sign+s, 8)
}

// chmod never changes a link's target.
func (c *call) chmod(path string, mode int64) error {
	p := c.p(path)
	if isLink(p) {
		var before, after syscall.Stat_t
		err := syscall.Stat(p, &before)
		if err == nil {
			if err = syscall.Chmod(p, uint32(mode)); err == nil {
				if err = syscall.Stat(p, &after); err == nil && before.Mode != after.Mode {
					err = syscall.Chmod(p, before.Mode&0o7777)
				}
			}
		}
		switch err {
		case nil, syscall.EACCES, syscall.EPERM, syscall.EROFS, syscall.ENOENT, syscall.ELOOP:
			return nil
		}
		return raise(asOSError(err, path, true).Error())
	}
	if mode < 0 || mode > 1<<31 {
		return handBack("mode %d", mode)
	}
	if err := syscall.Chmod(p, uint32(mode)); err != nil && !errors.Is(err, syscall.ENOENT) && !errors.Is(err, syscall.ELOOP) {
		return raise(asOSError(err, path, true).Error())
	}
	return nil
}

func (c *call) setAttributes(ctx context.Context, path string, want *string, changed bool, diff *value.Dict) (bool, error) {
	if want == nil {
		return changed, nil
	}
	if c.absentInCheck(path) {
		return true, nil
	}
	have, ok := c.fileAttributes(path, false)
	flags, op := *want, "="
	if strings.HasPrefix(flags, "-") || strings.HasPrefix(flags, "+") {
		op, flags = flags[:1], flags[1:]
	}
	if flags == "" || have.flags == flags && op != "-" {
		return changed, nil
	}
	chattr, found := c.binPath("chattr")
	if !found {
		return changed, nil
	}
	var before any
	if ok {
		before = have.flags
	}
	note(diff, "attributes", before, op+flags)
	if c.Check {
		return true, nil
	}
	r, err := c.run(ctx, &command{argv: []string{chattr, op + flags, path}})
	switch {
	case err != nil:
		return true, fail("chattr failed", "path", path, "details", err.Error())
	case r.rc != 0 || len(r.stderr) > 0:
		return true, fail("chattr failed", "path", path, "details", "Error while setting attributes: "+string(r.stdout)+string(r.stderr))
	}
	return true, nil
}
