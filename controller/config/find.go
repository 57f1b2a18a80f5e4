package config

import (
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"volant/controller/fault"
)

// find looks for the configuration file in the reference's four places:
// ANSIBLE_CONFIG, the current directory unless everyone may write there, the
// home directory, /etc/ansible.
func (c *Config) find() error {
	if c.src.File != "" {
		path := c.path(c.src.File, "")
		if !readable(path) {
			return fault.New(fault.Options, posNone, "The provided configuration file is missing or not accessible: %s", path)
		}
		c.File = path
		return nil
	}
	fromEnv := ""
	var places []string
	if env, ok := c.src.Getenv("ANSIBLE_CONFIG"); ok {
		fromEnv = c.path(env, "")
		if st, err := os.Stat(fromEnv); err == nil && st.IsDir() {
			fromEnv = filepath.Join(fromEnv, "ansible.cfg")
		}
		places = append(places, fromEnv)
	}
	skipped := false
	if st, err := os.Stat(c.src.Dir); err == nil {
		here := filepath.Join(c.src.Dir, "ansible.cfg")
		if st.Mode().Perm()&0o002 != 0 {
			_, err := os.Stat(here)
			skipped = err == nil
		} else {
			places = append(places, here)
		}
	}
	places = append(places, c.path("~/.ansible.cfg", ""), "/etc/ansible/ansible.cfg")
	for _, p := range places {
		if readable(p) {
			c.File = p
			break
		}
	}
	if skipped && (fromEnv == "" || fromEnv != c.File) {
		c.warnings = append(c.warnings, "Ansible is being run in a world writable directory ("+c.src.Dir+"),"+
			" ignoring it as an ansible.cfg source. For more information see"+
			" https://docs.ansible.com/ansible/devel/reference_appendices/config.html#cfg-in-world-writable-dir")
	}
	return nil
}

func readable(path string) bool { return unix.Access(path, unix.R_OK) == nil }

// path makes a path absolute as the reference's unfrackpath: ~, variables,
// relative to the directory of base (a file), else to the current one.
func (c *Config) path(p, base string) string {
	p = strings.ReplaceAll(p, "{{CWD}}", c.src.Dir)
	p = c.expandUser(p)
	p = expandVars(p, c.src.Getenv)
	if !filepath.IsAbs(p) {
		dir := c.src.Dir
		if base != "" {
			dir = base
			if st, err := os.Stat(base); err == nil && !st.IsDir() {
				dir = filepath.Dir(base)
			}
		}
		p = filepath.Join(dir, p)
	}
	return filepath.Clean(p)
}

func (c *Config) expandUser(p string) string {
	if p == "~" || strings.HasPrefix(p, "~/") {
		return c.src.Home + p[1:]
	}
	return p
}

// expandVars is os.path.expandvars: $NAME and ${NAME} that are set; others
// stay as they are.
func expandVars(s string, getenv func(string) (string, bool)) string {
	if !strings.Contains(s, "$") {
		return s
	}
	var out strings.Builder
	for i := 0; i < len(s); {
		if s[i] != '$' {
			out.WriteByte(s[i])
			i++
			continue
		}
		name, end := "", i+1
		if end < len(s) && s[end] == '{' {
			if close := strings.IndexByte(s[end:], '}'); close > 0 {
				name, end = s[end+1:end+close], end+close+1
			}
		} else {
			for end < len(s) && (s[end] == '_' || s[end] >= '0' && s[end] <= '9' || s[end]|0x20 >= 'a' && s[end]|0x20 <= 'z') {
				end++
			}
			name = s[i+1 : end]
		}
		if v, ok := getenv(name); ok && name != "" {
			out.WriteString(v)
		} else {
			out.WriteString(s[i:end])
		}
		i = end
	}
	return out.String()
}
