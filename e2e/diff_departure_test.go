package e2e

import "regexp"

// departures are passes of snippets that differ from the reference on purpose;
// docs/COMPATIBILITY.md says the same to users.
var departures = []struct {
	name *regexp.Regexp
	why  string
}{
	{
		regexp.MustCompile(`^(trees / (trees meet files|one file|links of a tree)|users / copy) / .* / (plain|login)$`),
		"a file of somebody else, replaced by who may only write its directory, gets mode 0600; the reference gives it that of the controller's file and of the ACL it set, with x",
	},
	{
		regexp.MustCompile(`^(users / script|work / scripts) / first / `),
		"a script has no terminal, so its standard error is its own",
	},
	{
		regexp.MustCompile(`^users / commands / first / plain$`),
		"where the login's home is closed to the user it becomes, a command starts in that user's own home",
	},
}

// departure says why a pass differs on purpose, or nothing.
func departure(pass string) string {
	for _, d := range departures {
		if d.name.MatchString(pass) {
			return d.why
		}
	}
	return ""
}
