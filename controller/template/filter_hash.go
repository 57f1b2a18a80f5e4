package template

import (
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha3"
	"crypto/sha512"
	"encoding/hex"
	"hash"
	"strings"

	"golang.org/x/crypto/blake2b"
	"golang.org/x/crypto/blake2s"
	"golang.org/x/crypto/ripemd160" //nolint:staticcheck // the hash filter offers what OpenSSL does

	"volant/controller/jinja"
	"volant/wire/value"
)

var hashFilters = map[string]*jinja.Plugin{
	"md5":           def("secure_hash_s(data)", digest("md5")),
	"sha1":          def("secure_hash_s(data)", digest("sha1")),
	"checksum":      def("secure_hash_s(data)", digest("sha1")),
	"hash":          def("get_hash(data, hashtype='sha1')", hashFilter),
	"to_uuid":       def("to_uuid(string, namespace='361E6D51-FAEC-444A-9079-341386DA8E2E')", toUUID),
	"password_hash": def("get_encrypted_password(password, hashtype='sha512', salt=None, salt_size=None, rounds=None, ident=None)", passwordHash),
}

// hashes are the algorithms of hashlib.new with a fixed digest size.
var hashes = map[string]func() hash.Hash{
	"md5":        md5.New,
	"sha1":       sha1.New,
	"sha224":     sha256.New224,
	"sha256":     sha256.New,
	"sha384":     sha512.New384,
	"sha512":     sha512.New,
	"sha512_224": sha512.New512_224,
	"sha512_256": sha512.New512_256,
	"sha3_224":   func() hash.Hash { return sha3.New224() },
	"sha3_256":   func() hash.Hash { return sha3.New256() },
	"sha3_384":   func() hash.Hash { return sha3.New384() },
	"sha3_512":   func() hash.Hash { return sha3.New512() },
	"blake2b":    func() hash.Hash { h, _ := blake2b.New512(nil); return h }, // fails only with a key
	"blake2s":    func() hash.Hash { h, _ := blake2s.New256(nil); return h },
	"ripemd160":  ripemd160.New,
}

func digest(kind string) call {
	return func(c *jinja.Context, a []any) (any, error) {
		s, err := text(c, a[0])
		if err != nil {
			return nil, err
		}
		h := hashes[kind]()
		h.Write([]byte(s))
		return hex.EncodeToString(h.Sum(nil)), nil
	}
}

func hashFilter(c *jinja.Context, a []any) (any, error) {
	name, ok := value.Text(a[1])
	if !ok {
		return nil, failf("name must be a string")
	}
	kind := strings.NewReplacer("-", "_", "sha-", "sha").Replace(strings.ToLower(name))
	if _, ok := hashes[kind]; !ok {
		kind = strings.ReplaceAll(kind, "_", "")
	}
	if _, ok := hashes[kind]; !ok {
		return nil, failWhile("unsupported hash type %s", name)
	}
	return digest(kind)(c, a[:1])
}

func toUUID(c *jinja.Context, a []any) (any, error) {
	s, err := text(c, a[0])
	if err != nil {
		return nil, err
	}
	ns, ok := value.Text(a[1])
	if !ok {
		return nil, failWhile("Invalid value '%s' for 'namespace': '%s' object has no attribute 'replace'", value.Str(a[1]), lazyName(a[1]))
	}
	clean := strings.Trim(strings.NewReplacer("urn:", "", "uuid:", "").Replace(ns), "{}")
	space, err := hex.DecodeString(strings.ReplaceAll(clean, "-", ""))
	if err != nil || len(space) != 16 {
		return nil, failWhile("Invalid value '%s' for 'namespace': badly formed hexadecimal UUID string", ns)
	}
	h := sha1.New()
	h.Write(space)
	h.Write([]byte(s))
	u := h.Sum(nil)[:16]
	u[6] = u[6]&0x0f | 0x50
	u[8] = u[8]&0x3f | 0x80
	x := hex.EncodeToString(u)
	return x[:8] + "-" + x[8:12] + "-" + x[12:16] + "-" + x[16:20] + "-" + x[20:], nil
}
