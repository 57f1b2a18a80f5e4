package madeup

import "context"

// Shrink takes things out of a project as long as the programs still disagree
// on it, within a number of tries.
func (p *Programs) Shrink(ctx context.Context, project *Project, tries int) (*Project, error) {
	best := project
	for again := true; again; {
		again = false
		for at := 0; tries > 0 && ctx.Err() == nil; {
			smaller := without(best, at)
			if smaller == nil {
				break
			}
			tries--
			ref, ours, err := p.Both(ctx, smaller)
			if err != nil {
				return best, err
			}
			if ref.Equal(ours) || ref.Code == -999 {
				at++
				continue
			}
			best, again = smaller, true
		}
	}
	return best, ctx.Err()
}

// without is the project without its at-th thing, the largest things first:
// parts of playbooks from the outside in, options, then whole files; nil when
// there are not as many.
func without(project *Project, at int) *Project {
	q := project.Clone()
	for depth := range 14 {
		if depth == 2 {
			for i := 0; i < len(q.Args); i++ {
				n := 1
				switch q.Args[i] {
				case "-i", "-f", "--vault-password-file":
					i++
					continue
				case "site.yml":
					continue
				case "--tags", "--skip-tags", "--limit", "-e", "--start-at-task", "-u":
					n = 2
				}
				if at == 0 {
					q.Args = append(q.Args[:i], q.Args[i+n:]...)
					return q
				}
				at--
				i += n - 1
			}
		}
		for _, f := range q.Files {
			if f.Path == "group_vars/all.yml" || f.Doc == nil {
				continue
			}
			if remove(f.Doc, depth, &at) {
				return q
			}
		}
	}
	for i := range q.Files {
		if i > 0 && q.Files[i].Path != "site.yml" && q.Files[i].Path != "vp" {
			if at == 0 {
				q.Files = append(q.Files[:i], q.Files[i+1:]...)
				return q
			}
			at--
		}
	}
	return nil
}

// kept are keys whose absence costs time and changes what is compared.
var kept = map[string]bool{"gather_facts": true, "hosts": true}

// remove takes the at-th thing of the containers at a depth out: the first or
// last half of many entries, then each.
func remove(v any, depth int, at *int) bool {
	switch v := v.(type) {
	case *Map:
		for i, e := range v.Items {
			if depth > 0 {
				if remove(e.Value, depth-1, at) {
					return true
				}
				continue
			}
			if kept[e.Key] {
				continue
			}
			if *at == 0 {
				v.Items = append(v.Items[:i], v.Items[i+1:]...)
				return true
			}
			*at--
		}
	case *List:
		if depth > 0 {
			for _, e := range v.Items {
				if remove(e, depth-1, at) {
					return true
				}
			}
			return false
		}
		if half := len(v.Items) / 2; half > 1 {
			switch *at {
			case 0:
				v.Items = v.Items[:half]
				return true
			case 1:
				v.Items = v.Items[half:]
				return true
			}
			*at -= 2
		}
		for i := range v.Items {
			if *at == 0 {
				v.Items = append(v.Items[:i], v.Items[i+1:]...)
				return true
			}
			*at--
		}
	}
	return false
}
