package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"volant/actions"
	"volant/controller/events"
	"volant/controller/fault"
	"volant/controller/plugindoc"
	"volant/wire/rx"
	"volant/wire/value"
)

// docOptions are those of ansible-doc.
type docOptions struct {
	verbosityOptions
	ModulePath     []string `short:"M" sep:"none" help:"Directories of modules, before the others."`
	PlaybookDir    string   `help:"Directory that stands for the playbook's: its library, filter_plugins and so on are looked at, too."`
	Type           string   `short:"t" default:"module" help:"Type of the plugin; also role and keyword."`
	JSON           bool     `short:"j" help:"As JSON."`
	Snippet        bool     `short:"s" help:"Show a snippet for a playbook (inventory, lookup, module)."`
	RolesPath      []string `short:"r" sep:"none" help:"Directories of roles, before the configured ones."`
	EntryPoint     string   `short:"e" help:"Only that entry point of roles."`
	MetadataDump   bool     `help:"Everything of every type as JSON."`
	NoFailOnErrors bool     `name:"no-fail-on-errors" help:"With --metadata-dump: errors stand in the JSON and do not end it."`
	List           bool     `short:"l" help:"List plugins with what they do; arguments are collections."`
	ListFiles      bool     `short:"F" name:"list_files" aliases:"list-files" help:"List plugins with their files."`
	Version        bool     `help:"Show the version."`
	Plugin         []string `arg:"" optional:"" help:"Modules or plugins."`
}

func docMain(ctx context.Context, p *process, args []string) error {
	var opt docOptions
	if err := parse(p, &opt, "Show documentation.", args); err != nil {
		return err
	}
	j, err := configure(p, opt.Verbose)
	if err != nil {
		return err
	}
	j.greet()
	lib, err := j.docLibrary(opt.ModulePath...)
	switch {
	case err != nil:
		return err
	case lib == nil:
		return plainError("There is no ansible-core here, and so no documentation. `volant setup` installs one.")
	}
	lib.Warn = func(text string) { j.display.Note("%s", text) }
	lib.Deprecated = func(collection, text, version, date string) {
		j.display.Deprecate(events.Deprecation{Msg: text, Collection: collection, Version: version, Date: date})
	}
	if dir := cmp.Or(opt.PlaybookDir, j.config.String("PLAYBOOK_DIR")); dir != "" {
		lib.Dirs = append(lib.Dirs, j.absolute(dir))
	}
	for _, m := range opt.ModulePath {
		for _, d := range filepath.SplitList(m) {
			lib.ModulePath = append(lib.ModulePath, j.absolute(d))
		}
	}
	d := &docReport{project: j, lib: lib, opt: &opt, look: j.docLook(lib.Union.Core().Version)}
	listing := opt.List || opt.ListFiles
	switch {
	case opt.MetadataDump:
		return d.dump()
	case !listing && len(opt.Plugin) == 0:
		return optionsError("Missing name(s), incorrect options passed for detailed documentation.")
	case opt.Type == "keyword":
		return d.keywords(ctx, listing)
	case opt.Type == "role" && listing:
		return d.listRoles(ctx)
	case opt.Type == "role":
		return d.showRoles(ctx)
	case listing:
		return d.list(ctx)
	}
	return d.show(ctx)
}

// docLibrary is where documentation is found; nil where there is no
// ansible-core at all.
func (j *project) docLibrary(modulePath ...string) (*plugindoc.Library, error) {
	u, err := j.core(modulePath)
	if err != nil || u == nil {
		return nil, err
	}
	paths := map[string][]string{}
	for _, kind := range plugindoc.Types {
		setting := strings.ToUpper(kind) + "_PLUGIN_PATH"
		if kind != "become" {
			setting = "DEFAULT_" + setting
		}
		paths[kind] = j.config.Strings(setting)
	}
	return &plugindoc.Library{
		Union: u, Collections: j.config.Strings("COLLECTIONS_PATHS"), Paths: paths,
		HasAction: func(name string) bool {
			_, ok := actions.Lookup(name)
			return ok
		},
	}, nil
}

// docReport makes the outputs of the doc command.
type docReport struct {
	*project
	lib  *plugindoc.Library
	opt  *docOptions
	look *plugindoc.Look
}

// docLook is how documentation looks here.
func (j *project) docLook(version string) *plugindoc.Look {
	return &plugindoc.Look{
		NoColor: j.config.Bool("ANSIBLE_NOCOLOR"), Columns: j.display.Columns, Verbose: j.display.Verbosity > 0,
		Site: j.config.String("DOCSITE_ROOT_URL"), Version: version,
		Paint: func(text, setting string) string {
			color := setting
			if strings.HasPrefix(setting, "COLOR_") {
				color = j.config.String(setting)
			}
			j.display.Colors[setting] = color
			return j.display.Paint(text, setting)
		},
	}
}

// collectionPattern is the name of a collection.
var collectionPattern = rx.Lazy(`^[A-Za-z_]\w*\.[A-Za-z_]\w*$`)

// json shows a document for a program.
func (d *docReport) json(v *value.Dict) { d.display.Print(indentedJSON(v, jsonStyle{ascii: true}), "") }

func (d *docReport) list(ctx context.Context) error {
	for _, name := range d.opt.Plugin {
		if !collectionPattern.MatchString(name) {
			return plainError("Invalid collection name (must be of the form namespace.collection): %s", name)
		}
		if !slices.Contains([]string{"ansible.builtin", "ansible.legacy"}, name) && d.lib.Union.CollectionDir(name) == "" {
			return fault.New(fault.Generic, value.Pos{}, "Cannot use supplied collection '%s'.", name).
				Because(fmt.Errorf("unable to locate collection %s", name))
		}
	}
	entries := d.lib.List(d.opt.Type, d.opt.Plugin, !d.opt.ListFiles)
	if d.opt.JSON {
		out := value.NewDict(len(entries))
		for _, e := range entries {
			out.Set(e.Name, map[bool]string{true: e.File, false: e.Summary}[d.opt.ListFiles])
		}
		d.json(out)
		return nil
	}
	if len(entries) == 0 {
		return nil
	}
	width := 0
	for _, e := range entries {
		width = max(width, len(e.Name))
	}
	limit := d.look.Columns - width - 5
	var lines, gone []string
	for _, e := range entries {
		text := cmp.Or(e.File, "None")
		if !d.opt.ListFiles {
			if text = d.look.Markup(e.Summary); len([]rune(text)) > limit {
				text = string([]rune(text)[:limit]) + "..."
			}
		}
		name := e.Name
		short, old := strings.CutPrefix(name, "ansible.builtin._")
		if old {
			name = "ansible.builtin." + short
		}
		line := fmt.Sprintf("%-*s %-*s", width, name, limit, text)
		if old {
			gone = append(gone, line)
		} else {
			lines = append(lines, line)
		}
	}
	if len(gone) > 0 {
		lines = append(append(lines, "\nDEPRECATED:"), gone...)
	}
	return d.page(ctx, d.config, d.display, strings.Join(lines, "\n"))
}

func (d *docReport) show(ctx context.Context) error {
	all := value.NewDict(0)
	var text []string
	for _, name := range d.opt.Plugin {
		doc, err := d.lib.Load(d.opt.Type, name)
		switch {
		case errors.Is(err, plugindoc.ErrNotFound):
			d.display.Note("%s", err)
			continue
		case err != nil:
			return plainError("%s %s Missing documentation (or could not parse documentation): %s", d.opt.Type, name, err)
		}
		switch {
		case d.opt.JSON:
			all.Set(name, doc.Data())
			continue
		case d.opt.Snippet && !slices.Contains(plugindoc.SnippetTypes, d.opt.Type):
			return plainError("Snippets are only available for the following plugin types: %s", strings.Join(plugindoc.SnippetTypes, ", "))
		case d.opt.Snippet:
			s, err := doc.Snippet(d.look, name)
			if err != nil {
				d.display.Note("Unable to construct a snippet for '%s': %s", name, err)
				continue
			}
			text = append(text, s)
		default:
			s, err := doc.Text(d.look)
			if err != nil {
				return plainError("Unable to retrieve documentation from '%s': %s", name, err)
			}
			text = append(text, s)
		}
	}
	if d.opt.JSON {
		d.json(all)
		return nil
	}
	if len(text) == 0 {
		return nil
	}
	return d.page(ctx, d.config, d.display, strings.Join(text, ""))
}
