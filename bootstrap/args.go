package bootstrap

import (
	"fmt"
	"strings"

	"volant/wire/shlex"
)

// sshArgs is what ssh command line arguments in variables amount to.
type sshArgs struct {
	options    [][2]string // -o and the short options that mean one: keyword in lower case, value; the first of a keyword wins
	configFile string      // -F; "none" for no file at all
	beyond     string      // a short option that only the system's ssh has; "" for none
}

// Short options of ssh that stand for a keyword, and those that take a value that does not matter here.
var (
	shortKeywords = map[byte]string{'i': "identityfile", 'p': "port", 'l': "user", 'J': "proxyjump", 'b': "bindaddress"}
	shortIgnored  = "BcDEeILmOQRSwW"
	shortBeyond   = "IcmwBK"
	flagKeywords  = map[byte][2]string{'4': {"addressfamily", "inet"}, '6': {"addressfamily", "inet6"}, 'A': {"forwardagent", "yes"}, 'a': {"forwardagent", "no"}}
)

// parseArgs reads ssh arguments as the reference splits them (like a shell) and as ssh reads them.
func parseArgs(text string, into *sshArgs) error {
	words, err := shlex.Split(text)
	if err != nil {
		return err
	}
	for i := 0; i < len(words); i++ {
		w := words[i]
		if len(w) < 2 || w[0] != '-' {
			return fmt.Errorf("unexpected argument %q", w)
		}
		for j := 1; j < len(w); j++ { // short options may be joined: -Cq
			c := w[j]
			if kv, ok := flagKeywords[c]; ok {
				into.options = append(into.options, kv)
				continue
			}
			if strings.IndexByte(shortBeyond, c) >= 0 && into.beyond == "" {
				into.beyond = "-" + string(c)
			}
			keyword := shortKeywords[c]
			if keyword == "" && c != 'o' && c != 'F' && !strings.ContainsRune(shortIgnored, rune(c)) {
				continue // a flag such as -C or -q
			}
			value := w[j+1:]
			if value == "" {
				if i++; i == len(words) {
					return fmt.Errorf("option -%c requires an argument", c)
				}
				value = words[i]
			}
			switch {
			case c == 'F':
				into.configFile = value
			case c == 'o':
				k, v, err := splitOption(value)
				if err != nil {
					return err
				}
				into.options = append(into.options, [2]string{k, v})
			case keyword != "":
				into.options = append(into.options, [2]string{keyword, value})
			}
			break
		}
	}
	return nil
}

// splitOption splits "Keyword=value" or "Keyword value", with quotes around the value dropped.
func splitOption(s string) (keyword, value string, err error) {
	s = strings.TrimSpace(s)
	i := strings.IndexAny(s, "= \t")
	if i <= 0 {
		return "", "", fmt.Errorf("option %q has no value", s)
	}
	value = strings.TrimSpace(s[i:])
	value = strings.TrimSpace(strings.TrimPrefix(value, "="))
	if len(value) >= 2 && value[0] == '"' && value[len(value)-1] == '"' {
		value = value[1 : len(value)-1]
	}
	if value == "" {
		return "", "", fmt.Errorf("option %q has no value", s)
	}
	return strings.ToLower(s[:i]), value, nil
}
