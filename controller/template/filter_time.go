package template

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"volant/controller/jinja"
	"volant/wire/pyre"
	"volant/wire/value"
)

var timeFilters = map[string]*jinja.Plugin{
	"strftime":    def("strftime(string_format, second=None, utc=False)", strftimeFilter),
	"to_datetime": def("to_datetime(string, format='%Y-%m-%d %H:%M:%S')", toDatetime),
}

func strftimeFilter(c *jinja.Context, a []any) (any, error) {
	t := time.Now()
	if s := of(c); s != nil {
		t = s.e.opt.Now()
	}
	if a[1] != nil {
		var f float64
		var err error
		if s, isText := value.Text(a[1]); isText {
			f, err = strconv.ParseFloat(strings.TrimSpace(s), 64)
		} else {
			f, err = real(a[1])
		}
		if err != nil || math.IsNaN(f) {
			return nil, failWhile("Invalid value for epoch value (%s)", value.Str(a[1]))
		}
		if math.Abs(f) > 1<<55 {
			return nil, value.Raise("OverflowError", "timestamp out of range for platform time_t")
		}
		t = time.Unix(int64(math.Floor(f)), 0)
	}
	layout, ok := value.Text(a[0])
	if !ok {
		return nil, value.TypeErrorf("strftime() argument 1 must be str, not %s", argName(a[0]))
	}
	if truth(c, a[2]) {
		return Strftime(layout, t.UTC(), "GMT"), nil
	}
	t = t.Local()
	zone, _ := t.Zone()
	return Strftime(layout, t, zone), nil
}

// argName is what Python's C code calls the type of an argument.
func argName(v any) string {
	if v == nil {
		return "None"
	}
	return lazyName(v)
}

// Strftime is C's strftime in the C locale; zone is what %Z gives.
func Strftime(layout string, t time.Time, zone string) string {
	var b strings.Builder
	for i := 0; i < len(layout); i++ {
		if layout[i] != '%' || i+1 >= len(layout) {
			b.WriteByte(layout[i])
			continue
		}
		i++
		flag := byte(0)
		if strings.IndexByte("-_0^#", layout[i]) >= 0 && i+1 < len(layout) {
			flag = layout[i]
			i++
		}
		s, ok := directive(layout[i], t, zone)
		if !ok {
			b.WriteString(layout[i-1 : i+1])
			continue
		}
		switch flag {
		case '-':
			if t := strings.TrimLeft(s, "0 "); t != "" {
				s = t
			} else {
				s = "0"
			}
		case '_':
			trimmed := strings.TrimLeft(s[:len(s)-1], "0")
			s = strings.Repeat(" ", len(s)-1-len(trimmed)) + trimmed + s[len(s)-1:]
		case '^':
			s = strings.ToUpper(s)
		case '#':
			s = strings.ToUpper(s)
		}
		b.WriteString(s)
	}
	return b.String()
}

func directive(c byte, t time.Time, zone string) (string, bool) {
	two := func(n int) string { return fmt.Sprintf("%02d", n) }
	hour12 := (t.Hour()+11)%12 + 1
	isoYear, isoWeek := t.ISOWeek()
	wday, yday := int(t.Weekday()), t.YearDay()-1
	switch c {
	case 'a':
		return t.Format("Mon"), true
	case 'A':
		return t.Format("Monday"), true
	case 'b', 'h':
		return t.Format("Jan"), true
	case 'B':
		return t.Format("January"), true
	case 'c':
		return t.Format("Mon Jan _2 15:04:05 2006"), true
	case 'C':
		return two(t.Year() / 100), true
	case 'd':
		return two(t.Day()), true
	case 'D', 'x':
		return t.Format("01/02/06"), true
	case 'e':
		return fmt.Sprintf("%2d", t.Day()), true
	case 'F':
		return t.Format("2006-01-02"), true
	case 'g':
		return two(isoYear % 100), true
	case 'G':
		return strconv.Itoa(isoYear), true
	case 'H':
		return two(t.Hour()), true
	case 'I':
		return two(hour12), true
	case 'j':
		return fmt.Sprintf("%03d", t.YearDay()), true
	case 'k':
		return fmt.Sprintf("%2d", t.Hour()), true
	case 'l':
		return fmt.Sprintf("%2d", hour12), true
	case 'm':
		return two(int(t.Month())), true
	case 'M':
		return two(t.Minute()), true
	case 'n':
		return "\n", true
	case 'p':
		return t.Format("PM"), true
	case 'P':
		return t.Format("pm"), true
	case 'r':
		return t.Format("03:04:05 PM"), true
	case 'R':
		return t.Format("15:04"), true
	case 's':
		return strconv.FormatInt(t.Unix(), 10), true
	case 'S':
		return two(t.Second()), true
	case 't':
		return "\t", true
	case 'T', 'X':
		return t.Format("15:04:05"), true
	case 'u':
		return strconv.Itoa((wday+6)%7 + 1), true
	case 'U':
		return two((yday + 7 - wday) / 7), true
	case 'V':
		return two(isoWeek), true
	case 'w':
		return strconv.Itoa(wday), true
	case 'W':
		return two((yday + 7 - (wday+6)%7) / 7), true
	case 'y':
		return two(t.Year() % 100), true
	case 'Y':
		return strconv.Itoa(t.Year()), true
	case 'z':
		if zone == "" {
			return "", true
		}
		return t.Format("-0700"), true
	case 'Z':
		return zone, true
	case '%':
		return "%", true
	}
	return "", false
}

// parsers are the patterns of strptime's directives.
var parsers = map[byte]string{
	'd': `3[0-1]|[1-2]\d|0[1-9]|[1-9]| [1-9]`,
	'f': `[0-9]{1,6}`,
	'H': `2[0-3]|[0-1]\d|\d`,
	'I': `1[0-2]|0[1-9]|[1-9]`,
	'G': `\d\d\d\d`,
	'j': `36[0-6]|3[0-5]\d|[1-2]\d\d|0[1-9]\d|00[1-9]|[1-9]\d|0[1-9]|[1-9]`,
	'm': `1[0-2]|0[1-9]|[1-9]`,
	'M': `[0-5]\d|\d`,
	'S': `6[0-1]|[0-5]\d|\d`,
	'U': `5[0-3]|[0-4]\d|\d`,
	'W': `5[0-3]|[0-4]\d|\d`,
	'w': `[0-6]`,
	'u': `[1-7]`,
	'V': `5[0-3]|0[1-9]|[1-4]\d|\d`,
	'y': `\d\d`,
	'Y': `\d\d\d\d`,
	'z': `[+-]\d\d:?[0-5]\d(?::?[0-5]\d(?:\.\d{1,6})?)?|(?-i:Z)`,
	'A': `monday|tuesday|wednesday|thursday|friday|saturday|sunday`,
	'a': `mon|tue|wed|thu|fri|sat|sun`,
	'B': `january|february|march|april|may|june|july|august|september|october|november|december`,
	'b': `jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec`,
	'p': `am|pm`,
	'Z': `utc|gmt`,
	'%': `%`,
}

func toDatetime(_ *jinja.Context, a []any) (any, error) {
	in, ok := value.Text(a[0])
	if !ok {
		return nil, value.TypeErrorf("strptime() argument 1 must be str, not %s", argName(a[0]))
	}
	layout, ok := value.Text(a[1])
	if !ok {
		return nil, value.TypeErrorf("strptime() argument 2 must be str, not %s", argName(a[1]))
	}
	return strptime(in, layout)
}

// strptime is Python's datetime.strptime in the C locale.
func strptime(in, layout string) (any, error) {
	expanded := strings.NewReplacer("%c", "%a %b %d %H:%M:%S %Y", "%x", "%m/%d/%y", "%X", "%H:%M:%S").Replace(layout)
	var pat strings.Builder
	seen := map[byte]bool{}
	for i := 0; i < len(expanded); i++ {
		ch := expanded[i]
		switch {
		case ch == '%':
			i++
			if i >= len(expanded) {
				return nil, value.ValueErrorf("stray %%%% in format '%s'", layout)
			}
			p, ok := parsers[expanded[i]]
			if !ok {
				return nil, value.ValueErrorf("'%c' is a bad directive in format '%s'", expanded[i], layout)
			}
			if expanded[i] == '%' {
				pat.WriteString("%")
				continue
			}
			if seen[expanded[i]] {
				return nil, value.ValueErrorf("redefinition of group name '%c' as group %d; was group %d", expanded[i], len(seen)+1, 1)
			}
			seen[expanded[i]] = true
			pat.WriteString("(?P<" + string(expanded[i]) + ">" + p + ")")
		case ch == ' ' || ch >= '\t' && ch <= '\r':
			pat.WriteString(`\s+`)
			for i+1 < len(expanded) && strings.IndexByte(" \t\n\r\v\f", expanded[i+1]) >= 0 {
				i++
			}
		case strings.IndexByte(`\.^$*+?(){}[]|`, ch) >= 0:
			pat.WriteString(`\` + string(ch))
		default:
			pat.WriteByte(ch)
		}
	}
	re, err := pyre.Compile(pat.String(), pyre.IgnoreCase)
	if err != nil {
		return nil, err
	}
	m, err := re.Match(in)
	if err != nil {
		return nil, err
	}
	if m == nil {
		return nil, value.ValueErrorf("time data %s does not match format %s", value.Repr(in), value.Repr(layout))
	}
	if _, end := m.Span(0); end != len(in) {
		return nil, value.ValueErrorf("unconverted data remains: %s", in[end:])
	}
	return assemble(re, m)
}

func assemble(re *pyre.Regexp, m *pyre.Match) (any, error) {
	get := func(d byte) (string, bool) {
		g, ok := re.GroupIndex(string(d))
		if !ok {
			return "", false
		}
		return m.Group(g)
	}
	num := func(d byte, dflt int) int {
		s, ok := get(d)
		if !ok {
			return dflt
		}
		n, _ := strconv.Atoi(strings.TrimSpace(s))
		return n
	}
	name := func(d byte, list string) int {
		s, ok := get(d)
		if !ok {
			return -1
		}
		for i, n := range strings.Split(list, "|") {
			if strings.EqualFold(n, s) {
				return i
			}
		}
		return -1
	}
	year := num('Y', 1900)
	if _, ok := get('Y'); !ok {
		if y := num('y', -1); y >= 0 {
			year = y + 1900
			if y <= 68 {
				year = y + 2000
			}
		}
	}
	month, day := num('m', 1), num('d', 1)
	if i := name('B', parsers['B']); i >= 0 {
		month = i + 1
	}
	if i := name('b', parsers['b']); i >= 0 {
		month = i + 1
	}
	hour := num('H', 0)
	if _, ok := get('I'); ok {
		hour = num('I', 12) % 12
		if p, _ := get('p'); strings.EqualFold(p, "pm") {
			hour += 12
		}
	}
	micro := 0
	if f, ok := get('f'); ok {
		micro, _ = strconv.Atoi((f + "000000")[:6])
	}
	sec := num('S', 0)
	if sec > 59 {
		return nil, value.ValueErrorf("second must be in 0..59")
	}
	if j := num('j', 0); j > 0 {
		if _, ok := get('m'); !ok {
			d := time.Date(year, 1, j, 0, 0, 0, 0, time.UTC)
			month, day = int(d.Month()), d.Day()
		}
	}
	if isoY, ok := get('G'); ok {
		y, _ := strconv.Atoi(isoY)
		weekday := num('u', 1)
		jan4 := time.Date(y, 1, 4, 0, 0, 0, 0, time.UTC)
		monday := jan4.AddDate(0, 0, -(int(jan4.Weekday())+6)%7)
		d := monday.AddDate(0, 0, (num('V', 1)-1)*7+weekday-1)
		year, month, day = d.Year(), int(d.Month()), d.Day()
	}
	if year < 1 {
		return nil, value.ValueErrorf("year %d is out of range", year)
	}
	if day > time.Date(year, time.Month(month+1), 0, 0, 0, 0, 0, time.UTC).Day() {
		return nil, value.ValueErrorf("day is out of range for month")
	}
	zone := value.Naive
	if z, ok := get('z'); ok {
		zone = parseZone(z)
	}
	return time.Date(year, time.Month(month), day, hour, num('M', 0), sec, micro*1000, zone), nil
}

func parseZone(z string) *time.Location {
	if z == "Z" {
		return time.UTC
	}
	d := strings.ReplaceAll(z[1:], ":", "")
	h, _ := strconv.Atoi(d[:2])
	mi, _ := strconv.Atoi(d[2:4])
	off := h*3600 + mi*60
	if len(d) >= 6 {
		s, _ := strconv.Atoi(d[4:6])
		off += s
	}
	if z[0] == '-' {
		off = -off
	}
	if off == 0 {
		return time.UTC
	}
	return time.FixedZone("", off)
}
