package difftest

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"
)

var (
	runFor = flag.Duration("difftest.time", 0, "how long TestGenerated makes up templates; 0 means 400 of them")
	seed   = flag.Uint64("difftest.seed", 1, "where the generator starts")
	record = flag.String("difftest.record", "", "append what differs to this file")
)

// recorded is a template with what ansible-core 2.19.12 made of it.
type recorded struct {
	Template string `json:"template"`
	Answer
}

func sides(t *testing.T, file string) (*Reference, *Ours) {
	t.Helper()
	vars, err := filepath.Abs(file)
	if err != nil {
		t.Fatal(err)
	}
	ours, err := NewOurs(vars, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	ref, err := StartReference(t.Context(), vars, t.TempDir())
	if errors.Is(err, ErrNoReference) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ref.Close() })
	return ref, ours
}

// TestGenerated has both sides render made-up templates.
func TestGenerated(t *testing.T) {
	ref, ours := sides(t, "testdata/vars.json")
	g := NewGenerator(*seed)
	var out *os.File
	if *record != "" {
		var err error
		if out, err = os.OpenFile(*record, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644); err != nil {
			t.Fatal(err)
		}
		defer out.Close()
	}
	start := time.Now()
	n, explained := 0, 0
	for *runFor == 0 && n < 400 || *runFor > 0 && time.Since(start) < *runFor {
		n++
		text := g.Next()
		want, err := ref.Render(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		got, err := ours.Render(t.Context(), text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if Same(want, got) {
			continue
		}
		if Explained(text, want, got) != "" {
			explained++
			continue
		}
		t.Errorf("%s\nwant %s%s %s\ngot  %s%s %s", text, want.Want, want.Class, want.Error, got.Want, got.Class, got.Error)
		if out != nil {
			line, err := json.Marshal(recorded{text, want})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := out.Write(append(line, '\n')); err != nil {
				t.Fatal(err)
			}
		}
	}
	t.Logf("%d templates from seed %d, %d of them differ for a known reason", n, *seed, explained)
}

// TestRecorded renders templates on which the two sides once differed.
func TestRecorded(t *testing.T) {
	f, err := os.Open("testdata/recorded.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	ours, err := NewOurs("testdata/vars.json", t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for ; lines.Scan(); n++ {
		var c recorded
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		got, err := ours.Render(t.Context(), c.Template)
		if err != nil {
			t.Fatal(err)
		}
		if !Same(c.Answer, got) && Explained(c.Template, c.Answer, got) == "" {
			t.Errorf("%s\nwant %s%s %s\ngot  %s%s %s", c.Template, c.Want, c.Class, c.Error, got.Want, got.Class, got.Error)
		}
	}
	if n < 100 {
		t.Errorf("only %d recorded templates", n)
	}
}

func TestGeneratorRepeats(t *testing.T) {
	a, b := NewGenerator(7), NewGenerator(7)
	for range 100 {
		if x, y := a.Next(), b.Next(); x != y {
			t.Fatalf("%q is not %q", x, y)
		}
	}
}
