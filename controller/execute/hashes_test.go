package execute

import (
	"crypto/sha1"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"volant/stage"
)

// TestHashes: a file is read again when it changed, even to the same size, and
// as long as its times cannot tell.
func TestHashes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	var c hashes
	check := func(want string) {
		t.Helper()
		f, sum, err := c.file(path)
		if err != nil {
			t.Fatal(err)
		}
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		b, err := io.ReadAll(r)
		if err != nil || string(b) != want || f.Hash != stage.HashBytes(b) || f.Size != int64(len(b)) || len(sum) != 40 {
			t.Fatalf("%q %v: %+v %s", b, err, f, sum)
		}
	}
	write := func(text string, age time.Duration) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		at := time.Now().Add(-age)
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	for _, age := range []time.Duration{0, time.Hour} {
		write("one", age)
		check("one")
		check("one")
		write("two", age)
		check("two")
		write("longer", age)
		check("longer")
	}
	for _, size := range []int{4<<20 - 1, 4 << 20, 6<<20 + 7} { // long ones are hashed in pieces
		text := strings.Repeat("0123456789abcde\n", size/16+1)[:size]
		write(text, time.Hour)
		check(text)
		if _, sum, _ := c.file(path); sum != fmt.Sprintf("%x", sha1.Sum([]byte(text))) {
			t.Errorf("%d bytes: %s", size, sum)
		}
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, _, err := c.file(path); err == nil {
		t.Fatal("a file that is gone was hashed")
	}
}

// TestHashesKept: what is settled is not read again.
func TestHashesKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, []byte("one"), 0o600); err != nil {
		t.Fatal(err)
	}
	var c hashes
	if _, _, err := c.file(path); err != nil {
		t.Fatal(err)
	}
	h := c.files[path]
	st, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	s, young := stampOf(st)
	if !young || s != h.stamp {
		t.Fatalf("%+v %v", s, young)
	}
	time.Sleep(settled + 100*time.Millisecond)
	h.sha1 = "kept"
	if _, sum, err := c.file(path); err != nil || sum != "kept" {
		t.Fatalf("%s %v", sum, err)
	}
}
