package difftest

import (
	"flag"
	"fmt"
	"math"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"volant/controller/jinja"
	"volant/controller/template"
	"volant/wire/pyjson"
	"volant/wire/value"
)

var speed = flag.Bool("difftest.speed", false, "measure both sides and print a table")

// expression and nginx.j2 are what is measured.
const expression = "{{ a.b.c | default('x') }}"

const (
	rounds    = 7                      // the best of which counts: others share the machine
	roundTime = 150 * time.Millisecond // roughly
)

// ourVars gives a compiled template its variables without a scope around them.
type ourVars struct{ d *value.Dict }

func (v ourVars) Resolve(name string) (any, bool, error) {
	x, ok := v.d.Get(name)
	return x, ok, nil
}

func (ourVars) Template(t *value.Template) (any, error) { return t, nil }

// processTime is the CPU time that this process took, the collector's
// included: what others do on the machine does not count.
func processTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// timeOurs is the CPU time of one call of render, in seconds.
func timeOurs(render func()) float64 {
	n := 1
	for {
		start := processTime()
		for range n {
			render()
		}
		took := processTime() - start
		if took > roundTime {
			return took.Seconds() / float64(n)
		}
		n = max(n*2, int(float64(n)*1.1*float64(roundTime)/float64(took+1)))
	}
}

// TestSpeed compares what a render costs: the language alone beside Jinja2,
// both compiled once, and the whole template layer, with a scope made for each
// render, beside ansible-core's templar. What counts is CPU time; all sides take
// turns, and the best round of each counts. It also holds that both templates come out the same.
func TestSpeed(t *testing.T) {
	if !*speed {
		t.Skip("-difftest.speed is not given")
	}
	nginx, err := os.ReadFile("testdata/nginx.j2")
	if err != nil {
		t.Fatal(err)
	}
	ref, ours := sides(t, "testdata/nginx.json")
	var table strings.Builder
	fmt.Fprintln(&table, "| template | Jinja2 | ours | times | templar | ours | times |\n| --- | --- | --- | --- | --- | --- | --- |")
	for _, c := range []struct {
		name, text      string
		jinja2, templar float64 // how many times faster we have to be
	}{
		{"`" + strings.ReplaceAll(expression, "|", `\|`) + "`", expression, 10, 50},
		{fmt.Sprintf("nginx.j2, %d lines with loops", strings.Count(string(nginx), "\n")), string(nginx), 2, 50},
	} {
		d, err := pyjson.Decode(ours.vars)
		if err != nil {
			t.Fatal(err)
		}
		vars := written(d).(*value.Dict)
		prog, err := jinja.Compile(c.text, "", nil, jinja.Options{TrimBlocks: true})
		if err != nil {
			t.Fatal(err)
		}
		r := &jinja.Render{Vars: ourVars{vars}}
		text := value.NewTemplate(c.text, value.Pos{})
		language := func() {
			if _, err := prog.Render(r); err != nil {
				t.Fatal(err)
			}
		}
		whole := func() {
			s := ours.engine.Scope(t.Context(), dictVars{vars}, template.ScopeOptions{})
			if _, _, err := s.Render(text); err != nil {
				t.Fatal(err)
			}
		}
		theirs := func(engine string, each float64) (float64, string) {
			n := max(1, int(roundTime.Seconds()/each))
			a, err := ref.Time(c.text, engine, n)
			if err != nil || a.Error != "" {
				t.Fatal(err, a.Error)
			}
			return a.Seconds / float64(n), a.Want
		}
		best := [4]float64{math.Inf(1), math.Inf(1), math.Inf(1), math.Inf(1)}
		each := [2]float64{1, 1}
		for range rounds {
			each[0], _ = theirs("jinja2", each[0])
			var want string
			each[1], want = theirs("templar", each[1])
			if got, err := ours.Render(t.Context(), c.text); err != nil || got.Want != want {
				t.Fatalf("%v: the sides differ: %s\n%s", err, want, got.Want)
			}
			for i, v := range []float64{each[0], timeOurs(language), each[1], timeOurs(whole)} {
				best[i] = min(best[i], v)
			}
		}
		us := func(s float64) string { return fmt.Sprintf("%.3g µs", s*1e6) }
		fmt.Fprintf(&table, "| %s | %s | %s | %.1f | %s | %s | %.0f |\n", c.name, us(best[0]), us(best[1]), best[0]/best[1], us(best[2]), us(best[3]), best[2]/best[3])
		if best[0]/best[1] < c.jinja2 || best[2]/best[3] < c.templar {
			t.Errorf("%s: %.1f times Jinja2, %.1f wanted; %.1f times the templar, %.1f wanted", c.name, best[0]/best[1], c.jinja2, best[2]/best[3], c.templar)
		}
	}
	fmt.Print(table.String())
}
