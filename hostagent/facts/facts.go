// Package facts gathers what the reference's setup module says of a Linux
// host, key for key, without Python: collectors run in parallel, each bounded,
// so that a hung mount or a slow command delays nothing else. What it does not
// cover it hands back before it begins, with the reason.
package facts

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"volant/cores"
	"volant/wire/value"
)

// HandBack says that the case is left to the Python module, and why.
type HandBack struct{ Reason string }

// Error returns the reason.
func (h *HandBack) Error() string { return h.Reason }

// Request says what to gather, as setup's arguments do.
type Request struct {
	Subset   []string      // gather_subset; empty: all
	Filter   []string      // shell patterns of fact names; empty: everything
	Timeout  time.Duration // gather_timeout: bound of one mount's answer; 0: 10 s
	FactPath string        // directory of *.fact files
}

// Host is the place that facts are gathered of.
type Host struct {
	Environ []string         // environment of the sub-task, KEY=VALUE
	Python  string           // interpreter that Python modules would run with
	Now     func() time.Time // nil: time.Now
	Cache   string           // private directory for what slow commands said; empty: kept in memory only
}

// Output is the facts, each under its ansible_ name, and the warnings met.
type Output struct {
	Facts    *value.Dict
	Warnings []string
}

// collector is one of the reference's fact collectors.
type collector struct {
	name    string
	ids     []string // further names that select it
	needs   []string // collectors whose facts it reads
	minimal bool     // part of the subset `min`
	collect func(*run) (*value.Dict, error)
}

var table = []collector{
	{name: "apparmor", minimal: true, collect: apparmor},
	{name: "caps", ids: []string{"system_capabilities", "system_capabilities_enforced"}, minimal: true, collect: capabilities},
	{name: "chroot", ids: []string{"is_chroot"}, collect: chroot},
	{name: "cmdline", minimal: true, collect: cmdline},
	{name: "date_time", minimal: true, collect: dateTime},
	{name: "distribution", ids: []string{"distribution_version", "distribution_release", "distribution_major_version", "os_family"}, minimal: true, collect: distributionFacts},
	{name: "dns", minimal: true, collect: dns},
	{name: "env", minimal: true, collect: environment},
	{name: "facter", collect: absentTool("facter", "cfacter")},
	{name: "fibre_channel_wwn", collect: fibreChannel},
	{name: "fips", minimal: true, collect: fips},
	{name: "hardware", ids: []string{"processor", "processor_cores", "processor_count", "mounts", "devices"}, needs: []string{"platform"}, collect: hardware},
	{name: "iscsi", collect: iscsi},
	{name: "loadavg", collect: loadAverage},
	{name: "local", minimal: true, collect: local},
	{name: "lsb", minimal: true, collect: lsb},
	{name: "network", ids: []string{"interfaces", "default_ipv4", "default_ipv6", "all_ipv4_addresses", "all_ipv6_addresses"}, needs: []string{"distribution", "platform"}, collect: network},
	{name: "nvme", collect: nvme},
	{name: "ohai", collect: absentTool("ohai")},
	{name: "pkg_mgr", needs: []string{"distribution"}, minimal: true, collect: packageManager},
	{name: "platform", ids: []string{"system", "kernel", "kernel_version", "machine", "python_version", "architecture", "machine_id"}, minimal: true, collect: platform},
	{name: "python", minimal: true, collect: pythonFacts},
	{name: "selinux", minimal: true, collect: selinux},
	{name: "service_mgr", needs: []string{"platform", "distribution"}, minimal: true, collect: serviceManager},
	{name: "ssh_pub_keys", ids: []string{"ssh_host_pub_keys", "ssh_host_key_dsa_public", "ssh_host_key_rsa_public", "ssh_host_key_ecdsa_public", "ssh_host_key_ed25519_public"}, minimal: true, collect: sshKeys},
	{name: "systemd", collect: systemd},
	{name: "user", ids: []string{"user_id", "user_uid", "user_gid", "user_gecos", "user_dir", "user_shell", "real_user_id", "effective_user_id", "effective_group_ids"}, minimal: true, collect: userFacts},
	{name: "virtual", ids: []string{"virtualization_type", "virtualization_role", "virtualization_tech_guest", "virtualization_tech_host"}, collect: virtual},
}

// run is one gathering.
type run struct {
	ctx    context.Context
	host   *Host
	req    *Request
	locale string // of commands, the reference's best parsable locale
	mu     sync.Mutex
	warned []string
	system onceFacts // distribution and platform, which others read
}

// onceFacts memoises a collector's facts for those that need them.
type onceFacts struct {
	distribution, platform func() (*value.Dict, error)
}

// Collect gathers the facts that req selects. A *HandBack error leaves the case
// to Python; nothing was changed, nothing ever is.
func Collect(ctx context.Context, host *Host, req *Request) (*Output, error) {
	selected, err := choose(req.Subset)
	if err != nil {
		return nil, err
	}
	if req.Timeout <= 0 {
		req.Timeout = 10 * time.Second
	}
	r := &run{ctx: ctx, host: host, req: req, locale: "C.UTF-8"}
	r.system.distribution = sync.OnceValues(func() (*value.Dict, error) { return distribution(r) })
	r.system.platform = sync.OnceValues(func() (*value.Dict, error) { return platformOf(r) })

	defer cores.All()()
	found := make([]*value.Dict, len(selected))
	errs := make([]error, len(selected))
	// Collectors mostly wait for commands: more at once than CPUs pays, but a
	// small host is not flooded with processes.
	places := make(chan struct{}, 4*runtime.GOMAXPROCS(0))
	var wg sync.WaitGroup
	for i, c := range selected {
		places <- struct{}{}
		wg.Go(func() { // ends with its collector, which ctx bounds
			defer func() { <-places }()
			defer func() { // what one host's files look like must not end its agent
				if p := recover(); p != nil {
					errs[i] = fmt.Errorf("internal error: %v", p)
				}
			}()
			found[i], errs[i] = c.collect(r)
		})
	}
	wg.Wait()
	facts := value.NewDict(128)
	for i := range selected {
		if err := errs[i]; err != nil {
			var back *HandBack
			if errors.As(err, &back) {
				return nil, back
			}
			return nil, &HandBack{Reason: fmt.Sprintf("collecting %s: %v", selected[i].name, err)}
		}
		for k, v := range found[i].All() {
			name, _ := k.(string)
			facts.Set("ansible_"+strings.ReplaceAll(name, "-", "_"), v)
		}
	}
	subset := value.ListOf("all")
	if len(req.Subset) > 0 {
		subset = value.Strings(req.Subset...)
	}
	// These two keep their bare names: their collector has no namespace.
	facts.Set("gather_subset", subset)
	facts.Set("module_setup", true)
	return &Output{Facts: filter(facts, req.Filter), Warnings: r.warned}, nil
}

// choose selects collectors as gather_subset does, what they need included.
func choose(subset []string) ([]collector, error) {
	valid, minimal, ids := map[string]bool{}, map[string]bool{}, map[string][]string{}
	owner := map[string]*collector{}
	for i := range table {
		c := &table[i]
		owner[c.name] = c
		valid[c.name] = true
		for _, id := range c.ids {
			valid[id] = true
			if owner[id] == nil {
				owner[id] = c
			}
		}
		ids[c.name] = c.ids
		if c.minimal {
			minimal[c.name] = true
		}
	}
	if len(subset) == 0 {
		subset = []string{"all"}
	}
	add, drop, explicit := map[string]bool{}, map[string]bool{}, map[string]bool{}
	// The minimal set belongs to every selection that does not exclude it.
	for name := range minimal {
		add[name] = true
	}
	for _, s := range subset {
		bare, exclude := strings.CutPrefix(s, "!")
		switch {
		case s == "min":
		case s == "all":
			for name := range valid {
				add[name] = true
			}
		case exclude && bare == "min":
			for name := range minimal {
				drop[name] = true
			}
		case exclude && bare == "all":
			for name := range valid {
				if !minimal[name] {
					drop[name] = true
				}
			}
		case exclude:
			drop[bare] = true
			for _, id := range ids[bare] {
				drop[id] = true
			}
		case !valid[s]:
			return nil, &HandBack{Reason: "unknown subset " + s}
		default:
			add[s] = true
			explicit[s] = true
		}
	}
	if len(add) == 0 {
		for name := range valid {
			add[name] = true
		}
	}
	chosen := map[string]bool{}
	for name := range add {
		if drop[name] && !explicit[name] {
			continue
		}
		c := owner[name]
		chosen[c.name] = true
		for _, need := range c.needs {
			chosen[need] = true
		}
	}
	var out []collector
	for _, c := range table {
		if chosen[c.name] {
			out = append(out, c)
		}
	}
	return out, nil
}

// filter keeps the facts whose names match a pattern, with or without the
// ansible_ prefix.
func filter(facts *value.Dict, patterns []string) *value.Dict {
	if len(patterns) == 0 {
		return facts
	}
	out := value.NewDict(8)
	for _, p := range patterns {
		for k, v := range facts.All() {
			name, _ := k.(string)
			prefixed := strings.HasPrefix(p, "ansible_") || strings.HasPrefix(p, "facter") || strings.HasPrefix(p, "ohai")
			if p == "" || fnmatch(p, name) || !prefixed && fnmatch("ansible_"+p, name) {
				out.Set(name, v)
			}
		}
	}
	return out
}

// fnmatch matches as Python's fnmatch does; names hold no slash.
func fnmatch(pattern, name string) bool {
	ok, err := path.Match(strings.ReplaceAll(pattern, "[!", "[^"), name)
	return err == nil && ok
}

func (r *run) warn(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.warned = append(r.warned, fmt.Sprintf(format, args...))
}

func (r *run) getenv(name string) string {
	for i := len(r.host.Environ) - 1; i >= 0; i-- {
		if v, ok := strings.CutPrefix(r.host.Environ[i], name+"="); ok {
			return v
		}
	}
	return ""
}

// maxFile bounds what is read of one file and of one command.
const maxFile = 4 << 20

// read returns a file's content without white space around it, or def when it
// cannot be read or is empty.
func read(path, def string) string {
	f, err := os.Open(path)
	if err != nil {
		return def
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxFile))
	if err != nil {
		return def
	}
	if s := strings.TrimSpace(string(b)); s != "" {
		return s
	}
	return def
}

// content is read with None for what is not there.
func content(path string) any {
	if s := read(path, ""); s != "" {
		return s
	}
	return nil
}

func lines(path string) []string {
	s := read(path, "")
	if s == "" {
		return nil
	}
	return strings.Split(s, "\n")
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// tool finds a program as the reference's get_bin_path does: PATH, then the
// system's own directories. Empty when there is none.
func (r *run) tool(name string) string {
	dirs := filepath.SplitList(r.getenv("PATH"))
	for _, d := range append(dirs, "/sbin", "/usr/sbin", "/usr/local/sbin") {
		p := filepath.Join(d, name)
		if info, err := os.Stat(p); err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0 {
			return p
		}
	}
	return ""
}

// command runs a program in the reference's locale; ok is false when it failed.
func (r *run) command(path string, args ...string) (out string, ok bool) {
	ctx, cancel := context.WithTimeout(r.ctx, 30*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env = append(append([]string(nil), r.host.Environ...), "LANG="+r.locale, "LC_ALL="+r.locale, "LC_NUMERIC="+r.locale, "LC_MESSAGES="+r.locale)
	cmd.WaitDelay = time.Second
	var stdout bytes.Buffer
	cmd.Stdout = &limited{w: &stdout, left: maxFile}
	err := cmd.Run()
	return strings.ToValidUTF8(stdout.String(), "\uFFFD"), err == nil
}

// limited passes on what fits and swallows the rest.
type limited struct {
	w    io.Writer
	left int
}

func (l *limited) Write(p []byte) (int, error) {
	n := min(len(p), l.left)
	l.left -= n
	if _, err := l.w.Write(p[:n]); err != nil {
		return 0, err
	}
	return len(p), nil
}

// absentTool is a collector that has nothing to say while none of the tools is
// installed, and is left to Python when one is.
func absentTool(names ...string) func(*run) (*value.Dict, error) {
	return func(r *run) (*value.Dict, error) {
		for _, n := range names {
			if r.tool(n) != "" {
				return nil, &HandBack{Reason: n + " is installed"}
			}
		}
		return value.NewDict(0), nil
	}
}
