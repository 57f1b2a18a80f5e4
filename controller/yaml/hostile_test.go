package yaml

import (
	"fmt"
	"strings"
	"testing"
)

// aliasBomb is a document whose n levels of aliases repeat nine values 9^n times.
func aliasBomb(n int) string {
	var b strings.Builder
	b.WriteString("v0: &v0 [x, x, x, x, x, x, x, x, x]\n")
	for i := range n {
		a := fmt.Sprintf("*v%d", i)
		fmt.Fprintf(&b, "v%d: &v%d [%s]\n", i+1, i+1, strings.Join([]string{a, a, a, a, a, a, a, a, a}, ", "))
	}
	return b.String()
}

func TestAliasesThatRepeatTooMuch(t *testing.T) {
	if _, err := Load([]byte(aliasBomb(4)), Options{File: "some.yml"}); err != nil {
		t.Errorf("5 levels: %v", err)
	}
	_, err := Load([]byte(aliasBomb(12)), Options{File: "bomb.yml"})
	if err == nil || !strings.Contains(err.Error(), "aliases repeat too many values") {
		t.Fatalf("13 levels: %v", err)
	}
}
