package main

import "volant/cmd/internal/manual"

// pages is the manual's prose.
var pages = map[string]manual.Page{
	"volant-agent": {
		Summary: "the agent on a managed host",
		Text: []string{
			"A controller installs, starts and replaces the agent by itself, over SSH; these commands are for looking at it, for images, and for taking it away. One agent serves one login account, and any number of controllers that enrolled over SSH as that account.",
			"Where systemd runs, the agent is a unit (of the system for root, else of the user, with linger); else it is a process of its own. It uses no processor while idle.",
		},
		Files: []manual.Item{
			{Term: "/var/lib/volant-agent/", Text: "The home of root's agent: binary, key, controllers served, journal, caches."},
			{Term: "~/.local/share/volant-agent/", Text: "The home of another user's."},
		},
		Exit: []manual.Item{
			{Term: "0", Text: "Done."},
			{Term: "1", Text: "It could not be done; status: nothing serves."},
			{Term: "80", Text: "The command line is wrong."},
		},
		Examples: []manual.Item{
			{Term: "volant-agent status", Text: "what serves here, whom, since when"},
			{Term: "volant-agent keys", Text: "the controllers it serves"},
			{Term: "volant-agent uninstall", Text: "end it and remove everything it keeps"},
		},
		See: []string{"volant"},
	},
}
