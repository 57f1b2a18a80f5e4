// Package yaml reads and writes YAML and JSON as the reference does: PyYAML's
// scalar types, merge keys, duplicate keys, the tags !vault and !unsafe, the
// place of every node, the reference's error texts; and PyYAML's output byte
// for byte.
package yaml

import (
	"volant/controller/fault"
	"volant/wire/value"
)

// Duplicates says what a key written twice in one mapping does; the last value
// wins unless it is refused.
type Duplicates int

// The values of Duplicates, as the setting DUPLICATE_YAML_DICT_KEY.
const (
	DuplicatesWarn   Duplicates = 0
	DuplicatesError  Duplicates = 1
	DuplicatesIgnore Duplicates = 2
)

// Options say how a document is read.
type Options struct {
	// File is the absolute path for positions and messages, or a description
	// such as "<unknown>".
	File string
	// Trusted makes string values (not keys) *value.Template: the operator
	// wrote them. Otherwise they are plain strings.
	Trusted bool
	// NoAnsibleTags refuses !vault and !unsafe, as the from_yaml filter does.
	NoAnsibleTags bool
	// Duplicates says what a key written twice does.
	Duplicates Duplicates
	// Sink takes warnings; nil drops them.
	Sink fault.Sink
	// Redacted keeps excerpts of the text out of messages.
	Redacted bool
	// Decrypt is given to every !vault value, with its place; nil leaves it
	// without.
	Decrypt func(ciphertext string, pos value.Pos) (string, error)
}

func (o *Options) sink() fault.Sink {
	if o.Sink == nil {
		return fault.Discard
	}
	return o.Sink
}
