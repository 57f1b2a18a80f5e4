package hostagent

import "volant/wire"

// record is the body of every journal record. A record on disk is its length
// (4 bytes), CRC-32C (4 bytes, of kind and body), kind (1 byte) and body.
type record struct {
	ID      wire.TaskID `cbor:"1,keyasint"`
	PID     int         `cbor:"2,keyasint,omitempty"` // process or process group
	Start   string      `cbor:"3,keyasint,omitempty"` // its start time
	Sealed  []byte      `cbor:"4,keyasint,omitempty"` // encoded outcome, sealed with the session key
	Version int         `cbor:"5,keyasint,omitempty"` // header only
	// When it was written, header only: nanoseconds since that boot, suspended or
	// not, which nobody sets as clocks are set.
	Boot string `cbor:"6,keyasint,omitempty"`
	Up   int64  `cbor:"7,keyasint,omitempty"`
}

// AppendBody implements wire.Body.
func (r *record) AppendBody(b []byte) ([]byte, error) {
	f := wire.NewFields(b)
	f.ID(1, &r.ID)
	f.Int(2, int64(r.PID))
	f.Text(3, r.Start)
	f.Bytes(4, r.Sealed)
	f.Int(5, int64(r.Version))
	f.Text(6, r.Boot)
	f.Int(7, r.Up)
	return f.B, nil
}

// ParseBody implements wire.Body.
func (r *record) ParseBody(b []byte) error {
	return wire.Parse(b, func(p *wire.Parser, key uint64) error {
		switch key {
		case 1:
			return p.ID(&r.ID)
		case 2:
			return integer(p, &r.PID)
		case 3:
			return p.Text(&r.Start)
		case 4:
			return p.Bytes(&r.Sealed)
		case 5:
			return integer(p, &r.Version)
		case 6:
			return p.Text(&r.Boot)
		case 7:
			return p.Int64(&r.Up)
		}
		return p.Skip()
	})
}

func integer(p *wire.Parser, to *int) error {
	var n int64
	err := p.Int64(&n)
	*to = int(n)
	return err
}
