package main

import "volant/controller/yaml"

// dumpYAML writes a result as the reference's callbacks do.
func dumpYAML(v any, indent int, lossy bool) string {
	style := yaml.Block(indent)
	style.BlockStrings, style.Lossy = true, lossy
	text, err := yaml.Dump(v, style)
	if err != nil {
		return ""
	}
	return text
}
