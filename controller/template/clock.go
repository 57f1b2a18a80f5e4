package template

import (
	"time"

	"volant/wire/value"
)

// timeAt is a datetime without a zone, as Python's datetime.now gives.
func timeAt(y, mo, d, h, mi, s, ns int) time.Time {
	return time.Date(y, time.Month(mo), d, h, mi, s, ns, value.Naive)
}
