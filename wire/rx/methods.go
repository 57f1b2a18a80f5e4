package rx

// The methods are those of regexp.Regexp, by the same names.

// MatchString reports whether s has a match.
func (p *Pattern) MatchString(s string) bool { return p.Regexp().MatchString(s) }

// Match reports whether b has a match.
func (p *Pattern) Match(b []byte) bool { return p.Regexp().Match(b) }

// FindString is the first match, "" for none.
func (p *Pattern) FindString(s string) string { return p.Regexp().FindString(s) }

// FindStringIndex is where the first match begins and ends, in bytes; nil for none.
func (p *Pattern) FindStringIndex(s string) []int { return p.Regexp().FindStringIndex(s) }

// FindStringSubmatch is the first match and its groups; nil for none.
func (p *Pattern) FindStringSubmatch(s string) []string { return p.Regexp().FindStringSubmatch(s) }

// FindStringSubmatchIndex is where the first match and its groups begin and end; nil for none.
func (p *Pattern) FindStringSubmatchIndex(s string) []int {
	return p.Regexp().FindStringSubmatchIndex(s)
}

// FindSubmatch is the first match in b and its groups, parts of b; nil for none.
func (p *Pattern) FindSubmatch(b []byte) [][]byte { return p.Regexp().FindSubmatch(b) }

// FindAllString are the first n matches, all for a negative n.
func (p *Pattern) FindAllString(s string, n int) []string { return p.Regexp().FindAllString(s, n) }

// FindAllStringIndex is where the first n matches begin and end, of all for a negative n.
func (p *Pattern) FindAllStringIndex(s string, n int) [][]int {
	return p.Regexp().FindAllStringIndex(s, n)
}

// FindAllStringSubmatch are the first n matches with their groups, all for a negative n.
func (p *Pattern) FindAllStringSubmatch(s string, n int) [][]string {
	return p.Regexp().FindAllStringSubmatch(s, n)
}

// ReplaceAllString is s with each match replaced by to, in which $1 is a group.
func (p *Pattern) ReplaceAllString(s, to string) string { return p.Regexp().ReplaceAllString(s, to) }

// ReplaceAllStringFunc is s with each match replaced by what to makes of it.
func (p *Pattern) ReplaceAllStringFunc(s string, to func(string) string) string {
	return p.Regexp().ReplaceAllStringFunc(s, to)
}

// ReplaceAllLiteralString is s with each match replaced by to as it stands.
func (p *Pattern) ReplaceAllLiteralString(s, to string) string {
	return p.Regexp().ReplaceAllLiteralString(s, to)
}

// FindAllStringSubmatchIndex is where the first n matches and their groups
// begin and end, of all for a negative n.
func (p *Pattern) FindAllStringSubmatchIndex(s string, n int) [][]int {
	return p.Regexp().FindAllStringSubmatchIndex(s, n)
}
