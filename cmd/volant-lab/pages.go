package main

import "volant/cmd/internal/manual"

// pages is the manual's prose.
var pages = map[string]manual.Page{
	"volant-lab": {
		Summary: "hosts to try, test and measure Volant on",
		Text: []string{
			"There are two kinds of lab. The hosts of a process lab are SSH servers on loopback ports, each with its own HOME: no root needed, up in a moment; they share this machine's files and users. The hosts of a systemd lab are Debian with systemd as pid 1, sshd, python3 and sudo, each in its own namespaces with its own address: it needs root, and the first one takes a minute to fetch Debian.",
			"A lab lives in one directory, given by --dir, and several can be up at once.",
		},
		Environment: []manual.Item{{Term: "VOLANT_LAB_DIR", Text: "The directory of the lab where --dir is not given."}},
		Files: []manual.Item{
			{Term: "DIR/inventory.ini", Text: "Hosts h1 to hN in the group lab, usable by volant and ansible-playbook."},
			{Term: "DIR/ssh_config", Text: "For ssh -F DIR/ssh_config h1."},
			{Term: "DIR/keys/", Text: "The login key, and known_hosts."},
			{Term: "DIR/lab.json", Text: "What is up."},
		},
		Exit: []manual.Item{
			{Term: "0", Text: "Done."},
			{Term: "1", Text: "It did not work."},
			{Term: "2", Text: "The command line is wrong."},
			{Term: "other", Text: "exec ends with the status of the command it ran."},
		},
		Examples: []manual.Item{
			{Term: "volant-lab process up --hosts 3 --dir lab", Text: "three hosts"},
			{Term: "volant playbook -i lab/inventory.ini site.yml", Text: "use them"},
			{Term: "volant-lab exec --dir lab h1 'ls -l'", Text: "look inside, without SSH"},
			{Term: "volant-lab shape --dir lab h1 --delay 50 --loss 1", Text: "a slow and lossy network (systemd labs)"},
			{Term: "volant-lab down --dir lab", Text: "stop and remove everything"},
		},
		See: []string{"volant"},
	},
}
