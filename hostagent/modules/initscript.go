package modules

import (
	"context"
	"slices"
	"strings"
	"syscall"
	"unicode/utf8"

	"volant/hostagent/python"
	"volant/wire/shlex"
)

// initTools are the directories that the modules of init scripts look for
// their tools in, before those of PATH.
var initTools = []string{"/sbin", "/usr/sbin", "/bin", "/usr/bin"}

// initTool is get_bin_path with those directories: empty where there is none.
func (e *Env) initTool(name string) string {
	for _, dir := range initTools {
		p := dir + "/" + name
		var st syscall.Stat_t
		if syscall.Stat(p, &st) == nil && st.Mode&syscall.S_IFMT != syscall.S_IFDIR && st.Mode&0o111 != 0 {
			return p
		}
	}
	p, _ := e.binPath(name)
	return p
}

// plainWord reports whether a text stays one word, and the same, in a command
// line that is split and expanded, and in a pattern of file names.
func plainWord(s string) bool {
	return s != "" && utf8.ValidString(s) && !strings.ContainsAny(s, " \t\r\n\x00'\"\\$~*?[]") && !strings.HasPrefix(s, "-")
}

// split is a command line's tail as run_command takes it, or, with nothing
// expanded, as what is started as a daemon takes it.
func (e *Env) split(line string, expand bool) ([]string, error) {
	words, err := shlex.Split(line)
	if err != nil {
		return nil, handBack("arguments that cannot be split: %v", err)
	}
	for i, w := range words {
		if !expand {
			break
		}
		words[i] = e.args().ExpandPath(w)
	}
	return words, nil
}

// processes are the lines of ps in which a text occurs; ok says whether ps
// ended well.
func (c *call) processes(ctx context.Context, text string, env []string) (lines []string, ok bool, err error) {
	bin, err := c.needBin("ps")
	if err != nil {
		return nil, false, err
	}
	argv := []string{bin, "auxww"}
	r, err := c.run(ctx, &command{argv: argv, env: env})
	if err != nil {
		return nil, false, commandFailed(err, argv)
	}
	if r.rc != 0 {
		return nil, false, nil
	}
	for _, line := range python.SplitLines(string(r.stdout)) {
		if strings.Contains(line, text) {
			lines = append(lines, line)
		}
	}
	return lines, true, nil
}

// lsbDown are the codes by which a script's status says that it does not run.
var lsbDown = []int{1, 2, 3, 4, 69}

// wordsOf is what a script's status printed without the service's name, if it
// is short enough to be one sentence.
func wordsOf(out, name string) (string, bool) {
	return strings.ReplaceAll(strings.ToLower(out), strings.ToLower(name), ""), strings.Count(out, "\n") <= 1
}

func containsAny(s string, words ...string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(s, w) })
}
