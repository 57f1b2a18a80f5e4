package jinja

import (
	"fmt"
	"math/big"
	"strings"
	"time"

	"volant/wire/value"
)

// otherMethod finds methods of the rarer types.
func otherMethod(v any, name string) *method {
	switch v.(type) {
	case *big.Int:
		return intMethods[name]
	case time.Time:
		return timeMethods[name]
	case value.Date:
		return dateMethods[name]
	case value.TimeOfDay:
		return clockMethods[name]
	case time.Duration:
		return deltaMethods[name]
	}
	return nil
}

// fieldOf finds an attribute that is no method.
func fieldOf(v any, name string) (any, bool, error) {
	switch x := v.(type) {
	case int64, bool, *big.Int:
		switch name {
		case "real", "numerator":
			n, err := value.Positive(x)
			return n, true, err
		case "imag":
			return int64(0), true, nil
		case "denominator":
			return int64(1), true, nil
		}
	case float64:
		switch name {
		case "real":
			return x, true, nil
		case "imag":
			return 0.0, true, nil
		}
	case time.Time:
		switch name {
		case "year":
			return int64(x.Year()), true, nil
		case "month":
			return int64(x.Month()), true, nil
		case "day":
			return int64(x.Day()), true, nil
		case "hour":
			return int64(x.Hour()), true, nil
		case "minute":
			return int64(x.Minute()), true, nil
		case "second":
			return int64(x.Second()), true, nil
		case "microsecond":
			return int64(x.Nanosecond() / 1000), true, nil
		case "fold":
			return int64(0), true, nil
		case "tzinfo":
			if value.IsNaive(x) {
				return nil, true, nil
			}
		}
	case value.Date:
		switch name {
		case "year":
			return int64(x.Year), true, nil
		case "month":
			return int64(x.Month), true, nil
		case "day":
			return int64(x.Day), true, nil
		}
	case value.TimeOfDay:
		switch name {
		case "hour":
			return int64(x.Hour), true, nil
		case "minute":
			return int64(x.Minute), true, nil
		case "second":
			return int64(x.Second), true, nil
		case "microsecond":
			return int64(x.Microsecond), true, nil
		}
	case time.Duration:
		days, secs, us := value.DeltaParts(x)
		switch name {
		case "days":
			return days, true, nil
		case "seconds":
			return secs, true, nil
		case "microseconds":
			return us, true, nil
		}
	}
	return nil, false, nil
}

// timed wraps a method of a point in time; dates are midnight.
func timed(fn func(t time.Time, a []any) (any, error)) func(*Context, any, []any) (any, error) {
	return func(_ *Context, r any, a []any) (any, error) {
		switch x := r.(type) {
		case value.Date:
			return fn(x.Time(), a)
		case value.TimeOfDay:
			return fn(time.Date(1900, 1, 1, x.Hour, x.Minute, x.Second, x.Microsecond*1000, value.Naive), a)
		}
		return fn(r.(time.Time), a)
	}
}

func strftime(t time.Time, a []any) (any, error) {
	f, err := wantText(a[0], "strftime() argument 1")
	if err != nil {
		return nil, err
	}
	return Strftime(t, f), nil
}

var calendar = map[string]func(*Context, any, []any) (any, error){
	"strftime(format, /)": timed(strftime),
	"weekday()":           timed(func(t time.Time, _ []any) (any, error) { return int64(t.Weekday()+6) % 7, nil }),
	"isoweekday()":        timed(func(t time.Time, _ []any) (any, error) { return int64(t.Weekday()+6)%7 + 1, nil }),
	"ctime()":             timed(func(t time.Time, _ []any) (any, error) { return t.Format("Mon Jan _2 15:04:05 2006"), nil }),
	"isocalendar()": timed(func(t time.Time, _ []any) (any, error) {
		y, w := t.ISOWeek()
		return value.Tuple{int64(y), int64(w), int64(t.Weekday()+6)%7 + 1}, nil
	}),
	"timetuple()": timed(func(t time.Time, _ []any) (any, error) {
		return value.Tuple{int64(t.Year()), int64(t.Month()), int64(t.Day()), int64(t.Hour()), int64(t.Minute()), int64(t.Second()),
			int64(t.Weekday()+6) % 7, int64(t.YearDay()), int64(-1)}, nil
	}),
	"toordinal()": timed(func(t time.Time, _ []any) (any, error) {
		d := time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC)
		return (d.Unix()-time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC).Unix())/86400 + 1, nil
	}),
}

func with(base map[string]func(*Context, any, []any) (any, error), more map[string]func(*Context, any, []any) (any, error)) map[string]*method {
	for k, v := range base {
		more[k] = v
	}
	return methods(more)
}

var dateMethods = with(calendar, map[string]func(*Context, any, []any) (any, error){
	"isoformat()": func(_ *Context, r any, _ []any) (any, error) { return value.Str(r), nil },
})

var clockMethods = methods(map[string]func(*Context, any, []any) (any, error){
	"isoformat()":         func(_ *Context, r any, _ []any) (any, error) { return value.Str(r), nil },
	"strftime(format, /)": timed(strftime),
})

var timeMethods = with(calendar, map[string]func(*Context, any, []any) (any, error){
	"isoformat(sep='T', timespec='auto')": timed(func(t time.Time, a []any) (any, error) {
		sep, _ := value.Text(a[0])
		return value.FormatTime(t, sep), nil
	}),
	"timestamp()": timed(func(t time.Time, _ []any) (any, error) {
		if value.IsNaive(t) {
			t = time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), time.Local)
		}
		return float64(t.UnixMicro()) / 1e6, nil
	}),
	"date()": timed(func(t time.Time, _ []any) (any, error) { return value.NewDate(t.Year(), int(t.Month()), t.Day()), nil }),
	"time()": timed(func(t time.Time, _ []any) (any, error) {
		return value.TimeOfDay{Hour: t.Hour(), Minute: t.Minute(), Second: t.Second(), Microsecond: t.Nanosecond() / 1000}, nil
	}),
	"tzname()": timed(func(t time.Time, _ []any) (any, error) {
		if value.IsNaive(t) {
			return nil, nil
		}
		n, _ := t.Zone()
		return n, nil
	}),
	"replace(year=None, month=None, day=None, hour=None, minute=None, second=None, microsecond=None)": timed(func(t time.Time, a []any) (any, error) {
		p := []int{t.Year(), int(t.Month()), t.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond() / 1000}
		for i := range p {
			if a[i] != nil {
				n, err := wantInt(a[i])
				if err != nil {
					return nil, err
				}
				p[i] = n
			}
		}
		n := time.Date(p[0], time.Month(p[1]), p[2], p[3], p[4], p[5], p[6]*1000, t.Location())
		if n.Day() != p[2] || int(n.Month()) != p[1] {
			return nil, value.ValueErrorf("day is out of range for month")
		}
		return n, nil
	}),
})

var deltaMethods = methods(map[string]func(*Context, any, []any) (any, error){
	"total_seconds()": func(_ *Context, r any, _ []any) (any, error) { return r.(time.Duration).Seconds(), nil },
})

// Strftime is Python's strftime in the C locale.
func Strftime(t time.Time, f string) string {
	var b strings.Builder
	for i := 0; i < len(f); i++ {
		if f[i] != '%' || i+1 >= len(f) {
			b.WriteByte(f[i])
			continue
		}
		i++
		pad := true
		if f[i] == '-' && i+1 < len(f) {
			pad = false
			i++
		}
		num := func(n, w int) {
			if !pad {
				w = 0
			}
			fmt.Fprintf(&b, "%0*d", w, n)
		}
		hour12 := (t.Hour()+11)%12 + 1
		switch f[i] {
		case 'a':
			b.WriteString(t.Format("Mon"))
		case 'A':
			b.WriteString(t.Format("Monday"))
		case 'b', 'h':
			b.WriteString(t.Format("Jan"))
		case 'B':
			b.WriteString(t.Format("January"))
		case 'c':
			b.WriteString(t.Format("Mon Jan _2 15:04:05 2006"))
		case 'C':
			num(t.Year()/100, 2)
		case 'd':
			num(t.Day(), 2)
		case 'D', 'x':
			b.WriteString(t.Format("01/02/06"))
		case 'e':
			fmt.Fprintf(&b, "%2d", t.Day())
		case 'f':
			fmt.Fprintf(&b, "%06d", t.Nanosecond()/1000)
		case 'F':
			b.WriteString(t.Format("2006-01-02"))
		case 'g':
			y, _ := t.ISOWeek()
			num(y%100, 2)
		case 'G':
			y, _ := t.ISOWeek()
			num(y, 4)
		case 'H':
			num(t.Hour(), 2)
		case 'I':
			num(hour12, 2)
		case 'j':
			num(t.YearDay(), 3)
		case 'k':
			fmt.Fprintf(&b, "%2d", t.Hour())
		case 'l':
			fmt.Fprintf(&b, "%2d", hour12)
		case 'm':
			num(int(t.Month()), 2)
		case 'M':
			num(t.Minute(), 2)
		case 'n':
			b.WriteByte('\n')
		case 'p':
			b.WriteString(t.Format("PM"))
		case 'P':
			b.WriteString(t.Format("pm"))
		case 'r':
			b.WriteString(t.Format("03:04:05 PM"))
		case 'R':
			b.WriteString(t.Format("15:04"))
		case 's':
			u := t
			if value.IsNaive(t) {
				u = time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), 0, time.Local)
			}
			fmt.Fprintf(&b, "%d", u.Unix())
		case 'S':
			num(t.Second(), 2)
		case 't':
			b.WriteByte('\t')
		case 'T', 'X':
			b.WriteString(t.Format("15:04:05"))
		case 'u':
			num(int(t.Weekday()+6)%7+1, 1)
		case 'U':
			num((t.YearDay()+6-int(t.Weekday()))/7, 2)
		case 'V':
			_, w := t.ISOWeek()
			num(w, 2)
		case 'w':
			num(int(t.Weekday()), 1)
		case 'W':
			num((t.YearDay()+6-int(t.Weekday()+6)%7)/7, 2)
		case 'y':
			num(t.Year()%100, 2)
		case 'Y':
			fmt.Fprintf(&b, "%d", t.Year())
		case 'z':
			if !value.IsNaive(t) {
				b.WriteString(t.Format("-0700"))
			}
		case 'Z':
			if !value.IsNaive(t) {
				n, _ := t.Zone()
				b.WriteString(n)
			}
		case '%':
			b.WriteByte('%')
		default:
			b.WriteByte('%')
			if !pad {
				b.WriteByte('-')
			}
			b.WriteByte(f[i])
		}
	}
	return b.String()
}
