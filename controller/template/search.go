package template

import (
	"fmt"
	"os"
	"strings"
	"unicode/utf8"

	"volant/controller/fault"
	"volant/controller/source"
	"volant/controller/vault"
	"volant/wire/value"
)

// maxFile bounds a controller file that is read as text for a template or
// lookup.
const maxFile = 64 << 20

// FindFile looks a file up on the controller as the reference does: each
// directory of the search path, then the playbook's, first with dir ("files",
// "templates", "vars") below it, then without. ok is false when there is none;
// tried lists where it was looked for.
func (s *Scope) FindFile(dir, name string) (path string, tried []string, ok bool) {
	if name != "" && (name[0] == '/' || name[0] == '~') {
		p := s.unfrack(name, "")
		if exists(p) {
			return p, nil, true
		}
		return "", nil, false
	}
	first, _, _ := strings.Cut(name, "/")
	add := func(base string, dirs bool) {
		if dirs && first != dir && dir != "" {
			tried = append(tried, joinPath(base, dir, name))
		}
		tried = append(tried, joinPath(base, name))
	}
	for _, p := range s.searchPath() {
		p = s.unfrack(p, "")
		up, _ := splitPath(p)
		if strings.HasSuffix(up, "/tasks") && (s.opt.RolePath != "" || isRole(p)) {
			role, _ := splitPath(up)
			tried = append(tried, joinPath(role, dir, name), joinPath(up, name))
		}
		add(p, true)
	}
	named := len(tried)
	add(s.opt.Basedir, true)
	for _, c := range tried {
		if exists(c) {
			return c, tried, true
		}
	}
	if s.opt.BaseName != "" {
		for i := named; i < len(tried); i++ {
			tried[i] = s.opt.BaseName + strings.TrimPrefix(tried[i], strings.TrimSuffix(s.opt.Basedir, "/"))
		}
	}
	return "", tried, false
}

// searchPath is where this scope's files are; without one, the role or the
// playbook.
func (s *Scope) searchPath() []string {
	switch {
	case len(s.opt.SearchPath) > 0:
		return s.opt.SearchPath
	case s.opt.RolePath != "":
		return []string{s.opt.RolePath}
	}
	return []string{s.opt.Basedir}
}

func exists(p string) bool {
	_, err := os.Stat(p)
	return err == nil
}

// isRole guesses whether a directory belongs to a role, as the reference does.
func isRole(p string) bool {
	up, _ := splitPath(p)
	for _, base := range []string{p, up} {
		for _, dir := range []string{"tasks", "meta"} {
			for _, ext := range []string{".yml", ".yaml", ""} {
				if exists(joinPath(base, dir, "main"+ext)) {
					return true
				}
			}
		}
	}
	return false
}

// find is the lookups' search: a missing file is warned about.
func (l *LookupCall) find(dir string, term any) (string, bool, error) {
	if term == nil {
		l.Scope.warn(`Invalid request to find a file that matches a "null" value`, nil, "")
	}
	name, ok := value.Text(term)
	if !ok && term != nil {
		return "", false, value.Raise("AttributeError", "'%s' object has no attribute 'startswith'", lazyName(term))
	}
	p := ""
	if ok {
		p, _, ok = l.Scope.FindFile(dir, name)
	}
	if !ok {
		l.Scope.warn(fmt.Sprintf("Unable to find '%s' in expected paths (use -vvvvv to see paths)", value.Str(term)), nil, "")
	}
	return p, ok, nil
}

// readFile returns a controller file's bytes, decrypted when it is vaulted.
func (s *Scope) readFile(path string) ([]byte, error) {
	path = normPath(path)
	data, err := source.Read(s.ctx.Done(), path, maxFile)
	if err != nil {
		if err := s.ctx.Err(); err != nil {
			return nil, err
		}
		if os.IsNotExist(err) {
			return nil, failf("Unable to retrieve file contents.\nCould not find or access '%s' on the Ansible Controller.\nIf you are using a module and expect the file to exist on the remote, see the remote_src option", path)
		}
		return nil, failBy(osError(err, path), "An error occurred while trying to read the file '%s'.", path)
	}
	if len(data) > maxFile {
		return nil, failf("the file '%s' is larger than the limit of %d bytes", path, maxFile)
	}
	if !vault.IsEncrypted(data) {
		return data, nil
	}
	if s.e.opt.Vault == nil {
		return nil, failf("%s", vault.NoSecrets)
	}
	return s.e.opt.Vault.Decrypt(data, path)
}

// readText is readFile as text.
func (s *Scope) readText(path, encoding string) (string, error) {
	data, err := s.readFile(path)
	if err != nil {
		return "", err
	}
	text, err := decode(data, encoding)
	if (encoding == "" || codecIsUTF8(encoding)) && !utf8.Valid(data) {
		name, help := encoding, "Ensure the correct encoding was specified."
		if name == "" {
			name, help = "utf-8", "This file must be UTF-8 encoded."
		}
		d := fault.Deprecation{Version: "2.23"}
		d.Msg = "File " + value.Repr(path) + " could not be decoded as " + value.Repr(name) + ". Invalid content has been escaped."
		d.Help = help
		s.sink().Deprecated(d)
	}
	return text, err
}

// codecIsUTF8 reports whether name means UTF-8.
func codecIsUTF8(name string) bool {
	e, err := codec(name)
	return err == nil && e == nil
}
