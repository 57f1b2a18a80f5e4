package modules

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"volant/wire/value"
)

// rpmFacts are the installed packages as package_facts shows them, read once
// per change.
var rpmFacts rpmFactsCache

type rpmFactsCache struct {
	mu    sync.Mutex // guards the rest, and is held while it is read
	stamp string
	facts *value.Dict
}

// get has rpm list the packages, in the order in which its library gives them.
func (r *rpmFactsCache) get(ctx context.Context, c *call) (*value.Dict, error) {
	installed, err := rpmDB.installed(ctx, c)
	if err != nil {
		return nil, err
	}
	bin, ok := c.binPath("rpm")
	if !ok || !installed.names["python3-rpm"] && !debHas("python3-rpm") {
		return nil, errors.New("rpm or python3-rpm is not installed")
	}
	_, stamp := rpmStamp()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.facts != nil && r.stamp == stamp {
		return r.facts, nil
	}
	ran, err := c.run(ctx, &command{argv: []string{bin, "-qa", "--qf", `%{NAME}\t%{VERSION}\t%{RELEASE}\t%{EPOCH}\t%{ARCH}\n`}, env: []string{"LC_ALL=C"}})
	switch {
	case err != nil:
		return nil, fmt.Errorf("running rpm: %w", err)
	case ran.rc != 0 || len(ran.stderr) > 0:
		return nil, errors.New("rpm cannot list the packages")
	}
	facts, err := readRPMFacts(string(ran.stdout))
	if err != nil {
		return nil, err
	}
	if _, now := rpmStamp(); now == stamp {
		r.facts, r.stamp = facts, stamp
	}
	return facts, nil
}

// readRPMFacts reads rpm's list; what a package does not have is Python's None
// there, as a text.
func readRPMFacts(out string) (*value.Dict, error) {
	facts := value.NewDict(strings.Count(out, "\n"))
	for line := range strings.Lines(out) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(f) != 5 {
			return nil, errors.New("an odd line of rpm's")
		}
		for i := range f {
			if f[i] == "(none)" {
				f[i] = "None"
			}
		}
		list, ok := facts.Lookup(f[0]).(*value.List)
		if !ok {
			list = value.ListOf()
			facts.Set(f[0], list)
		}
		list.Items = append(list.Items, value.DictOf("name", f[0], "version", f[1], "release", f[2], "epoch", f[3], "arch", f[4], "source", "rpm"))
	}
	if facts.Len() == 0 {
		return nil, errors.New("rpm lists no package")
	}
	return facts, nil
}
