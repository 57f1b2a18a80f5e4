package become

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"volant/hostagent/proc"
)

// copying keeps two workers from making two copies at once.
var copying sync.Mutex

// publicDirs are where a copy may lie that every user can run.
var publicDirs = []string{"/var/tmp", "/tmp", "/dev/shm"}

// reachable returns a path of the agent's program that the become user can run:
// the program itself where all directories on the way let others through (root
// needs none), else a copy. Before each use it is checked that nobody but us or
// root can have changed it.
func reachable(cfg Config, p Params) (string, error) {
	if userOf(p) == "root" || openToAll(cfg.Binary) {
		return cfg.Binary, nil
	}
	copying.Lock()
	defer copying.Unlock()
	note := ""
	if cfg.Dir != "" {
		note = filepath.Join(cfg.Dir, "worker-copy")
		if b, err := os.ReadFile(note); err == nil {
			if path := strings.TrimSpace(string(b)); sound(path, cfg.Binary) == nil {
				return path, nil
			}
		}
	}
	if note != "" {
		_ = RemoveCopy(cfg) // of an older version; what runs from it runs on
	}
	var problems []error
	bases := cfg.public
	if bases == nil {
		bases = publicDirs
	}
	for _, base := range bases {
		path, err := copyTo(base, cfg.Binary)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		if note != "" {
			if err := os.WriteFile(note, []byte(path+"\n"), 0o600); err != nil {
				return "", err
			}
		}
		return path, nil
	}
	return "", errors.Join(problems...)
}

// openToAll says whether every user can run path.
func openToAll(path string) bool {
	st, err := os.Stat(path)
	if err != nil || !st.Mode().IsRegular() || st.Mode().Perm()&0o005 != 0o005 {
		return false
	}
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		st, err := os.Stat(dir)
		if err != nil || st.Mode().Perm()&0o001 == 0 {
			return false
		}
		if dir == filepath.Dir(dir) {
			return true
		}
	}
}

// sound says why the copy at path must not be used: it and its directory have
// to be real, ours, closed to writers, and of the original's size and time.
func sound(path, original string) error {
	if !filepath.IsAbs(path) {
		return fmt.Errorf("%q is no absolute path", path)
	}
	for _, p := range []string{filepath.Dir(path), path} {
		st, err := os.Lstat(p)
		if err != nil {
			return err
		}
		owner, ok := st.Sys().(*syscall.Stat_t)
		if !ok || int(owner.Uid) != os.Geteuid() || st.Mode().Perm()&0o022 != 0 {
			return fmt.Errorf("%s is not ours alone", p)
		}
		if p == path && !st.Mode().IsRegular() || p != path && !st.IsDir() {
			return fmt.Errorf("%s is not what it was", p)
		}
	}
	a, err := os.Stat(path)
	if err != nil {
		return err
	}
	b, err := os.Stat(original)
	if err != nil {
		return err
	}
	if a.Size() != b.Size() || !a.ModTime().Equal(b.ModTime()) {
		return fmt.Errorf("%s is another version", path)
	}
	return nil
}

// copyTo copies the program into a new directory below base that all may enter.
func copyTo(base, original string) (path string, err error) {
	var fs unix.Statfs_t
	if err := unix.Statfs(base, &fs); err != nil {
		return "", fmt.Errorf("looking at %s: %w", base, err)
	}
	if fs.Flags&unix.ST_NOEXEC != 0 {
		return "", fmt.Errorf("%s does not let programs run", base)
	}
	dir := filepath.Join(base, fmt.Sprintf("volant-worker-%d-%s", os.Geteuid(), strings.ToLower(rand.Text()[:12])))
	if err := os.Mkdir(dir, 0o700); err != nil {
		return "", err
	}
	defer func() {
		if err != nil {
			os.RemoveAll(dir)
		}
	}()
	in, err := os.Open(original)
	if err != nil {
		return "", err
	}
	defer in.Close()
	st, err := in.Stat()
	if err != nil {
		return "", err
	}
	path = filepath.Join(dir, "volant-agent")
	if err := errors.Join(proc.WriteProgram(path, in), os.Chmod(path, 0o755)); err != nil {
		return "", fmt.Errorf("copying to %s: %w", path, err)
	}
	if err := errors.Join(os.Chtimes(path, st.ModTime(), st.ModTime()), os.Chmod(dir, 0o755)); err != nil {
		return "", err
	}
	return path, sound(path, original)
}

// RemoveCopy removes the copy that workers of other users ran from, when there
// is one: for the agent's uninstall, and for what it leaves at its end.
func RemoveCopy(cfg Config) error {
	note := filepath.Join(cfg.Dir, "worker-copy")
	b, err := os.ReadFile(note)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	dir := filepath.Dir(strings.TrimSpace(string(b)))
	if st, err := os.Lstat(dir); err == nil && st.IsDir() && strings.HasPrefix(filepath.Base(dir), "volant-worker-") {
		if owner, ok := st.Sys().(*syscall.Stat_t); ok && int(owner.Uid) == os.Geteuid() {
			if err := os.RemoveAll(dir); err != nil {
				return err
			}
		}
	}
	return os.Remove(note)
}
