package template

import (
	"crypto/sha256"
	"crypto/sha512"
	"fmt"
	"strings"

	"github.com/go-crypt/x/bcrypt"
	"github.com/go-crypt/x/crypt"

	"volant/controller/jinja"
	"volant/wire/value"
)

// scheme is one way to hash a password, with passlib's limits.
type scheme struct {
	name, ident        string
	saltMin, saltMax   int
	saltSize           int // of a salt we draw
	rounds             int // when none are asked for; 0: the scheme has none
	minRounds, maxRnds int
}

const saltChars = "./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// bcryptChars is bcrypt's base64 alphabet.
const bcryptChars = "./ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

var schemes = map[string]scheme{
	"md5_crypt":    {name: "md5_crypt", ident: "1", saltMax: 8, saltSize: 8},
	"sha256_crypt": {name: "sha256_crypt", ident: "5", saltMax: 16, saltSize: 16, rounds: 535000, minRounds: 1000, maxRnds: 999999999},
	"sha512_crypt": {name: "sha512_crypt", ident: "6", saltMax: 16, saltSize: 16, rounds: 656000, minRounds: 1000, maxRnds: 999999999},
	"bcrypt":       {name: "bcrypt", ident: "2b", saltMin: 22, saltMax: 22, saltSize: 22, rounds: 12, minRounds: 4, maxRnds: 31},
}

// schemeNames are the short names the filter takes.
var schemeNames = map[string]string{"md5": "md5_crypt", "blowfish": "bcrypt", "sha256": "sha256_crypt", "sha512": "sha512_crypt"}

func passwordHash(c *jinja.Context, a []any) (any, error) {
	kind, _ := value.Text(a[1])
	if full, ok := schemeNames[kind]; ok {
		kind = full
	}
	if _, ok := schemes[kind]; !ok {
		return nil, failf("%s is not in the list of supported passlib algorithms: md5, blowfish, sha256, sha512", value.Str(a[1]))
	}
	return hashPassword(c, kind, a[0], a[2], a[3], a[4], a[5])
}

// hashPassword hashes secret; salt, size, rounds and ident may be nil.
func hashPassword(c *jinja.Context, kind string, secret, salt, size, rounds, ident any) (any, error) {
	s := schemes[kind]
	saltText, err := givenSalt(c, kind, salt)
	if err != nil {
		return nil, err
	}
	if size != nil && !value.IsInt(size) {
		return nil, value.TypeErrorf("salt_size must be an integer")
	}
	n, err := wantedRounds(c, s, rounds)
	if err != nil {
		return nil, err
	}
	drawn := s.saltSize
	if v, ok := value.ToInt(size); ok && v > 0 && saltText == "" {
		if drawn = int(v); drawn > s.saltMax || drawn < s.saltMin {
			large := drawn > s.saltMax
			return nil, noHash("salt_size too %s (%s requires %s %d chars)", map[bool]string{true: "large", false: "small"}[large], s.name, map[bool]string{true: "<=", false: ">="}[large], s.saltMax)
		}
	}
	if err := s.checkRounds(n, rounds != nil && truth(c, rounds)); err != nil {
		return nil, err
	}
	if saltText, err = s.finalSalt(kind, saltText, drawn); err != nil {
		return nil, err
	}
	pass, isText := value.Text(secret)
	if b, isBytes := secret.([]byte); isBytes {
		pass, isText = string(b), true
	}
	switch {
	case !isText:
		return nil, value.TypeErrorf("secret must be unicode or bytes, not %s", value.TypeName(secret))
	case len(pass) > 4096:
		return nil, noHash("password must be under 4096 bytes")
	case strings.ContainsRune(pass, 0):
		return nil, noHash("%s does not allow NULL bytes in password", s.name)
	}
	switch kind {
	case "md5_crypt":
		return "$1$" + saltText + "$" + string(crypt.KeyMD5Crypt([]byte(pass), []byte(saltText))), nil
	case "sha256_crypt":
		return "$5$" + roundsText(n) + saltText + "$" + string(crypt.KeySHACrypt(sha256.New, []byte(pass), []byte(saltText), int(n))), nil
	case "sha512_crypt":
		return "$6$" + roundsText(n) + saltText + "$" + string(crypt.KeySHACrypt(sha512.New, []byte(pass), []byte(saltText), int(n))), nil
	}
	return s.bcrypt(pass, saltText, n, ident)
}

// noHash is the error of a hash that cannot be made.
func noHash(format string, args ...any) error {
	return failBy(value.ValueErrorf(format, args...), "Could not hash the secret.")
}

// givenSalt is the salt a caller named, or "".
func givenSalt(c *jinja.Context, kind string, salt any) (string, error) {
	if salt == nil || !truth(c, salt) {
		return "", nil
	}
	t, err := text(c, salt)
	if err != nil {
		return "", err
	}
	if !asciiOnly(t) {
		return "", encodeError(128, firstWide(t), 0)
	}
	if kind == "bcrypt" {
		return repairSalt(t)
	}
	return t, nil
}

// wantedRounds is the number of rounds a caller named, or the scheme's.
func wantedRounds(c *jinja.Context, s scheme, rounds any) (int64, error) {
	if rounds == nil || !truth(c, rounds) {
		return int64(s.rounds), nil
	}
	if r, ok := value.ToInt(rounds); ok {
		return r, nil
	}
	t, isText := value.Text(rounds)
	if !isText {
		return 0, value.TypeErrorf("rounds must be an integer")
	}
	r, err := toInt(t)
	if err != nil {
		return 0, failBy(err, "Could not hash the secret.")
	}
	return r, nil
}

func (s scheme) checkRounds(n int64, named bool) error {
	switch {
	case s.rounds == 0 && named:
		return value.TypeErrorf("md5_crypt.using() got an unexpected keyword argument 'rounds'")
	case s.rounds > 0 && n < int64(s.minRounds):
		return noHash("%s: min_desired_rounds (%d) is too low, must be at least %d", s.name, n, s.minRounds)
	case s.rounds > 0 && n > int64(s.maxRnds):
		return noHash("%s: min_desired_rounds (%d) is too high, cannot be more than %d", s.name, n, s.maxRnds)
	}
	return nil
}

// finalSalt is the given salt, checked, or one drawn of so many characters.
func (s scheme) finalSalt(kind, given string, drawn int) (string, error) {
	chars := saltChars
	if kind == "bcrypt" {
		chars = bcryptChars
	}
	switch {
	case given == "" && kind == "bcrypt":
		return repairSalt(drawSalt(chars, drawn))
	case given == "":
		return drawSalt(chars, drawn), nil
	case strings.Trim(given, chars) != "":
		return "", noHash("invalid characters in %s salt", s.name)
	case len(given) < s.saltMin:
		return "", noHash("salt too small (%s requires exactly %d chars)", s.name, s.saltMin)
	case len(given) > s.saltMax:
		rel := "<="
		if s.saltMin == s.saltMax {
			rel = "exactly"
		}
		return "", noHash("salt too large (%s requires %s %d chars)", s.name, rel, s.saltMax)
	}
	return given, nil
}

func (s scheme) bcrypt(pass, salt string, n int64, ident any) (any, error) {
	id := s.ident
	if t, ok := value.Text(ident); ok && t != "" {
		id = strings.Trim(t, "$")
	}
	switch id {
	case "2", "2a", "2b", "2y":
	default:
		return nil, noHash("invalid ident: %s", value.Repr(ident))
	}
	raw, err := bcrypt.Base64Decode([]byte(salt))
	if err != nil || len(raw) != 16 {
		return nil, noHash("invalid characters in bcrypt salt")
	}
	if len(pass) > 72 {
		pass = pass[:72] // bcrypt reads no further
	}
	key, err := bcrypt.Key([]byte(pass), raw, int(n))
	if err != nil {
		return nil, noHash("%s", err.Error())
	}
	return fmt.Sprintf("$%s$%02d$%s%s", id, n, salt, key), nil
}

// roundsText leaves the rounds out that crypt takes without being told.
func roundsText(n int64) string {
	if n == 5000 {
		return ""
	}
	return fmt.Sprintf("rounds=%d$", n)
}

// repairSalt clears the bits of a bcrypt salt's last character that no byte
// uses.
func repairSalt(s string) (string, error) {
	if len(s)%4 == 1 {
		return "", value.ValueErrorf("source length must != 1 mod 4")
	}
	mask := 0x3f
	switch len(s) % 4 {
	case 2:
		mask = 0x30
	case 3:
		mask = 0x3c
	}
	if s == "" {
		return s, nil
	}
	i := strings.IndexByte(bcryptChars, s[len(s)-1])
	if i < 0 {
		return s, nil
	}
	return s[:len(s)-1] + string(bcryptChars[i&mask]), nil
}

func drawSalt(chars string, n int) string {
	r := &random{real: true}
	b := make([]byte, n)
	for i := range b {
		b[i] = chars[r.below(uint64(len(chars)))]
	}
	return string(b)
}

func asciiOnly(s string) bool { return firstWide(s) == 0 }

func firstWide(s string) rune {
	for _, r := range s {
		if r >= 128 {
			return r
		}
	}
	return 0
}
