package inventory

import (
	"errors"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"volant/controller/fault"
	"volant/wire/rx"
	"volant/wire/value"
)

// The reference's patterns of addresses (parsing/utils/addresses.py). Parts
// may be ranges such as [1:9:2] in place of a number.
const (
	octet  = `(?:[01]?[0-9]{1,2}|2[0-4][0-9]|25[0-5]|\[(?:[0-9]+:[0-9]+)(?::[0-9]+)?\])`
	hextet = `(?:[0-9a-f]{1,4}|\[(?:[0-9a-f]+:[0-9a-f]+)(?::[0-9]+)?\])`
)

var (
	bracketedPort = rx.Lazy(`^\[(.+)\]:([0-9]+)$`)
	hostPort      = rx.Lazy(`^((?:[^:\[\]]|\[[^\]]*\])*):([0-9]+)$`)
	ipv4Pattern   = rx.Lazy(`^(?:` + octet + `\.){3}` + octet + `$`)
	ipv6Pattern   = rx.Lazy(`(?i)^(?:` +
		`(?:` + hextet + `:){7}` + hextet + `|(?:` + hextet + `:){1,6}:|` +
		`(?:` + hextet + `:)(?::` + hextet + `){1,6}|(?:` + hextet + `:){2}(?::` + hextet + `){1,5}|` +
		`(?:` + hextet + `:){3}(?::` + hextet + `){1,4}|(?:` + hextet + `:){4}(?::` + hextet + `){1,3}|` +
		`(?:` + hextet + `:){5}(?::` + hextet + `){1,2}|(?:` + hextet + `:){6}(?::` + hextet + `)|` +
		`:(?::` + hextet + `){1,6}|` + hextet + `?::|` +
		`(?:0:){6}(?:` + hextet + `\.){3}` + hextet + `|::(?:ffff:)?(?:` + hextet + `\.){3}` + hextet + `|` +
		`(?:0:){5}ffff:(?:` + hextet + `\.){3}` + hextet +
		`)$`)
	labelRange = rx.Lazy(`(?i)^\[(?:[a-z]:[a-z]|[0-9]+:[0-9]+)(?::[0-9]+)?\]`)
)

// IsIP reports whether name is an IPv4 or IPv6 address.
func IsIP(name string) bool { return ipv4Pattern.MatchString(name) || ipv6Pattern.MatchString(name) }

// isHostname reports whether s is dotted labels of letters, digits, dashes and
// underscores, with ranges allowed, none of which begins with a dash or ends
// with a dash or underscore.
func isHostname(s string) bool {
	begin := true // of a label
	var last rune
	for s != "" {
		if s[0] == '[' {
			m := labelRange.FindString(s)
			if m == "" {
				return false
			}
			s, begin, last = s[len(m):], false, ']'
			continue
		}
		r, size := utf8.DecodeRuneInString(s)
		s = s[size:]
		switch {
		case r == '.':
			if begin || last == '-' || last == '_' {
				return false
			}
			begin, last = true, r
			continue
		case r == '-':
			if begin {
				return false
			}
		case r == '_', r >= '0' && r <= '9', r|0x20 >= 'a' && r|0x20 <= 'z':
		case r < 0x80, !unicode.IsLetter(r) && !unicode.IsNumber(r) && !unicode.IsMark(r):
			return false
		}
		begin, last = false, r
	}
	return !begin && last != '-' && last != '_'
}

// parseAddress splits an address or host pattern from its port; port is 0 when
// there is none.
func parseAddress(address string, ranges bool) (host string, port int, err error) {
	if strings.Contains(address, ":") {
		for _, re := range []*rx.Pattern{bracketedPort, hostPort} {
			if m := re.FindStringSubmatch(address); m != nil {
				n, err := strconv.Atoi(m[2])
				if err != nil {
					break
				}
				address, port = m[1], n
			}
		}
	}
	if !isHostname(address) && !IsIP(address) {
		return "", 0, fault.New(fault.Generic, value.Pos{}, "Not a valid network hostname: %s", address)
	}
	if !ranges && strings.Contains(address, "[") {
		return "", 0, fault.New(fault.Parser, value.Pos{}, "Detected range in host but was asked to ignore ranges")
	}
	return address, port, nil
}

// maxExpanded bounds the hosts one pattern may stand for.
const maxExpanded = 1_000_000

// expandHosts turns a host pattern of an inventory (db[01:20]:2222) into names
// and a port.
func expandHosts(pattern string) (hosts []string, port int, err error) {
	name, port, err := parseAddress(pattern, true)
	if err != nil {
		name, port = pattern, 0
	}
	if !strings.Contains(name, "[") {
		return []string{name}, port, nil
	}
	hosts, err = expandRange(name, nil)
	return hosts, port, err
}

const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

func rangeError(format string, args ...any) error {
	return fault.New(fault.Generic, value.Pos{}, format, args...)
}

// during says that an error came up while another was handled, which the
// layout of the message shows.
func during(err error) error {
	var e *fault.Error
	if errors.As(err, &e) {
		e.During = true
	}
	return err
}

// valueError is an error that the reference's Python raises and not the
// reference itself.
type valueError struct{ error }

// Unwrap gives the error itself.
func (e *valueError) Unwrap() error { return e.error }

func pyInt(s string) (int, error) {
	n, err := strconv.Atoi(strings.TrimSpace(s))
	if err != nil {
		return 0, &valueError{rangeError("invalid literal for int() with base 10: %s", value.Repr(s))}
	}
	return n, nil
}

func expandRange(s string, out []string) ([]string, error) {
	open := strings.IndexByte(s, '[')
	closing := strings.IndexByte(s, ']')
	if closing < open || strings.ContainsAny(s, "|") {
		return nil, rangeError("not enough values to unpack (expected 3, got 2)")
	}
	head, inner, tail := s[:open], s[open+1:closing], s[closing+1:]
	bounds := strings.Split(inner, ":")
	if len(bounds) != 2 && len(bounds) != 3 {
		return nil, rangeError("host range must be begin:end or begin:end:step")
	}
	begin, end := bounds[0], bounds[1]
	if begin == "" {
		begin = "0"
	}
	if end == "" {
		return nil, rangeError("host range must specify end value")
	}
	width := 0
	if begin[0] == '0' && len(begin) > 1 {
		if width = len(begin); width != len(end) {
			return nil, rangeError("host range must specify equal-length begin and end formats")
		}
	}
	step := 1
	var stepErr error
	if len(bounds) == 3 {
		step, stepErr = pyInt(bounds[2])
	}
	var names []string
	if i, j := strings.Index(letters, begin), strings.Index(letters, end); i >= 0 && j >= 0 && stepErr == nil {
		switch {
		case i > j:
			return nil, rangeError("host range must have begin <= end")
		case step == 0:
			return nil, during(rangeError("invalid literal for int() with base 10: %s", value.Repr(begin)))
		}
		for ; i <= j && step > 0; i += step {
			names = append(names, letters[i:i+1])
		}
	} else {
		from, err := pyInt(begin)
		if err != nil {
			return nil, during(err)
		}
		to, err := pyInt(end)
		switch {
		case err != nil:
			return nil, during(err)
		case stepErr != nil:
			return nil, during(stepErr)
		case step == 0:
			return nil, during(rangeError("range() arg 3 must not be zero"))
		case step > 0 && (to-from)/step > maxExpanded:
			return nil, rangeError("host range '%s' stands for more than %d hosts", s, maxExpanded)
		}
		for n := from; n <= to && step > 0; n += step {
			text := strconv.Itoa(n)
			if len(text) < width {
				text = strings.Repeat("0", width-len(text)) + text
			}
			names = append(names, text)
		}
	}
	var err error
	for _, n := range names {
		name := head + n + tail
		if strings.Contains(name, "[") {
			if out, err = expandRange(name, out); err != nil {
				return nil, err
			}
			continue
		}
		if out = append(out, name); len(out) > maxExpanded {
			return nil, rangeError("host range '%s' stands for more than %d hosts", s, maxExpanded)
		}
	}
	return out, nil
}
