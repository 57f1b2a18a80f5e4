package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"volant/wire/pyjson"
	"volant/wire/value"
)

// maxCase bounds one line of a corpus.
const maxCase = 16 << 20

type templatingCmd struct {
	Base    string   `required:"" help:"JSON file of the variables every case starts from." type:"existingfile"`
	Files   []string `arg:"" help:"Files of cases, one JSON object a line." type:"existingfile"`
	Verbose bool     `short:"v" help:"Show every failing case with what was wanted and got."`
	Only    string   `help:"Run only categories or ids that begin so."`
	Warn    bool     `help:"Compare warnings and deprecations as well."`
	Skip    []string `help:"Ids to leave out."`
}

// tally counts cases of one category.
type tally struct{ pass, fail int }

func (t *templatingCmd) run(out io.Writer) (failed int, err error) {
	base, err := os.ReadFile(t.Base)
	if err != nil {
		return 0, fmt.Errorf("reading the base variables: %w", err)
	}
	tmp, err := os.MkdirTemp("", "volant-corpus-")
	if err != nil {
		return 0, fmt.Errorf("making a directory: %w", err)
	}
	defer os.RemoveAll(tmp)
	if tmp, err = filepath.EvalSymlinks(tmp); err != nil {
		return 0, fmt.Errorf("finding the directory: %w", err)
	}
	time.Local = time.UTC //nolint:gosmopolitan // the recording's zone
	cats := map[string]*tally{}
	var all tally
	for _, name := range t.Files {
		f, err := os.Open(name)
		if err != nil {
			return 0, fmt.Errorf("reading cases: %w", err)
		}
		lines := bufio.NewScanner(f)
		lines.Buffer(nil, maxCase)
		for n := 1; lines.Scan(); n++ {
			line := strings.TrimSpace(lines.Text())
			if line == "" {
				continue
			}
			v, err := pyjson.DecodeString(line)
			d, ok := v.(*value.Dict)
			if err != nil || !ok {
				_ = f.Close()
				return 0, fmt.Errorf("%s:%d: not a case: %w", name, n, err)
			}
			id, _ := d.Str("id")
			cat, _ := d.Str("cat")
			if t.Only != "" && !strings.HasPrefix(id, t.Only) && !strings.HasPrefix(cat, t.Only) || slices.Contains(t.Skip, id) {
				continue
			}
			c := &testCase{id: id, cat: cat, d: d, line: line, warn: t.Warn}
			dir := filepath.Join(tmp, fmt.Sprintf("%06d", n))
			problem, err := c.check(string(base), dir)
			if err != nil {
				_ = f.Close()
				return 0, fmt.Errorf("%s:%d: %w", name, n, err)
			}
			if cats[cat] == nil {
				cats[cat] = &tally{}
			}
			if problem == "" {
				cats[cat].pass++
				all.pass++
				continue
			}
			cats[cat].fail++
			all.fail++
			if t.Verbose {
				fmt.Fprintf(out, "FAIL %s\n%s\n", id, problem)
			}
		}
		err = lines.Err()
		_ = f.Close()
		if err != nil {
			return 0, fmt.Errorf("reading cases: %w", err)
		}
	}
	names := make([]string, 0, len(cats))
	for name := range cats {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		fmt.Fprintf(out, "%-24s %4d passed %4d failed\n", name, cats[name].pass, cats[name].fail)
	}
	fmt.Fprintf(out, "%d passed, %d failed\n", all.pass, all.fail)
	return all.fail, nil
}
