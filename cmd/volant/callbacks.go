package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"volant/controller/events"
	"volant/controller/fault"
	"volant/wire/rx"
	"volant/wire/value"
)

// shortCallback is the name of a callback without the collection that the ones
// built in here come from.
func shortCallback(name string) string {
	for _, c := range []string{"ansible.builtin.", "ansible.posix.", "community.general."} {
		if rest, ok := strings.CutPrefix(name, c); ok {
			return rest
		}
	}
	return name
}

// bus makes the callbacks: stdout is the one for standard output, opt the
// options of a playbook run or nil.
func (j *project) bus(stdout string, opt *playbookOptions) (*events.Bus, error) {
	bus := events.NewBus()
	return bus, j.callbacks(bus, stdout, opt)
}

// callbacks adds to a bus what bus makes.
func (j *project) callbacks(bus *events.Bus, stdout string, opt *playbookOptions) error {
	name := shortCallback(stdout)
	j.skipping(name)
	switch name {
	case "default":
		bus.Add(events.NewDefault(j.display, j.defaultOptions(opt)))
	case "yaml": // a callback of its own until the default one learned to write YAML
		o := j.defaultOptions(opt)
		o.YAML = true
		bus.Add(events.NewDefault(j.display, o))
	case "debug":
		o := j.defaultOptions(opt)
		o.Sections = true
		bus.Add(events.NewDefault(j.display, o))
	case "minimal":
		bus.Add(events.NewMinimal(j.display, j.format("minimal")))
	case "oneline":
		bus.Add(events.NewOneline(j.display, j.format("minimal")))
	case "json":
		bus.Add(events.NewReport(j.display))
	case "volant.jsonl":
		bus.Add(events.NewJSONL(j.stdout))
	default:
		c, err := j.notifier(name) // one that writes elsewhere alone
		if err != nil {
			return err
		}
		if c != nil {
			bus.Add(c)
			break
		}
		e := &fault.Error{Msg: fmt.Sprintf("Could not load %s callback plugin.", value.Repr(stdout))}
		if j.callbackFile(stdout, opt) != "" {
			e.Help = "It is written in Python, and such callbacks are not loaded. There are: " + strings.Join(callbacks, ", ") + "."
		}
		return e
	}
	if opt == nil && !j.config.Bool("DEFAULT_LOAD_CALLBACK_PLUGINS") {
		return nil
	}
	seen := map[string]bool{name: true}
	for _, n := range j.config.Strings("CALLBACKS_ENABLED") {
		n = strings.TrimSpace(n)
		short := shortCallback(n)
		if seen[short] {
			continue
		}
		seen[short] = true
		c, err := j.notifier(short)
		if err != nil {
			return err
		}
		if c != nil {
			bus.Add(c)
			continue
		}
		if !slices.Contains(callbacks, short) { // those are for standard output alone
			j.unknownCallback(n, opt)
		}
	}
	j.silentCallbacks(opt, seen)
	return nil
}

// asksToBeEnabled is what a callback has that does nothing unless it is
// enabled, or that is for standard output.
var asksToBeEnabled = rx.Lazy(`(?m)^\s*(?:CALLBACK_NEEDS_(?:ENABLED|WHITELIST)\s*=\s*True|CALLBACK_TYPE\s*=\s*['"]stdout['"])`)

// maxCallback bounds what is read of a callback's file.
const maxCallback = 1 << 20

// silentCallbacks warns of a project's own callbacks that the reference would
// run without being told to.
func (j *project) silentCallbacks(opt *playbookOptions, seen map[string]bool) {
	for _, d := range j.callbackDirs(opt) {
		files, _ := filepath.Glob(filepath.Join(d, "*.py"))
		for _, f := range files {
			name := strings.TrimSuffix(filepath.Base(f), ".py")
			st, err := os.Stat(f)
			if err != nil || st.Size() > maxCallback || seen[name] || name == "__init__" {
				continue
			}
			seen[name] = true
			if text, err := os.ReadFile(f); err == nil && !asksToBeEnabled.Match(text) {
				j.notLoaded(name)
			}
		}
	}
}

// callbackDirs are the directories of callbacks that are no collection's: the
// configured ones and those beside playbooks.
func (j *project) callbackDirs(opt *playbookOptions) []string {
	dirs := slices.Clone(j.config.Strings("DEFAULT_CALLBACK_PLUGIN_PATH"))
	if opt != nil {
		for _, book := range opt.Playbook {
			dirs = append(dirs, filepath.Join(filepath.Dir(j.absolute(book)), "callback_plugins"))
		}
	}
	return dirs
}

func (j *project) notLoaded(name string) {
	j.display.Note("Skipping callback plugin '%s': it is written in Python, and such callbacks are not loaded", name)
}

// notifier makes a callback that writes beside the one for standard output, nil
// when there is none of that name.
func (j *project) notifier(name string) (events.Callback, error) {
	switch name {
	case "tree":
		return events.NewTree(j.display, events.Format{DiffContext: 3}, j.treeDir()), nil
	case "junit":
		return j.junit(), nil
	case "timer":
		return events.NewTimer(j.display), nil
	case "profile_tasks":
		return j.profileTasks(), nil
	case "profile_roles":
		s, _ := j.getenv("PROFILE_ROLES_SUMMARY_ONLY")
		summary := slices.Contains([]string{"1", "t", "true", "y", "yes", "on"}, strings.ToLower(s))
		return events.NewProfileRoles(j.display, summary), nil
	case "volant.jsonl":
		path, _ := j.getenv("VOLANT_JSONL_FILE")
		if path == "" {
			return nil, fault.New(fault.Options, value.Pos{}, "The callback volant.jsonl writes to the file that VOLANT_JSONL_FILE names, which is not set")
		}
		f, err := os.OpenFile(j.absolute(path), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
		if err != nil {
			return nil, fmt.Errorf("opening the file of the callback volant.jsonl: %w", err)
		}
		return events.NewJSONL(f), nil // open until the process ends
	}
	return nil, nil
}

// callbackFile is the Python file of a callback that is installed and not built
// in here: of a collection, of a configured directory or beside a playbook.
func (j *project) callbackFile(name string, opt *playbookOptions) string {
	var tries []string
	if parts := strings.SplitN(name, ".", 3); len(parts) == 3 {
		for _, p := range j.config.Strings("COLLECTIONS_PATHS") {
			if filepath.Base(p) != "ansible_collections" {
				p = filepath.Join(p, "ansible_collections")
			}
			tries = append(tries, filepath.Join(p, parts[0], parts[1], "plugins", "callback", parts[2]+".py"))
		}
	} else {
		for _, d := range j.callbackDirs(opt) {
			tries = append(tries, filepath.Join(d, name+".py"))
		}
	}
	for _, t := range tries {
		if _, err := os.Stat(t); err == nil {
			return t
		}
	}
	return ""
}

// unknownCallback warns of a callback that is not run, in the reference's words
// where there is none of that name.
func (j *project) unknownCallback(name string, opt *playbookOptions) {
	if j.callbackFile(name, opt) != "" {
		j.notLoaded(name)
		return
	}
	if parts := strings.Split(name, "."); len(parts) > 2 {
		missing := "ansible_collections." + parts[0]
		if parts[0] == "ansible" {
			missing += "." + parts[1]
		}
		j.display.Note("Error loading plugin '%s': No module named '%s'", name, missing)
	}
	j.display.Note("Skipping callback plugin '%s', unable to load", name)
}

func (j *project) profileTasks() events.Callback {
	o := events.ProfileTasksOptions{Limit: 20}
	o.Sort, _ = j.getenv("PROFILE_TASKS_SORT_ORDER")
	if s, ok := j.getenv("PROFILE_TASKS_TASK_OUTPUT_LIMIT"); ok {
		o.Limit = 0 // "all"
		if n, err := strconv.Atoi(s); err == nil {
			o.Limit = n
		}
	}
	return events.NewProfileTasks(j.display, o)
}

// skipping says which callbacks for standard output are not used.
func (j *project) skipping(used string) {
	for _, n := range []string{"default", "minimal", "oneline"} {
		if n != used {
			j.display.Verbose(2, fmt.Sprintf("Skipping callback '%s', as we already have a stdout callback.", n))
		}
	}
}

func (j *project) treeDir() string {
	d, ok := j.getenv("ANSIBLE_CALLBACK_TREE_DIR")
	if !ok {
		if v, err := j.config.Option("callback", "tree", "directory", nil, nil); err == nil {
			d, _ = v.Value.(string)
		}
	}
	if d == "" {
		d = "~/.ansible/tree"
	}
	return j.absolute(d)
}

func (j *project) callbackBool(plugin, name string) bool {
	v, err := j.config.Option("callback", plugin, name, nil, nil)
	if err != nil {
		return false
	}
	b, _ := v.Value.(bool)
	return b
}

// format are the options that callbacks share.
func (j *project) format(plugin string) events.Format {
	f := events.Format{DiffContext: j.config.Int("DIFF_CONTEXT"), DumpYAML: dumpYAML}
	if v, err := j.config.Option("callback", plugin, "result_format", nil, nil); err == nil {
		f.YAML = v.Value == "yaml"
	}
	if v, err := j.config.Option("callback", plugin, "pretty_results", nil, nil); err == nil {
		if b, ok := v.Value.(bool); ok {
			f.Pretty = &b
		}
	}
	return f
}

func (j *project) defaultOptions(opt *playbookOptions) events.DefaultOptions {
	o := events.DefaultOptions{
		Format:                j.format("default"),
		ShowSkipped:           j.callbackBool("default", "display_skipped_hosts"),
		ShowOK:                j.callbackBool("default", "display_ok_hosts"),
		FailedStderr:          j.callbackBool("default", "display_failed_stderr"),
		ShowCustomStats:       j.callbackBool("default", "show_custom_stats"),
		ShowPerHostStart:      j.callbackBool("default", "show_per_host_start"),
		CheckMarkers:          j.callbackBool("default", "check_mode_markers"),
		ShowTaskPathOnFailure: j.callbackBool("default", "show_task_path_on_failure"),
		ArgsToStdout:          j.config.Bool("DISPLAY_ARGS_TO_STDOUT"),
	}
	if opt != nil {
		o.Check, o.Positional = opt.Check, opt.Playbook
	}
	return o
}
