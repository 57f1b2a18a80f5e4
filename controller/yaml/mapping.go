package yaml

import (
	yamlv4 "go.yaml.in/yaml/v4"

	"volant/controller/fault"
	"volant/wire/value"
)

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
		msg := "Found duplicate mapping key " + value.Repr(dup.key) + "."
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
				w.Pos, w.Excerpt = value.Pos{}, value.Repr(dup.key)
			}
			c.o.sink().Warning(w)
		}
	}
	return d, nil
}
