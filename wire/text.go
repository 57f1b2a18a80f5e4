package wire

import (
	"errors"
	"hash/maphash"
	"sync/atomic"
	"unicode/utf8"
)

const (
	// shared is the size up to which all text of a message is one allocation:
	// whoever keeps one text of it keeps them all.
	shared = 64 << 10
	// worthSharing is the size from which that is fewer allocations.
	worthSharing = 64
	// maxKnown is the longest key that is remembered.
	maxKnown = 64
)

// known are keys of mappings that came lately: those of results and facts are
// the same for every task and host, and so take memory once. A key may have either
// of two places; where both are taken it takes the first.
var (
	known    [4096]atomic.Pointer[knownKey]
	keysSeed = maphash.MakeSeed()
)

type knownKey struct {
	text  string
	value any // text, as a key of a mapping
}

var errText = errors.New("text that is not UTF-8")

// share makes one text of what is left of the message, for texts in it to be
// parts of.
func (d *decoder) share() {
	if n := len(d.b); d.whole == "" && n >= worthSharing && n <= shared {
		d.whole = string(d.b)
	}
}

// text is the last n bytes that were read, p.
func (d *decoder) text(p []byte) (string, error) {
	if !utf8.Valid(p) {
		return "", errText
	}
	if end := len(d.whole) - len(d.b); end >= len(p) {
		return d.whole[end-len(p) : end], nil
	}
	return string(p), nil
}

// key is a mapping's key that is text.
func key(p []byte) (any, error) {
	if len(p) > maxKnown {
		if !utf8.Valid(p) {
			return nil, errText
		}
		return string(p), nil
	}
	h := maphash.Bytes(keysSeed, p)
	place, other := &known[h%uint64(len(known))], &known[h>>32%uint64(len(known))]
	k := place.Load()
	if k != nil && k.text == string(p) {
		return k.value, nil
	}
	if second := other.Load(); second != nil && second.text == string(p) {
		return second.value, nil
	} else if k != nil && second == nil {
		place = other
	}
	if !utf8.Valid(p) {
		return nil, errText
	}
	k = &knownKey{text: string(p)}
	k.value = k.text
	place.Store(k)
	return k.value, nil
}
