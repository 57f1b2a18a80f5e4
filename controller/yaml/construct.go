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
	maxAliased = 1 << 20   // values that aliases repeat: whatever walks the document walks them all
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
	size    map[*yamlv4.Node]int // how many values those hold, their aliases followed
	values  int                  // made so far, aliases followed
	aliased int                  // of them those that only aliases repeat
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
	at := n
	if n.Kind == yamlv4.AliasNode {
		n = n.Alias
	}
	if n.Anchor != "" {
		if v, ok := c.made[n]; ok {
			c.values += c.size[n]
			if c.aliased += c.size[n]; c.aliased > maxAliased {
				return nil, &errMarked{problem: "the document's aliases repeat too many values", line: at.Line, column: at.Column, own: true}
			}
			return v, nil
		}
		if c.open[n] {
			return nil, marked(n, "", "found unconstructable recursive node")
		}
		if c.open == nil {
			c.open, c.made, c.size = map[*yamlv4.Node]bool{}, map[*yamlv4.Node]any{}, map[*yamlv4.Node]int{}
		}
		c.open[n] = true
		defer delete(c.open, n)
	}
	if c.depth++; c.depth > maxDepth {
		return nil, &errMarked{problem: "the document is nested too deeply", line: n.Line, column: n.Column, own: true}
	}
	before := c.values
	c.values++
	v, err := c.tagged(n, tag(n))
	c.depth--
	if err == nil && n.Anchor != "" {
		c.made[n], c.size[n] = v, c.values-before
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
	return marked(n, "", "could not determine a constructor for the tag "+value.Repr(tag))
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
		return nil, &errMarked{problem: "the " + value.Repr(t) + " tag requires a string value", line: n.Line, column: n.Column, own: true}
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
