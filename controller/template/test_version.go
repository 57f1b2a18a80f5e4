package template

import (
	"math/big"
	"strings"

	"volant/controller/jinja"
	"volant/wire/rx"
	"volant/wire/value"
)

var versionTests = map[string]*jinja.Plugin{
	"version":         lazy(def("version_compare(value, version, operator='eq', strict=None, version_type=None)", versionTest)),
	"version_compare": lazy(def("version_compare(value, version, operator='eq', strict=None, version_type=None)", versionTest)),
}

var versionOps = map[string]string{
	"==": "==", "=": "==", "eq": "==",
	"<": "<", "lt": "<", "<=": "<=", "le": "<=",
	">": ">", "gt": ">", ">=": ">=", "ge": ">=",
	"!=": "!=", "<>": "!=", "ne": "!=",
}

// versionKinds parse a version to a value that orders as it does.
var versionKinds = map[string]func(string) (any, error){
	"loose":    looseVersion,
	"strict":   strictVersion,
	"semver":   semanticVersion,
	"semantic": semanticVersion,
	"pep440":   pep440Version,
}

func versionTest(c *jinja.Context, a []any) (any, error) {
	if a[3] != nil && a[4] != nil {
		return nil, failf("Cannot specify both 'strict' and 'version_type'")
	}
	if !truth(c, a[0]) {
		return nil, failf("Input version value cannot be empty")
	}
	if !truth(c, a[1]) {
		return nil, failf("Version parameter to compare against cannot be empty")
	}
	parse := looseVersion
	switch {
	case truth(c, a[3]):
		parse = strictVersion
	case truth(c, a[4]):
		kind, _ := value.Text(a[4])
		p, ok := versionKinds[kind]
		if !ok {
			return nil, failWhile("Invalid version type (%s). Must be one of 'loose', 'strict', 'semver', 'semantic', 'pep440'", value.Str(a[4]))
		}
		parse = p
	}
	name, _ := value.Text(a[2])
	op, ok := versionOps[name]
	if !ok {
		return nil, failf("Invalid operator type (%s). Must be one of '==', '=', 'eq', '<', 'lt', '<=', 'le', '>', 'gt', '>=', 'ge', '!=', '<>', 'ne'", value.Str(a[2]))
	}
	var v [2]any
	for i := range v {
		s, err := c.Str(a[i])
		if err != nil {
			return nil, failWhile("Version comparison failed: %s", err)
		}
		if v[i], err = parse(s); err != nil {
			return nil, failWhile("Version comparison failed: %s", err)
		}
	}
	if value.Equal(v[0], v[1]) {
		return op == "==" || op == "<=" || op == ">=", nil
	}
	less, err := value.Less(v[0], v[1])
	if err != nil {
		return nil, failWhile("Version comparison failed: %s", err)
	}
	switch op {
	case "!=":
		return true, nil
	case "<", "<=":
		return less, nil
	case ">", ">=":
		return !less, nil
	}
	return false, nil
}

func number(s string) any {
	i, ok := new(big.Int).SetString(s, 10)
	if !ok {
		return s
	}
	return value.Int(i)
}

var looseParts = rx.Lazy(`\d+|[a-z]+|\.`)

func looseVersion(s string) (any, error) {
	out := value.ListOf()
	add := func(part string) {
		switch {
		case part == "" || part == ".":
		case part[0] >= '0' && part[0] <= '9':
			out.Items = append(out.Items, number(part))
		default:
			out.Items = append(out.Items, part)
		}
	}
	last := 0
	for _, loc := range looseParts.FindAllStringIndex(s, -1) {
		add(s[last:loc[0]])
		add(s[loc[0]:loc[1]])
		last = loc[1]
	}
	add(s[last:])
	return out, nil
}

var strictPattern = rx.Lazy(`^(\d+)\.(\d+)(?:\.(\d+))?(?:([ab])(\d+))?\n?$`)

func strictVersion(s string) (any, error) {
	m := strictPattern.FindStringSubmatch(s)
	if m == nil {
		return nil, value.ValueErrorf("invalid version number '%s'", s)
	}
	patch := any(int64(0))
	if m[3] != "" {
		patch = number(m[3])
	}
	pre := value.Tuple{int64(1)} // a release comes after its pre-releases
	if m[4] != "" {
		pre = value.Tuple{int64(0), m[4], number(m[5])}
	}
	return value.Tuple{number(m[1]), number(m[2]), patch, pre}, nil
}

var semverPattern = rx.Lazy(`^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-((?:0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)(?:\.(?:0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*))*))?(?:\+([0-9a-zA-Z-]+(?:\.[0-9a-zA-Z-]+)*))?\n?$`)

func semanticVersion(s string) (any, error) {
	m := semverPattern.FindStringSubmatch(s)
	if m == nil {
		return nil, value.ValueErrorf("invalid semantic version '%s'", s)
	}
	pre := value.Tuple{int64(1)}
	if m[4] != "" {
		pre = value.Tuple{int64(0)}
		for _, part := range strings.Split(m[4], ".") {
			if strings.Trim(part, "0123456789") == "" {
				pre = append(pre, value.Tuple{int64(0), number(part)})
			} else {
				pre = append(pre, value.Tuple{int64(1), part})
			}
		}
	}
	return value.Tuple{number(m[1]), number(m[2]), number(m[3]), pre}, nil
}

// localParts separates the parts of a local version.
var localParts = rx.Lazy(`[-_.]`)

var pep440Pattern = rx.Lazy(`(?i)^\s*v?(?:(\d+)!)?(\d+(?:\.\d+)*)` +
	`(?:[-_.]?(a|b|c|rc|alpha|beta|pre|preview)[-_.]?(\d+)?)?` +
	`(?:(?:-(\d+))|(?:[-_.]?(post|rev|r)[-_.]?(\d+)?))?` +
	`(?:[-_.]?(dev)[-_.]?(\d+)?)?` +
	`(?:\+([a-z0-9]+(?:[-_.][a-z0-9]+)*))?\s*$`)

func pep440Version(s string) (any, error) {
	m := pep440Pattern.FindStringSubmatch(s)
	if m == nil {
		return nil, value.ValueErrorf("Invalid version: %s", value.Repr(s))
	}
	num := func(s string) any {
		if s == "" {
			return int64(0)
		}
		return number(s)
	}
	var release value.Tuple
	for _, part := range strings.Split(m[2], ".") {
		release = append(release, number(part))
	}
	for len(release) > 0 && value.Equal(release[len(release)-1], int64(0)) {
		release = release[:len(release)-1]
	}
	hasPre, hasPost, hasDev := m[3] != "", m[5] != "" || m[6] != "", m[8] != ""
	// Each part is (rank, ...): 0 before, 2 after anything that is given.
	pre := value.Tuple{int64(2)}
	switch {
	case hasPre:
		letter := strings.ToLower(m[3])
		if l, ok := map[string]string{"alpha": "a", "beta": "b", "c": "rc", "pre": "rc", "preview": "rc"}[letter]; ok {
			letter = l
		}
		pre = value.Tuple{int64(1), letter, num(m[4])}
	case !hasPost && hasDev:
		pre = value.Tuple{int64(0)}
	}
	post := value.Tuple{int64(0)}
	if hasPost {
		post = value.Tuple{int64(1), num(m[5] + m[7])}
	}
	dev := value.Tuple{int64(2)}
	if hasDev {
		dev = value.Tuple{int64(1), num(m[9])}
	}
	local := value.Tuple{int64(0)}
	if m[10] != "" {
		local = value.Tuple{int64(1)}
		for _, part := range localParts.Regexp().Split(strings.ToLower(m[10]), -1) {
			if strings.Trim(part, "0123456789") == "" {
				local = append(local, value.Tuple{int64(1), number(part), ""})
			} else {
				local = append(local, value.Tuple{int64(0), int64(0), part})
			}
		}
	}
	return value.Tuple{num(m[1]), release, pre, post, dev, local}, nil
}
