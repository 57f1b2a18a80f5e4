package template

import (
	"errors"
	"unsafe"

	"volant/controller/jinja"
	"volant/wire/value"
)

// textID tells one string from another of the same text. The reference tags
// strings with what they were decrypted from and where they came from; we
// remember it for the very string a scope handed out, which is what reaches a
// filter or a conditional when nobody changed it.
type textID struct {
	data *byte
	n    int
}

func idOf(s string) (textID, bool) {
	if s == "" {
		return textID{}, false
	}
	return textID{unsafe.StringData(s), len(s)}, true
}

// origin is where a string came from.
type origin struct {
	text  string // keeps the bytes, so that no other string gets their address
	vault *value.Vault
	from  string // description, as error texts quote it
}

func (s *Scope) remember(text string, o origin) {
	id, ok := idOf(text)
	if !ok {
		return
	}
	if s.origins == nil {
		s.origins = map[textID]origin{}
	}
	o.text = text
	s.origins[id] = o
}

func (s *Scope) originOf(v any) origin {
	text, ok := v.(string)
	if !ok || s.origins == nil {
		return origin{}
	}
	id, ok := idOf(text)
	if !ok {
		return origin{}
	}
	return s.origins[id]
}

// undecryptable is the failure to read a vaulted value.
type undecryptable struct {
	v   *value.Vault
	err error
}

func (u *undecryptable) Error() string { return u.err.Error() }
func (u *undecryptable) Unwrap() error { return u.err }

// decrypt returns the text of a vaulted value, or a marker.
func (s *Scope) decrypt(v *value.Vault) any {
	if r, ok := s.secrets[v]; ok {
		return r
	}
	err := errors.New("Attempting to decrypt but no vault secrets found.") //nolint:staticcheck // shown to users
	text := ""
	if v.Decrypt != nil {
		text, err = v.Decrypt()
	}
	var r any = text
	if v.Decrypt == nil || err != nil {
		r = s.marker(vaultError(v, &undecryptable{v, err}))
	} else {
		s.remember(text, origin{vault: v})
	}
	if s.secrets == nil {
		s.secrets = map[*value.Vault]any{}
	}
	s.secrets[v] = r
	return r
}

// vaulted returns the encrypted value that v is, was decrypted from, or could
// not be decrypted from.
func vaulted(c *jinja.Context, v any) *value.Vault {
	switch v := v.(type) {
	case *value.Vault:
		return v
	case *value.Undefined:
		var u *undecryptable
		if errors.As(v.Err, &u) {
			return u.v
		}
	case string:
		if s := of(c); s != nil {
			return s.originOf(v).vault
		}
	}
	return nil
}
