package yaml

import (
	"strconv"
	"strings"

	yamlv4 "go.yaml.in/yaml/v4"

	"volant/controller/fault"
	"volant/wire/value"
)

const (
	maxDepth   = 500       // of nested collections
	maxEntries = 4_000_000 // of all mappings, merged entries included
)

// errMarked is a problem at a node, in the parts PyYAML's errors have.
type errMarked struct {
	context, problem           string
	line, column               int
	contextLine, contextColumn int
	own                        bool // raised by the reference itself: not second-guessed
}

func (e *errMarked) Error() string { return strings.TrimSpace(e.context + " " + e.problem) }

func marked(n *yamlv4.Node, context, problem string) error {
	return &errMarked{context: context, problem: problem, line: n.Line, column: n.Column}
}

// constructor makes values of one document's nodes.
type constructor struct {
	o       *Options
	file    string
	unsafe  int // depth of !unsafe
	depth   int
	entries int
	made    map[*yamlv4.Node]any // anchored nodes: shared by their aliases
	open    map[*yamlv4.Node]bool
	flat    map[*yamlv4.Node][]pair // mappings with their merges
}

type pair struct{ key, value *yamlv4.Node }

func newConstructor(o *Options) *constructor { return &constructor{o: o, file: o.File} }

func (c *constructor) pos(n *yamlv4.Node) value.Pos {
	return value.Pos{File: c.file, Line: n.Line, Column: n.Column}
}

// tag is the node's tag, resolved as PyYAML does when it has none.
func tag(n *yamlv4.Node) string {
	switch {
	case n.Style&yamlv4.TaggedStyle != 0:
		return n.Tag
	case n.Kind == yamlv4.SequenceNode:
		return tagSeq
	case n.Kind == yamlv4.MappingNode:
		return tagMap
	}
	return implicitTag(n)
}

func implicitTag(n *yamlv4.Node) string {
	switch {
	case n.Kind == yamlv4.SequenceNode:
		return tagSeq
	case n.Kind == yamlv4.MappingNode:
		return tagMap
	case n.Style&(yamlv4.SingleQuotedStyle|yamlv4.DoubleQuotedStyle|yamlv4.LiteralStyle|yamlv4.FoldedStyle) != 0:
		return tagStr
	}
	if n.Tag == "!" && n.Value == "" {
		return tagStr
	}
	return resolvePlain(n.Value)
}

func kindName(n *yamlv4.Node) string {
	switch n.Kind {
	case yamlv4.SequenceNode:
		return "sequence"
	case yamlv4.MappingNode:
		return "mapping"
	}
	return "scalar"
}

// object makes the value of a node.
func (c *constructor) object(n *yamlv4.Node) (any, error) {
	if n.Kind == yamlv4.AliasNode {
		n = n.Alias
	}
	if n.Anchor != "" {
		if v, ok := c.made[n]; ok {
			return v, nil
		}
		if c.open[n] {
			return nil, marked(n, "", "found unconstructable recursive node")
		}
		if c.open == nil {
			c.open, c.made = map[*yamlv4.Node]bool{}, map[*yamlv4.Node]any{}
		}
		c.open[n] = true
		defer delete(c.open, n)
	}
	if c.depth++; c.depth > maxDepth {
		return nil, &errMarked{problem: "the document is nested too deeply", line: n.Line, column: n.Column, own: true}
	}
	v, err := c.tagged(n, tag(n))
	c.depth--
	if err == nil && n.Anchor != "" {
		c.made[n] = v
	}
	return v, err
}

// tagged makes the value of a node under a tag.
func (c *constructor) tagged(n *yamlv4.Node, tag string) (any, error) {
	switch tag {
	case tagStr, "!!python/unicode":
		return c.str(n)
	case tagMap, "!!python/dict":
		return c.mapping(n)
	case tagSeq:
		return c.sequence(n)
	case tagNull:
		_, err := scalar(n)
		return nil, err
	case tagBool:
		return fromScalar(n, makeBool)
	case tagInt:
		return fromScalar(n, makeInt)
	case tagFloat:
		return fromScalar(n, makeFloat)
	case tagTimestamp:
		return fromScalar(n, makeTimestamp)
	case tagBinary:
		s, err := scalar(n)
		if err != nil {
			return nil, err
		}
		b, err := makeBinary(s)
		if err != nil {
			return nil, marked(n, "", "failed to decode base64 data: "+err.Error())
		}
		return b, nil
	case tagSet:
		d, err := c.mapping(n)
		if err != nil {
			return nil, err
		}
		set := value.SetOf()
		for k := range d.(*value.Dict).All() {
			set.Add(k)
		}
		return set, nil
	case tagOmap:
		c.deprecated(n, "Use of the YAML `!!omap` tag is deprecated.",
			"Use a standard mapping instead, as key order is always preserved.")
		return c.pairs(n, "while constructing an ordered map")
	case tagPairs:
		c.deprecated(n, "Use of the YAML `!!pairs` tag is deprecated.", "Use a standard mapping instead.")
		return c.pairs(n, "while constructing pairs")
	}
	if c.o.NoAnsibleTags {
		return nil, unknownTag(n, tag)
	}
	switch tag {
	case "!unsafe":
		c.unsafe++
		v, err := c.tagged(n, implicitTag(n))
		c.unsafe--
		return v, err
	case "!vault-encrypted":
		c.deprecated(n, "Use of the YAML `!vault-encrypted` tag is deprecated.", "Use the `!vault` tag instead.")
		return c.vault(n)
	case "!vault":
		return c.vault(n)
	}
	return nil, unknownTag(n, tag)
}

func unknownTag(n *yamlv4.Node, tag string) error {
	if long := strings.TrimPrefix(tag, "!!"); long != tag {
		tag = "tag:yaml.org,2002:" + long
	}
	return marked(n, "", "could not determine a constructor for the tag "+quote(tag))
}

func (c *constructor) deprecated(n *yamlv4.Node, msg, help string) {
	c.o.sink().Deprecated(fault.Deprecation{
		Error:   fault.Error{Msg: msg, Help: help, Pos: c.pos(n), Redacted: c.o.Redacted},
		Version: "2.23",
	})
}

func scalar(n *yamlv4.Node) (string, error) {
	if n.Kind == yamlv4.ScalarNode {
		return n.Value, nil
	}
	if n.Kind == yamlv4.MappingNode {
		for i := 0; i+1 < len(n.Content); i += 2 {
			if k := n.Content[i]; k.Kind == yamlv4.ScalarNode && tag(k) == tagValue {
				return scalar(n.Content[i+1])
			}
		}
	}
	return "", marked(n, "", "expected a scalar node, but found "+kindName(n))
}

func fromScalar(n *yamlv4.Node, read func(string) (any, error)) (any, error) {
	s, err := scalar(n)
	if err != nil {
		return nil, err
	}
	return read(s)
}

func (c *constructor) str(n *yamlv4.Node) (any, error) {
	s, err := scalar(n)
	if err != nil {
		return nil, err
	}
	if c.o.Trusted && c.unsafe == 0 {
		return value.NewTemplate(s, c.pos(n)), nil
	}
	return s, nil
}

func (c *constructor) vault(n *yamlv4.Node) (any, error) {
	v, err := c.tagged(n, implicitTag(n))
	if err != nil {
		return nil, err
	}
	text, ok := value.Text(v)
	if !ok {
		t := n.Tag
		return nil, &errMarked{problem: "the " + quote(t) + " tag requires a string value", line: n.Line, column: n.Column, own: true}
	}
	vault := &value.Vault{Ciphertext: text, Pos: c.pos(n)}
	if decrypt := c.o.Decrypt; decrypt != nil {
		vault.Decrypt = func() (string, error) { return decrypt(text, vault.Pos) }
	}
	return vault, nil
}

func (c *constructor) sequence(n *yamlv4.Node) (any, error) {
	if n.Kind != yamlv4.SequenceNode {
		return nil, marked(n, "", "expected a sequence node, but found "+kindName(n))
	}
	pos := c.pos(n)
	l := &value.List{Items: make([]any, 0, len(n.Content)), Place: &pos}
	for _, child := range n.Content {
		v, err := c.object(child)
		if err != nil {
			return nil, err
		}
		l.Items = append(l.Items, v)
	}
	return l, nil
}

func (c *constructor) pairs(n *yamlv4.Node, context string) (any, error) {
	if n.Kind != yamlv4.SequenceNode {
		return nil, marked(n, context, "expected a sequence, but found "+kindName(n))
	}
	pos := c.pos(n)
	l := &value.List{Place: &pos}
	for _, sub := range n.Content {
		if sub.Kind == yamlv4.AliasNode {
			sub = sub.Alias
		}
		if sub.Kind != yamlv4.MappingNode {
			return nil, marked(sub, context, "expected a mapping of length 1, but found "+kindName(sub))
		}
		if len(sub.Content) != 2 {
			return nil, marked(sub, context, "expected a single mapping item, but found "+strconv.Itoa(len(sub.Content)/2)+" items")
		}
		k, err := c.key(sub.Content[0])
		if err != nil {
			return nil, err
		}
		v, err := c.object(sub.Content[1])
		if err != nil {
			return nil, err
		}
		l.Items = append(l.Items, value.Tuple{k, v})
	}
	return l, nil
}

// key makes a mapping's key: text is plain, whoever wrote it.
func (c *constructor) key(n *yamlv4.Node) (any, error) {
	k, err := c.object(n)
	if t, ok := k.(*value.Template); ok {
		return t.Text, err
	}
	return k, err
}

// flatten returns a mapping's pairs with those of its merge keys in front, in
// PyYAML's order (yaml/constructor.py: flatten_mapping).
func (c *constructor) flatten(n *yamlv4.Node) ([]pair, error) {
	if p, ok := c.flat[n]; ok {
		if p == nil {
			return nil, marked(n, "", "found unconstructable recursive node")
		}
		return p, nil
	}
	if !hasMerge(n) {
		own := make([]pair, 0, len(n.Content)/2)
		for i := 0; i+1 < len(n.Content); i += 2 {
			own = append(own, pair{n.Content[i], n.Content[i+1]})
		}
		return own, c.count(len(own))
	}
	if c.flat == nil {
		c.flat = map[*yamlv4.Node][]pair{}
	}
	c.flat[n] = nil // being flattened
	var merged, own []pair
	seen := map[any]bool{}
	add := func(sub *yamlv4.Node) error {
		pairs, err := c.flatten(sub)
		if err != nil {
			return err
		}
		for _, p := range pairs {
			// PyYAML compares the key's text by identity: the same node, or
			// a text of one Latin-1 character, which CPython has once only.
			var id any = p.key
			if r := []rune(p.key.Value); p.key.Kind == yamlv4.ScalarNode && (len(r) == 0 || len(r) == 1 && r[0] < 256) {
				id = p.key.Value
			}
			if !seen[id] {
				seen[id] = true
				merged = append(merged, p)
			}
		}
		return c.count(len(pairs))
	}
	const context = "while constructing a mapping"
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		if k.Kind != yamlv4.ScalarNode || tag(k) != tagMerge {
			own = append(own, pair{k, v})
			continue
		}
		if v.Kind == yamlv4.AliasNode {
			v = v.Alias
		}
		switch v.Kind {
		case yamlv4.MappingNode:
			if err := add(v); err != nil {
				return nil, err
			}
		case yamlv4.SequenceNode:
			for _, sub := range v.Content {
				if sub.Kind == yamlv4.AliasNode {
					sub = sub.Alias
				}
				if sub.Kind != yamlv4.MappingNode {
					return nil, marked(sub, context, "expected a mapping for merging, but found "+kindName(sub))
				}
				if err := add(sub); err != nil {
					return nil, err
				}
			}
		default:
			return nil, marked(v, context, "expected a mapping or list of mappings for merging, but found "+kindName(v))
		}
	}
	all := append(merged, own...)
	if all == nil {
		all = []pair{}
	}
	c.flat[n] = all
	return all, c.count(len(own))
}

func (c *constructor) count(n int) error {
	if c.entries += n; c.entries > maxEntries {
		return &errMarked{problem: "the document has too many entries", line: 1, column: 1, own: true}
	}
	return nil
}

func hasMerge(n *yamlv4.Node) bool {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if k := n.Content[i]; k.Kind == yamlv4.ScalarNode && (k.Value == "<<" || k.Tag == tagMerge) && tag(k) == tagMerge {
			return true
		}
	}
	return false
}

func (c *constructor) mapping(n *yamlv4.Node) (any, error) {
	if n.Kind != yamlv4.MappingNode {
		return nil, marked(n, "", "expected a mapping node, but found "+kindName(n))
	}
	pairs, err := c.flatten(n)
	if err != nil {
		return nil, err
	}
	d := value.NewDict(len(pairs))
	d.Places = &value.Places{File: c.file, Line: int32(n.Line), Column: int32(n.Column), Entries: make([]value.EntryPlace, 0, len(pairs))} //nolint:gosec // bounded by the file's size
	type duplicate struct {
		key  any
		node *yamlv4.Node
	}
	var duplicates []duplicate
	for _, p := range pairs {
		var k any
		if tag(p.key) == tagValue && p.key.Kind == yamlv4.ScalarNode {
			k = p.key.Value // PyYAML makes the key "=" a string
		} else if k, err = c.key(p.key); err != nil {
			return nil, err
		}
		if !value.Hashable(k) {
			return nil, &errMarked{context: "while constructing a mapping", contextLine: n.Line, contextColumn: n.Column,
				problem: "found unhashable key", line: p.key.Line, column: p.key.Column}
		}
		v, err := c.object(p.value)
		if err != nil {
			return nil, err
		}
		again := d.Has(k)
		if again {
			duplicates = append(duplicates, duplicate{k, p.key})
		}
		d.Set(k, v)
		if s := value.Str(k); again { // the first key stays, with the last value
			for i := range d.Places.Entries {
				if e := &d.Places.Entries[i]; e.Key == s {
					e.ValueLine, e.ValueColumn = int32(p.value.Line), int32(p.value.Column) //nolint:gosec // as below
				}
			}
		} else {
			d.Places.Entries = append(d.Places.Entries, value.EntryPlace{Key: s,
				KeyLine: int32(p.key.Line), KeyColumn: int32(p.key.Column), //nolint:gosec // as above
				ValueLine: int32(p.value.Line), ValueColumn: int32(p.value.Column)}) //nolint:gosec // as above
		}
	}
	for _, dup := range duplicates {
		msg := "Found duplicate mapping key " + repr(dup.key) + "."
		at := dup.node
		if at.Kind == yamlv4.AliasNode {
			at = at.Alias
		}
		switch c.o.Duplicates {
		case DuplicatesError:
			return nil, &errMarked{problem: msg, line: at.Line, column: at.Column, own: true}
		case DuplicatesWarn:
			w := &fault.Error{Msg: msg, Help: "Using last defined value only.", Pos: c.pos(at), Redacted: c.o.Redacted}
			switch dup.key.(type) {
			case bool, nil: // carry no place in the reference
				w.Pos, w.Excerpt = value.Pos{}, repr(dup.key)
			}
			c.o.sink().Warning(w)
		}
	}
	return d, nil
}
