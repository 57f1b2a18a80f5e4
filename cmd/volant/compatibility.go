package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"volant/actions"
	"volant/controller/config"
	"volant/controller/playbook"
	"volant/controller/template"
	"volant/controller/union"
	"volant/hostagent/modules"
)

// compatibilityMain writes the tables of docs/COMPATIBILITY.md.
func compatibilityMain(_ context.Context, p *process, args []string) error {
	var opt struct{}
	if err := parse(p, &opt, "Write the tables of docs/COMPATIBILITY.md.", args); err != nil {
		return err
	}
	var b bytes.Buffer
	compatibilityText(&b)
	_, err := p.stdout.Write(b.Bytes())
	return err
}

// compatibilityText is written from the tables that the engine itself uses.
func compatibilityText(w io.Writer) {
	fmt.Fprintf(w, "## Tables\n\nWritten from the tables the engine itself uses. The reference is ansible-core %s.\n", union.CoreVersion)
	playbookTable(w)
	actionTable(w)
	nativeTable(w)
	pluginTables(w)
	templateTables(w)
	settingTables(w)
}

func table(w io.Writer, title string, columns ...string) {
	fmt.Fprintf(w, "\n### %s\n\n| %s |\n|%s\n", title, strings.Join(columns, " | "), strings.Repeat(" --- |", len(columns)))
}

func row(w io.Writer, cells ...string) {
	for i := range cells {
		cells[i] = strings.ReplaceAll(cells[i], "|", `\|`)
	}
	fmt.Fprintf(w, "| %s |\n", strings.Join(cells, " | "))
}

func code(s string) string { return "`" + s + "`" }

func playbookTable(w io.Writer) {
	table(w, "Keywords of playbooks", "keyword", "on", "differs")
	for _, r := range playbook.Rows() {
		row(w, code(r.Name), strings.Join(r.On, ", "), r.Differs)
	}
	row(w, "`with_LOOKUP`", "task, handler", "any lookup of the table below")
	row(w, "`local_action`", "task, handler", "")
}

func actionTable(w io.Writer) {
	table(w, "Actions", "action", "runs on", "")
	for _, name := range actions.Names() {
		spec, _ := actions.Lookup(name)
		where, note := "host", ""
		if spec.Controller {
			where = "controller"
		}
		if spec.Once {
			note = "once for all hosts"
		}
		row(w, code(name), where, note)
	}
	for _, name := range []string{"import_playbook", "import_role", "import_tasks", "include_role", "include_tasks", "meta"} {
		row(w, code(name), "controller", "statement of the language")
	}
	fmt.Fprint(w, "\nEvery other module of ansible-core, of an installed collection, of a role or of the project runs through the same\n"+
		"action the reference has for it (`normal`), natively where the next table says so, else as the Python file it is.\n")
}

func nativeTable(w io.Writer) {
	table(w, "Native modules", "module", "natively", "handed back to the Python module")
	for _, name := range slices.Sorted(maps.Keys(modules.Table)) {
		c := modules.Coverage[name]
		row(w, code(name), c.Native, c.Back)
	}
	fmt.Fprint(w, "\nA native module stands in only for ansible-core's own file: a module of that name in `library/`, in a role or in a\n"+
		"collection always runs in Python. Handing back happens before anything is changed; the result is the Python module's.\n")
}

func pluginTables(w io.Writer) {
	table(w, "Plugins of other kinds", "kind", "there are", "of the reference not")
	row(w, "callback", codes(callbacks)+"; beside one of them "+codes(notifiers), "")
	row(w, "connection", codes(connections)+"; `chroot`, `docker`, `podman` and `volant.command` (whose `volant_command` is any program that runs a command line there) run the agent in a pipe; others but `local` are reached through SSH and the agent", codes([]string{"psrp", "winrm"}))
	row(w, "become", codes(becomes), codes([]string{"runas"}))
	row(w, "strategy", codes(strategies)+"", "")
	row(w, "cache", codes([]string{"memory", "jsonfile"}), "")
	row(w, "inventory", codes([]string{"advanced_host_list", "auto", "constructed", "generator", "host_list", "ini", "script", "toml", "yaml"}), "")
	row(w, "vars", code("host_group_vars"), "")
	row(w, "shell", code("sh"), codes([]string{"cmd", "powershell"}))
	fmt.Fprint(w, "\nFilters, tests, lookups, actions and inventory plugins in Python, of projects, roles and collections, run in a helper process of ansible-core's own Python. Python plugins of the other kinds are not loaded; using one is refused before the run.\n")
}

func codes(list []string) string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = code(s)
	}
	return strings.Join(out, ", ")
}

func templateTables(w io.Writer) {
	titles := map[string]string{"filter": "Filters", "lookup": "Lookups", "test": "Tests"}
	kind := ""
	var same []string
	flush := func() {
		if len(same) > 0 {
			fmt.Fprintf(w, "\nAs in the reference: %s.\n", codes(same))
		}
		same = nil
	}
	for _, r := range template.Compatibility(template.Reference()) {
		if r.Kind != kind {
			flush()
			kind = r.Kind
			table(w, titles[kind], kind, "here", "differs")
		}
		switch {
		case !r.Ours:
			row(w, code(r.Name), "no", r.Differs)
		case r.Differs != "":
			row(w, code(r.Name), "yes", r.Differs)
		default:
			same = append(same, r.Name)
		}
	}
	flush()
}

func settingTables(w io.Writer) {
	var acted, not, own []string
	whys := map[string]string{}
	warned := map[string]bool{}
	for _, s := range config.Settings() {
		ok, why, warn := config.Standing(s.Name)
		whys[s.Name], warned[s.Name] = why, warn
		switch {
		case s.Own():
			own = append(own, s.Name)
		case ok:
			acted = append(acted, s.Name)
		default:
			not = append(not, s.Name)
		}
	}
	fmt.Fprintf(w, "\n### Settings\n\nActed on (%d): %s.\n", len(acted), codes(acted))
	fmt.Fprintf(w, "\nKnown, checked and shown by `volant config`, and not acted on (%d):\n\n| setting | why | setting it warns |\n| --- | --- | --- |\n", len(not))
	for _, n := range not {
		row(w, code(n), whys[n], yes(warned[n]))
	}
	table(w, "Settings of Volant alone", "setting", "`[volant]` key", "default", "")
	for _, s := range config.Settings() {
		if !s.Own() {
			continue
		}
		def := ""
		if s.Default != nil {
			def = fmt.Sprint(s.Default)
		}
		key := ""
		if len(s.Ini) > 0 {
			key = code(s.Ini[0].Key)
		}
		note := ""
		if whys[s.Name] != "" {
			note = "not acted on yet: " + whys[s.Name]
		}
		row(w, code(s.Name), key, def, note)
	}
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return ""
}
