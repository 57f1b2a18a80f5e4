package playbook

import (
	"slices"
	"strings"
)

// Row is a keyword as docs/COMPATIBILITY.md lists it.
type Row struct {
	Name string
	On   []string // "play", "block", "task", "handler", "role", "include_role", "import_playbook", "role metadata", "loop_control"
	// Type is the reference's word for what it holds: "string", "list", "bool", ...
	Type string
	// Static values are never rendered.
	Static bool
	// Differs is what is not as in the reference, "" when nothing.
	Differs string
}

// differs are the keywords that are read and checked and do not do all that
// the reference's do.
var differs = map[Keyword]string{
	Debugger: "with the linear strategy; commands are p, u, c, r, q and assignments to items of task.args and task_vars, in Jinja expressions",
}

// Rows lists every keyword by name.
func Rows() []Row {
	classes := []struct {
		name string
		of   *class
	}{
		{"play", playClass}, {"block", blockClass}, {"task", taskClass}, {"handler", handlerClass}, {"role", roleClass},
		{"include_role", includeRoleClass}, {"import_playbook", playbookIncClass}, {"role metadata", metadataClass},
		{"loop_control", loopControlClass},
	}
	var rows []Row
	for k := NoKeyword + 1; k < nKeywords; k++ {
		if k == LoopWith {
			continue
		}
		r := Row{Name: k.String(), Type: k.Spec().Kind.String(), Static: k.Spec().Static, Differs: differs[k]}
		for _, c := range classes {
			if slices.Contains(c.of.order, k) {
				r.On = append(r.On, c.name)
			}
		}
		rows = append(rows, r)
	}
	slices.SortFunc(rows, func(a, b Row) int { return strings.Compare(a.Name, b.Name) })
	return rows
}
