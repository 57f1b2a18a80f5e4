package modules

import (
	"slices"
	"strconv"
	"strings"

	"volant/wire/rx"
)

// pipPackage is a package that is asked for.
type pipPackage struct {
	text  string // as pip is given it
	name  string // canonical; empty: no plain package
	specs []pipSpec
}

// pipSpec is a condition on the version.
type pipSpec struct{ op, version string }

var (
	pipOps = []string{">=", "<=", ">", "<", "==", "!=", "~="}
	// pipElsewhere is a package that is no name: a path or URL, which no
	// requirement begins like.
	pipElsewhere = rx.Lazy(`^(/|\./|\.\./|https?://|file://|(git|hg|svn|bzr)\+)[^\s;\[\]]*$`)
	pipVCS       = rx.Lazy(`^(svn|git|hg|bzr)\+`)
	pipPlain     = rx.Lazy(`^[ \t]*([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)[ \t]*(?:\[([A-Za-z0-9._, \t-]+)\])?[ \t]*([<>=!~].*?)?[ \t]*$`)
	pipExtra     = rx.Lazy(`^[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?$`)
	pipCondition = rx.Lazy(`^[ \t]*(==|>=|<=|!=|~=|>|<)[ \t]*([0-9]+(?:\.[0-9]+)*(?:(?:a|b|rc)[0-9]+)?(?:\.post[0-9]+)?(?:\.dev[0-9]+)?(?:\.\*)?)[ \t]*$`)
	pipDashes    = rx.Lazy(`[-_.]+`)
)

// pipNames takes names apart and puts conditions back to the names they follow.
func pipNames(names []string) []string {
	var parts, out []string
	within := false
	for _, line := range names {
		for _, n := range strings.Split(line, ",") {
			start := strings.TrimLeftFunc(n, pySpace)
			condition := slices.ContainsFunc(pipOps, func(op string) bool { return strings.HasPrefix(start, op) })
			if !condition && !within {
				if len(parts) > 0 {
					out = append(out, strings.Join(parts, ","))
				}
				parts = nil
			}
			within = (within || strings.Contains(n, "[")) && !strings.Contains(n, "]")
			parts = append(parts, n)
		}
	}
	return append(out, strings.Join(parts, ","))
}

// parsePip reads a requirement as the packaging library does, and writes it as
// it does. What is no plain one is handed back.
func parsePip(s string) (*pipPackage, error) {
	if pipElsewhere.MatchString(s) {
		return &pipPackage{text: s}, nil
	}
	m := pipPlain.FindStringSubmatch(s)
	if m == nil {
		return nil, handBack("%q is no plain requirement", s)
	}
	p := &pipPackage{text: m[1], name: canonicalPip(m[1])}
	if p.name == "distribute" {
		return nil, handBack("a package with two names")
	}
	if m[2] != "" {
		extras := strings.Split(m[2], ",")
		for i := range extras {
			extras[i] = strings.TrimSpace(extras[i])
			if !pipExtra.MatchString(extras[i]) {
				return nil, handBack("%q is no plain requirement", s)
			}
		}
		slices.Sort(extras)
		if len(slices.Compact(extras)) < len(extras) {
			return nil, handBack("an extra twice")
		}
		p.text += "[" + strings.Join(extras, ",") + "]"
	}
	if m[3] == "" {
		return p, nil
	}
	var texts []string
	for _, c := range strings.Split(m[3], ",") {
		c := pipCondition.FindStringSubmatch(c)
		if c == nil {
			return nil, handBack("%q is no plain requirement", s)
		}
		spec := pipSpec{c[1], c[2]}
		star := strings.HasSuffix(spec.version, ".*")
		if star && (spec.op != "==" && spec.op != "!=" || strings.Contains(spec.version, ".dev")) || spec.op == "~=" && !strings.Contains(spec.version, ".") ||
			slices.Contains(texts, c[1]+c[2]) {
			return nil, handBack("an odd condition on the version")
		}
		p.specs = append(p.specs, spec)
		texts = append(texts, c[1]+c[2])
	}
	slices.Sort(texts)
	p.text += strings.Join(texts, ",")
	return p, nil
}

// canonicalPip is a package's name as it is compared.
func canonicalPip(name string) string {
	return strings.ToLower(pipDashes.ReplaceAllString(name, "-"))
}

// takes reports whether a version is as asked; ok is false where that takes
// more than comparing numbers.
func (p *pipPackage) takes(version string) (takes, ok bool) {
	if len(p.specs) == 0 {
		return true, true
	}
	have, ok := pipNumbers(version)
	if !ok {
		return false, false
	}
	for _, s := range p.specs {
		text, star := strings.CutSuffix(s.version, ".*")
		want, ok := pipNumbers(text)
		if !ok {
			return false, false
		}
		c := slices.Compare(padded(have, len(want)), padded(want, len(have)))
		same := slices.Equal(padded(have, len(want))[:len(want)], want)
		var good bool
		switch s.op {
		case "==":
			good = c == 0 || star && same
		case "!=":
			good = c != 0 && !(star && same)
		case ">=":
			good = c >= 0
		case "<=":
			good = c <= 0
		case ">":
			good = c > 0
		case "<":
			good = c < 0
		case "~=":
			if len(want) < 2 {
				return false, false
			}
			good = c >= 0 && slices.Equal(padded(have, len(want))[:len(want)-1], want[:len(want)-1])
		}
		if !good {
			return false, true
		}
	}
	return true, true
}

func padded(v []int, n int) []int {
	return append(slices.Clone(v), make([]int, max(0, n-len(v)))...)
}

// pipNumbers are the numbers of a version that has nothing else.
func pipNumbers(v string) ([]int, bool) {
	var out []int
	for _, w := range strings.Split(v, ".") {
		n, err := strconv.Atoi(w)
		if err != nil || n < 0 || w[0] == '+' || len(w) > 9 {
			return nil, false
		}
		out = append(out, n)
	}
	return out, true
}
