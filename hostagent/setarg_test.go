package hostagent

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"volant/wire/value"
)

func TestSetArg(t *testing.T) {
	d := value.DictOf("src", "a", "body", value.DictOf("my.field", value.DictOf("filename", "x"), "n", int64(1)))
	for path, want := range map[string]bool{"src": true, "body.my.field.filename": true, "body.none.filename": false, "dest": false, "": false, "body.n.x": false} {
		if got := setArg(d, path, "/staged"); got != want {
			t.Errorf("%q: %v", path, got)
		}
	}
	if diff := cmp.Diff(`{'src': '/staged', 'body': {'my.field': {'filename': '/staged'}, 'n': 1}}`, value.Repr(d)); diff != "" {
		t.Error(diff)
	}
}
