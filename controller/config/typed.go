package config

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"volant/controller/fault"
	"volant/wire/value"
)

// lookup finds a setting's value in the environment, the file or its default.
// label is what messages say behind the setting's name.
func (c *Config) lookup(s Setting, label string) (Value, error) {
	for i := len(s.Env) - 1; i >= 0; i-- {
		text, ok := c.src.Getenv(s.Env[i])
		if !ok {
			continue
		}
		v, err := c.typed(s, text, "env: "+s.Env[i], label)
		if err != nil && text == "" {
			break // an empty variable is as good as none where a text will not do
		}
		return v, err
	}
	for i := len(s.Ini) - 1; i >= 0; i-- {
		if text, ok := c.ini.get(s.Ini[i].Section, s.Ini[i].Key); ok {
			return c.typed(s, text, c.File, label)
		}
	}
	return c.typed(s, c.fromDefault(s.Default), "default", label)
}

// fromDefault turns a default of the table into a value.
func (c *Config) fromDefault(d any) any {
	switch d := d.(type) {
	case []string:
		return value.Strings(d...)
	case [][2]string:
		m := value.NewDict(len(d))
		for _, kv := range d {
			m.Set(kv[0], kv[1])
		}
		return m
	case string:
		// The only templates in defaults: {{ ANSIBLE_HOME ~ "TEXT" }}.
		if inner, ok := strings.CutPrefix(d, "{{"); ok && strings.HasSuffix(d, "}}") {
			inner = strings.TrimSpace(strings.TrimSuffix(inner, "}}"))
			if rest, ok := strings.CutPrefix(inner, "ANSIBLE_HOME"); ok {
				rest = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(rest), "~"))
				return c.String("ANSIBLE_HOME") + unquote(rest)
			}
		}
	}
	return d
}

// typed converts a value from origin to the setting's type and checks it
// against its choices (config/manager.py: ensure_type).
func (c *Config) typed(s Setting, raw any, origin, label string) (Value, error) {
	name := "'" + s.Name + "'" + label
	if raw == nil {
		return Value{nil, origin}, nil
	}
	if t, ok := raw.(*value.Template); ok {
		raw = t.Text
	}
	v, ok := c.convert(s.Type, raw, origin)
	if !ok {
		return Value{}, fault.New(fault.Options, posNone, "Config %s from %s has an invalid value.", name, pyRepr(origin)).
			Because(fmt.Errorf("Invalid value provided for '%s': %s", s.Type, show(raw))) //nolint:staticcheck // the reference's text
	}
	if text, ok := v.(string); ok && c.File != "" && origin == c.File {
		v = unquote(text)
	}
	if len(s.Choices) > 0 && !allowed(s.Choices, v) {
		return Value{}, fault.New(fault.Options, posNone, "Invalid value %s for config %s.", show(v), name).
			WithHelp("Valid values are: " + strings.Join(s.Choices, ", "))
	}
	return Value{v, origin}, nil
}

func allowed(choices []string, v any) bool {
	has := func(v any) bool {
		text := value.Str(v)
		for _, c := range choices {
			if c == text {
				return true
			}
		}
		return false
	}
	if l, ok := v.(*value.List); ok {
		for _, e := range l.Items {
			if !has(e) {
				return false
			}
		}
		return true
	}
	return has(v)
}

func show(v any) string {
	switch v := v.(type) {
	case string:
		return pyRepr(v)
	case bool:
		if v {
			return "True"
		}
		return "False"
	}
	return fmt.Sprint(v)
}

// Truth is the reference's non-strict reading of a boolean: the words for true
// are, everything else is not.
func Truth(v any) bool {
	switch v := v.(type) {
	case bool:
		return v
	case int64:
		return v == 1
	case float64:
		return v == 1
	case string:
		switch strings.ToLower(strings.TrimSpace(v)) {
		case "y", "yes", "on", "1", "true", "t", "1.0":
			return true
		}
	}
	return false
}

func (c *Config) convert(t Type, raw any, origin string) (any, bool) {
	base := ""
	if strings.HasPrefix(origin, "/") {
		base = origin
	}
	text, isText := raw.(string)
	switch t {
	case Bool:
		return Truth(raw), true
	case Int:
		if n, ok := ToInt(raw); ok {
			return n, true
		}
		return nil, false
	case Float:
		switch n := raw.(type) {
		case float64:
			return n, true
		case int64:
			return float64(n), true
		case string:
			f, err := strconv.ParseFloat(strings.TrimSpace(n), 64)
			return f, err == nil
		}
		return nil, false
	case List:
		switch {
		case isText:
			return split(text, ",", func(s string) string { return unquote(strings.TrimSpace(s)) }), true
		default:
			l, ok := raw.(*value.List)
			return l, ok
		}
	case Path, TmpPath:
		return c.path(text, base), isText
	case PathSpec, PathList:
		if isText {
			sep := ":"
			if t == PathList {
				sep = ","
			}
			return split(text, sep, func(s string) string {
				if t == PathList {
					s = strings.TrimSpace(s)
				}
				return c.path(s, base)
			}), true
		}
		l, ok := raw.(*value.List)
		if !ok {
			return nil, false
		}
		out := &value.List{}
		for _, e := range l.Items {
			s, ok := value.Text(e)
			if !ok {
				return nil, false
			}
			out.Items = append(out.Items, c.path(s, base))
		}
		return out, true
	case Dict:
		d, ok := raw.(*value.Dict)
		return d, ok
	case Str:
		switch raw.(type) {
		case string:
			return raw, true
		case bool, int64, float64:
			return show(raw), true
		}
		return nil, false
	case None:
		return nil, text == "None"
	}
	return raw, true
}

// ToInt reads a whole number as options of that type are read: ok is false when
// it is none, or too large.
func ToInt(raw any) (n int64, ok bool) {
	switch n := raw.(type) {
	case int64:
		return n, true
	case bool:
		if n {
			return 1, true
		}
		return 0, true
	case float64:
		return int64(n), n == math.Trunc(n) && math.Abs(n) < 1<<62
	case string:
		s := strings.TrimSpace(n)
		if i, err := strconv.ParseInt(s, 10, 64); err == nil {
			return i, true
		}
		if f, err := strconv.ParseFloat(s, 64); err == nil && f == math.Trunc(f) && math.Abs(f) < 1<<62 {
			return int64(f), true
		}
	}
	return 0, false
}

func split(text, sep string, each func(string) string) *value.List {
	l := &value.List{}
	for _, s := range strings.Split(text, sep) {
		l.Items = append(l.Items, each(s))
	}
	return l
}

// unquote takes off one pair of equal quotes.
func unquote(s string) string {
	if n := len(s); n > 1 && s[0] == s[n-1] && (s[0] == '"' || s[0] == '\'') && s[n-2] != '\\' {
		return s[1 : n-1]
	}
	return s
}
