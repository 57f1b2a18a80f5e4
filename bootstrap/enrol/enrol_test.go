package enrol

import (
	"bytes"
	"crypto/ed25519"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReplyThroughNoise(t *testing.T) {
	want := Reply{Agent: make([]byte, ed25519.PublicKeySize), Port: 20001, BootID: "b", Version: "1.0.0", Protocol: 1, PID: 7, Home: "/h", Started: true}
	var out bytes.Buffer
	out.WriteString("Welcome! {\"agent\": 1}\nno newline at the end")
	if err := WriteReply(&out, want); err != nil {
		t.Fatal(err)
	}
	out.WriteString("bye\n")
	got, err := ParseReply(out.String())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if _, err := ParseReply("nothing here"); !errors.Is(err, ErrNoReply) {
		t.Errorf("no mark: %v", err)
	}
	for name, text := range map[string]string{
		"no JSON":   Mark + "hello\n",
		"short key": Mark + `{"agent":"AAAA","port":1}` + "\n",
		"too long":  Mark + `{"home":"` + strings.Repeat("x", MaxLine) + `"}` + "\n",
	} {
		if r, err := ParseReply(text); err == nil {
			t.Errorf("%s: %+v", name, r)
		}
	}
	if r, err := ParseReply(Mark + `{"error":"no"}`); err != nil || r.Error != "no" {
		t.Errorf("an error without a key: %+v, %v", r, err)
	}
}

func TestReadRequest(t *testing.T) {
	key := `"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="`
	r := strings.NewReader(`{"controller":` + key + `,"name":"me","later":"unknown keys are for later"}` + "\nrest")
	req, err := ReadRequest(r)
	if err != nil || req.Name != "me" {
		t.Fatalf("%+v, %v", req, err)
	}
	if rest, _ := io.ReadAll(r); string(rest) != "rest" {
		t.Errorf("behind the request is %q", rest)
	}
	for name, text := range map[string]string{
		"empty": "", "no JSON": "x\n", "no key": "{}\n", "short key": `{"controller":"AAAA"}` + "\n",
		"endless": strings.Repeat("x", MaxLine+2),
	} {
		if req, err := ReadRequest(strings.NewReader(text)); err == nil {
			t.Errorf("%s: %+v", name, req)
		}
	}
}

func FuzzParseReply(f *testing.F) {
	f.Add(Mark + `{"error":"no"}`)
	f.Add("x\n" + Mark + `{"agent":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=","port":1}` + "\ny")
	f.Fuzz(func(t *testing.T, s string) {
		r, err := ParseReply(s)
		if err == nil && r.Error == "" && len(r.Agent) != ed25519.PublicKeySize {
			t.Errorf("accepted a key of %d bytes", len(r.Agent))
		}
	})
}

func FuzzReadRequest(f *testing.F) {
	f.Add([]byte(`{"controller":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=","port":1,"transient":"always"}` + "\nrest"))
	f.Add([]byte("{}\n"))
	f.Fuzz(func(t *testing.T, in []byte) {
		r := bytes.NewReader(in)
		req, err := ReadRequest(r)
		if err == nil && len(req.Controller) != ed25519.PublicKeySize {
			t.Errorf("accepted a key of %d bytes", len(req.Controller))
		}
		if i := bytes.IndexByte(in, '\n'); err == nil && i >= 0 && r.Len() != len(in)-i-1 {
			t.Errorf("%d bytes behind the line are left of %d", r.Len(), len(in)-i-1)
		}
	})
}
