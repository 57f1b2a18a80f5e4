package e2e

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestDiff runs every snippet of testdata/diff with the reference on one host
// and with volant on another, both fresh, and compares results, printed text
// and what is on the hosts, three times each: check mode, first pass, second
// pass.
//
//	VOLANT_DIFF_ONLY   regular expression of file names, such as ^copy
//	VOLANT_DIFF_CACHE  directory where what the reference said is kept
//	VOLANT_DIFF_REPORT file for the whole report
func TestDiff(t *testing.T) {
	if os.Getenv("VOLANT_SYSTEMD_LAB") != "1" || os.Getenv("VOLANT_DIFF") != "1" {
		t.Skip("this takes half an hour, and root for hosts with systemd: VOLANT_SYSTEMD_LAB=1 VOLANT_DIFF=1")
	}
	only := regexp.MustCompile(os.Getenv("VOLANT_DIFF_ONLY"))
	paths, err := filepath.Glob("testdata/diff/*.yml")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no snippets: %v", err)
	}
	slices.SortStableFunc(paths, func(a, b string) int { // what reboots the host comes last
		return cmp.Compare(strings.Count(a, "reboot"), strings.Count(b, "reboot"))
	})
	var files []*diffFile
	for _, path := range paths {
		if name := strings.TrimSuffix(filepath.Base(path), ".yml"); only.MatchString(name) {
			files = append(files, readDiffFile(t, path, name))
		}
	}
	cache := os.Getenv("VOLANT_DIFF_CACHE")
	if cache == "" {
		cache = t.TempDir()
	}
	core := reference(t)
	ref := &diffSide{name: "ref", command: []string{filepath.Join(core, "bin", "ansible-playbook")}, cache: cache}
	ours := &diffSide{name: "vol", command: []string{"volant", "playbook"}}
	var wait sync.WaitGroup
	for _, side := range []*diffSide{ref, ours} {
		var todo []*diffFile
		for _, f := range files {
			if !side.load(f) {
				todo = append(todo, f)
			}
		}
		if len(todo) == 0 {
			continue
		}
		side.lab = newLab(t, "systemd", "1")
		side.prepare(t)
		wait.Go(func() { // ends with the last playbook
			for _, f := range todo {
				side.play(f)
			}
		})
	}
	wait.Wait()
	compareDiff(t, files, ref, ours)
}

// diffSide is one of the two programs with a host of its own.
type diffSide struct {
	name    string
	command []string
	cache   string
	lab     *lab
	work    string

	mu  sync.Mutex
	out map[string]string // by file: everything that was printed
}

func (s *diffSide) key(f *diffFile) string {
	return filepath.Join(s.cache, fmt.Sprintf("%s-%x.out", f.name, f.sum[:8]))
}

func (s *diffSide) load(f *diffFile) bool {
	if s.out == nil {
		s.out = map[string]string{}
	}
	if s.cache == "" {
		return false
	}
	b, err := os.ReadFile(s.key(f))
	if err == nil {
		s.out[f.name] = string(b)
	}
	return err == nil
}

// prepare makes the directory the playbooks run in and what the snippets expect of a host.
func (s *diffSide) prepare(t *testing.T) {
	t.Helper()
	s.work = filepath.Join(t.TempDir(), "work-"+s.name)
	if err := os.CopyFS(s.work, os.DirFS("testdata/diff/project")); err != nil {
		t.Fatal(err)
	}
	// A file system of a test does not keep modes and links of a checkout reliably.
	script, err := os.ReadFile("testdata/diff/project.sh")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", "-euc", string(script))
	cmd.Dir = s.work
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("making the project: %v: %s", err, out)
	}
	host, err := os.ReadFile("testdata/diff/host.sh")
	if err != nil {
		t.Fatal(err)
	}
	if out, code := s.lab.run(10*time.Minute, "volant-lab", "exec", "--dir", s.lab.dir, "h1", string(host)); code != 0 {
		t.Fatalf("preparing the host: %s", out)
	}
	inventory, err := os.ReadFile(s.lab.inventory())
	if err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`(?m)^h1 (.*)$`)
	text := line.ReplaceAllString(string(inventory), "target $1\nother $1") +
		"\nansible_python_interpreter=/usr/bin/python3\nops_password_file=" + filepath.Join(s.lab.dir, "ops.password") + "\n"
	for name, content := range map[string]string{"inventory.ini": text,
		"ansible.cfg": "[defaults]\nnocows=1\nvault_password_file=vault.pass\nretry_files_enabled=false\n[connection]\npipelining=true\n[ssh_connection]\npipelining=true\n"} {
		if err := os.WriteFile(filepath.Join(s.work, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func (s *diffSide) play(f *diffFile) {
	book := f.name + ".yml"
	out := ""
	err := os.WriteFile(filepath.Join(s.work, book), f.playbook, 0o644)
	if err == nil {
		out, err = s.run(book)
	}
	if err != nil {
		out += "\nharness: " + err.Error()
	}
	s.mu.Lock()
	s.out[f.name] = out
	s.mu.Unlock()
	if s.cache != "" && err == nil {
		_ = os.WriteFile(s.key(f), []byte(out), 0o644) // only a cache
	}
}

func (s *diffSide) run(book string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Minute)
	defer cancel()
	words := append(slices.Clone(s.command), "-v", "-i", "inventory.ini", book)
	if !strings.Contains(words[0], "/") {
		words[0] = filepath.Join(s.lab.bin, words[0])
	}
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.Dir = s.work
	cmd.Env = append(slices.Clone(s.lab.env), "ANSIBLE_CONFIG="+filepath.Join(s.work, "ansible.cfg"), "PYTHONUNBUFFERED=1")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.WaitDelay = 5 * time.Second
	err := cmd.Run()
	var failed *exec.ExitError
	if ctx.Err() != nil || err != nil && !errors.As(err, &failed) {
		return out.String(), errors.Join(ctx.Err(), err)
	}
	return out.String() + fmt.Sprintf("\nexit code %d\n", cmd.ProcessState.ExitCode()), nil
}

var (
	playLine = regexp.MustCompile(`(?m)^PLAY \[([^\]]*)\] \**$`)
	dumpTask = regexp.MustCompile(`(?s)\nTASK \[dump results\] \*+\n.*?\{\n    "msg": (".*?")\n\}\n`)
)

var resultText = regexp.MustCompile(`(?m) => \{.*\}$`)

// section is what one snippet did in one pass.
type section struct {
	text    string
	results any // by register name
}

// sections splits what a program printed by play.
func sections(out string) map[string]section {
	all := map[string]section{}
	at := playLine.FindAllStringSubmatchIndex(out, -1)
	for i, m := range at {
		end := len(out)
		if i+1 < len(at) {
			end = at[i+1][0]
		}
		name, text := out[m[2]:m[3]], out[m[1]:end]
		var sec section
		if d := dumpTask.FindStringSubmatchIndex(text); d != nil {
			var inner string
			if json.Unmarshal([]byte(text[d[2]:d[3]]), &inner) == nil {
				if json.Unmarshal([]byte(inner), &sec.results) != nil {
					sec.results = "not JSON: " + inner
				}
			}
			text = text[:d[0]] + text[d[1]:]
		}
		sec.text = text
		all[name] = sec
	}
	return all
}

func compareDiff(t *testing.T, files []*diffFile, ref, ours *diffSide) {
	var report strings.Builder
	snippets, equal, apart, badResult, badText := 0, 0, 0, 0, 0
	for _, f := range files {
		a, b := sections(ref.out[f.name]), sections(ours.out[f.name])
		t.Run(f.name, func(t *testing.T) {
			for _, name := range f.plays {
				snippets++
				ra, rb := normal(a[name].results), normal(b[name].results)
				var lines []string
				diffValues(&lines, "", ra, rb)
				if ra == nil || rb == nil {
					lines = append(lines, "no results dumped by: "+strings.Join(slices.Concat(missing(ra, "reference"), missing(rb, "volant")), ", "))
				}
				texts := [2]string{normalText(a[name].text), normalText(b[name].text)}
				if len(lines) > 0 { // what results show is said already
					for i := range texts {
						texts[i] = resultText.ReplaceAllString(texts[i], " => RESULT")
					}
				}
				text := diffText(texts[0], texts[1])
				if len(lines) == 0 && text == "" {
					equal++
					continue
				}
				if why := departure(name, lines, text); why != "" {
					apart++
					t.Logf("%s differs on purpose: %s", name, why)
					continue
				}
				if len(lines) > 0 {
					badResult++
				}
				if text != "" {
					badText++
				}
				fmt.Fprintf(&report, "=== %s\n", name)
				for _, line := range lines {
					fmt.Fprintf(&report, "  %s\n", line)
				}
				report.WriteString(text)
				t.Errorf("%s differs:\n%s\n%s", name, strings.Join(lines, "\n"), text)
			}
		})
	}
	summary := fmt.Sprintf("%d passes of snippets: %d equal, %d differ on purpose, %d with other results, %d with other text", snippets, equal, apart, badResult, badText)
	t.Log(summary)
	if path := os.Getenv("VOLANT_DIFF_REPORT"); path != "" {
		raw := ""
		for _, f := range files {
			raw += fmt.Sprintf("##### %s volant\n%s\n", f.name, ours.out[f.name])
		}
		if err := errors.Join(os.WriteFile(path, []byte(report.String()+summary+"\n"), 0o644), os.WriteFile(path+".raw", []byte(raw), 0o644)); err != nil {
			t.Error(err)
		}
	}
}

func missing(v any, who string) []string {
	if v == nil {
		return []string{who}
	}
	return nil
}

func diffSum(parts ...[]byte) [32]byte {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d:", len(p))
		h.Write(p)
	}
	return [32]byte(h.Sum(nil))
}
