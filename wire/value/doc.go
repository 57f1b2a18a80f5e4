// Package value holds the values that playbooks, templates, modules and the
// wire share. A value is an `any` in Python's shape:
//
//	nil        None
//	bool       bool
//	int64      int that fits in 64 bits
//	*big.Int   int that does not
//	float64    float
//	string     str that is data: it is never rendered as a template
//	*Template  str the operator wrote: the only text that can be a template
//	[]byte     bytes
//	*List      list, shared by reference
//	Tuple      tuple
//	*Dict      dict, ordered, shared by reference
//	*Set       set, ordered by insertion so that output is stable
//	time.Time  datetime; without a zone when its Location is Naive
//	Date       date
//	TimeOfDay  time
//	time.Duration  timedelta
//	*Undefined a marker for something that has no value, with its hint
//	Omitted    the `omit` placeholder
//	*Vault     an encrypted string (!vault) that is decrypted when read
//
// No other dynamic types enter variables, arguments or results. Slices and
// maps of Go never do. Values from layers shared between hosts are immutable:
// whoever wants to change one clones it first.
package value
