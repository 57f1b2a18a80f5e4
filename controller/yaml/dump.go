package yaml

import (
	"encoding/base64"
	"fmt"
	"math/big"
	"sort"
	"strconv"
	"strings"
	"time"

	"volant/wire/value"
)

// Style are the options of PyYAML's dump; the zero value is its default except
// where noted.
type Style struct {
	Indent        int   // 0: 2
	Width         int   // 0: 80; negative: no limit
	FlowStyle     *bool // default_flow_style; nil is PyYAML's None: flow for leaves
	AllowUnicode  bool
	ExplicitStart bool
	ExplicitEnd   bool
	UnsortedKeys  bool   // sort_keys=False
	DefaultStyle  string // "", "'", `"`, "|", ">"
	Canonical     bool
	LineBreak     string // "", "\n", "\r", "\r\n"
	Version       *[2]int
	// BlockStrings writes every string of several lines as a literal block
	// where that is possible, as the callbacks do; Lossy changes its white
	// space and special characters so that it nearly always is.
	BlockStrings, Lossy bool
	// Reveal writes *value.Vault decrypted instead of as !vault.
	Reveal bool
}

// Block is the Style of ansible-inventory --yaml and to_nice_yaml: everything
// in block style, Unicode as it is.
func Block(indent int) Style {
	block := false
	return Style{Indent: indent, FlowStyle: &block, AllowUnicode: true}
}

type nodeKind int

const (
	scalarNode   nodeKind = 1
	sequenceNode nodeKind = 2
	mappingNode  nodeKind = 3
)

// node is what the emitter writes. A mapping's children are keys and values in
// turn.
type node struct {
	kind     nodeKind
	tag      string // long form
	text     string
	style    byte // 0 plain, or one of '"|>
	flow     bool
	children []*node
	anchor   string
}

const tagPrefix = "tag:yaml.org,2002:"

// Dump writes v as one YAML document.
func Dump(v any, s Style) (string, error) {
	r := &representer{s: s, seen: map[any]*node{}}
	n, err := r.represent(v, 0)
	if err != nil {
		return "", err
	}
	assignAnchors(n)
	e := newEmitter(s)
	e.document(n)
	return e.b.String(), nil
}

// representer turns values into nodes; containers met twice become aliases.
type representer struct {
	s    Style
	seen map[any]*node
}

func (r *representer) scalar(tag, text string) *node {
	n := &node{kind: scalarNode, tag: tagPrefix + tag, text: text}
	if r.s.DefaultStyle != "" {
		n.style = r.s.DefaultStyle[0]
	}
	return n
}

func (r *representer) str(s string) *node {
	n := r.scalar("str", s)
	if r.s.BlockStrings && strings.ContainsAny(s, "\n\u0085\u2028\u2029") {
		n.style = '|'
		if r.s.Lossy {
			n.text = lossy(s)
		}
	}
	return n
}

func (r *representer) represent(v any, depth int) (*node, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("the value is nested too deeply")
	}
	switch v := v.(type) {
	case nil:
		return r.scalar("null", "null"), nil
	case bool:
		return r.scalar("bool", strconv.FormatBool(v)), nil
	case int64:
		return r.scalar("int", strconv.FormatInt(v, 10)), nil
	case int:
		return r.scalar("int", strconv.Itoa(v)), nil
	case *big.Int:
		return r.scalar("int", v.String()), nil
	case float64:
		return r.scalar("float", floatText(v)), nil
	case string:
		return r.str(v), nil
	case *value.Template:
		return r.str(v.Text), nil
	case []byte:
		n := r.scalar("binary", encodeBytes(v))
		n.style = '|'
		return n, nil
	case value.Date:
		return r.scalar("timestamp", v.String()), nil
	case time.Time:
		return r.scalar("timestamp", value.FormatTime(v, " ")), nil
	case *value.Vault:
		if r.s.Reveal && v.Decrypt != nil {
			text, err := v.Decrypt()
			if err != nil {
				return nil, err
			}
			return r.str(text), nil
		}
		n, ok := r.seen[v]
		if !ok {
			n = &node{kind: scalarNode, tag: "!vault", text: v.Ciphertext, style: '|'}
			r.seen[v] = n
		}
		return n, nil
	case *value.List:
		return r.sequence(v, v.Items, depth)
	case value.Tuple:
		return r.sequence(nil, v, depth)
	case *value.Set:
		if n, ok := r.seen[v]; ok {
			return n, nil
		}
		d := value.NewDict(v.Len())
		for _, k := range v.Items() {
			d.Set(k, nil)
		}
		return r.mapping(v, "set", d, depth)
	case *value.Dict:
		return r.mapping(v, "map", v, depth)
	}
	return nil, fmt.Errorf("('cannot represent an object', %v)", v)
}

func (r *representer) sequence(id any, items []any, depth int) (*node, error) {
	if id != nil {
		if n, ok := r.seen[id]; ok {
			return n, nil
		}
	}
	n := &node{kind: sequenceNode, tag: tagPrefix + "seq", children: make([]*node, 0, len(items))}
	if id != nil {
		r.seen[id] = n
	}
	leaf := true
	for _, item := range items {
		child, err := r.represent(item, depth+1)
		if err != nil {
			return nil, err
		}
		leaf = leaf && child.kind == scalarNode && child.style == 0
		n.children = append(n.children, child)
	}
	n.flow = r.flow(leaf)
	return n, nil
}

func (r *representer) flow(leaf bool) bool {
	if r.s.FlowStyle != nil {
		return *r.s.FlowStyle
	}
	return leaf
}

func (r *representer) mapping(id any, tag string, d *value.Dict, depth int) (*node, error) {
	if n, ok := r.seen[id]; ok {
		return n, nil
	}
	n := &node{kind: mappingNode, tag: tagPrefix + tag, children: make([]*node, 0, 2*d.Len())}
	r.seen[id] = n
	leaf := true
	for _, i := range r.order(d) {
		k, v := d.At(i)
		for _, part := range []any{k, v} {
			child, err := r.represent(part, depth+1)
			if err != nil {
				return nil, err
			}
			leaf = leaf && child.kind == scalarNode && child.style == 0
			n.children = append(n.children, child)
		}
	}
	n.flow = r.flow(leaf)
	return n, nil
}

// order is the order of a mapping's entries: sorted where Python can compare
// the keys, else as they are.
func (r *representer) order(d *value.Dict) []int {
	idx := make([]int, d.Len())
	for i := range idx {
		idx[i] = i
	}
	if r.s.UnsortedKeys || d.Len() < 2 {
		return idx
	}
	texts, numbers := true, true
	for k := range d.All() {
		if _, ok := value.Text(k); !ok {
			texts = false
		}
		if _, ok := number(k); !ok {
			numbers = false
		}
	}
	switch {
	case texts:
		sort.SliceStable(idx, func(a, b int) bool {
			ka, _ := d.At(idx[a])
			kb, _ := d.At(idx[b])
			sa, _ := value.Text(ka)
			sb, _ := value.Text(kb)
			return sa < sb // UTF-8 sorts as code points do
		})
	case numbers:
		sort.SliceStable(idx, func(a, b int) bool {
			ka, _ := d.At(idx[a])
			kb, _ := d.At(idx[b])
			na, _ := number(ka)
			nb, _ := number(kb)
			return na.Cmp(nb) < 0
		})
	}
	return idx
}

func number(k any) (*big.Float, bool) {
	switch k := k.(type) {
	case bool:
		if k {
			return big.NewFloat(1), true
		}
		return big.NewFloat(0), true
	case int64:
		return new(big.Float).SetInt64(k), true
	case int:
		return new(big.Float).SetInt64(int64(k)), true
	case *big.Int:
		return new(big.Float).SetInt(k), true
	case float64:
		if k != k {
			return nil, false
		}
		return big.NewFloat(k), true
	}
	return nil, false
}

// encodeBytes is Python's base64.encodebytes: lines of 76 characters.
func encodeBytes(b []byte) string {
	s := base64.StdEncoding.EncodeToString(b)
	var out strings.Builder
	for len(s) > 76 {
		out.WriteString(s[:76] + "\n")
		s = s[76:]
	}
	if s != "" {
		out.WriteString(s + "\n")
	}
	return out.String()
}

// assignAnchors names the nodes that occur more than once, in the order in
// which their second occurrence is met.
func assignAnchors(root *node) {
	seen := map[*node]bool{}
	next := 1
	var walk func(n *node)
	walk = func(n *node) {
		if n.kind == scalarNode {
			return
		}
		if seen[n] {
			if n.anchor == "" {
				n.anchor = fmt.Sprintf("id%03d", next)
				next++
			}
			return
		}
		seen[n] = true
		for _, child := range n.children {
			walk(child)
		}
	}
	walk(root)
}

// lossy is the callbacks' way to make a text fit for a literal block.
func lossy(s string) string {
	s = strings.TrimRightFunc(s, pySpace)
	s = value.ExpandTabs(s, 8)
	s = strings.Map(func(r rune) rune {
		if r == '\n' || r >= 0x20 && r <= 0x7e || r == 0x85 || r >= 0xa0 && r <= 0xd7ff ||
			r >= 0xe000 && r <= 0xfffd && r != 0xfeff || r >= 0x10000 && r < 0x10ffff {
			return r
		}
		return -1
	}, s)
	var out strings.Builder
	for i := 0; i < len(s); {
		if s[i] == ' ' {
			j := i
			for j < len(s) && s[j] == ' ' {
				j++
			}
			if strings.HasPrefix(s[j:], "\n") || strings.HasPrefix(s[j:], "\u0085") ||
				strings.HasPrefix(s[j:], "\u2028") || strings.HasPrefix(s[j:], "\u2029") {
				i = j
				continue
			}
			out.WriteString(s[i:j])
			i = j
			continue
		}
		out.WriteByte(s[i])
		i++
	}
	return out.String()
}

func pySpace(r rune) bool {
	return r == ' ' || r >= 9 && r <= 13 || r >= 0x1c && r <= 0x1f || r == 0x85 || r == 0xa0 || r == 0x1680 ||
		r >= 0x2000 && r <= 0x200a || r == 0x2028 || r == 0x2029 || r == 0x202f || r == 0x205f || r == 0x3000
}
