package madeup

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// File is a file of a Project: a YAML tree, or text.
type File struct {
	Path string
	Doc  any // *Map or *List; nil when Text is all
	Text string
}

// Content is what is written.
func (f File) Content() string {
	if f.Doc != nil {
		return YAML(f.Doc)
	}
	return f.Text
}

// Project is what a seed makes: files, and the command line of ansible-playbook
// that runs them.
type Project struct {
	Files []File
	Args  []string
}

// Doc adds a YAML file.
func (p *Project) Doc(path string, doc any) { p.Files = append(p.Files, File{Path: path, Doc: doc}) }

// Text adds a file as it is.
func (p *Project) Text(path, text string) { p.Files = append(p.Files, File{Path: path, Text: text}) }

// Clone is a deep copy.
func (p *Project) Clone() *Project {
	q := &Project{Args: append([]string(nil), p.Args...)}
	for _, f := range p.Files {
		f.Doc = clone(f.Doc)
		q.Files = append(q.Files, f)
	}
	return q
}

// String is the project as one text, a txtar with its command.
func (p *Project) String() string {
	var b strings.Builder
	b.WriteString("ansible-playbook " + strings.Join(quoted(p.Args), " ") + "\n")
	for _, f := range p.Files {
		b.WriteString("-- " + f.Path + " --\n" + f.Content())
		if !strings.HasSuffix(f.Content(), "\n") {
			b.WriteString("\n")
		}
	}
	return b.String()
}

func quoted(args []string) []string {
	var out []string
	for _, a := range args {
		if strings.ContainsAny(a, " {}'\"*!") {
			a = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
		out = append(out, a)
	}
	return out
}

// Write empties dir and writes the project into it.
func (p *Project) Write(dir string) error {
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	for _, f := range p.Files {
		path := filepath.Join(dir, f.Path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(f.Content()), 0o644); err != nil {
			return err
		}
	}
	return os.MkdirAll(filepath.Join(dir, "out"), 0o755)
}

// written is every file below dir/out: its mode and content.
func written(dir string) (map[string]string, error) {
	out := map[string]string{}
	err := filepath.WalkDir(filepath.Join(dir, "out"), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		text := info.Mode().String()
		if info.Mode().IsRegular() {
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			text += "\n" + string(b)
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		out[rel] = text
		return nil
	})
	return out, err
}
