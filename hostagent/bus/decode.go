package bus

import (
	"encoding/binary"
	"errors"
)

// maxNesting is D-Bus's own bound of containers in containers, both kinds.
const maxNesting = 64

var errBad = errors.New("the D-Bus message is malformed")

// decoder reads marshalled values. The first error stays.
type decoder struct {
	b     []byte
	at    int
	depth int
	err   error
	out   []byte // the values read, without their padding
}

func (d *decoder) fail() { d.err = errBad }

func (d *decoder) align(n int) {
	if d.err == nil {
		if d.at = (d.at + n - 1) / n * n; d.at > len(d.b) {
			d.fail()
		}
	}
}

// take returns the next n bytes, nil when there are not as many.
func (d *decoder) take(n int) []byte {
	if d.err != nil || n < 0 || n > len(d.b)-d.at {
		d.fail()
		return nil
	}
	d.at += n
	return d.b[d.at-n : d.at]
}

func (d *decoder) byte() byte {
	if b := d.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (d *decoder) uint32() uint32 {
	d.align(4)
	if b := d.take(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

// text reads a string of which the length is known, and its final zero.
func (d *decoder) text(n uint32) string {
	if n > maxMessage {
		d.fail()
		return ""
	}
	b := d.take(int(n) + 1)
	if b == nil {
		return ""
	}
	return string(b[:n])
}

func (d *decoder) signature() string { return d.text(uint32(d.byte())) }

// properties reads a{sv}.
func (d *decoder) properties() Properties {
	size := d.uint32()
	d.align(8)
	if d.err != nil || int64(size) > int64(len(d.b)-d.at) {
		d.fail()
		return nil
	}
	p := make(Properties, 300)
	for end := d.at + int(size); d.err == nil && d.at < end; {
		d.align(8)
		name := d.text(d.uint32())
		sig := d.signature()
		d.out = append(append(d.out[:0], sig...), ':')
		d.skip(sig)
		p[name] = string(d.out)
	}
	return p
}

// widths are the sizes of the basic types, which are their alignment, too.
var widths = map[byte]int{'y': 1, 'n': 2, 'q': 2, 'b': 4, 'i': 4, 'u': 4, 'h': 4, 'x': 8, 't': 8, 'd': 8}

// skip reads values of the given types into out.
func (d *decoder) skip(sig string) {
	for d.err == nil && sig != "" {
		sig = d.one(sig)
	}
}

// one reads a value of the first complete type and returns the types after it.
func (d *decoder) one(sig string) (rest string) {
	if n := widths[sig[0]]; n != 0 {
		d.align(n)
		d.out = append(d.out, d.take(n)...)
		return sig[1:]
	}
	first, rest := complete(sig)
	if d.depth++; first == "" || d.depth > maxNesting {
		d.fail()
		return ""
	}
	defer func() { d.depth-- }()
	switch sig[0] {
	case 's', 'o':
		d.put(d.text(d.uint32()))
	case 'g':
		d.put(d.signature())
	case 'v':
		inner := d.signature()
		d.put(inner)
		d.skip(inner)
	case '(', '{':
		d.align(8)
		d.skip(first[1 : len(first)-1])
	case 'a':
		d.array(first[1:])
	}
	return rest
}

// put keeps a text with its length: two of them are never read as others.
func (d *decoder) put(s string) {
	d.out = append(binary.LittleEndian.AppendUint32(d.out, uint32(len(s))), s...)
}

func (d *decoder) array(element string) {
	size := d.uint32()
	switch c := element[0]; {
	case c == '(' || c == '{':
		d.align(8)
	case widths[c] != 0:
		d.align(widths[c])
	case c != 'g' && c != 'v':
		d.align(4)
	}
	if d.err != nil || int64(size) > int64(len(d.b)-d.at) {
		d.fail()
		return
	}
	mark := len(d.out)
	d.out = append(d.out, 0, 0, 0, 0)
	count := uint32(0)
	for end := d.at + int(size); d.err == nil && d.at < end; count++ {
		before := d.at
		d.skip(element)
		if d.at == before { // an empty structure would never end
			d.fail()
		}
	}
	if d.err == nil {
		binary.LittleEndian.PutUint32(d.out[mark:], count)
	}
}

// complete splits the first complete type off a signature; "" when there is
// none.
func complete(sig string) (first, rest string) {
	depth := 0
	for i := range len(sig) {
		switch sig[i] {
		case '(', '{':
			depth++
		case ')', '}':
			depth--
		case 'a':
			continue // and what follows
		case 's', 'o', 'g', 'v', 'y', 'n', 'q', 'b', 'i', 'u', 'h', 'x', 't', 'd':
		default:
			return "", ""
		}
		switch {
		case depth == 0:
			return sig[:i+1], sig[i+1:]
		case depth < 0 || depth > maxNesting:
			return "", ""
		}
	}
	return "", ""
}
