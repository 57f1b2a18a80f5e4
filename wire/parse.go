package wire

import (
	"errors"
	"fmt"
	"math"
	"unicode/utf8"
)

// errKeys says that a mapping's keys are not ascending integers: whoever wrote it
// is not of this protocol. It also means that no key comes twice.
var errKeys = errors.New("keys that are not in order")

// Parser reads the encoding of structs: see Fields. Lengths are believed only as
// far as there are bytes.
type Parser struct{ d decoder }

// Parse reads one mapping, which must take up all of b; field reads the value of
// each key, with Skip where it does not know it.
func Parse(b []byte, field func(p *Parser, key uint64) error) error {
	p := Parser{decoder{b: b}}
	if err := p.Object(field); err != nil {
		return err
	}
	if len(p.d.b) != 0 {
		return fmt.Errorf("%d bytes behind a message", len(p.d.b))
	}
	return nil
}

// Object reads a mapping within another; null is an empty one.
func (p *Parser) Object(field func(p *Parser, key uint64) error) error {
	if p.null() {
		return nil
	}
	n, err := p.due(5, "a mapping")
	if err != nil {
		return err
	}
	if n > uint64(len(p.d.b)/2) {
		return errShort
	}
	for next := uint64(0); n > 0; n-- {
		key, err := p.due(0, "a key")
		if err != nil {
			return err
		}
		if key < next || key == math.MaxUint64 {
			return errKeys
		}
		next = key + 1
		if err := field(p, key); err != nil {
			return err
		}
	}
	return nil
}

// due reads a head that must be of that major type.
func (p *Parser) due(major byte, what string) (uint64, error) {
	got, _, n, err := p.d.head()
	if err == nil && got != major {
		err = fmt.Errorf("%s was due", what)
	}
	return n, err
}

// null takes a null off.
func (p *Parser) null() bool {
	if len(p.d.b) > 0 && (p.d.b[0] == 0xf6 || p.d.b[0] == 0xf7) {
		p.d.b = p.d.b[1:]
		return true
	}
	return false
}

// Int reads an integer between lo and hi.
func (p *Parser) Int(lo, hi int64) (int64, error) {
	if p.null() {
		return 0, nil
	}
	major, _, n, err := p.d.head()
	switch {
	case err != nil:
		return 0, err
	case major > 1:
		return 0, errors.New("an integer was due")
	case n > math.MaxInt64:
		return 0, errors.New("an integer that is too large")
	}
	v := int64(n)
	if major == 1 {
		v = -1 - v
	}
	if v < lo || v > hi {
		return 0, fmt.Errorf("%d is not between %d and %d", v, lo, hi)
	}
	return v, nil
}

// Int64 reads any integer.
func (p *Parser) Int64(to *int64) (err error) {
	*to, err = p.Int(math.MinInt64, math.MaxInt64)
	return err
}

func (p *Parser) uint32(to *uint32) error {
	n, err := p.Int(0, math.MaxUint32)
	*to = uint32(n)
	return err
}

func (p *Parser) uint8() (uint8, error) {
	n, err := p.Int(0, math.MaxUint8)
	return uint8(n), err
}

// Bool reads true or false.
func (p *Parser) Bool(to *bool) error {
	if p.null() {
		return nil
	}
	if len(p.d.b) == 0 {
		return errShort
	}
	c := p.d.b[0]
	if c != 0xf4 && c != 0xf5 {
		return errors.New("true or false was due")
	}
	*to, p.d.b = c == 0xf5, p.d.b[1:]
	return nil
}

// Text reads a string; one that is not UTF-8 has a tag, as among values.
func (p *Parser) Text(to *string) error {
	if p.null() {
		return nil
	}
	major, _, n, err := p.d.head()
	if err == nil && major == 6 && n == tagRawString {
		n, err = p.due(2, "a string")
		major = 2
	} else if err == nil && major != 3 {
		err = errors.New("a string was due")
	}
	if err != nil {
		return err
	}
	b, err := p.d.bytes(n)
	if err != nil {
		return err
	}
	if major == 3 && !utf8.Valid(b) {
		return errors.New("text that is not UTF-8")
	}
	*to = string(b)
	return nil
}

// Bytes reads a byte string, which is copied; null leaves it nil.
func (p *Parser) Bytes(to *[]byte) error {
	if p.null() {
		return nil
	}
	b, err := p.raw()
	if err == nil {
		*to = append(make([]byte, 0, len(b)), b...)
	}
	return err
}

func (p *Parser) raw() ([]byte, error) {
	n, err := p.due(2, "a byte string")
	if err != nil {
		return nil, err
	}
	return p.d.bytes(n)
}

func (p *Parser) hash(to *Hash) error {
	if p.null() {
		return nil
	}
	b, err := p.raw()
	if err == nil && len(b) != len(to) {
		err = fmt.Errorf("a hash of %d bytes", len(b))
	}
	copy(to[:], b)
	return err
}

// ID reads a sub-task's name.
func (p *Parser) ID(id *TaskID) error {
	return p.Object(func(p *Parser, key uint64) error {
		switch key {
		case 1:
			return p.Text(&id.Host)
		case 2:
			return p.uint32(&id.Step)
		case 3:
			return p.uint32(&id.Item)
		case 4:
			return p.uint32(&id.Attempt)
		case 5:
			return p.uint32(&id.N)
		}
		return p.Skip()
	})
}

// list reads the head of a list, and each item with item.
func (p *Parser) list(item func(p *Parser) error) error {
	if p.null() {
		return nil
	}
	n, err := p.due(4, "a list")
	if err != nil {
		return err
	}
	if n > uint64(len(p.d.b)) || n > MaxElements {
		return errShort
	}
	for range n {
		if err := item(p); err != nil {
			return err
		}
	}
	return nil
}

func (p *Parser) texts(to *[]string) error {
	return p.list(func(p *Parser) error {
		var s string
		err := p.Text(&s)
		*to = append(*to, s)
		return err
	})
}

func (p *Parser) vars(to *[]EnvVar) error {
	return p.list(func(p *Parser) error {
		var v EnvVar
		err := p.Object(func(p *Parser, key uint64) error {
			switch key {
			case 1:
				return p.Text(&v.Name)
			case 2:
				return p.Text(&v.Value)
			}
			return p.Skip()
		})
		*to = append(*to, v)
		return err
	})
}

// dict reads a mapping of values, bounded like any by DecodeValue.
func (p *Parser) dict(to *Dict) error {
	p.d.count = 0
	p.d.share()
	v, err := p.d.value(0)
	if err != nil {
		return fmt.Errorf("decoding a value: %w", err)
	}
	return to.set(v)
}

// Skip reads past one value of any kind.
func (p *Parser) Skip() error { return p.skip(0) }

func (p *Parser) skip(depth int) error {
	if depth > MaxDepth {
		return errLimits
	}
	major, info, n, err := p.d.head()
	if err != nil {
		return err
	}
	switch major {
	case 2, 3:
		_, err = p.d.bytes(n)
		return err
	case 4, 5:
		if major == 5 {
			if n > uint64(len(p.d.b)/2) {
				return errShort
			}
			n *= 2
		}
		if n > uint64(len(p.d.b)) {
			return errShort
		}
		for range n {
			if err := p.skip(depth + 1); err != nil {
				return err
			}
		}
	case 6:
		return p.skip(depth + 1)
	case 7:
		if info == 24 && n < 32 {
			return fmt.Errorf("simple value %d", n)
		}
	}
	return nil
}
