package modules

import (
	"context"
	"path/filepath"
	"strings"

	"volant/hostagent/python"
	"volant/wire/argspec"
	"volant/wire/rx"
	"volant/wire/value"
)

type gitArgs struct {
	Dest          *string  `arg:"dest,type=path"`
	Repo          string   `arg:"repo,required,alias=name"`
	Version       string   `arg:"version,default=HEAD"`
	Remote        string   `arg:"remote,default=origin"`
	Refspec       *string  `arg:"refspec"`
	Reference     *string  `arg:"reference"`
	Force         bool     `arg:"force,default=no"`
	Depth         *int64   `arg:"depth"`
	Clone         bool     `arg:"clone,default=yes"`
	Update        bool     `arg:"update,default=yes"`
	Verify        bool     `arg:"verify_commit,default=no"`
	Allowlist     []string `arg:"gpg_allowlist,default=,alias=gpg_whitelist"`
	AcceptKey     bool     `arg:"accept_hostkey,default=no"`
	AcceptNew     bool     `arg:"accept_newhostkey,default=no"`
	KeyFile       *string  `arg:"key_file,type=path"`
	SSHOpts       *string  `arg:"ssh_opts"`
	Executable    *string  `arg:"executable,type=path"`
	Bare          bool     `arg:"bare,default=no"`
	Recursive     bool     `arg:"recursive,default=yes"`
	Single        bool     `arg:"single_branch,default=no"`
	Track         bool     `arg:"track_submodules,default=no"`
	Umask         any      `arg:"umask,type=raw"`
	Archive       *string  `arg:"archive,type=path"`
	ArchivePrefix *string  `arg:"archive_prefix"`
	Separate      *string  `arg:"separate_git_dir,type=path"`
}

func gitRules(s *argspec.Spec) {
	s.MutuallyExclusive = [][]string{{"separate_git_dir", "bare"}, {"accept_hostkey", "accept_newhostkey"}}
	s.RequiredBy = []argspec.RequiredBy{{Key: "archive_prefix", Need: []string{"archive"}}}
}

// checkout is one working copy that is brought up to date, by the commands
// that the Python module runs.
type checkout struct {
	*call
	ctx        context.Context
	a          *gitArgs
	bin        string
	repo, dest string
	dir        string // .git
	env        []string
	res        Result
}

// plainRef is a version or remote that needs no quoting.
var plainRef = rx.Lazy(`^[A-Za-z0-9_./+@:-]+$`)

// git is the git module for a working copy that is there; cloning, and what is
// out of the ordinary, is left to the Python module.
func git(ctx context.Context, c *call, a *gitArgs) (Result, error) {
	g := &checkout{call: c, ctx: ctx, a: a, res: value.DictOf("changed", false, "before", nil)}
	if err := g.covered(); err != nil {
		return nil, err
	}
	head, err := g.ask("rev-parse", "HEAD")
	if err != nil {
		return nil, err
	}
	before := strings.TrimRight(string(head.stdout), "\n")
	if !a.Update {
		g.res.Set("before", before)
		g.res.Set("after", before)
		return g.res, nil
	}
	return g.update(before)
}

func (g *checkout) covered() error {
	a := g.a
	switch {
	case a.Dest == nil || *a.Dest == "" || !a.Clone:
		return handBack("no working copy")
	case a.Bare || a.Separate != nil || a.Archive != nil || a.Reference != nil || a.Refspec != nil || a.Verify || a.Umask != nil || a.Depth != nil:
		return handBack("more than a plain working copy")
	case a.AcceptNew || a.Track || len(a.Allowlist) > 0 || g.params.Has("gpg_whitelist"):
		return handBack("options out of the ordinary")
	case !plainRef.MatchString(a.Version) || !plainRef.MatchString(a.Remote) || strings.HasPrefix(a.Version, "-") || strings.HasPrefix(a.Remote, "-"):
		return handBack("a version or remote that needs quoting")
	case strings.Contains(*a.Dest, "\x00") || a.Repo == "" || a.Repo == a.Remote:
		return handBack("an unusual path")
	}
	g.bin = opted(a.Executable)
	if g.bin == "" {
		var err error
		if g.bin, err = g.needBin("git"); err != nil {
			return err
		}
	}
	if strings.ContainsAny(g.bin, " '\"\\$~") {
		return handBack("git's path needs quoting")
	}
	g.dest = filepath.Clean(g.p(*a.Dest))
	g.dir = filepath.Join(g.dest, ".git")
	if !isDir(g.dir) || !exists(filepath.Join(g.dir, "config")) {
		return handBack("there is no working copy")
	}
	if exists(filepath.Join(g.dest, ".gitmodules")) && a.Recursive {
		return handBack("there are submodules")
	}
	g.repo = a.Repo
	if p := g.expandUser(a.Repo); strings.HasPrefix(p, "/") {
		g.repo = "file://" + p
	}
	r, err := g.run(g.ctx, &command{argv: []string{g.bin, "--version"}})
	if err != nil {
		return handBack("git does not run: %v", err)
	}
	if m := gitNumber.FindSubmatch(r.stdout); r.rc != 0 || m == nil || string(m[1]) < "2" || len(m[1]) > 1 {
		return handBack("an old or odd git")
	}
	l := g.parsable(g.ctx)
	g.env = []string{"LANG=" + l, "LC_ALL=" + l, "LC_MESSAGES=" + l, "LC_CTYPE=" + l, "LANGUAGE=" + l, "GIT_SSH_COMMAND=" + g.ssh()}
	return nil
}

var gitNumber = rx.Lazy(`^git version (\d+)\.\d`)

// ssh is the command that git reaches hosts with.
func (g *checkout) ssh() string {
	a := g.a
	opts := g.Getenv("GIT_SSH_OPTS")
	given := a.SSHOpts
	if a.AcceptKey {
		s := "-o StrictHostKeyChecking=no"
		if given != nil {
			s = *given
			if !strings.Contains(s, "-o StrictHostKeyChecking=no") && !strings.Contains(s, "-o StrictHostKeyChecking=accept-new") {
				s += " -o StrictHostKeyChecking=no"
			}
		}
		given = &s
	}
	if given != nil {
		opts += " " + *given
	}
	add := func(have, text string) {
		if !strings.Contains(opts, have) {
			opts += text
		}
	}
	if a.AcceptKey {
		add("StrictHostKeyChecking=no", " -o StrictHostKeyChecking=no")
	}
	add("BatchMode=yes", " -o BatchMode=yes")
	if k := opted(a.KeyFile); k != "" {
		add("-i "+k, "  -i "+k)
		add("IdentitiesOnly=yes", " -o IdentitiesOnly=yes")
	}
	cmd := "ssh"
	if v := g.Getenv("GIT_SSH_COMMAND"); v != "" {
		cmd = v
	}
	if v := g.Getenv("GIT_SSH"); v != "" {
		cmd = v
	}
	return cmd + " " + opts
}

// ask runs git in the working copy.
func (g *checkout) ask(words ...string) (*ran, error) {
	argv := append([]string{g.bin}, words...)
	r, err := g.run(g.ctx, &command{argv: argv, dir: g.dest, env: g.env})
	if err != nil {
		return nil, commandFailed(err, argv)
	}
	return r, nil
}

// need is ask of a command that has to succeed.
func (g *checkout) need(words ...string) (*ran, error) {
	r, err := g.ask(words...)
	if err == nil && r.rc != 0 {
		return nil, failedCommand(r, append([]string{g.bin}, words...))
	}
	return r, err
}

func (g *checkout) update(before string) (Result, error) {
	a, res := g.a, g.res
	status, err := g.ask("status", "--porcelain")
	if err != nil {
		return nil, err
	}
	mods := false
	for _, l := range python.SplitLines(string(status.stdout)) {
		mods = mods || !strings.HasPrefix(l, "??")
	}
	res.Set("before", before)
	if mods {
		if !a.Force {
			return nil, fail("Local modifications exist in the destination: "+g.dest+" (force=no).", "changed", false, "before", before)
		}
		if !g.Check {
			if _, err := g.need("reset", "--hard", "HEAD"); err != nil {
				return nil, err
			}
			res.Set("changed", true)
			res.Set("msg", "Local modifications exist in the destination: "+g.dest)
		}
	}
	moved, err := g.remote()
	if err != nil && mods && !g.Check {
		err = afterChange(err)
	}
	if err != nil {
		return nil, err
	}
	res.Set("remote_url_changed", moved)
	if g.Check {
		return g.checked(before, moved)
	}
	fetch := []string{"fetch", "--tags"}
	if a.Force {
		fetch = append(fetch, "--force")
	}
	fetch = append(fetch, a.Remote)
	r, err := g.ask(fetch...)
	if err != nil {
		return nil, err
	}
	if r.rc != 0 {
		cmd := value.ListOf(g.bin)
		for _, w := range fetch {
			cmd.Items = append(cmd.Items, w)
		}
		return nil, fail("Failed to download remote objects and refs: "+string(r.stdout)+" "+string(r.stderr), "cmd", cmd)
	}
	if err := g.change(); err != nil {
		return nil, err
	}
	within, err := g.submodules()
	if err != nil {
		return nil, err
	}
	if within {
		res.Set("submodules_changed", true)
	}
	head, err := g.ask("rev-parse", "HEAD")
	if err != nil {
		return nil, err
	}
	after := strings.TrimRight(string(head.stdout), "\n")
	res.Set("after", after)
	if before == after && !mods && !moved && !within {
		return res, nil
	}
	res.Set("changed", true)
	if g.Diff && before != after {
		d, err := g.diff(before, after)
		if err != nil {
			return nil, err
		}
		res.Set("diff", d)
	}
	return res, nil
}

// remote sets the remote's URL, and reports whether it was another.
func (g *checkout) remote() (bool, error) {
	r, err := g.ask("ls-remote", "--get-url", g.a.Remote)
	if err != nil {
		return false, err
	}
	if r.rc != 0 {
		return false, handBack("git does not tell the remote's URL")
	}
	url := strings.TrimRight(string(r.stdout), "\n")
	if url == g.repo || g.unfrack(url) == g.unfrack(g.repo) {
		return false, nil
	}
	if g.Check {
		return url != "", nil
	}
	r, err = g.ask("remote", "set-url", g.a.Remote, g.repo)
	if err != nil {
		return false, err
	}
	if r.rc != 0 {
		return false, fail("Failed to set a new url " + g.repo + " for " + g.a.Remote + ": " + string(r.stdout) + " " + string(r.stderr))
	}
	return true, nil
}

// unfrack makes a path of what may be one, as the module compares them.
func (g *checkout) unfrack(s string) string {
	s = g.args().ExpandPath(s)
	if !strings.HasPrefix(s, "/") {
		s = g.Cwd + "/" + s
	}
	return realpath(s)
}

func (c *call) expandUser(s string) string {
	if strings.HasPrefix(s, "~") && !strings.Contains(s, "$") {
		return c.args().ExpandPath(s)
	}
	return s
}

// refs asks the remote for refs of a kind.
func (g *checkout) refs(kind, ref string) (string, error) {
	r, err := g.need("ls-remote", g.a.Remote, kind, ref)
	if err != nil {
		return "", err
	}
	return string(r.stdout), nil
}

// checked tells what an update would do.
func (g *checkout) checked(before string, moved bool) (Result, error) {
	v, after := g.a.Version, ""
	out, tag := "", false
	var err error
	if v == "HEAD" {
		branch, err := g.headBranch()
		if err != nil {
			return nil, err
		}
		if out, err = g.refs("-h", "refs/heads/"+branch); err != nil {
			return nil, err
		}
	} else if out, err = g.refs("-h", "refs/heads/"+v); err != nil {
		return nil, err
	} else if !strings.Contains(out, v) {
		if out, err = g.refs("-t", "refs/tags/"+v); err != nil {
			return nil, err
		}
		if tag = strings.Contains(out, v); tag {
			if out, err = g.refs("-t", "refs/tags/"+v+"*"); err != nil {
				return nil, err
			}
		} else {
			after = v // it seems to be a commit
		}
	}
	if after == "" {
		if out == "" {
			return nil, fail("Could not determine remote revision for "+v, "stdout", "", "stderr", "", "rc", int64(0))
		}
		if tag {
			for _, l := range strings.Split(out, "\n") {
				if strings.HasSuffix(l, v+"^{}") {
					out = l
					break
				}
				if strings.HasSuffix(l, v) {
					out = l
				}
			}
		}
		after = strings.Fields(out)[0]
	}
	g.res.Set("changed", before != after || moved)
	g.res.Set("after", after)
	if g.Diff && before != after {
		return nil, handBack("a diff with what is not fetched")
	}
	return g.res, nil
}

// headBranch is the branch that is checked out, or the remote's own when none is.
func (g *checkout) headBranch() (string, error) {
	branches, err := g.branches()
	if err != nil {
		return "", err
	}
	file := filepath.Join(g.dir, "HEAD")
	for _, b := range branches {
		if strings.HasPrefix(b, "* ") && (strings.Contains(b, "no branch") || strings.Contains(b, "detached from") || strings.Contains(b, "detached at")) {
			file = filepath.Join(g.dir, "refs", "remotes", g.a.Remote, "HEAD")
		}
	}
	b, err := g.readEdited(file)
	if err != nil {
		return "", handBack("reading HEAD: %v", err)
	}
	line, _, _ := strings.Cut(string(b), "\n")
	line = strings.Replace(line, "refs/remotes/"+g.a.Remote, "", 1)
	line = line[strings.LastIndexByte(line, ' ')+1:]
	parts := strings.SplitN(line, "/", 3)
	branch := parts[len(parts)-1]
	if !plainRef.MatchString(branch) {
		return "", handBack("a branch that needs quoting")
	}
	return branch, nil
}

func (g *checkout) branches() ([]string, error) {
	r, err := g.ask("branch", "--no-color", "-a")
	if err != nil {
		return nil, err
	}
	if r.rc != 0 {
		return nil, fail("Could not determine branch data - received "+string(r.stdout), "stdout", string(r.stdout), "stderr", string(r.stderr))
	}
	var out []string
	for _, l := range strings.Split(string(r.stdout), "\n") {
		if l = strings.TrimFunc(l, pySpace); l != "" {
			out = append(out, l)
		}
	}
	return out, nil
}

// change switches to the version.
func (g *checkout) change() error {
	v := g.a.Version
	var last []string
	if v == "HEAD" {
		branch, err := g.headBranch()
		if err != nil {
			return afterChange(err)
		}
		if err := g.forced(branch, "Failed to checkout branch "+branch); err != nil {
			return err
		}
		last = []string{"reset", "--hard", g.a.Remote + "/" + branch, "--"}
		v = "branch " + branch
	} else {
		out, err := g.refs("-h", "refs/heads/"+v)
		if err != nil {
			return err
		}
		last = []string{"checkout", "--force", v}
		if strings.Contains(out, v) {
			branches, err := g.branches()
			if err != nil {
				return err
			}
			local := false
			for _, b := range branches {
				local = local || b == v || b == "* "+v
			}
			if local {
				if err := g.forced(v, "Failed to checkout branch "+v); err != nil {
					return err
				}
				last = []string{"reset", "--hard", g.a.Remote + "/" + v}
			} else {
				last = []string{"checkout", "--track", "-b", v, g.a.Remote + "/" + v}
			}
		}
	}
	r, err := g.ask(last...)
	if err != nil {
		return err
	}
	if r.rc != 0 {
		return fail("Failed to checkout "+v, "stdout", string(r.stdout), "stderr", string(r.stderr), "rc", int64(r.rc), "cmd", g.bin+" "+strings.Join(last, " "))
	}
	return nil
}

// submodules brings in those that the new version has; the old one had none.
func (g *checkout) submodules() (bool, error) {
	if !g.a.Recursive {
		return false, nil
	}
	b, err := g.readEdited(filepath.Join(g.dest, ".gitmodules"))
	switch {
	case isHandBack(err):
		return false, afterChange(err)
	case err != nil:
		return false, nil
	}
	missing := false
	for line := range strings.Lines(string(b)) {
		line = strings.TrimSpace(line)
		if _, path, ok := strings.Cut(line, "="); ok && strings.HasPrefix(line, "path") {
			missing = missing || !exists(filepath.Join(g.dest, strings.TrimSpace(path), ".git"))
		}
	}
	if !missing {
		if _, err := g.need("submodule", "foreach", g.bin, "fetch"); err != nil {
			return false, err
		}
		r, err := g.need("submodule", "status")
		if err != nil {
			return false, err
		}
		for _, l := range python.SplitLines(string(r.stdout)) {
			missing = missing || !strings.HasPrefix(l, " ")
		}
		if !missing {
			return false, nil
		}
	}
	if _, err := g.need("submodule", "sync"); err != nil {
		return false, err
	}
	words := []string{"submodule", "update", "--init", "--recursive"}
	if g.a.Force {
		words = append(words, "--force")
	}
	r, err := g.ask(words...)
	if err != nil {
		return false, err
	}
	if r.rc != 0 {
		return false, fail("Failed to init/update submodules: " + string(r.stdout) + string(r.stderr))
	}
	return true, nil
}

func (g *checkout) forced(ref, msg string) error {
	r, err := g.ask("checkout", "--force", ref)
	if err == nil && r.rc != 0 {
		err = fail(msg, "stdout", string(r.stdout), "stderr", string(r.stderr), "rc", int64(r.rc))
	}
	return err
}

// diff is what changed, once it is sure that both versions are there.
func (g *checkout) diff(before, after string) (*value.Dict, error) {
	if _, err := g.ask("fetch", "--tags", g.a.Remote); err != nil {
		return nil, err
	}
	r, err := g.ask("diff", before, after)
	if err != nil {
		return nil, err
	}
	text := string(r.stdout)
	switch {
	case r.rc == 0 && text == "":
		text = ">> No visual differences between " + before + " and " + after
	case r.rc != 0:
		text = ">> Failed to get proper diff between " + before + " and " + after
		if len(r.stderr) > 0 {
			text += ":\n>> " + string(r.stderr)
		}
	}
	return value.DictOf("prepared", text), nil
}
