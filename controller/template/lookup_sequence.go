package template

import (
	"strings"

	"volant/wire/pyre"
	"volant/wire/value"
)

var sequenceShort, _ = pyre.Compile(`^((0?x?[0-9a-f]+)-)?(0?x?[0-9a-f]+)(/(0?x?[0-9a-f]+))?(:(.+))?$`, pyre.IgnoreCase)

var sequenceFields = []string{"start", "end", "stride", "count", "format"}

func sequence(l *LookupCall) ([]any, error) {
	terms := l.Terms
	if l.Opts.Len() > 0 && len(terms) == 0 {
		terms = []any{""}
	}
	var out []any
	for _, term := range terms {
		o := value.NewDict(0)
		for _, f := range sequenceFields {
			if v, ok := l.Opts.Get(f); ok {
				o.Set(f, v)
			}
		}
		t, ok := value.Text(term)
		if !ok {
			return nil, failWhile("unknown error parsing with_sequence arguments: %s. Error was: expected string or bytes-like object, got '%s'", value.Repr(term), lazyName(term))
		}
		m, err := sequenceShort.Match(t)
		if err != nil {
			return nil, err
		}
		if m != nil {
			for f, g := range map[string]int{"start": 2, "end": 3, "stride": 5, "format": 7} {
				if v, ok := m.Group(g); ok {
					o.Set(f, v)
				}
			}
		} else if err := sequenceWords(l, t, o); err != nil {
			return nil, err
		}
		items, err := l.spread(o)
		if err != nil {
			return nil, err
		}
		out = append(out, items...)
	}
	return out, nil
}

func sequenceWords(l *LookupCall, t string, o *value.Dict) error {
	kv, rest, err := parseKV(l.C, t)
	if err != nil {
		return err
	}
	if rest != "" {
		kv.Set("_raw_params", rest)
	}
	for _, f := range sequenceFields {
		if v, ok := kv.Get(f); ok {
			o.Set(f, v)
			kv.Delete(f)
		}
	}
	if kv.Len() > 0 {
		return failf("unrecognized arguments to with_sequence: %s", value.Str(value.ListOf(kv.Keys()...)))
	}
	return nil
}

// sequenceInt reads an int option: with a prefix it is hexadecimal or octal.
func (l *LookupCall) sequenceInt(o *value.Dict, name string) (int64, bool, error) {
	v, ok := o.Get(name)
	if !ok || v == nil {
		return 0, false, nil
	}
	n, ok := optionInt(v)
	if !ok {
		return 0, false, l.badOption(name, "integer", v)
	}
	return n, true, nil
}

func (l *LookupCall) spread(o *value.Dict) ([]any, error) {
	start, ok, err := l.sequenceInt(o, "start")
	if err != nil {
		return nil, err
	}
	if !ok {
		start = 1
	}
	stride, ok, err := l.sequenceInt(o, "stride")
	if err != nil {
		return nil, err
	}
	if !ok {
		stride = 1
	}
	end, hasEnd, err := l.sequenceInt(o, "end")
	if err != nil {
		return nil, err
	}
	count, hasCount, err := l.sequenceInt(o, "count")
	if err != nil {
		return nil, err
	}
	layout := "%d"
	if v, ok := o.Get("format"); ok && v != nil {
		layout = value.Str(v)
	}
	switch {
	case !hasEnd && !hasCount:
		return nil, failf("must specify count or end in with_sequence")
	case hasEnd && hasCount:
		return nil, failf("can't specify both count and end in with_sequence")
	case hasCount && count == 0:
		return nil, nil
	case hasCount:
		end = start + count*stride - 1
	}
	switch {
	case stride > 0 && end < start:
		return nil, failf("to count backwards make stride negative")
	case stride < 0 && end > start:
		return nil, failf("to count forward don't make stride negative")
	case stride == 0:
		return nil, nil
	case strings.Count(layout, "%") != 1:
		return nil, failf("bad formatting string: %s", layout)
	}
	if (end-start)/stride > value.MaxItems {
		return nil, tooMany()
	}
	var out []any
	for i := start; stride > 0 && i <= end || stride < 0 && i >= end; i += stride {
		s, err := value.Percent(layout, i)
		if err != nil {
			return nil, failWhile("problem formatting %d with %s", i, value.Repr(layout))
		}
		out = append(out, s)
	}
	return out, nil
}
