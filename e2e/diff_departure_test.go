package e2e

import (
	"regexp"
	"strings"
	"testing"
)

// departures are what differs from the reference on purpose in some passes of
// snippets; docs/COMPATIBILITY.md says the same to users. Whatever else differs
// in such a pass is an error as anywhere.
var departures = []struct {
	name *regexp.Regexp // of the passes
	// only matches each value that may differ, by its pointer, and each line that
	// one side alone may have.
	only *regexp.Regexp
	why  string
}{
	{
		regexp.MustCompile(`^(trees / (trees meet files|one file|links of a tree)|users / copy) / .* / (plain|login)$`),
		regexp.MustCompile(`^(/state_after/stdout(_lines/\d+)?: |/t\d+/mode: reference "0\d+" volant "0\d+"$|[^|]+\|f\|\d+\|(plain\|plain|deploy\|deploy)\|$|(", "stdout_lines": \[|ok: \[target\] => \{"changed": false, "rc": 0, ).*)`),
		"a file of somebody else, replaced by who may only write its directory, gets mode 0600; the reference gives it that of the controller's file and of the ACL it set, with x",
	},
	{
		regexp.MustCompile(`^(users / script|work / scripts) / first / `),
		regexp.MustCompile(`^(/t\d+/(stdout|stderr)(_lines)?: |fatal: \[target\]: FAILED! => \{"changed": true, "msg": "non-zero return code", |", "stdout_lines": |", "stderr_lines": |/bin/sh: 1: )`),
		"a script has no terminal, so its standard error is its own",
	},
	{
		regexp.MustCompile(`^users / commands / first / plain$`),
		regexp.MustCompile(`^(/t0[12]/stdout(_lines/\d+)?: |/home/(plain|deploy)$|/REMOTE_TMP/TMP$|0002$|uid=1002\(plain\) |plain$|changed: \[target\] => \{"changed": true, |", "stdout_lines": )`),
		"where the login's home is closed to the user it becomes, a command starts in that user's own home",
	},
	{
		regexp.MustCompile(`^trees / owners of a tree / second / (plain|login)$`),
		regexp.MustCompile(`^(/state_after/stdout(_lines/\d+)?: |/t00/path: |a/tree/(one\.txt|link)\||[0-9a-f]{64}  \./a/tree/(one\.txt|link)$|\[ERROR\]: Task failed: Module failed: chown failed: \[Errno 1\] Operation not permitted: b'.*/a/tree/(one\.txt|link)'$|fatal: \[target\]: FAILED! => \{.*chown failed|(", "stdout_lines": \[|ok: \[target\] => \{"changed": false, "rc": 0, ).*)`),
		"a tree is copied in the order of its names; the reference follows the order of the directory, here until the first file that fails",
	},
	{
		regexp.MustCompile(`^(work / jobs / first / |plays / async status / first$)`),
		regexp.MustCompile(`^(/t0[39]/(ansible_job_id|async_result|child_pid|finished|msg|results_file|started|std(out|err)(_lines)?): |\[ERROR\]: Task failed: (Module failed: Timeout exceeded|Action failed: async task did not complete within the requested time - 1s)$)`),
		"a background task that is polled until its limit did not complete in time; with ansible-core that is a race with the job's own end",
	},
	{
		regexp.MustCompile(`^plays / facts / `),
		regexp.MustCompile(`^/t\d+/failed_modules/\w+/(ansible_job_id|finished): only reference: `),
		"modules of facts that run side by side are no background jobs",
	},
}

// departure says why a pass differs on purpose, or nothing where it does not or
// more than that differs. lines and text are the differences of its results and
// of what was printed.
func departure(pass string, lines []string, text string) string {
	for _, d := range departures {
		if d.name.MatchString(pass) && onlyDiffers(d.only, strings.Join(lines, "\n")+"\n"+text) {
			return d.why
		}
	}
	return ""
}

func onlyDiffers(only *regexp.Regexp, differences string) bool {
	for line := range strings.SplitSeq(differences, "\n") {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "- "), strings.HasPrefix(line, "+ "):
			line = line[2:]
		case !strings.HasPrefix(line, "/"):
			continue // both have it
		}
		if !only.MatchString(line) {
			return false
		}
	}
	return true
}

// TestDeparture: only what a departure names is let through.
func TestDeparture(t *testing.T) {
	const pass = "users / copy / first / plain"
	mode := `/t02/mode: reference "0650" volant "0600"`
	listing := "/state_after/stdout: lines:\n    again|f|664|plain|plain|\n  - theirs|f|650|plain|plain|\n  + theirs|f|600|plain|plain|"
	if departure(pass, []string{mode, listing}, "") == "" {
		t.Error("the mode of a replaced file is an error")
	}
	for _, more := range []string{
		`/t02/changed: reference true volant false`, `/t02/owner: reference "plain" volant "root"`,
		"/state_after/stdout: lines:\n  - theirs|f|650|plain|plain|\n  + theirs|f|600|root|root|",
	} {
		if departure(pass, []string{mode, more}, "") != "" {
			t.Errorf("let through: %s", more)
		}
	}
	if departure(pass, []string{mode}, "  - [ERROR]: Task failed: x\n") != "" || departure("users / copy / first / direct", []string{mode}, "") != "" {
		t.Error("another text, or another pass, is let through")
	}
}
