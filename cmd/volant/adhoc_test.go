package main

import (
	"strings"
	"testing"

	"volant/controller/template/difftest"
)

// TestAdhocMessages: what an ad hoc run says of its files, of a name, of its
// become method and of variables, as ansible-core does.
func TestAdhocMessages(t *testing.T) {
	files := map[string]string{"sc.sh": "#!/bin/sh\necho scripted\n", "inv": "h1 ansible_connection=local\n"}
	const base = "h1 -i inv --unsupported=warn "
	type run struct {
		args string
		want []string // in standard output or standard error
		not  string
		code int
	}
	runs := []run{
		{"-m copy -a 'src=nosuch dest=/tmp/x'", []string{"Searched in:\n\tDIR/files/nosuch\n\tDIR/nosuch\n\t./files/nosuch\n\t./nosuch on the Ansible Controller."}, "", 2},
		{"-m debug -a var=nosuch", []string{"error 1 - 'nosuch' is undefined\nOrigin: <CLI option '-a'>\n\nnosuch\n"}, "", 0},
		{"-m import_role -a name=x", []string{"Origin: <CLI option '-a'>\n\nx\n"}, "", 1},
		{"-m command -a true -b --become-method nosuch", []string{"Invalid become method specified, could not find matching plugin: 'nosuch'. Use `ansible-doc -t become -l` to list available plugins."}, "", 2},
		{"-m debug -a msg=1 -vv", []string{"SUCCESS"}, "plays in", 0},
		{"-m debug -a msg=1 -e @nosuch.yml", []string{"Could not find or access 'DIR/nosuch.yml'"}, "", 1},
	}
	if _, err := difftest.Python(); err == nil { // else all modules there are may be on the host
		runs = append(runs, run{"-m ansible.builtin.nosuch", []string{"Cannot resolve 'ansible.builtin.nosuch' to an action or module."}, "Error loading plugin", 2})
	}
	for _, c := range runs {
		words := strings.Fields(base + c.args)
		if i := strings.Index(c.args, "'"); i >= 0 {
			words = append(strings.Fields(base+c.args[:i]), strings.Trim(c.args[i:], "'"))
		}
		out, errs, code := runIn(t, files, "adhoc", words...)
		for _, want := range c.want {
			if !strings.Contains(out+errs, want) {
				t.Errorf("%s: %s%s\nwant %q", c.args, out, errs, want)
			}
		}
		if c.not != "" && strings.Contains(out+errs, c.not) {
			t.Errorf("%s: %s%s\nwith %q", c.args, out, errs, c.not)
		}
		if code != c.code {
			t.Errorf("%s: code %d, want %d: %s%s", c.args, code, c.code, out, errs)
		}
	}
}

// TestInventoryIsReadBeforeVariablesAreRefused: what is wrong with the inventory
// is said first.
func TestInventoryIsReadBeforeVariablesAreRefused(t *testing.T) {
	for _, command := range []string{"adhoc localhost -m debug", "inventory --list", "playbook p.yml"} {
		words := strings.Fields(command)
		_, errs, code := runIn(t, map[string]string{"p.yml": "- hosts: localhost\n"}, words[0], append(words[1:], "-i", "nosuch", "-e", "@nosuch.yml")...)
		first, second := strings.Index(errs, "nosuch as an inventory source"), strings.Index(errs, "nosuch.yml")
		if first < 0 || second < first || code != 1 {
			t.Errorf("%s: %d %s", command, code, errs)
		}
	}
}
