package events

import (
	"fmt"
	"slices"
	"strings"
)

// unifiedDiff is Python's difflib.unified_diff over lines that keep their
// endings, with n lines of context; a line begins with " ", "+", "-" or "@@".
func unifiedDiff(a, b []string, from, to string, n int) []string {
	var out []string
	for _, group := range groups(opcodes(a, b), n) {
		if out == nil {
			out = append(out, "--- "+from+"\n", "+++ "+to+"\n")
		}
		first, last := group[0], group[len(group)-1]
		out = append(out, fmt.Sprintf("@@ -%s +%s @@\n", rangeText(first.a1, last.a2), rangeText(first.b1, last.b2)))
		for _, op := range group {
			if op.tag == 'e' {
				for _, l := range a[op.a1:op.a2] {
					out = append(out, " "+l)
				}
				continue
			}
			for _, l := range a[op.a1:op.a2] {
				out = append(out, "-"+l)
			}
			for _, l := range b[op.b1:op.b2] {
				out = append(out, "+"+l)
			}
		}
	}
	return out
}

// rangeText is a hunk's range in the form of unified diffs.
func rangeText(start, stop int) string {
	length := stop - start
	begin := start + 1
	if length == 1 {
		return fmt.Sprint(begin)
	}
	if length == 0 {
		begin--
	}
	return fmt.Sprintf("%d,%d", begin, length)
}

// opcode turns a[a1:a2] into b[b1:b2]; tag is 'e' when they are equal.
type opcode struct {
	tag            byte
	a1, a2, b1, b2 int
}

type match struct{ a, b, size int }

// opcodes follows difflib's SequenceMatcher, its popularity heuristic included.
func opcodes(a, b []string) []opcode {
	var out []opcode
	i, j := 0, 0
	for _, m := range matches(a, b) {
		if i < m.a || j < m.b {
			out = append(out, opcode{'r', i, m.a, j, m.b})
		}
		i, j = m.a+m.size, m.b+m.size
		if m.size > 0 {
			out = append(out, opcode{'e', m.a, i, m.b, j})
		}
	}
	return out
}

// popularFrom is the length from which lines that make up over 1 % are ignored
// as anchors.
const popularFrom = 200

func matches(a, b []string) []match {
	at := map[string][]int{}
	for j, s := range b {
		at[s] = append(at[s], j)
	}
	if n := len(b); n >= popularFrom {
		for s, idx := range at {
			if len(idx) > n/100+1 {
				delete(at, s)
			}
		}
	}
	type span struct{ alo, ahi, blo, bhi int }
	queue := []span{{0, len(a), 0, len(b)}}
	var found []match
	for len(queue) > 0 {
		q := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		m := longest(a, b, at, q.alo, q.ahi, q.blo, q.bhi)
		if m.size == 0 {
			continue
		}
		found = append(found, m)
		if q.alo < m.a && q.blo < m.b {
			queue = append(queue, span{q.alo, m.a, q.blo, m.b})
		}
		if m.a+m.size < q.ahi && m.b+m.size < q.bhi {
			queue = append(queue, span{m.a + m.size, q.ahi, m.b + m.size, q.bhi})
		}
	}
	slices.SortFunc(found, func(x, y match) int {
		if x.a != y.a {
			return x.a - y.a
		}
		return x.b - y.b
	})
	var out []match
	cur := match{}
	for _, m := range found {
		if cur.a+cur.size == m.a && cur.b+cur.size == m.b {
			cur.size += m.size
			continue
		}
		if cur.size > 0 {
			out = append(out, cur)
		}
		cur = m
	}
	if cur.size > 0 {
		out = append(out, cur)
	}
	return append(out, match{len(a), len(b), 0})
}

func longest(a, b []string, at map[string][]int, alo, ahi, blo, bhi int) match {
	best := match{alo, blo, 0}
	lens := map[int]int{}
	for i := alo; i < ahi; i++ {
		next := map[int]int{}
		for _, j := range at[a[i]] {
			if j < blo {
				continue
			}
			if j >= bhi {
				break
			}
			k := lens[j-1] + 1
			next[j] = k
			if k > best.size {
				best = match{i - k + 1, j - k + 1, k}
			}
		}
		lens = next
	}
	for best.a > alo && best.b > blo && a[best.a-1] == b[best.b-1] {
		best = match{best.a - 1, best.b - 1, best.size + 1}
	}
	for best.a+best.size < ahi && best.b+best.size < bhi && a[best.a+best.size] == b[best.b+best.size] {
		best.size++
	}
	return best
}

// groups cuts opcodes into hunks with n lines of context.
func groups(ops []opcode, n int) [][]opcode {
	if len(ops) == 0 {
		return nil
	}
	if first := &ops[0]; first.tag == 'e' {
		first.a1, first.b1 = max(first.a1, first.a2-n), max(first.b1, first.b2-n)
	}
	if last := &ops[len(ops)-1]; last.tag == 'e' {
		last.a2, last.b2 = min(last.a2, last.a1+n), min(last.b2, last.b1+n)
	}
	var out [][]opcode
	var group []opcode
	for _, op := range ops {
		if op.tag == 'e' && op.a2-op.a1 > 2*n {
			group = append(group, opcode{'e', op.a1, min(op.a2, op.a1+n), op.b1, min(op.b2, op.b1+n)})
			out = append(out, group)
			group = nil
			op.a1, op.b1 = max(op.a1, op.a2-n), max(op.b1, op.b2-n)
		}
		group = append(group, op)
	}
	if len(group) > 0 && (len(group) != 1 || group[0].tag != 'e') {
		out = append(out, group)
	}
	return out
}

// splitLines splits as Python's splitlines(True).
func splitLines(s string) []string {
	var out []string
	start := 0
	for i := 0; i < len(s); {
		n := 0
		switch c := s[i]; {
		case c == '\r' && i+1 < len(s) && s[i+1] == '\n':
			n = 2
		case c == '\n', c == '\r', c == '\v', c == '\f', c >= 0x1c && c <= 0x1e:
			n = 1
		case strings.HasPrefix(s[i:], "\u0085"):
			n = 2
		case strings.HasPrefix(s[i:], "\u2028"), strings.HasPrefix(s[i:], "\u2029"):
			n = 3
		default:
			i++
			continue
		}
		i += n
		out = append(out, s[start:i])
		start = i
	}
	if start < len(s) {
		out = append(out, s[start:])
	}
	return out
}
