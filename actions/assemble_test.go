package actions

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"volant/stage"
	"volant/wire/value"
)

// TestFragments: what stands between fragments, and that the whole is what was
// hashed.
func TestFragments(t *testing.T) {
	for name, tc := range map[string]struct {
		files map[string]string
		args  *value.Dict
		want  string
	}{
		"newlines between":   {map[string]string{"1": "a", "2": "b\n", "3": "c"}, value.NewDict(0), "a\nb\nc"},
		"empty ones":         {map[string]string{"1": "", "2": "", "3": "c"}, value.NewDict(0), "\n\nc"},
		"none":               {map[string]string{}, value.NewDict(0), ""},
		"delimiter":          {map[string]string{"1": "a", "2": "b\n", "3": "c"}, value.DictOf("delimiter", `--\n`), "a\n--\n\nb\n--\n\nc"},
		"hidden":             {map[string]string{".h": "x", "2": "b"}, value.DictOf("ignore_hidden", true), "b"},
		"hidden in the way":  {map[string]string{".h": "x", "2": "b"}, value.NewDict(0), "x\nb"},
		"chosen by name":     {map[string]string{"a1": "1", "b1": "2"}, value.DictOf("regexp", "^b"), "2"},
		"one that is longer": {map[string]string{"1": string(make([]byte, 100_000)), "2": "x"}, value.NewDict(0), string(make([]byte, 100_000)) + "\nx"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for file, text := range tc.files {
				if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Mkdir(filepath.Join(dir, "directory"), 0o700); err != nil {
				t.Fatal(err)
			}
			parts, err := fragments(&Run{Task: &Task{Args: tc.args}, Controller: &testController{}}, dir)
			if err != nil {
				t.Fatal(err)
			}
			src, err := joined(parts)
			if err != nil {
				t.Fatal(err)
			}
			for range 2 { // it can be read again
				r, err := src.Open()
				if err != nil {
					t.Fatal(err)
				}
				b, err := io.ReadAll(r)
				if err != nil || string(b) != tc.want || src.Size != int64(len(b)) || src.Hash != stage.HashBytes(b) || src.SHA1 != source("", 0, b).SHA1 {
					t.Errorf("%.200q %v", b, err)
				}
				if err := r.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
}
