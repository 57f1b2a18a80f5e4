// Package pyre is Python's re module for str patterns: its syntax, its error
// texts, its matching rules. A pattern runs on Go's linear-time engine where
// that gives the same answer, else on a backtracking engine with a time limit.
package pyre

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/dlclark/regexp2/v2"
)

// Timeout bounds one match on the backtracking engine.
const Timeout = 5 * time.Second

// Regexp is a compiled pattern. It is safe for concurrent use.
type Regexp struct {
	p *parsed
	// Groups is the number of capturing groups.
	Groups int
	fast   *regexp.Regexp // nil when Go's engine cannot do it
	once   sync.Once
	slow   *regexp2.Regexp
	// slowMore is slow that matches nothing empty where the search starts.
	slowMore *regexp2.Regexp
	err      error
}

// cacheSize bounds the patterns kept compiled.
const cacheSize = 512

type cacheKey struct {
	pattern string
	flags   Flags
}

var cache = struct {
	sync.Mutex
	m map[cacheKey]*Regexp
}{m: map[cacheKey]*Regexp{}}

// Compile parses pattern; the error is Python's.
func Compile(pattern string, flags Flags) (*Regexp, error) {
	key := cacheKey{pattern, flags}
	cache.Lock()
	re := cache.m[key]
	cache.Unlock()
	if re != nil {
		return re, nil
	}
	p, err := parse(pattern, flags)
	if err != nil {
		return nil, err
	}
	re = &Regexp{p: p, Groups: p.groups}
	if p.goOK {
		re.fast, _ = regexp.Compile(p.goSrc) // what it refuses goes to the other engine
	}
	if re.fast == nil {
		if err := re.prepare(); err != nil {
			return nil, err
		}
	}
	cache.Lock()
	if len(cache.m) >= cacheSize {
		clear(cache.m)
	}
	cache.m[key] = re
	cache.Unlock()
	return re, nil
}

// prepare compiles for the backtracking engine, when first needed.
func (re *Regexp) prepare() error {
	re.once.Do(func() {
		re.slow, re.err = regexp2.Compile(re.p.backSrc)
		if re.err != nil {
			re.err = fmt.Errorf("compiling regular expression: %w", re.err)
			return
		}
		re.slowMore, re.err = regexp2.Compile("(?:" + re.p.backSrc + `)(?!\G)`)
		if re.err != nil {
			re.err = fmt.Errorf("compiling regular expression: %w", re.err)
			return
		}
		re.slow.MatchTimeout, re.slowMore.MatchTimeout = Timeout, Timeout
	})
	return re.err
}

// GroupIndex returns the number of a named group.
func (re *Regexp) GroupIndex(name string) (int, bool) {
	i, ok := re.p.names[name]
	return i, ok
}

// Match is where a pattern matched: byte offsets of group 0 and the others,
// -1 where a group took no part.
type Match struct {
	text string
	loc  []int
}

// Group returns group n and whether it took part.
func (m *Match) Group(n int) (string, bool) {
	if m.loc[2*n] < 0 {
		return "", false
	}
	return m.text[m.loc[2*n]:m.loc[2*n+1]], true
}

// Span returns the byte offsets of group n.
func (m *Match) Span(n int) (start, end int) { return m.loc[2*n], m.loc[2*n+1] }

func ascii(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// useFast reports whether Go's engine gives Python's answer for s. all says
// that several matches are wanted: an engine that may match nothing steps
// differently from Python.
func (re *Regexp) useFast(s string, all bool) bool {
	return re.fast != nil && !(re.p.dollar && strings.HasSuffix(s, "\n")) && !(all && re.p.min == 0) && ascii(s)
}

// Search returns the first match, or nil.
func (re *Regexp) Search(s string) (*Match, error) {
	if re.useFast(s, false) {
		if loc := re.fast.FindStringSubmatchIndex(s); loc != nil {
			return &Match{s, loc}, nil
		}
		return nil, nil
	}
	ms, err := re.slowAll(s, 1)
	if err != nil || len(ms) == 0 {
		return nil, err
	}
	return ms[0], nil
}

// Match returns the match at the start of s, or nil.
func (re *Regexp) Match(s string) (*Match, error) { return re.anchored(s, `\A(?:`, `)`) }

// FullMatch returns the match of all of s, or nil.
func (re *Regexp) FullMatch(s string) (*Match, error) { return re.anchored(s, `\A(?:`, `)\z`) }

func (re *Regexp) anchored(s, before, after string) (*Match, error) {
	// The anchored form is a pattern of its own, cached under its own key.
	key := cacheKey{before + after + "\x00" + re.p.backSrc, re.p.flags}
	cache.Lock()
	a := cache.m[key]
	cache.Unlock()
	if a == nil {
		p := *re.p
		p.goSrc, p.backSrc = before+p.goSrc+after, before+p.backSrc+after
		a = &Regexp{p: &p, Groups: re.Groups}
		if re.fast != nil {
			a.fast, _ = regexp.Compile(p.goSrc)
		}
		cache.Lock()
		if len(cache.m) >= cacheSize {
			clear(cache.m)
		}
		cache.m[key] = a
		cache.Unlock()
	}
	return a.Search(s)
}

// All returns up to limit matches as re.finditer does; limit 0 is all.
func (re *Regexp) All(s string, limit int) ([]*Match, error) {
	if !re.useFast(s, true) {
		return re.slowAll(s, limit)
	}
	n := -1
	if limit > 0 {
		n = limit
	}
	locs := re.fast.FindAllStringSubmatchIndex(s, n)
	out := make([]*Match, len(locs))
	for i, loc := range locs {
		out[i] = &Match{s, loc}
	}
	return out, nil
}

// slowAll steps as Python does: after an empty match the next one must not be
// empty at the same place, after any other it may be.
func (re *Regexp) slowAll(s string, limit int) ([]*Match, error) {
	if err := re.prepare(); err != nil {
		return nil, err
	}
	deadline := time.Now().Add(Timeout)
	runes := []rune(s)
	offs := make([]int, len(runes)+1)
	for i, n := 0, 0; i < len(runes); i++ {
		offs[i] = n
		n += utf8.RuneLen(runes[i])
		offs[i+1] = n
	}
	if len(runes) > 0 && offs[len(runes)] != len(s) { // invalid UTF-8: RuneLen of U+FFFD differs
		s = string(runes)
	}
	var out []*Match
	engine := re.slow
	for at := 0; at <= len(runes); {
		if time.Now().After(deadline) {
			return nil, fmt.Errorf("regular expression took longer than %s", Timeout)
		}
		m, err := engine.FindRunesMatchStartingAt(runes, at)
		if err != nil {
			return nil, fmt.Errorf("regular expression took longer than %s", Timeout)
		}
		if m == nil {
			break
		}
		start, end := m.RuneIndex, m.RuneIndex+m.RuneLength
		loc := make([]int, 2*(re.Groups+1))
		for g := 0; g <= re.Groups; g++ {
			loc[2*g], loc[2*g+1] = -1, -1
			if grp := m.GroupByNumber(g); grp != nil && len(grp.Captures) > 0 {
				loc[2*g], loc[2*g+1] = offs[grp.RuneIndex], offs[grp.RuneIndex+grp.RuneLength]
			}
		}
		out = append(out, &Match{s, loc})
		if limit > 0 && len(out) >= limit {
			break
		}
		at = end
		engine = re.slow
		if start == end {
			engine = re.slowMore
		}
	}
	return out, nil
}

// Escape is re.escape.
func Escape(s string) string {
	var b strings.Builder
	for _, r := range s {
		if strings.ContainsRune("()[]{}?*+-|^$\\.&~# \t\n\r\v\f", r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}
