package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"volant/controller/fault"
	"volant/controller/plugindoc"
	"volant/wire/value"
)

// rolePaths are the directories that roles are looked for in: the project's,
// those of the command line, the configured ones.
func (d *docReport) rolePaths() []string {
	var out, last []string
	if dir := cmp.Or(d.opt.PlaybookDir, d.config.String("PLAYBOOK_DIR")); dir != "" {
		dir = d.absolute(dir)
		if st, err := os.Stat(filepath.Join(dir, "roles")); err == nil && st.IsDir() {
			out = append(out, filepath.Join(dir, "roles"))
		}
		last = []string{dir}
	}
	for _, r := range d.opt.RolesPath {
		for _, p := range filepath.SplitList(r) {
			out = append(out, d.absolute(p))
		}
	}
	return append(append(out, d.config.Strings("DEFAULT_ROLES_PATH")...), last...)
}

// specs reads the arguments of a role. Where errors do not end the command it
// warns and gives nil.
func (d *docReport) specs(r *plugindoc.Role, fail bool) (*value.Dict, error) {
	specs, err := r.Specs()
	if err == nil {
		return specs, nil
	}
	if fail {
		return nil, fault.New(fault.Parser, value.Pos{}, "Failed to process role (%s).", r.Name).Because(err)
	}
	d.display.Note("Skipping role (%s) due to: Failed to process role (%s): %s", r.Name, r.Name, err)
	return nil, nil
}

// roleList is the roles with their entry points.
func (d *docReport) roleList(collections []string, fail bool) (*value.Dict, error) {
	out := value.NewDict(0)
	for _, r := range d.lib.Roles(d.rolePaths(), nil, collections) {
		specs, err := d.specs(r, fail)
		if err != nil {
			return nil, err
		}
		if specs != nil {
			out.Set(r.FullName(), r.Summary(specs))
		}
	}
	return out, nil
}

// roleDocs is everything about the roles of these names.
func (d *docReport) roleDocs(names []string, fail bool) (*value.Dict, error) {
	out := value.NewDict(0)
	if len(names) == 0 {
		return out, nil
	}
	for _, r := range d.lib.Roles(d.rolePaths(), names, nil) {
		specs, err := d.specs(r, fail)
		if err != nil {
			return nil, err
		}
		if specs == nil {
			continue
		}
		if doc := r.Doc(specs, d.opt.EntryPoint); doc != nil {
			out.Set(r.FullName(), doc)
		}
	}
	return out, nil
}

// listRoles is -l with the type role.
func (d *docReport) listRoles(ctx context.Context) error {
	for _, name := range d.opt.Plugin {
		if !collectionPattern.MatchString(name) {
			return plainError("Invalid collection name (must be of the form namespace.collection): %s", name)
		}
	}
	roles, err := d.roleList(d.opt.Plugin, false)
	if err != nil {
		return err
	}
	if d.opt.JSON {
		d.json(roles)
		return nil
	}
	width := 0
	for _, v := range roles.All() {
		for name := range v.(*value.Dict).Lookup("entry_points").(*value.Dict).All() {
			width = max(width, utf8.RuneCountInString(value.Str(name)))
		}
	}
	limit := max(d.look.Columns-width-5, 0)
	var lines []string
	for role, v := range roles.All() {
		entries := v.(*value.Dict).Lookup("entry_points").(*value.Dict)
		if entries.Len() == 0 {
			lines = append(lines, value.Str(role))
			continue
		}
		lines = append(lines, value.Str(role)+":", "  specs:")
		for name, text := range entries.All() {
			short := []rune(value.Str(text))
			if len(short) > limit {
				short = append(short[:limit:limit], []rune("...")...)
			}
			lines = append(lines, fmt.Sprintf("    %-*s: %s", width, value.Str(name), string(short)))
		}
	}
	if roles.Len() == 0 {
		return nil
	}
	return d.page(ctx, d.config, d.display, strings.Join(lines, "\n"))
}

// showRoles shows the roles that are named.
func (d *docReport) showRoles(ctx context.Context) error {
	docs, err := d.roleDocs(d.opt.Plugin, true)
	if err != nil {
		return err
	}
	if d.opt.JSON {
		d.json(docs)
		return nil
	}
	var text []string
	for name, doc := range docs.All() {
		role := value.Str(name)
		s, err := plugindoc.RoleText(d.look, role, doc.(*value.Dict), func(entry string) {
			d.display.Deprecated(fault.Deprecation{Version: "2.20", Error: fault.Error{Msg: fmt.Sprintf("The role %s's argument spec %s contains the key \"attributes\", which will not be displayed by ansible-doc in the future. "+
				"This was unintentionally allowed when plugin attributes were added, but the feature does not map well to role argument specs.", role, entry)}})
		})
		if err != nil {
			return fault.New(fault.Parser, value.Pos{}, "Error extracting role docs from '%s'.", role).Because(err)
		}
		text = append(text, s)
	}
	if len(text) == 0 {
		return nil
	}
	return d.page(ctx, d.config, d.display, strings.Join(text, "\n"))
}

// keywords shows the keywords of playbooks: all of them, or those named.
func (d *docReport) keywords(ctx context.Context, listing bool) error {
	docs, err := d.keywordDocs(listing)
	if err != nil {
		return plainError("%s", err)
	}
	if d.opt.JSON {
		d.json(docs)
		return nil
	}
	if docs.Len() == 0 {
		return nil
	}
	return d.page(ctx, d.config, d.display, plugindoc.KeywordText(d.look, docs))
}

func (d *docReport) keywordDocs(listing bool) (*value.Dict, error) {
	if listing {
		return d.lib.Keywords()
	}
	docs, unknown, err := d.lib.KeywordDocs(d.opt.Plugin)
	for _, name := range unknown {
		d.display.Note("Skipping invalid keyword '%s': '%s'", name, name)
	}
	return docs, err
}

// dump shows everything of every type for a program.
func (d *docReport) dump() error {
	all := value.NewDict(0)
	fail := !d.opt.NoFailOnErrors
	for _, kind := range plugindoc.Types {
		docs := value.NewDict(0)
		for _, e := range d.lib.List(kind, d.opt.Plugin, false) {
			doc, err := d.lib.Load(kind, e.Name)
			const missing = "Missing documentation (or could not parse documentation)"
			switch {
			case err == nil:
				docs.Set(e.Name, doc.Data())
			case errors.Is(err, plugindoc.ErrNotFound):
				d.display.Note("%s", err)
			case !fail:
				docs.Set(e.Name, value.DictOf("error", fmt.Sprintf("%s: %s.", missing, err)))
			case kind == "test" || kind == "filter":
				d.display.Note("%s %s %s: %s", kind, e.Name, missing, err)
			default:
				return plainError("%s %s %s: %s", kind, e.Name, missing, err)
			}
		}
		all.Set(kind, docs)
	}
	roles, err := d.roleList(d.opt.Plugin, fail)
	if err != nil {
		return err
	}
	var names []string
	for name := range roles.All() {
		names = append(names, value.Str(name))
	}
	docs, err := d.roleDocs(names, fail)
	if err != nil {
		return err
	}
	all.Set("role", docs)
	described, err := d.lib.Keywords()
	if err != nil {
		return plainError("%s", err)
	}
	names = nil
	for name := range described.All() {
		names = append(names, value.Str(name))
	}
	docs, _, err = d.lib.KeywordDocs(names)
	if err != nil {
		return plainError("%s", err)
	}
	all.Set("keyword", docs)
	d.json(value.DictOf("all", all))
	return nil
}
