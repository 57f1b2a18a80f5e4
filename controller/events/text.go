package events

import "volant/wire/value"

// pyText is Python's str of v.
func pyText(v any) string {
	if s, ok := value.Text(v); ok {
		return s
	}
	return value.Str(v)
}
