package value

import "time"

// Naive is the zone of a datetime without one, as most of Python's are: a
// time.Time in Naive prints and compares without an offset.
var Naive = time.FixedZone("naive", 0)

// IsNaive reports whether t is a datetime without a zone.
func IsNaive(t time.Time) bool { return t.Location() == Naive }

// Date is a Python date.
type Date struct {
	Year  int
	Month time.Month
	Day   int
}

// NewDate returns a Date; the caller has checked its ranges.
func NewDate(year, month, day int) Date { return Date{year, time.Month(month), day} }

// String is the date as YYYY-MM-DD, which is Python's str and isoformat.
func (d Date) String() string { return d.Time().Format(time.DateOnly) }

// Time is the naive midnight that begins the date.
func (d Date) Time() time.Time { return time.Date(d.Year, d.Month, d.Day, 0, 0, 0, 0, Naive) }

// FormatTime is Python's isoformat of a datetime with the given separator
// between date and time: a fraction only when there is one, an offset only
// when it has a zone.
func FormatTime(t time.Time, sep string) string {
	layout := "2006-01-02" + sep + "15:04:05"
	if t.Nanosecond()/1000 != 0 {
		layout += ".000000"
	}
	if !IsNaive(t) {
		layout += "-07:00"
	}
	return t.Format(layout)
}
