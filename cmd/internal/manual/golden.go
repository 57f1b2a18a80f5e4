package manual

import (
	"fmt"
	"os"
	"strings"
)

// Part returns what stands in a document between the marks of a name, and
// whether they are there.
func Part(doc, name string) (string, bool) {
	begin, end := marks(name)
	i := strings.Index(doc, begin)
	j := strings.Index(doc, end)
	if i < 0 || j < i {
		return "", false
	}
	return doc[i+len(begin) : j], true
}

// Replace puts text between the marks of a name in the file.
func Replace(file, name, text string) error {
	b, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	old, ok := Part(string(b), name)
	if !ok {
		return fmt.Errorf("%s has no marks for %s", file, name)
	}
	begin, end := marks(name)
	doc := strings.Replace(string(b), begin+old+end, begin+text+end, 1)
	return os.WriteFile(file, []byte(doc), 0o644)
}

func marks(name string) (begin, end string) {
	return "<!-- begin " + name + ": written by make golden -->\n", "<!-- end " + name + " -->"
}
