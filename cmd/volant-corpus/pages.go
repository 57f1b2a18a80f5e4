package main

import "volant/cmd/internal/manual"

// pages is the manual's prose.
var pages = map[string]manual.Page{
	"volant-corpus": {
		Summary: "compare recorded behaviour of the reference with Volant's",
		Text:    []string{"Renders templates whose results with the reference were recorded, and says which come out otherwise."},
		Exit: []manual.Item{
			{Term: "0", Text: "Every case came out as recorded."},
			{Term: "1", Text: "A case did not."},
			{Term: "2", Text: "The cases could not be read."},
		},
		Examples: []manual.Item{{Term: "volant-corpus templating --base base.json cases.jsonl", Text: "ends with a line: N passed, N failed"}},
	},
}
