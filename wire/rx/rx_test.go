package rx

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

var version = Lazy(`v(\d+)\.(\d+)`)

// TestMethods holds every method to that of package regexp.
func TestMethods(t *testing.T) {
	re := regexp.MustCompile(version.expr)
	same := func(a, b []string) bool { return (a == nil) == (b == nil) && slices.Equal(a, b) }
	upper := func(s string) string { return strings.ToUpper(s) + "!" }
	for _, s := range []string{"", "none", "v1.2", "a v1.2 and v30.4, é v5.6"} {
		if version.MatchString(s) != re.MatchString(s) || version.Match([]byte(s)) != re.Match([]byte(s)) ||
			version.FindString(s) != re.FindString(s) ||
			!slices.Equal(version.FindStringIndex(s), re.FindStringIndex(s)) ||
			!same(version.FindStringSubmatch(s), re.FindStringSubmatch(s)) ||
			!slices.Equal(version.FindStringSubmatchIndex(s), re.FindStringSubmatchIndex(s)) ||
			!slices.EqualFunc(version.FindSubmatch([]byte(s)), re.FindSubmatch([]byte(s)), slices.Equal[[]byte]) ||
			!same(version.FindAllString(s, 1), re.FindAllString(s, 1)) || !same(version.FindAllString(s, -1), re.FindAllString(s, -1)) ||
			!slices.EqualFunc(version.FindAllStringIndex(s, -1), re.FindAllStringIndex(s, -1), slices.Equal[[]int]) ||
			!slices.EqualFunc(version.FindAllStringSubmatch(s, -1), re.FindAllStringSubmatch(s, -1), slices.Equal[[]string]) ||
			!slices.EqualFunc(version.FindAllStringSubmatchIndex(s, -1), re.FindAllStringSubmatchIndex(s, -1), slices.Equal[[]int]) ||
			version.ReplaceAllString(s, "$2-$1") != re.ReplaceAllString(s, "$2-$1") ||
			version.ReplaceAllLiteralString(s, "$2-$1") != re.ReplaceAllLiteralString(s, "$2-$1") ||
			version.ReplaceAllStringFunc(s, upper) != re.ReplaceAllStringFunc(s, upper) {
			t.Errorf("differs from package regexp on %q", s)
		}
	}
}

// TestCompiledOnce has many first uses meet and then costs nothing but the use.
func TestCompiledOnce(t *testing.T) {
	p := Lazy(`^a+$`)
	if p.re.Load() != nil {
		t.Fatal("compiled before it is used")
	}
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			if !p.MatchString("aaa") || p.MatchString("b") {
				t.Error("wrong match")
			}
		})
	}
	group.Wait()
	first := p.Regexp()
	if p.Regexp() != first {
		t.Error("compiled again")
	}
	if n := testing.AllocsPerRun(100, func() { p.MatchString("aaa") }); n != 0 {
		t.Errorf("a use allocates %v times", n)
	}
}
