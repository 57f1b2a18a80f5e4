package modules

import (
	"context"
	"os"
	"strings"
	"syscall"

	"volant/wire/argspec"
	"volant/wire/value"
)

type mountArgs struct {
	Boot      bool    `arg:"boot,default=yes"`
	Dump      *string `arg:"dump,default=0"`
	Fstab     *string `arg:"fstab"`
	Fstype    *string `arg:"fstype"`
	Path      string  `arg:"path,required,type=path,alias=name"`
	Opts      *string `arg:"opts"`
	OptsNoLog bool    `arg:"opts_no_log,default=no"`
	Passno    *string `arg:"passno,default=0"`
	Src       *string `arg:"src,type=path"`
	Backup    bool    `arg:"backup,default=no"`
	State     string  `arg:"state,required,choices=absent|absent_from_fstab|mounted|present|unmounted|remounted|ephemeral"`
}

func mountRules(s *argspec.Spec) {
	for _, state := range []string{"mounted", "present", "ephemeral"} {
		s.RequiredIf = append(s.RequiredIf, argspec.RequiredIf{Key: "state", Value: state, Need: []string{"src", "fstype"}})
	}
}

// fstabRun is one line of fstab.
type fstabRun struct {
	*call
	a                               *mountArgs
	src, fstype, opts, dump, passno string
	file                            string
	out                             strings.Builder
}

// posixMount is ansible.posix.mount where nothing is mounted or unmounted.
func posixMount(ctx context.Context, c *call, a *mountArgs) (Result, error) {
	m := &fstabRun{call: c, a: a, opts: "defaults", dump: "0", passno: "0", file: "/etc/fstab"}
	for _, o := range []struct {
		to   *string
		from *string
	}{{&m.src, a.Src}, {&m.fstype, a.Fstype}, {&m.opts, a.Opts}, {&m.dump, a.Dump}, {&m.passno, a.Passno}, {&m.file, a.Fstab}} {
		if o.from != nil {
			*o.to = *o.from
		}
	}
	if !strings.HasPrefix(c.Version, "2.19.") {
		return nil, handBack("what this ansible-core says of the module's warnings")
	}
	noauto := strings.Contains(","+m.opts+",", ",noauto,")
	switch {
	case a.OptsNoLog:
		return nil, handBack("options that are not to be shown")
	case a.Boot && noauto:
		return nil, handBack("noauto and boot")
	case a.State == "ephemeral" || a.State == "remounted":
		return nil, handBack("something is to be mounted")
	}
	boot := "yes"
	if !a.Boot {
		boot = "no"
		m.opts += ",noauto"
	}
	text, err := m.read()
	if err != nil {
		return nil, err
	}
	res := value.DictOf("changed", false, "name", a.Path, "opts", m.opts, "dump", m.dump, "passno", m.passno, "fstab", m.file, "boot", boot, "backup_file", "", "warnings", value.ListOf())
	// The module passes an empty list of warnings, which is deprecated.
	c.deprecations = append(c.deprecations, value.DictOf(
		"msg", "Passing `warnings` to `exit_json` or `fail_json` is deprecated.", "help_text", "Use `AnsibleModule.warn` instead.",
		"deprecator", value.DictOf("resolved_name", "ansible.builtin", "type", nil), "collection_name", "ansible.builtin", "version", "2.23"))
	if a.Src != nil {
		res.Set("src", m.src)
	}
	if a.Fstype != nil {
		res.Set("fstype", m.fstype)
	}
	var changed bool
	switch a.State {
	case "present", "mounted":
		if changed, err = m.set(text); err != nil {
			return nil, err
		}
	case "absent", "absent_from_fstab":
		changed = m.unset(text)
	case "unmounted":
		changed = c.mounted(a.Path)
	}
	switch a.State {
	case "mounted":
		if !c.mounted(a.Path) {
			if !c.Check {
				return nil, handBack("it is to be mounted")
			}
			changed = true
		} else if changed && !c.Check {
			return nil, handBack("it is to be remounted")
		}
	case "absent", "unmounted":
		if changed && !c.Check {
			return nil, handBack("it is to be unmounted")
		}
	}
	res.Set("changed", changed)
	if !changed || c.Check {
		return res, nil
	}
	if a.Backup {
		name, err := c.backupLocal(ctx, m.file)
		if err != nil {
			return nil, err
		}
		if a.State == "present" {
			res.Set("backup_file", name)
		}
	}
	f, err := os.OpenFile(c.p(m.file), os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return nil, raise(asOSError(err, m.file, false).Error())
	}
	defer f.Close()
	if _, err := f.WriteString(m.out.String()); err != nil {
		return nil, raise(asOSError(err, "", false).Error())
	}
	return res, nil
}

func (m *fstabRun) read() (string, error) {
	text, err := m.readPlain(m.file)
	if err != nil {
		return "", handBack("reading fstab: %v", err)
	}
	return text, nil
}

// mounted reports whether something is mounted on a directory.
func (c *call) mounted(path string) bool {
	var st, up syscall.Stat_t
	p := c.p(path)
	if syscall.Lstat(p, &st) == nil && st.Mode&syscall.S_IFMT != syscall.S_IFLNK &&
		syscall.Lstat(realpath(p+"/.."), &up) == nil && (st.Dev != up.Dev || st.Ino == up.Ino) {
		return true
	}
	b, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) > 4 && f[4] == path {
			return true
		}
	}
	return false
}

// escapeFstab writes what would end a field as its number.
func escapeFstab(s string) string {
	return strings.NewReplacer(`\`, `\134`, " ", `\040`, "&", `\046`).Replace(s)
}

// other reports whether a line of fstab is of another mount than ours.
func (m *fstabRun) other(f []string) bool {
	return f[1] != escapeFstab(m.a.Path) || m.a.Src != nil && f[1] == "none" && f[2] == "swap" && f[0] != m.src
}

// set writes fstab with the line that is wanted.
func (m *fstabRun) set(text string) (bool, error) {
	want := []string{m.src, m.a.Path, m.fstype, m.opts, m.dump, m.passno}
	for i, s := range want {
		want[i] = escapeFstab(s)
	}
	there, changed := false, false
	for line := range strings.Lines(text) {
		if !strings.HasSuffix(line, "\n") {
			line += "\n"
		}
		bare := strings.TrimFunc(line, pySpace)
		if bare == "" || bare[0] == '#' {
			m.out.WriteString(line)
			continue
		}
		if strings.Contains(bare, "#") {
			return false, handBack("a line of fstab has a comment in it") // versions of the collection differ
		}
		f := strings.FieldsFunc(line, pySpace)
		if len(f) < 4 || len(f) > 6 || m.other(f) {
			m.out.WriteString(line)
			continue
		}
		there = true
		for i := range want {
			// A field that is not there is a number in Python, unlike any text.
			if i >= len(f) || f[i] != want[i] {
				changed = true
			}
		}
		if changed {
			line = strings.Join(append([]string{want[0], f[1]}, want[2:]...), " ") + "\n"
		}
		m.out.WriteString(line)
	}
	if !there {
		m.out.WriteString(strings.Join(want, " ") + "\n")
	}
	return changed || !there, nil
}

// unset writes fstab without the lines of the mount.
func (m *fstabRun) unset(text string) bool {
	changed := false
	for line := range strings.Lines(text) {
		bare := strings.TrimFunc(line, pySpace)
		f := strings.FieldsFunc(line, pySpace)
		if bare != "" && bare[0] != '#' && len(f) == 6 && !m.other(f) {
			changed = true
			continue
		}
		m.out.WriteString(line)
	}
	return changed
}
