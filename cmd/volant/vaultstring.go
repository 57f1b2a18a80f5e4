package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"golang.org/x/term"

	"volant/controller/execute"
)

// plaintext is a string to encrypt, where it came from and its variable.
type plaintext struct{ text, source, name string }

func (r *vaultRun) encryptStrings(args, names []string, stdinName string, prompt, show bool, output string) error {
	var texts []plaintext
	words := make([]string, 0, len(args))
	stdin := stdinName != "" || len(args) == 0 && !prompt
	for _, a := range args {
		if a == "-" {
			stdin = true
		} else {
			words = append(words, a)
		}
	}
	if prompt && stdin {
		return optionsError("The --prompt option is not supported if also reading input from stdin")
	}
	if prompt {
		name, err := r.asks.Prompt("Variable name (enter for no name): ", false)
		if err != nil {
			return unasked(err)
		}
		msg := "String to encrypt (hidden): "
		if show {
			msg = "String to encrypt:"
		}
		text, err := r.asks.Prompt(msg, !show)
		if err != nil {
			return unasked(err)
		}
		if text == "" {
			return optionsError("The plaintext provided from the prompt was empty, not encrypting")
		}
		texts = append(texts, plaintext{text, "the interactive prompt", name})
	}
	if stdin {
		if r.p.color && r.p.stdin != nil && term.IsTerminal(int(r.p.stdin.Fd())) {
			r.d.PrintErr("Reading plaintext input from stdin. (ctrl-d to end input, twice if your content does not already have a newline)", "")
		}
		data, err := r.read("-", "-")
		if err != nil {
			return err
		}
		if len(data) == 0 {
			return optionsError("stdin was empty, not encrypting")
		}
		texts = append(texts, plaintext{string(data), "stdin", stdinName})
	}
	if len(names) > 0 && len(words) > len(names) {
		r.d.PrintErr("The number of --name options do not match the number of args.", "")
		r.d.PrintErr("The last named variable will be \""+names[len(names)-1]+"\". The rest will not have names.", "")
	}
	for i, w := range words {
		if w == "" {
			return optionsError("The plaintext provided from the command line args was empty, not encrypting")
		}
		name := ""
		if i < len(names) {
			name = names[i]
		}
		texts = append(texts, plaintext{w, "the command line args", name})
	}
	var out strings.Builder
	for i, t := range texts {
		data, err := r.v.Encrypt([]byte(t.text), r.secret, r.secret.ID, r.salt())
		if err != nil {
			return err
		}
		if len(texts) > 1 {
			if t.name != "" {
				fmt.Fprintf(r.p.stderr, "# The encrypted version of variable (\"%s\", the string #%d from %s).\n", t.name, i+1, t.source)
			} else {
				fmt.Fprintf(r.p.stderr, "# The encrypted version of the string #%d from %s.)\n", i+1, t.source)
			}
		}
		if t.name != "" {
			out.WriteString(t.name + ": ")
		}
		out.WriteString("!vault |\n")
		for line := range strings.Lines(string(data)) {
			out.WriteString("          " + line)
		}
	}
	if output == "" {
		output = "-"
	}
	if err := r.write([]byte(out.String()), output, true); err != nil {
		return err
	}
	if r.p.color {
		r.d.PrintErr("Encryption successful", "")
	}
	return nil
}

// unasked is why a question was not answered.
func unasked(err error) error {
	if errors.Is(err, io.EOF) {
		return execute.ErrNoLine
	}
	return fmt.Errorf("asking for the string: %w", err)
}
