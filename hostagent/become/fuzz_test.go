package become

import "testing"

// FuzzPrompts: what a become command prints before the mark, in pieces.
func FuzzPrompts(f *testing.F) {
	f.Add("su", []byte("Password: "), 3)
	f.Add("sudo", []byte("[sudo via ansible, key=x] password:Sorry, try again.\n"), 7)
	f.Add("doas", []byte("doas (a@b) password: \r\nPermission denied"), 1)
	f.Fuzz(func(t *testing.T, method string, said []byte, piece int) {
		pl, err := newPlan(Params{Method: method, Password: "x", Prompts: []string{string(said[:min(len(said), 20)])}}, []string{"w"})
		if err != nil {
			return
		}
		told := 0
		w := &watcher{plan: pl, tell: func(sign) { told++ }}
		for piece = max(1, piece%64); len(said) > 0; {
			n := min(piece, len(said))
			if k, err := w.Write(said[:n]); k != n || err != nil {
				t.Fatalf("%d, %v", k, err)
			}
			said = said[n:]
		}
		if len(w.text) > maxPreamble {
			t.Errorf("%d bytes are kept", len(w.text))
		}
	})
}
