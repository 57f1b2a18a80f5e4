package events

import "volant/wire/value"

// pyText is Python's str of v.
func pyText(v any) string {
	if s, ok := value.Text(v); ok {
		return s
	}
	switch v := v.(type) {
	case nil:
		return "None"
	case bool:
		if v {
			return "True"
		}
		return "False"
	}
	return Dump(v, -1, false)
}
