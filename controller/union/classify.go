package union

import (
	"bytes"
	"strings"

	"volant/wire/rx"
)

// Marks in a module's text that decide how it is run; the order in which they
// are looked for is the reference's (executor/module_common.py).
var (
	replacer        = []byte("#<<INCLUDE_ANSIBLE_MODULE_COMMON>>")
	replacerWindows = []byte("# POWERSHELL_COMMON")
	replacerJSON    = []byte("<<INCLUDE_ANSIBLE_MODULE_JSON_ARGS>>")

	newStyle = rx.Lazy(`(?:from +\.{2,} *module_utils.* +import |` +
		`from +ansible_collections\.[^.]+\.[^.]+\.plugins\.module_utils.* +import |` +
		`import +ansible_collections\.[^.]+\.[^.]+\.plugins\.module_utils.*|` +
		`from +ansible\.module_utils.* +import |` +
		`import +ansible\.module_utils\.)`)
	powershell = rx.Lazy(`(?i)#Requires -Module|#Requires -Version|#AnsibleRequires -(OSVersion|PowerShell|CSharpUtil|Wrapper)`)
)

// classify tells how a module file is run.
func classify(b []byte) Style {
	switch {
	case binaryLike(b):
		return StyleBinary
	case bytes.Contains(b, replacer), newStyle.Match(b):
		return StylePython
	case bytes.Contains(b, replacerWindows), powershell.Match(b):
		return StylePS
	case bytes.Contains(b, replacerJSON):
		return StyleJSONArgs
	case bytes.Contains(b, []byte("WANT_JSON")):
		return StyleWantJSON
	}
	return StyleOld
}

// binaryLike looks at the first kilobyte for bytes that text does not have.
func binaryLike(b []byte) bool {
	for _, c := range b[:min(len(b), 1024)] {
		switch {
		case c >= 0x20 && c != 0x7f, c >= 7 && c <= 10, c == 12, c == 13, c == 27:
		default:
			return true
		}
	}
	return false
}

// shebangOf is the first line without "#!", or empty.
func shebangOf(b []byte) string {
	if !bytes.HasPrefix(b, []byte("#!")) {
		return ""
	}
	line, _, _ := bytes.Cut(b[2:], []byte("\n"))
	return strings.TrimSpace(string(line))
}
