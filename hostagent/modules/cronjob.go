package modules

import (
	"slices"
	"strings"

	"volant/wire/rx"
	"volant/wire/value"
)

// entry is the line of the job that is wanted.
func (t *crontab) entry() string {
	a := t.a
	words := []string{a.Minute, a.Hour, a.Day, a.Month, a.Weekday}
	if special := opted(a.Special); special != "" {
		words = []string{"@" + special}
	}
	if t.file != "" {
		words = append(words, value.Str(opt(a.User)))
	}
	line := strings.Join(append(words, strings.Trim(*a.Job, "\r\n")), " ")
	if a.Disabled {
		return "#" + line
	}
	return line
}

// job puts the job in, or takes it out.
func (t *crontab) job() (bool, error) {
	name := t.a.Name
	if t.a.State == "absent" {
		if old, _ := t.find(name, ""); old == nil {
			return false, nil
		}
		t.update(name, nil)
		return true, nil
	}
	if strings.ContainsAny(strings.Trim(*t.a.Job, "\r\n"), "\r\n") {
		t.Warn("Job should not contain line breaks")
	}
	job := t.entry()
	old, renamed := t.find(name, job)
	switch {
	case old == nil:
		t.lines = append(t.lines, cronMark+name, job)
		return true, nil
	case *old != job || renamed:
		t.update(name, &job)
		return true, nil
	}
	return false, nil
}

// find looks a job up by the comment over it, else by its line, which is given
// the comment that it lacks.
func (t *crontab) find(name, job string) (line *string, renamed bool) {
	var comment *string
	for i, l := range t.lines {
		switch {
		case comment != nil && *comment == name:
			return &t.lines[i], false
		case comment != nil:
			comment = nil
		case strings.HasPrefix(l, cronMark):
			c := strings.ReplaceAll(l, cronMark, "")
			comment = &c
		}
	}
	if job == "" {
		return nil, false
	}
	for i, l := range t.lines {
		if l != job {
			continue
		}
		over := i - 1
		if i == 0 {
			over = len(t.lines) - 1 // as Python counts
		}
		switch {
		case !strings.HasPrefix(t.lines[over], cronMark):
			t.lines = slices.Insert(t.lines, i, cronMark+name)
			return &l, true
		case name != "" && t.lines[over] == cronMark+"None":
			t.lines[over] = cronMark + name
			return &l, true
		}
	}
	return nil, false
}

// update replaces what stands below the job's comment, or removes both.
func (t *crontab) update(name string, job *string) {
	var out []string
	under := false
	for _, l := range t.lines {
		switch {
		case under:
			if job != nil {
				out = append(out, cronMark+name, *job)
			}
			under = false
		case l == cronMark+name:
			under = true
		default:
			out = append(out, l)
		}
	}
	t.lines = out
}

// variable sets an environment variable of the table, or removes it.
func (t *crontab) variable() (bool, error) {
	a := t.a
	if strings.Contains(a.Name, " ") {
		return false, fail("Invalid name for environment variable")
	}
	is := func(name string) func(string) bool {
		return func(l string) bool { return strings.HasPrefix(l, name+"=") }
	}
	at := slices.IndexFunc(t.lines, is(a.Name))
	if a.State == "absent" {
		t.lines = slices.DeleteFunc(t.lines, is(a.Name))
		return at >= 0, nil
	}
	decl := a.Name + `="` + *a.Job + `"`
	if at >= 0 {
		if t.lines[at] == decl {
			return false, nil
		}
		for i := range t.lines {
			if is(a.Name)(t.lines[i]) {
				t.lines[i] = decl
			}
		}
		return true, nil
	}
	other := a.neighbour()
	if other == "" {
		t.lines = slices.Insert(t.lines, 0, decl)
		return true, nil
	}
	if at = slices.IndexFunc(t.lines, is(other)); at < 0 {
		return false, fail("Variable named '" + other + "' not found.")
	}
	if opted(a.InsertAfter) != "" {
		at++
	}
	t.lines = slices.Insert(t.lines, at, decl)
	return true, nil
}

func (t *crontab) names() *value.List {
	out := value.ListOf()
	for _, l := range t.lines {
		if strings.HasPrefix(l, cronMark) {
			out.Items = append(out.Items, strings.ReplaceAll(l, cronMark, ""))
		}
	}
	return out
}

var cronVariable = rx.Lazy(`^[^\s\v\x1c-\x1f\x{85}\x{a0}]+=`)

func (t *crontab) variables() *value.List {
	out := value.ListOf()
	for _, l := range t.lines {
		if cronVariable.MatchString(l) {
			name, _, _ := strings.Cut(l, "=")
			out.Items = append(out.Items, name)
		}
	}
	return out
}
