package compile

import (
	"volant/controller/playbook"
	"volant/wire/value"
)

// selected reports whether the tags chosen let the step run. Tags that are
// templates are rendered, and kept rendered in the step.
func (p *Plan) selected(s *Step) (bool, error) {
	tags := s.Keywords.List(playbook.Tags)
	if len(tags) > 0 {
		rendered, err := p.renderTags(s.Task, tags)
		if err != nil {
			return false, err
		}
		tags = rendered
		s.Keywords.Set(playbook.Tags, value.ListOf(tags...), s.Keywords.PosOf(playbook.Tags))
	}
	return p.opts.run(tags), nil
}

// renderTags renders tags and flattens lists among them.
func (p *Plan) renderTags(t *playbook.Task, tags []any) ([]any, error) {
	var out []any
	for _, tag := range tags {
		if playbook.MaybeTemplate(tag) {
			v, err := p.loader.Render.Render(p.Play, t, nil, tag)
			if err != nil {
				return nil, err
			}
			tag = v
		}
		if list, ok := tag.(*value.List); ok {
			out = append(out, list.Items...)
			continue
		}
		out = append(out, tag)
	}
	return out, nil
}

// run decides by the reference's rule whether something with those tags runs.
func (o Options) run(tags []any) bool {
	names := map[string]bool{}
	for _, t := range tags {
		if s, ok := value.Text(t); ok {
			names[s] = true
		}
	}
	tagged := len(tags) > 0
	if !tagged {
		names["untagged"] = true
	}
	only := o.Tags
	if len(only) == 0 {
		only = []string{"all"}
	}
	any := func(list []string) bool {
		for _, s := range list {
			if names[s] {
				return true
			}
		}
		return false
	}
	run := names["always"] || has(only, "all") && !names["never"] || any(only) ||
		has(only, "tagged") && tagged && !names["never"]
	if !run || len(o.SkipTags) == 0 {
		return run
	}
	switch {
	case has(o.SkipTags, "all"):
		return names["always"] && !has(o.SkipTags, "always")
	case any(o.SkipTags):
		return false
	case has(o.SkipTags, "tagged") && tagged:
		return false
	}
	return true
}

func has(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}
