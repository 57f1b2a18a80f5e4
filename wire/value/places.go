package value

// Places says where a mapping and its entries were written. Loaders of files
// fill it; a Dict made otherwise has none. Entries are in file order and need
// not match the Dict's entries once it has been changed: they are looked up by
// key, and only when something has to be reported.
type Places struct {
	File         string
	Line, Column int32
	Entries      []EntryPlace
}

// EntryPlace is where one key and its value begin.
type EntryPlace struct {
	Key                    string
	KeyLine, KeyColumn     int32
	ValueLine, ValueColumn int32
}

// Pos is where the mapping begins (its first key, in block style), or zero.
func (d *Dict) Pos() Pos {
	if d == nil || d.Places == nil {
		return Pos{}
	}
	return Pos{File: d.Places.File, Line: int(d.Places.Line), Column: int(d.Places.Column)}
}

func (d *Dict) entryPlace(key string) *EntryPlace {
	if d == nil || d.Places == nil {
		return nil
	}
	for i := len(d.Places.Entries) - 1; i >= 0; i-- { // of duplicates the last counts
		if d.Places.Entries[i].Key == key {
			return &d.Places.Entries[i]
		}
	}
	return nil
}

// KeyPos is where key was written; without that, where the mapping begins.
func (d *Dict) KeyPos(key string) Pos {
	if e := d.entryPlace(key); e != nil {
		return Pos{File: d.Places.File, Line: int(e.KeyLine), Column: int(e.KeyColumn)}
	}
	return d.Pos()
}

// ValuePos is where the value of key begins; without that, where the value
// itself says it does, or the mapping.
func (d *Dict) ValuePos(key string) Pos {
	if e := d.entryPlace(key); e != nil {
		return Pos{File: d.Places.File, Line: int(e.ValueLine), Column: int(e.ValueColumn)}
	}
	if p := PosOf(d.Lookup(key)); !p.IsZero() {
		return p
	}
	return d.Pos()
}

// EntryPos is where the value of key was written, zero when the mapping does
// not know it.
func (d *Dict) EntryPos(key string) Pos {
	if e := d.entryPlace(key); e != nil {
		return Pos{File: d.Places.File, Line: int(e.ValueLine), Column: int(e.ValueColumn)}
	}
	return Pos{}
}

// Pos is where the list begins (its first dash, in block style), or zero.
func (l *List) Pos() Pos {
	if l == nil || l.Place == nil {
		return Pos{}
	}
	return *l.Place
}

// ItemPos is where item i was written, as far as the item itself knows it,
// else where the list begins.
func (l *List) ItemPos(i int) Pos {
	if i >= 0 && i < l.Len() {
		if p := PosOf(l.Items[i]); !p.IsZero() {
			return p
		}
	}
	return l.Pos()
}

// PosOf is where v was written, as far as v itself knows it.
func PosOf(v any) Pos {
	switch v := v.(type) {
	case *Template:
		return v.Pos
	case *Dict:
		return v.Pos()
	case *List:
		return v.Pos()
	case *Vault:
		return v.Pos
	case *Undefined:
		return v.Pos
	}
	return Pos{}
}
