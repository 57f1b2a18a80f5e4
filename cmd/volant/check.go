package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"volant/controller/compile"
	"volant/controller/execute"
	"volant/controller/fault"
	"volant/controller/inventory"
	"volant/controller/playbook"
	"volant/controller/vault"
	"volant/wire/value"
)

// checkOptions are the options of `volant check`.
type checkOptions struct {
	verbosityOptions
	vaultOptions
	ExtraVars  []string `short:"e" sep:"none" help:"Variables as key=value, YAML, JSON or @FILE, where names of files or roles need them. May be given more than once."`
	ModulePath []string `short:"M" sep:"none" help:"Directories of modules, before the others."`
	JSON       bool     `help:"As JSON: playbooks, problems, warnings and modules."`
	Path       []string `arg:"" optional:"" help:"Directory of a project or a role, or playbooks. Default: the current directory."`
}

// checkReport is what check found; --json prints it so.
type checkReport struct {
	Playbooks []string      `json:"playbooks"`
	Problems  []checkFault  `json:"problems"` // keep it from running
	Warnings  []checkFault  `json:"warnings"`
	Modules   []checkModule `json:"modules"`
	OK        bool          `json:"ok"`
}

// checkFault is one finding with its place.
type checkFault struct {
	Text   string `json:"text"`
	File   string `json:"file,omitempty"`
	Line   int    `json:"line,omitempty"`
	Column int    `json:"column,omitempty"`
}

// checkModule is a module or action that tasks use, and how it runs.
type checkModule struct {
	Name  string `json:"name"`
	Path  string `json:"path"` // native, python, host (which module depends on it), controller or nothing
	Tasks int    `json:"tasks"`
}

func checkMain(ctx context.Context, p *process, args []string) error {
	var opt checkOptions
	if err := parse(p, &opt, "Say whether a project will run here.", args); err != nil {
		return err
	}
	if len(opt.Path) == 0 {
		opt.Path = []string{"."}
	}
	paths := make([]string, len(opt.Path))
	for i, path := range opt.Path {
		if paths[i] = path; !filepath.IsAbs(path) {
			paths[i] = filepath.Join(p.dir, path)
		}
	}
	shown := p.dir
	if st, err := os.Stat(paths[0]); err == nil && st.IsDir() {
		p.dir = paths[0] // as if the command were run in the project
	}
	j, err := configure(p, opt.Verbose)
	if err != nil {
		return err
	}
	c := &checker{report: checkReport{Playbooks: []string{}, Problems: []checkFault{}, Warnings: []checkFault{}, Modules: []checkModule{}}, project: j, dir: shown, seen: map[string]bool{}, tasks: map[string]*checkModule{}}
	if err := c.prepare(ctx, &opt); err != nil {
		return err
	}
	defer c.end()
	for _, path := range paths {
		if err := c.path(path); err != nil {
			return err
		}
	}
	c.judge()
	return c.print(p, opt.JSON)
}

// checker looks at a project.
type checker struct {
	*project
	dir     string // that file names are shown below
	names   *execute.Names
	end     func() // after the last use of names
	loader  *playbook.Loader
	support *watching
	plays   []*playbook.Play
	report  checkReport
	seen    map[string]bool
	tasks   map[string]*checkModule
}

// prepare makes what playbooks are loaded with. There is no inventory: every
// play counts as having hosts.
func (c *checker) prepare(ctx context.Context, opt *checkOptions) error {
	if err := c.secrets(ctx, opt.vaultOptions); err != nil {
		return err
	}
	if err := c.variables(opt.ExtraVars); err != nil {
		return err
	}
	var err error
	o := c.inventoryOptions()
	o.Sink = nil
	if c.inv, err = inventory.Load(ctx, []string{"localhost,"}, o); err != nil {
		return err
	}
	u, err := c.core(opt.ModulePath)
	if err != nil {
		return err
	}
	if u == nil {
		c.warn("There is no ansible-core here: names of modules are taken as they are, and only native modules can run. `volant setup` installs one.", value.Pos{})
	}
	c.names, c.end = c.project.names(u)
	c.names.Sink = c
	c.loader = c.project.loader(ctx, c.store(c.project.dir, nil), c.names)
	c.loader.Sink = c
	c.support = &watching{Have: c.have(c.names), c: c, ctx: ctx, unknown: map[string]bool{}}
	c.loader.Plugins = &lenient{Plugins: c.names, unknown: c.support.unknown}
	return nil
}

// path loads a playbook, every playbook of a directory, or a role.
func (c *checker) path(path string) error {
	st, err := os.Stat(path)
	if err != nil {
		return fault.New(fault.Options, value.Pos{}, "%s", pythonError(err, path))
	}
	if !st.IsDir() {
		c.load(path)
		return nil
	}
	found, err := c.find(path)
	if err != nil {
		return err
	}
	for _, f := range found {
		c.load(f)
	}
	if len(found) == 0 {
		if _, err := os.Stat(filepath.Join(path, "tasks")); err != nil {
			return fault.New(fault.Options, value.Pos{}, "there is no playbook and no role in %s", path)
		}
		c.role(path)
	}
	return nil
}

// notPlaybooks are directories of a project that hold no playbooks.
var notPlaybooks = map[string]bool{
	"roles": true, "group_vars": true, "host_vars": true, "inventory": true, "inventories": true, "tasks": true, "handlers": true,
	"vars": true, "defaults": true, "meta": true, "templates": true, "files": true, "library": true, "module_utils": true,
	"molecule": true, "collections": true, "ansible_collections": true, "node_modules": true, "venv": true,
}

// maxPlaybooks bounds what is loaded of a directory.
const maxPlaybooks = 10000

// find lists the files below dir that are playbooks: lists of plays.
func (c *checker) find(dir string) ([]string, error) {
	var out []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		name := d.Name()
		switch {
		case err != nil:
			c.warn(err.Error(), value.Pos{})
			return nil
		case d.IsDir() && path != dir && (notPlaybooks[name] || strings.HasPrefix(name, ".") || strings.HasSuffix(name, "_plugins")):
			return fs.SkipDir
		case d.IsDir() || !d.Type().IsRegular() || strings.HasPrefix(name, "."):
			return nil
		case strings.HasSuffix(name, ".yml") || strings.HasSuffix(name, ".yaml"):
			if c.isPlaybook(path) && len(out) < maxPlaybooks {
				out = append(out, path)
			}
		}
		return nil
	})
	return out, err
}

// isPlaybook looks for plays in a file. One that does not parse counts when it
// looks like one.
func (c *checker) isPlaybook(path string) bool {
	data, _, err := c.files.LoadFile(path)
	if err != nil {
		b, readErr := os.ReadFile(path)
		text := string(b)
		return readErr == nil && strings.Contains(text, "hosts:") && (strings.HasPrefix(text, "- ") || strings.Contains(text, "\n- "))
	}
	list, ok := data.(*value.List)
	if !ok {
		return false
	}
	for _, item := range list.Items {
		if d, ok := item.(*value.Dict); ok && (d.Has("hosts") || d.Has("import_playbook") || d.Has("ansible.builtin.import_playbook")) {
			return true
		}
	}
	return false
}

func (c *checker) load(path string) {
	c.report.Playbooks = append(c.report.Playbooks, c.short(path))
	c.support.Dirs = append(c.support.Dirs, filepath.Dir(path))
	book, err := c.loader.Load(path)
	if err != nil {
		c.problem(err, value.Pos{})
		return
	}
	c.plays = append(c.plays, book.Plays...)
}

// role checks a role alone, as if a play of one role had it.
func (c *checker) role(path string) {
	c.report.Playbooks = append(c.report.Playbooks, c.short(path))
	c.support.Dirs = append(c.support.Dirs, path)
	play, err := c.loader.Make(value.DictOf("name", "check", "hosts", "all", "gather_facts", false,
		"roles", value.ListOf(value.DictOf("role", path))), filepath.Dir(path))
	if err != nil {
		c.problem(err, value.Pos{})
		return
	}
	c.plays = append(c.plays, play)
}

// judge runs the preflight of a run over every play.
func (c *checker) judge() {
	c.names.Sink, c.loader.Sink = nil, nil // said once is enough
	var plans []*compile.Plan
	for _, p := range c.plays {
		p := p.Clone()
		if _, err := c.loader.Finish(p); err != nil {
			// Hosts that are known at run time only.
			p.Keywords.Set(playbook.Hosts, "all", p.Keywords.PosOf(playbook.Hosts))
			if _, again := c.loader.Finish(p); again != nil {
				c.problem(err, p.Pos)
				continue
			}
		}
		plan, err := compile.Compile(c.loader, p, compile.Options{})
		if err != nil {
			c.problem(err, p.Pos)
			continue
		}
		plans = append(plans, plan)
	}
	for _, r := range compile.Preflight(plans, c.support) {
		switch {
		case r.Unknown:
			c.warn(r.Text(), r.Pos)
		case r.Included && r.Why == unresolved:
			c.warn(c.support.text(r)+ifReached, r.Pos)
		default:
			c.problem(&fault.Error{Msg: c.support.text(r), Pos: r.Pos}, r.Pos)
		}
	}
}

// ifReached ends what is said of a file that a dynamic include names.
const ifReached = " The include fails if it is reached."

// Warning implements fault.Sink.
func (c *checker) Warning(err error) { c.warn(fault.Brief(err), posOf(err)) }

// Verbose implements fault.Sink.
func (*checker) Verbose(int, string) {}

// Deprecated implements fault.Sink.
func (c *checker) Deprecated(d fault.Deprecation) { c.warn(fault.Brief(&d.Error), d.Pos) }

func (c *checker) warn(text string, pos value.Pos) {
	if f := c.fault(text, pos); !c.twice(f) {
		c.report.Warnings = append(c.report.Warnings, f)
	}
}

func (c *checker) problem(err error, pos value.Pos) {
	if p := posOf(err); !p.IsZero() {
		pos = p
	}
	text := fault.Brief(err)
	var e *fault.Error
	if errors.As(err, &e) && e.Help != "" {
		text += " " + e.Help
	}
	if strings.Contains(text, vault.NoSecrets) {
		text += " Give the password with --vault-password-file, --vault-id or --ask-vault-password."
	}
	if f := c.fault(text, pos); !c.twice(f) {
		c.report.Problems = append(c.report.Problems, f)
	}
}

func (c *checker) fault(text string, pos value.Pos) checkFault {
	f := checkFault{Text: strings.Join(strings.Fields(text), " ")}
	if !pos.IsZero() {
		f.File, f.Line, f.Column = c.short(pos.File), pos.Line, pos.Column
	}
	return f
}

func (c *checker) twice(f checkFault) bool {
	key := fmt.Sprint(f)
	seen := c.seen[key]
	c.seen[key] = true
	return seen
}

// posOf is the place of the innermost link that has one.
func posOf(err error) value.Pos {
	var pos value.Pos
	for err != nil {
		if e, ok := err.(*fault.Error); ok && !e.Pos.IsZero() { //nolint:errorlint // every link is looked at
			pos = e.Pos
		}
		err = errors.Unwrap(err)
	}
	return pos
}

// short is a file name as the user knows it.
func (c *checker) short(path string) string {
	if rel, err := filepath.Rel(c.dir, path); err == nil && !strings.HasPrefix(rel, "..") {
		return rel
	}
	return path
}

func (c *checker) print(p *process, asJSON bool) error {
	r := &c.report
	for _, m := range c.tasks {
		r.Modules = append(r.Modules, *m)
	}
	slices.SortFunc(r.Modules, func(a, b checkModule) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Name, b.Name))
	})
	place := func(a, b checkFault) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	}
	slices.SortStableFunc(r.Problems, place)
	slices.SortStableFunc(r.Warnings, place)
	r.OK = len(r.Problems) == 0
	if asJSON {
		out, err := json.MarshalIndent(r, "", "  ")
		if err != nil {
			return err
		}
		fmt.Fprintf(p.stdout, "%s\n", out)
	} else {
		c.text(p)
	}
	if !r.OK {
		return &exit{code: codeParser}
	}
	return nil
}

func (c *checker) text(p *process) {
	r := &c.report
	list := func(title string, faults []checkFault) {
		if len(faults) == 0 {
			return
		}
		fmt.Fprintf(p.stdout, "%s:\n", title)
		for _, f := range faults {
			if f.File != "" {
				fmt.Fprintf(p.stdout, "  %s:%d:%d\n  ", f.File, f.Line, f.Column)
			}
			fmt.Fprintf(p.stdout, "  %s\n", f.Text)
		}
		fmt.Fprintln(p.stdout)
	}
	list("Cannot run", r.Problems)
	list("Warnings", r.Warnings)
	path := ""
	total := 0
	for _, m := range r.Modules {
		if m.Path != path {
			fmt.Fprintf(p.stdout, "%s:\n", map[string]string{
				"controller": "Run on the controller", "native": "Run natively (a case that is not covered goes to Python)",
				"host":   "Run by the module that fits the host, natively or in Python",
				"python": "Run in Python on the host", "nothing": "Cannot run",
			}[m.Path])
			path = m.Path
		}
		total += m.Tasks
		fmt.Fprintf(p.stdout, "  %-40s %d\n", m.Name, m.Tasks)
	}
	verdict := "this will run"
	if !r.OK {
		verdict = "this will not run"
	}
	fmt.Fprintf(p.stdout, "\n%d playbooks, %d tasks, %d problems, %d warnings: %s\n", len(r.Playbooks), total, len(r.Problems), len(r.Warnings), verdict)
}
