package modules

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"volant/hostagent"
	"volant/hostagent/python"
	"volant/wire"
	"volant/wire/value"
)

// joining keeps two sub-tasks from joining the same directory at once.
var joining sync.Mutex

// joinOnce makes an extra directory ready for its base, once.
func joinOnce(base, extra string) error {
	mark := filepath.Join(extra, "ansible", "__init__.py")
	if _, err := os.Stat(mark); err == nil {
		return nil
	}
	joining.Lock()
	defer joining.Unlock()
	if _, err := os.Stat(mark); err == nil {
		return nil
	}
	return python.Join(base, extra)
}

func (r *runner) runPython(ctx context.Context, henv *hostagent.Env, t *wire.Task, args *value.Dict, environ []string, found discovery, why string) (*wire.Outcome, error) {
	base, err := henv.Layout(ctx, t.Python.Base)
	if err != nil {
		return nil, err
	}
	extra, err := henv.Layout(ctx, t.Python.Extra)
	if err != nil {
		return nil, err
	}
	if t.Python.Style == python.StylePython {
		if err := joinOnce(base, extra); err != nil {
			return nil, err
		}
	}
	interp := interpreter(t.Python, found.Path)
	req := &python.Request{
		Name: builtin(t.Module), FQN: t.Python.FQN, File: t.Python.File, Style: int(t.Python.Style), Args: internalArgs(henv, t, args),
		Interpreter: interp, BaseDir: base, BaseHash: t.Python.Base.String(), ExtraDir: extra,
		Environ: environ, Cwd: henv.Cwd, Umask: henv.Umask, TempDir: henv.Staging(), MaxFiles: t.Python.NoFile,
	}
	out, err := r.python(henv).Run(ctx, req, henv.Forked, nil)
	if err != nil {
		return nil, err
	}
	res := python.Parse(out, interp)
	if r.opt.KeepStderr && len(out.Stderr) > 0 && res.Bool("_ansible_parsed") {
		res.Set("stderr", string(out.Stderr))
	}
	path := "python"
	if why != "" {
		path = "python (handed back: " + why + ")"
	}
	o := &wire.Outcome{Result: wire.Dict{Dict: res}, Path: path}
	o.Timings.Work = int64(out.Work)
	return o, nil
}

// interpreter is what runs the module: the host's Python where its first line
// names python, else what that line says or an override for it.
func interpreter(p *wire.Python, pythonPath string) string {
	words := strings.Fields(p.Shebang)
	if len(words) == 0 {
		if p.Style == python.StylePython {
			return pythonPath
		}
		return ""
	}
	name := filepath.Base(words[0])
	if name == "python" {
		return strings.Join(append([]string{pythonPath}, words[1:]...), " ")
	}
	for _, o := range p.Overrides {
		if o.Name == name {
			return strings.Join(append([]string{o.Value}, words[1:]...), " ")
		}
	}
	return p.Shebang
}

// internalArgs are the module's arguments and the _ansible_ ones.
func internalArgs(henv *hostagent.Env, t *wire.Task, args *value.Dict) *value.Dict {
	full := args.Clone()
	if t.Options.Dict != nil {
		for k, v := range t.Options.Dict.All() {
			name, _ := value.Text(k)
			if name == "async_dir" { // not a module's business
				continue
			}
			full.Set("_ansible_"+name, v)
		}
	}
	full.Set("_ansible_check_mode", t.Check)
	full.Set("_ansible_diff", t.Diff)
	full.Set("_ansible_tmpdir", henv.Staging())
	for _, k := range []string{"no_log", "debug", "keep_remote_files"} {
		if !full.Has("_ansible_" + k) {
			full.Set("_ansible_"+k, false)
		}
	}
	if !full.Has("_ansible_module_name") {
		full.Set("_ansible_module_name", builtin(t.Module))
	}
	if older(t.Python.Core, 2, 19) {
		full.Delete("_ansible_tracebacks_for")
	}
	if older(t.Python.Core, 2, 17) {
		full.Delete("_ansible_target_log_info")
		full.Delete("_ansible_ignore_unknown_opts")
	}
	return full
}

// older reports whether a version comes before major.minor; an unknown one does not.
func older(version string, major, minor int) bool {
	var a, b int
	if n, _ := fmt.Sscanf(version, "%d.%d", &a, &b); n != 2 {
		return false
	}
	return a < major || a == major && b < minor
}
