package modules

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// rpmPackages are the names of the installed packages, and all that they provide.
type rpmPackages struct{ names, provides map[string]bool }

// rpmDB is the database of installed packages, read once per change.
var rpmDB rpmCache

type rpmCache struct {
	mu       sync.Mutex
	stamp    string
	packages *rpmPackages
}

// rpmFiles are where rpm has kept its database since version 4; the first that
// is there is it. Only SQLite's is read here, the others by rpm itself.
var rpmFiles = []string{"/var/lib/rpm/rpmdb.sqlite", "/usr/lib/sysimage/rpm/rpmdb.sqlite",
	"/usr/lib/sysimage/rpm/Packages.db", "/var/lib/rpm/Packages.db", "/var/lib/rpm/Packages"}

// maxRPM bounds the names kept of a database; beyond it Python decides.
const maxRPM = 1 << 20

// installed reads the database, or has rpm list it, if it changed.
func (r *rpmCache) installed(ctx context.Context, c *call) (*rpmPackages, error) {
	if err := c.rpmElsewhere(); err != nil {
		return nil, err
	}
	path, stamp := rpmStamp()
	if path == "" {
		return nil, errors.New("there is no rpm database")
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.packages != nil && r.stamp == stamp {
		return r.packages, nil
	}
	p, err := readRPM(path)
	if err != nil {
		if p, err = listRPM(ctx, c); err != nil {
			return nil, err
		}
	}
	if len(p.names) == 0 {
		return nil, errors.New("the rpm database is empty")
	}
	if _, now := rpmStamp(); now != stamp {
		return nil, errors.New("the rpm database is being changed")
	}
	r.packages, r.stamp = p, stamp
	return p, nil
}

// rpmElsewhere is an error where rpm is told to keep its database elsewhere.
func (c *call) rpmElsewhere() error {
	home := c.Getenv("HOME")
	files, _ := filepath.Glob("/etc/rpm/macros*")
	for _, f := range append(files, home+"/.rpmmacros", home+"/.config/rpm/macros") {
		if b, err := c.readEdited(f); isHandBack(err) || strings.Contains(string(b), "_dbpath") {
			return fmt.Errorf("%s sets the database's path", f)
		}
	}
	return nil
}

// rpmStamp is the database's file and what of it changes with every transaction.
func rpmStamp() (path, stamp string) {
	for _, f := range rpmFiles {
		info, err := os.Stat(f)
		if err != nil {
			continue
		}
		stamp = f + identity(info)
		for _, beside := range []string{"-wal", "-journal"} {
			if info, err := os.Stat(f + beside); err == nil && info.Size() > 0 {
				stamp += beside + identity(info)
			}
		}
		return f, stamp
	}
	return "", ""
}

// readRPM reads an SQLite database that nobody is writing to: its log is empty.
func readRPM(path string) (*rpmPackages, error) {
	if !strings.HasSuffix(path, ".sqlite") {
		return nil, errors.New("another kind of database")
	}
	for _, beside := range []string{"-wal", "-journal"} {
		if info, err := os.Stat(path + beside); err == nil && info.Size() > 0 {
			return nil, errors.New("the database's log is not empty")
		}
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("reading the rpm database: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("reading the rpm database: %w", err)
	}
	db, err := newSQLite(f, info.Size())
	if err != nil {
		return nil, err
	}
	p := &rpmPackages{names: map[string]bool{}, provides: map[string]bool{}}
	for table, into := range map[string]map[string]bool{"Name": p.names, "Providename": p.provides} {
		if err := db.column(table, func(key []byte) {
			if len(into) < maxRPM {
				into[string(key)] = true
			}
		}); err != nil {
			return nil, err
		}
		if len(into) >= maxRPM {
			return nil, errors.New("the rpm database is too large")
		}
	}
	return p, nil
}

// listRPM has rpm list the database: a second on a host of many packages.
func listRPM(ctx context.Context, c *call) (*rpmPackages, error) {
	bin, ok := c.binPath("rpm")
	if !ok {
		return nil, errors.New("there is no rpm")
	}
	r, err := c.run(ctx, &command{argv: []string{bin, "-qa", "--qf", `=%{NAME}\n[%{PROVIDENAME}\n]`}, env: []string{"LC_ALL=C"}})
	if err != nil {
		return nil, fmt.Errorf("running rpm: %w", err)
	}
	if r.rc != 0 || len(r.stderr) > 0 {
		return nil, errors.New("rpm cannot list the packages")
	}
	p := &rpmPackages{names: map[string]bool{}, provides: map[string]bool{}}
	for line := range strings.Lines(string(r.stdout)) {
		line = strings.TrimSuffix(line, "\n")
		if name, is := strings.CutPrefix(line, "="); is {
			p.names[name] = true
		} else {
			p.provides[line] = true
		}
	}
	return p, nil
}
