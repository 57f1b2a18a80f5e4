package madeup

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"volant/controller/template/difftest"
)

var (
	seed   = flag.Uint64("madeup.seed", 1, "the first seed")
	runs   = flag.Int("madeup.runs", 0, "how many projects are run with both programs")
	tries  = flag.Int("madeup.tries", 150, "how many runs may go into making one project smaller")
	record = flag.String("madeup.record", "", "directory for what differs: the project, both outcomes")
	volant = flag.String("madeup.volant", "", "volant binary; built when there is none")
	show   = flag.Bool("madeup.show", false, "only show the projects")
)

// TestProjects runs made-up projects with both programs.
func TestProjects(t *testing.T) {
	if *runs == 0 {
		t.Skip("make madeup runs it")
	}
	work := t.TempDir()
	if *volant == "" {
		*volant = filepath.Join(work, "volant")
		if out, err := exec.Command("go", "build", "-o", *volant, "volant/cmd/volant").CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	p, err := Start(t.Context(), *volant, work)
	if errors.Is(err, difftest.ErrNoReference) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	differ := 0
	for s := *seed; s < *seed+uint64(*runs); s++ {
		project := Generate(s)
		if *show {
			fmt.Println(project)
			continue
		}
		ref, ours, err := p.Both(t.Context(), project)
		if err != nil {
			t.Fatalf("seed %d: %v", s, err)
		}
		if ref.Equal(ours) || ref.Code == -999 {
			continue
		}
		// What of ansible-core's output comes first may be a race of its own, so
		// that a difference is one only where it is there again and again.
		steady := true
		for again := 0; again < 2 && steady; again++ {
			if ref, ours, err = p.Both(t.Context(), project); err != nil {
				t.Fatalf("seed %d: %v", s, err)
			}
			steady = !ref.Equal(ours)
		}
		if !steady {
			t.Logf("seed %d differed once, and no more", s)
			continue
		}
		differ++
		if project, err = p.Shrink(t.Context(), project, *tries); err != nil {
			t.Fatalf("seed %d: %v", s, err)
		}
		if ref, ours, err = p.Both(t.Context(), project); err != nil {
			t.Fatalf("seed %d: %v", s, err)
		}
		text := fmt.Sprintf("seed %d\n%s\n(-ansible-core +volant)\n%s", s, project, cmp.Diff(ref.String(), ours.String()))
		t.Error(text)
		if *record != "" {
			full := text + "\n=== ansible-core\n" + ref.String() + "\n=== volant\n" + ours.String()
			if err := os.WriteFile(filepath.Join(*record, fmt.Sprintf("%d.txt", s)), []byte(full), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	t.Logf("%d of %d differ, from seed %d", differ, *runs, *seed)
}

// TestSame holds the generator to one project for one seed, each written as the
// YAML it stands for.
func TestSame(t *testing.T) {
	for s := range uint64(200) {
		if a, b := Generate(s).String(), Generate(s).String(); a != b {
			t.Fatalf("seed %d gives two projects: %s", s, cmp.Diff(a, b))
		}
	}
}

// TestSmaller takes everything out of a project, one thing after the other.
func TestSmaller(t *testing.T) {
	project := Generate(7)
	for n := 0; ; n++ {
		next := without(project, 0)
		if next == nil {
			break
		}
		if len(next.String()) >= len(project.String()) {
			t.Fatalf("step %d takes nothing out", n)
		}
		project = next
	}
	if len(project.Files) > 4 {
		t.Errorf("%d files are left", len(project.Files))
	}
}
