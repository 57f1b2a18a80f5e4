package value

import (
	"fmt"
	"math/big"
	"strings"
	"syscall"
)

// taggedModule is where ansible-core has the classes of values that know where
// they were written.
const taggedModule = "ansible.module_utils._internal._datatag."

// TaggedName is the name of v's class where ansible-core shows that of what an
// operator wrote: "_AnsibleTaggedStr" and the like, Python's own for what has no
// such class.
func TaggedName(v any) string {
	name := TypeName(v)
	switch v.(type) {
	case string, *Template, int64, *big.Int, float64, *List, *Dict:
		return "_AnsibleTagged" + strings.ToUpper(name[:1]) + name[1:]
	}
	return name
}

// TaggedClass is TaggedName as Python's str of the class.
func TaggedClass(v any) string {
	name := TaggedName(v)
	if strings.HasPrefix(name, "_AnsibleTagged") {
		name = taggedModule + name
	}
	return "<class '" + name + "'>"
}

// Errno is Python's text of an operating system's error, "[Errno 2] No such file
// or directory": Go's begins in lower case.
func Errno(no syscall.Errno) string {
	text := no.Error()
	if text != "" {
		text = strings.ToUpper(text[:1]) + text[1:]
	}
	return fmt.Sprintf("[Errno %d] %s", int(no), text)
}

// EscapeRune is how Python names a character in an error of a codec.
func EscapeRune(r rune) string {
	switch {
	case r > 0xffff:
		return fmt.Sprintf(`\U%08x`, r)
	case r > 0xff:
		return fmt.Sprintf(`\u%04x`, r)
	}
	return fmt.Sprintf(`\x%02x`, r)
}
