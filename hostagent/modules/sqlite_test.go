package modules

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// testdata/names.sqlite is SQLite's own work: tables as rpm has them, in pages
// so small that there are trees, and a name that goes over several pages.
func TestSQLite(t *testing.T) {
	b, err := os.ReadFile("testdata/names.sqlite")
	must(t, err)
	db, err := newSQLite(bytes.NewReader(b), int64(len(b)))
	must(t, err)
	var names, provides []string
	must(t, db.column("Name", func(key []byte) { names = append(names, string(key)) }))
	must(t, db.column("Providename", func(key []byte) { provides = append(provides, string(key)) }))
	var wantNames, wantProvides []string
	for i := range 40 {
		name := fmt.Sprintf("package-%02dx", i)
		wantNames = append(wantNames, name)
		wantProvides = append(wantProvides, name, fmt.Sprintf("libthing%d.so.1()(64bit)", i))
	}
	wantProvides = append(wantProvides, "long("+strings.Repeat("y", 1700)+")", "bytes")
	if !slices.Equal(names, wantNames) || !slices.Equal(provides, wantProvides) {
		t.Errorf("names %q, provides %q", names, provides)
	}
	if err := db.column("Nothing", func([]byte) {}); err == nil {
		t.Error("a table that is not there")
	}
	if _, err := newSQLite(bytes.NewReader(b[:60]), 60); err == nil {
		t.Error("half a head")
	}
	if err := (&sqliteFile{r: bytes.NewReader(b[:1024]), page: 512, usable: 512, pages: 2}).column("Name", func([]byte) {}); err == nil {
		t.Error("a file cut short")
	}
}

// FuzzSQLite changes a database at will: it is read or refused, and reading ends.
func FuzzSQLite(f *testing.F) {
	b, err := os.ReadFile("testdata/names.sqlite")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(0, []byte{1})
	f.Add(16, []byte{0, 1})
	f.Add(100, []byte{5, 0, 0})
	for at := 512; at < len(b); at += 512 {
		f.Add(at, []byte{5, 0, 0, 0xff, 0xff})
		f.Add(at+8, []byte{0, 1, 0xff, 0xff})
	}
	f.Fuzz(func(t *testing.T, at int, with []byte) {
		b := bytes.Clone(b)
		if at < 0 || at >= len(b) {
			return
		}
		copy(b[at:], with)
		db, err := newSQLite(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			return
		}
		n := 0
		_ = db.column("Providename", func([]byte) { n++ })
		if n > len(b) {
			t.Errorf("%d rows in %d bytes", n, len(b))
		}
	})
}
