package vault

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"volant/controller/fault"
	"volant/wire/value"
)

// Written by ansible-vault 2.19 with the password "one".
const recorded = `$ANSIBLE_VAULT;1.1;AES256
34383835343562363031316338383561363963313636363831623763616333663963353034663933
6138346639363434656463656362346561313563643630300a613864326665326630616234666137
63666232383262363166653631333364376139336566386437353931663265373030353963666138
3930613766333931350a373264336136636666333236346432306361626536623338633837383666
6363
`

func TestDecryptRecorded(t *testing.T) {
	one, two := Secret{ID: "default", Key: []byte("one")}, Secret{ID: "x", Key: []byte("two")}
	for _, v := range []*Vault{New(one), New(two, one)} {
		got, err := v.Decrypt([]byte(recorded), "/f")
		if err != nil || string(got) != "secret words\n" {
			t.Errorf("got %q, %v", got, err)
		}
	}
	strict := New(Secret{ID: "other", Key: []byte("one")})
	strict.MatchID = true
	for name, c := range map[string]struct {
		v    *Vault
		data string
		want string
	}{
		"wrong":     {New(two), recorded, "Decryption failed (no vault secrets were found that could decrypt)."},
		"id match":  {strict, recorded, "Decryption failed (no vault secrets were found that could decrypt)."},
		"none":      {New(), recorded, "Attempting to decrypt but no vault secrets found."},
		"plain":     {New(one), "hello", "Input is not vault encrypted data."},
		"cipher":    {New(one), strings.Replace(recorded, "AES256", "ROT13", 1), "Cipher 'ROT13' could not be found."},
		"envelope":  {New(one), "$ANSIBLE_VAULT\n", "Vault envelope format error: list index out of range"},
		"not hex":   {New(one), "$ANSIBLE_VAULT;1.1;AES256\nzz\n", "Vault format unhexlify error: Non-hexadecimal digit found"},
		"odd":       {New(one), "$ANSIBLE_VAULT;1.1;AES256\n616\n", "Vault format unhexlify error: Odd-length string"},
		"no fields": {New(one), "$ANSIBLE_VAULT;1.1;AES256\n6161\n", "Vault vaulttext format error: not enough values to unpack (expected 3, got 1)"},
	} {
		_, err := c.v.Decrypt([]byte(c.data), "/f")
		var e *fault.Error
		if !errors.As(err, &e) || err.Error() != c.want || e.Pos.File != "/f" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestRoundTrip(t *testing.T) {
	s := Secret{ID: "dev", Key: []byte("pw")}
	v := New(s)
	for _, n := range []int{0, 1, 15, 16, 17, 1000} {
		plain := bytes.Repeat([]byte("x"), n)
		data, err := v.Encrypt(plain, s, s.ID, nil)
		if err != nil || !bytes.HasPrefix(data, []byte("$ANSIBLE_VAULT;1.2;AES256;dev\n")) {
			t.Fatalf("%v %q", err, data)
		}
		if got, err := v.DecryptString(string(data), value.Pos{}); err != nil || got != string(plain) {
			t.Errorf("%d: %q %v", n, got, err)
		}
		if _, err := v.Encrypt(data, s, "", nil); err == nil || err.Error() != "input is already encrypted" {
			t.Errorf("again: %v", err)
		}
	}
	a, _ := v.Encrypt([]byte("x"), s, "", []byte("salt"))
	b, _ := v.Encrypt([]byte("x"), s, "", []byte("salt"))
	if !bytes.Equal(a, b) {
		t.Error("the same salt gives different texts")
	}
}

type answers []string

func (a *answers) Prompt(string, bool) (string, error) {
	if len(*a) == 0 {
		return "", io.EOF
	}
	s := (*a)[0]
	*a = (*a)[1:]
	return s, nil
}

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	write("pw", "  file secret \n", 0o600)
	write("script", "#!/bin/sh\necho scripted\n", 0o700)
	write("get-client.sh", "#!/bin/sh\n[ \"$2\" = dev ] || exit 2\necho for-$2\n", 0o700)
	write("empty", "\n", 0o600)
	got, err := New().Load(context.Background(), Wanted{
		IDs: []string{"a@pw", "script", "dev@get-client.sh", "p@prompt"}, PasswordFiles: []string{"nosuch"}, Dir: dir,
	}, &answers{"typed"}, fault.Discard)
	if err != nil {
		t.Fatal(err)
	}
	var text []string
	for _, s := range got {
		text = append(text, s.ID+"="+string(s.Key))
	}
	if s := strings.Join(text, " "); s != "a=file secret default=scripted dev=for-dev p=typed" {
		t.Errorf("got %q", s)
	}
	for want, w := range map[string]Wanted{
		"The vault password file " + dir + "/nosuch was not found":                                         {PasswordFiles: []string{"nosuch"}, Dir: dir},
		"Invalid vault password was provided from file (" + dir + "/empty)":                                {PasswordFiles: []string{"empty"}, Dir: dir},
		"Vault password client script " + dir + "/get-client.sh did not find a secret for vault-id=z: b''": {IDs: []string{"z@get-client.sh"}, Dir: dir},
		"EOFError (ctrl-d) on prompt for (default)":                                                        {Ask: true, Dir: dir},
	} {
		if _, err := New().Load(context.Background(), w, &answers{}, fault.Discard); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if _, err := New().Load(context.Background(), Wanted{Ask: true, New: true}, &answers{"a", "b"}, fault.Discard); err == nil || err.Error() != "Passwords do not match" {
		t.Errorf("mismatch: %v", err)
	}
}

func TestEncryptionSecret(t *testing.T) {
	s := []Secret{{ID: "a"}, {ID: "b"}}
	if got, err := EncryptionSecret(s, "b"); err != nil || got.ID != "b" {
		t.Errorf("%v %v", got, err)
	}
	if _, err := EncryptionSecret(s, "c"); err == nil || err.Error() != "Did not find a match for --encrypt-vault-id=c in the known vault-ids ['a', 'b']" {
		t.Error(err)
	}
}
