package events

import (
	"slices"

	"volant/wire/value"
)

// Counts are the numbers of one host in the recap.
type Counts struct {
	OK, Failed, Unreachable, Changed, Skipped, Rescued, Ignored int
}

// Stats is the recap of a run. It is owned by the coordinator.
type Stats struct {
	hosts  map[string]*Counts
	custom *value.Dict // host, or "_run" -> dict
}

// NewStats returns empty Stats.
func NewStats() *Stats {
	return &Stats{hosts: map[string]*Counts{}, custom: value.NewDict(0)}
}

// Host returns the numbers of host, which count as processed from now on.
func (s *Stats) Host(host string) *Counts {
	c := s.hosts[host]
	if c == nil {
		c = new(Counts)
		s.hosts[host] = c
	}
	return c
}

// Hosts are the names of the processed hosts, sorted.
func (s *Stats) Hosts() []string {
	out := make([]string, 0, len(s.hosts))
	for h := range s.hosts {
		out = append(out, h)
	}
	slices.Sort(out)
	return out
}

// SetCustom stores a set_stats value for host, or for the run when empty.
func (s *Stats) SetCustom(host, key string, v any) { s.customOf(host).Set(key, v) }

// UpdateCustom adds v to what is stored: numbers and strings are added, lists
// joined and dicts merged; values of different types are left alone.
func (s *Stats) UpdateCustom(host, key string, v any) {
	d := s.customOf(host)
	old, ok := d.Get(key)
	if !ok {
		d.Set(key, v)
		return
	}
	switch a := old.(type) {
	case int64:
		if b, ok := v.(int64); ok {
			d.Set(key, a+b)
		}
	case float64:
		if b, ok := v.(float64); ok {
			d.Set(key, a+b)
		}
	case string:
		if b, ok := value.Text(v); ok {
			d.Set(key, a+b)
		}
	case *value.List:
		if b, ok := v.(*value.List); ok {
			d.Set(key, value.ListOf(append(slices.Clone(a.Items), b.Items...)...))
		}
	case *value.Dict:
		if b, ok := v.(*value.Dict); ok {
			m := a.Clone()
			m.Update(b)
			d.Set(key, m)
		}
	}
}

func (s *Stats) customOf(host string) *value.Dict {
	if host == "" {
		host = "_run"
	}
	if d, ok := s.custom.Lookup(host).(*value.Dict); ok {
		return d
	}
	d := value.NewDict(1)
	s.custom.Set(host, d)
	return d
}

// Custom is what set_stats collected: host or "_run" to its values.
func (s *Stats) Custom() *value.Dict { return s.custom }
