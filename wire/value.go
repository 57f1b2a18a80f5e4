package wire

import (
	"errors"
	"fmt"

	"volant/wire/value"
)

// Dict is a mapping of values in a message. A nil Dict travels as null.
type Dict struct{ *value.Dict }

// MarshalCBOR encodes the mapping with EncodeValue.
func (d Dict) MarshalCBOR() ([]byte, error) {
	if d.Dict == nil {
		return []byte{0xf6}, nil
	}
	return EncodeValue(d.Dict)
}

// UnmarshalCBOR decodes a mapping with DecodeValue.
func (d *Dict) UnmarshalCBOR(b []byte) error {
	v, err := DecodeValue(b)
	if err != nil {
		return err
	}
	return d.set(v)
}

// set makes v the mapping, which null is, too.
func (d *Dict) set(v any) error {
	switch v := v.(type) {
	case nil:
		d.Dict = nil
	case *value.Dict:
		d.Dict = v
	default:
		return fmt.Errorf("decoding a mapping: it is a %T", v)
	}
	return nil
}

var errLimits = errors.New("value too deep or with too many elements")
