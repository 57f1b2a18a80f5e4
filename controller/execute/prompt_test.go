package execute_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"volant/controller/execute"
	"volant/wire"
	"volant/wire/value"
)

// answers asks nobody: each question has the next answer.
type answers struct {
	given []string
	asked []string
}

func (a *answers) ask(_ context.Context, text string, echo bool, _ int) (string, error) {
	if !echo {
		text += "(hidden)"
	}
	a.asked = append(a.asked, text)
	next := a.given[0]
	a.given = a.given[1:]
	return next, nil
}

const prompting = `
- hosts: h1
  gather_facts: false
  vars: {who: me}
  vars_prompt:
    - {name: pw, prompt: Password, encrypt: sha512_crypt, salt: abcdefgh, confirm: true}
    - {name: raw, prompt: Raw, private: false, unsafe: true}
    - {name: sum, prompt: Sum, private: false}
    - {name: def, prompt: With default, private: false, default: "{{ who }}"}
    - {name: bare, prompt: null, private: false}
  tasks:
    - debug: {msg: "{{ [pw, raw, sum, def, bare] }}"}
`

func TestVarsPrompt(t *testing.T) {
	a := &answers{given: []string{"secret", "secrte", "secret", "secret", "{{ 1 + 1 }}", "{{ 1 + 1 }}", "", "x"}}
	code, out, err := run(t.Context(), t, "h1\n", prompting, &scripted{}, func(o *execute.Options) { o.Prompt = a.ask })
	if err != nil || code != 0 {
		t.Fatalf("code %d, %v\n%s", code, err, out)
	}
	// Questions as ansible-core 2.19.12 asks them.
	asked := []string{
		"Password: (hidden)", "confirm Password: (hidden)", "Password: (hidden)", "confirm Password: (hidden)",
		"Raw: ", "Sum: ", "With default [me]: ", "input for bare: ",
	}
	if diff := cmp.Diff(asked, a.asked); diff != "" {
		t.Error(diff)
	}
	for _, want := range []string{
		"***** VALUES ENTERED DO NOT MATCH ****\n",
		// crypt(3) of the same salt and rounds.
		`"$6$rounds=656000$abcdefgh$/Ei/7YaGhLUaj/.Vzhbn8/qTav7snBIiSWc4ltNfH/h5CKGCnV8KtAzHxd56WDXc3DF7SfbULGkU/EoGIlOV70",` +
			"\n        \"{{ 1 + 1 }}\",\n        2,\n        \"me\",\n        \"x\"",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}

func TestVarsPromptWithoutTerminal(t *testing.T) {
	site := strings.Replace(prompting, "encrypt: sha512_crypt, salt: abcdefgh, ", "", 1)
	_, out, err := run(t.Context(), t, "h1\n", site, &scripted{})
	if err != nil {
		t.Fatal(err)
	}
	want := "[WARNING]: Not prompting as we are not in interactive mode\n"
	if !strings.HasPrefix(out, want) || !strings.Contains(out, `"None",`+"\n        \"None\",\n        \"None\",\n        \"me\",\n        \"None\"") {
		t.Errorf("shown:\n%s", out)
	}
}

func TestUnknownAlgorithmOfPrompt(t *testing.T) {
	site := strings.Replace(prompting, "sha512_crypt", "rot13", 1)
	a := &answers{given: []string{"s", "s"}}
	_, _, err := run(t.Context(), t, "h1\n", site, &scripted{}, func(o *execute.Options) { o.Prompt = a.ask })
	if err == nil || !strings.Contains(err.Error(), "passlib does not support 'rot13' algorithm") {
		t.Errorf("the error is %v", err)
	}
}

// hostile answers every module with the path of a controller file.
var hostile = &scripted{answer: func(context.Context, string, *wire.Task) (*value.Dict, error) {
	return value.DictOf("changed", false, "stdout", "../../etc/secret.yml", "rc", int64(0)), nil
}}

func TestAddedHostsKeepTheMark(t *testing.T) {
	const begin = `
- hosts: h1
  gather_facts: false
  tasks:
    - command: "true"
      register: said
`
	for _, tt := range []struct{ name, site string }{
		{"a variable", begin + `
    - add_host: {name: new, v: "{{ said.stdout }}"}
- hosts: new
  gather_facts: false
  tasks: [include_tasks: "{{ v }}"]
`},
		{"through hostvars", begin + `
    - add_host: {name: new, v: "{{ said.stdout }}"}
    - include_tasks: "{{ hostvars['new'].v }}"
`},
		{"another's result", `
- hosts: h1
  gather_facts: false
  tasks: [{command: "true", register: said}]
- hosts: h2
  gather_facts: false
  tasks: [include_tasks: "{{ hostvars['h1'].said.stdout }}"]
`},
		{"the name", begin + `
    - add_host: {name: "{{ said.stdout }}"}
- hosts: all:!h1:!h2
  gather_facts: false
  tasks: [include_tasks: "{{ inventory_hostname }}"]
`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, out, err := run(t.Context(), t, "h1\nh2\n", tt.site, hostile)
			if err != nil || !strings.Contains(out, "a controller file a host chose is never read") {
				t.Errorf("err %v, shown:\n%s", err, out)
			}
		})
	}
	t.Run("the operator's own", func(t *testing.T) {
		_, out, err := run(t.Context(), t, "h1\n", strings.Replace(begin, "register: said", "register: said\n    - add_host: {name: new, v: ../nosuch.yml, w: \"{{ said.stdout }}\"}", 1)+`
    - include_tasks: "{{ hostvars['new'].v }}"
`, hostile)
		if err != nil || strings.Contains(out, "never read") {
			t.Errorf("err %v, shown:\n%s", err, out)
		}
	})
}

func TestPlayHostsIsDeprecated(t *testing.T) {
	site := "- hosts: h1\n  gather_facts: false\n  tasks:\n    - debug: msg={{ play_hosts }}\n    - debug: msg={{ ansible_play_batch }}\n"
	_, out, err := run(t.Context(), t, "h1\n", site, &scripted{})
	if err != nil {
		t.Fatal(err)
	}
	// Recorded from ansible-core 2.19.12.
	want := "[DEPRECATION WARNING]: The `play_hosts` magic variable is deprecated. This feature will be removed from ansible-core version 2.23.\n" +
		"Origin: DIR/site.yml:4:14\n"
	if strings.Count(out, want) != 1 || !strings.Contains(out, "Use `ansible_play_batch` instead.\n") {
		t.Errorf("shown:\n%s", out)
	}
}

// TestPromptEnds: a question that nobody answers any more ends the run.
func TestPromptEnds(t *testing.T) {
	src := "- hosts: all\n  gather_facts: false\n  vars_prompt: [{name: a, default: x}]\n  tasks: [{debug: {var: a}}]\n"
	_, out, err := run(t.Context(), t, "h1\n", src, &scripted{}, func(o *execute.Options) {
		o.Prompt = func(context.Context, string, bool, int) (string, error) { return "", io.EOF }
	})
	if !errors.Is(err, execute.ErrNoLine) {
		t.Errorf("%v\n%s", err, out)
	}
}
