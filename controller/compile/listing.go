package compile

import (
	"fmt"
	"sort"
	"strings"

	"volant/controller/playbook"
	"volant/wire/value"
)

// ListOptions say what --list-hosts, --list-tasks and --list-tags show.
type ListOptions struct{ Hosts, Tasks, Tags bool }

// ListTags are the tags a listing selects when the user gave none: with
// --list-tags those that run by request only, too.
func (o ListOptions) ListTags(tags, skip []string) []string {
	if o.Tags && len(tags) == 0 && len(skip) == 0 {
		return []string{"never", "all"}
	}
	return tags
}

// List is what `ansible-playbook --list-*` prints for one playbook, path as
// given on the command line. The plays must have been finished. hosts gives the
// names of a play's hosts.
func List(l *playbook.Loader, path string, plays []*playbook.Play, opt Options, show ListOptions,
	hosts func(p *playbook.Play) ([]string, error),
) (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "\nplaybook: %s\n", path)
	for i, play := range plays {
		own := tagNames(play.Keywords.List(playbook.Tags))
		v := play.Values
		fmt.Fprintf(&b, "\n  play #%d (%s): %s\tTAGS: [%s]", i+1, strings.Join(v.Hosts, ","), v.Name, strings.Join(own, ","))
		if show.Hosts {
			names, err := hosts(play)
			if err != nil {
				return "", err
			}
			fmt.Fprintf(&b, "\n    pattern: %s\n    hosts (%d):", value.Repr(value.Strings(v.Hosts...)), len(names))
			for _, h := range names {
				b.WriteString("\n      " + h)
			}
		}
		b.WriteString("\n")
		if !show.Tasks && !show.Tags {
			continue
		}
		if err := listTasks(&b, l, play, own, opt, show); err != nil {
			return "", err
		}
	}
	return b.String(), nil
}

func listTasks(b *strings.Builder, l *playbook.Loader, play *playbook.Play, own []string, opt Options, show ListOptions) error {
	plan, err := Compile(l, play, opt)
	if err != nil {
		return err
	}
	if show.Tasks {
		b.WriteString("    tasks:\n")
	}
	all := append([]string(nil), own...)
	for s := range plan.Steps() {
		if s == plan.Setup || !s.inBlocks() || s.Task.Implicit && s.Task.Meta() != "" {
			continue
		}
		tags := tagNames(s.Keywords.List(playbook.Tags))
		all = append(all, tags...)
		if !show.Tasks {
			continue
		}
		name := s.Task.ActionName()
		if own := s.Task.RawName(); own != "" {
			name = s.Task.Title(own, true)
		}
		fmt.Fprintf(b, "      %s\tTAGS: [%s]\n", name, strings.Join(sorted(append(tags, own...)), ", "))
	}
	if show.Tags {
		fmt.Fprintf(b, "      TASK TAGS: [%s]\n", strings.Join(sorted(all), ", "))
	}
	return nil
}

// inBlocks reports whether the step is in no rescue or always list.
func (s *Step) inBlocks() bool {
	part := s.Part
	for span := s.Span; ; span = span.Parent {
		if part != InBlock {
			return false
		}
		if span == nil {
			return true
		}
		part = span.Part
	}
}

// tagNames are tags as text, each once.
func tagNames(tags []any) []string {
	var out []string
	for _, t := range tags {
		if s := value.Str(t); !has(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// sorted returns the names in order, each once.
func sorted(names []string) []string {
	sort.Strings(names)
	out := names[:0]
	for i, n := range names {
		if i == 0 || n != names[i-1] {
			out = append(out, n)
		}
	}
	return out
}
