package main

import (
	"fmt"
	"strings"

	"volant/cmd/internal/argparse"
)

// ownName reports whether the command was called as Volant's: what is said under
// the names of ansible-core's commands is what those say.
func (p *process) ownName() bool { return strings.HasPrefix(p.name, "volant ") }

// commandNames are the commands that users call.
func commandNames() []string {
	out := []string{"help", "version"}
	for name := range commands {
		if !hidden[name] {
			out = append(out, name)
		}
	}
	return out
}

// meantOption is the end of a message about arguments that nobody knows: what
// the first of them may have been meant to be.
func (p *process) meantOption(refused *argparse.Error) string {
	list, ok := strings.CutPrefix(refused.Msg, "unrecognized arguments: ")
	if !ok || !p.ownName() {
		return ""
	}
	var names []string
	for _, o := range refused.Parser.Options {
		for _, name := range o.Names {
			if strings.HasPrefix(name, "--") {
				names = append(names, name)
			}
		}
	}
	for word := range strings.FieldsSeq(list) {
		if strings.HasPrefix(word, "--") {
			word, _, _ = strings.Cut(word, "=")
			return meant(word, names)
		}
	}
	return ""
}

// meant is the end of a message about a word that nobody knows, empty where none
// of those known is like it.
func meant(word string, known []string) string {
	best, least := "", 1+min(len(word), 9)/3 // farther words are others
	for _, k := range known {
		if d := distance(word, k); d < least || d == least && best != "" && k < best {
			best, least = k, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(", did you mean %q?", best)
}

// maxWord bounds the words that are compared.
const maxWord = 64

// distance is how many bytes are to be put in, taken out, changed or swapped with
// their neighbour to make b of a.
func distance(a, b string) int {
	if len(a) > maxWord || len(b) > maxWord {
		return maxWord
	}
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		row[0] = i + 1
		for j := range len(b) {
			change := last[j]
			if a[i] != b[j] {
				change++
			}
			row[j+1] = min(change, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
