package main

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
	"strings"
	"testing"

	"volant/cmd/internal/manual"
)

var update = flag.Bool("update", false, "write the generated parts of docs")

// holds compares a generated part of a document, or writes it.
func holds(t *testing.T, file, name, text string) {
	t.Helper()
	if *update {
		if err := manual.Replace(file, name, text); err != nil {
			t.Fatal(err)
		}
		return
	}
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	part, ok := manual.Part(string(b), name)
	if !ok || part != text {
		t.Errorf("%s is not what the code says; make golden writes it anew", file)
	}
}

func TestCommandsDocument(t *testing.T) {
	var b bytes.Buffer
	p := &process{find: find}
	if err := p.commandsText(&b); err != nil {
		t.Fatal(err)
	}
	holds(t, "../../docs/COMMANDS.md", "volant", b.String())
}

func TestCompatibilityDocument(t *testing.T) {
	var b bytes.Buffer
	compatibilityText(&b)
	holds(t, "../../docs/COMPATIBILITY.md", "tables", b.String())
}

func TestEveryCommandHasAPage(t *testing.T) {
	for sub := range commands {
		page, ok := pages["volant "+sub]
		switch {
		case hidden[sub]:
		case !ok, page.Summary == "", len(page.Text) == 0, len(page.Exit) == 0:
			t.Errorf("%s has no page, or one without summary, text or exit codes", sub)
		}
	}
	for name := range pages {
		if sub := strings.TrimPrefix(name, "volant "); name != "volant" && commands[sub] == nil {
			t.Errorf("%s is no command", name)
		}
	}
}

func TestManPages(t *testing.T) {
	dir := t.TempDir()
	p := &process{name: "volant manual", command: "manual", find: find}
	if err := manualMain(t.Context(), p, []string{"--man", dir}); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(dir + "/volant-playbook.1")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{".TH ", ".SH NAME", ".SH EXAMPLES", `\-\-check`} {
		if !strings.Contains(string(b), want) {
			t.Errorf("no %q in the page", want)
		}
	}
}

func TestHelp(t *testing.T) {
	for _, tt := range []struct{ args, want string }{
		{"playbook --help", "--list-tasks"},
		{"vault encrypt --help", "usage: volant vault encrypt [OPTION...] [ARGS...]"},
		{"vault --help", "encrypt_string"},
		{"help adhoc", "volant adhoc all -i inventory -m ping"},
		{"help vault rekey", "--new-vault-id"},
		{"--help", "playbook"},
	} {
		t.Run(tt.args, func(t *testing.T) {
			out, code := called(t, strings.Fields(tt.args)...)
			if code != 0 || !strings.Contains(out, tt.want) {
				t.Errorf("code %d, no %q in:\n%s", code, tt.want, out)
			}
		})
	}
}

// called runs volant in this process and returns its standard output.
func called(t *testing.T, args ...string) (string, int) {
	t.Helper()
	f, err := os.CreateTemp(t.TempDir(), "out")
	if err != nil {
		t.Fatal(err)
	}
	old := os.Stdout
	os.Stdout = f
	code := run(append([]string{"volant"}, args...))
	os.Stdout = old
	b, err := os.ReadFile(f.Name())
	if err != nil {
		t.Fatal(err)
	}
	return string(b), code
}

func TestCompletion(t *testing.T) {
	out, _ := called(t, "completion", "bash")
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash")
	}
	got, err := exec.Command(bash, "-c", out+`
COMP_WORDS=(volant playbook --list-ta); COMP_CWORD=2; _volant; echo "${COMPREPLY[@]}"
COMP_WORDS=(ansible-vault encrypt_); COMP_CWORD=1; _volant; echo "${COMPREPLY[@]}"
COMP_WORDS=(volant play); COMP_CWORD=1; _volant; echo "${COMPREPLY[@]}"`).CombinedOutput()
	if err != nil || string(got) != "--list-tags --list-tasks\nencrypt_string\nplaybook\n" && string(got) != "--list-tasks\nencrypt_string\nplaybook\n" {
		t.Errorf("%v, got %q", err, got)
	}
}
