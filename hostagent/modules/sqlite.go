package modules

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// sqliteFile reads tables of an SQLite database that nobody writes to
// meanwhile: the file format, no SQL. What is damaged is an error.
type sqliteFile struct {
	r      io.ReaderAt
	page   int   // bytes of a page
	usable int   // without what is reserved at its end
	pages  int64 // in the file
}

// Bounds of what is believed of a database.
const (
	maxSQLiteRecord = 64 << 10
	maxSQLiteDepth  = 20
)

var errSQLite = errors.New("a damaged database")

func newSQLite(r io.ReaderAt, size int64) (*sqliteFile, error) {
	var head [100]byte
	if _, err := r.ReadAt(head[:], 0); err != nil {
		return nil, fmt.Errorf("reading the database: %w", err)
	}
	s := &sqliteFile{r: r, page: int(binary.BigEndian.Uint16(head[16:]))}
	if s.page == 1 {
		s.page = 64 << 10
	}
	s.usable = s.page - int(head[20])
	utf8Text := binary.BigEndian.Uint32(head[56:]) == 1
	if string(head[:16]) != "SQLite format 3\x00" || s.page < 512 || s.page&(s.page-1) != 0 || s.usable < 480 || !utf8Text {
		return nil, errors.New("no database that we can read")
	}
	s.pages = size / int64(s.page)
	return s, nil
}

// column calls visit with the first column of every row of a table, a text or
// bytes; visit must not keep it.
func (s *sqliteFile) column(table string, visit func([]byte)) error {
	var root int64
	err := s.rows(1, func(record []byte) error {
		cols, err := sqliteColumns(record, 4)
		if err == nil && len(cols) == 4 && string(cols[0]) == "table" && string(cols[1]) == table {
			root = bigEndian(cols[3])
		}
		return err
	})
	switch {
	case err != nil:
		return err
	case root == 0:
		return fmt.Errorf("there is no table %s", table)
	}
	return s.rows(root, func(record []byte) error {
		cols, err := sqliteColumns(record, 1)
		if err == nil {
			visit(cols[0])
		}
		return err
	})
}

// rows walks the tree of a table.
func (s *sqliteFile) rows(root int64, visit func([]byte) error) error {
	left := s.pages // a page is met once
	var walk func(n int64, depth int) error
	walk = func(n int64, depth int) error {
		if n < 1 || n > s.pages || depth > maxSQLiteDepth || left == 0 {
			return errSQLite
		}
		left--
		page := make([]byte, s.page)
		if _, err := s.r.ReadAt(page, (n-1)*int64(s.page)); err != nil {
			return fmt.Errorf("reading the database: %w", err)
		}
		head := 0
		if n == 1 {
			head = 100
		}
		kind, cells, first := page[head], int(binary.BigEndian.Uint16(page[head+3:])), head+8
		if kind == 5 {
			first = head + 12
		}
		if first+2*cells > s.page {
			return errSQLite
		}
		for i := range cells {
			at := int(binary.BigEndian.Uint16(page[first+2*i:]))
			if at < first || at > s.usable-4 {
				return errSQLite
			}
			var err error
			switch kind {
			case 5:
				err = walk(int64(binary.BigEndian.Uint32(page[at:])), depth+1)
			case 13:
				var record []byte
				if record, err = s.record(page[at:s.usable], &left); err == nil {
					err = visit(record)
				}
			default:
				err = errSQLite
			}
			if err != nil {
				return err
			}
		}
		if kind == 5 {
			return walk(int64(binary.BigEndian.Uint32(page[head+8:])), depth+1)
		}
		return nil
	}
	return walk(root, 0)
}

// record is what a leaf's cell holds, with what went over to pages of its own.
func (s *sqliteFile) record(cell []byte, left *int64) ([]byte, error) {
	n, w := sqliteVarint(cell)
	if w == 0 || n > maxSQLiteRecord {
		return nil, errSQLite
	}
	cell = cell[w:]
	if _, w = sqliteVarint(cell); w == 0 { // the row's number
		return nil, errSQLite
	}
	cell = cell[w:]
	size, here := int(n), int(n)
	if here > s.usable-35 {
		least := (s.usable-12)*32/255 - 23
		if here = least + (size-least)%(s.usable-4); here > s.usable-35 {
			here = least
		}
	}
	if here == size {
		if size > len(cell) {
			return nil, errSQLite
		}
		return cell[:size], nil
	}
	if here+4 > len(cell) {
		return nil, errSQLite
	}
	out := append(make([]byte, 0, size), cell[:here]...)
	next := int64(binary.BigEndian.Uint32(cell[here:]))
	page := make([]byte, s.usable)
	for len(out) < size {
		if next < 1 || next > s.pages || *left == 0 {
			return nil, errSQLite
		}
		*left--
		if _, err := s.r.ReadAt(page, (next-1)*int64(s.page)); err != nil {
			return nil, fmt.Errorf("reading the database: %w", err)
		}
		next = int64(binary.BigEndian.Uint32(page))
		out = append(out, page[4:min(s.usable, 4+size-len(out))]...)
	}
	return out, nil
}

// sqliteColumns are the first columns of a record, at most n.
func sqliteColumns(record []byte, n int) ([][]byte, error) {
	head, w := sqliteVarint(record)
	if w == 0 || head < uint64(w) || head > uint64(len(record)) {
		return nil, errSQLite
	}
	types, body := record[w:head], record[head:]
	var out [][]byte
	for len(types) > 0 && len(out) < n {
		t, w := sqliteVarint(types)
		if w == 0 {
			return nil, errSQLite
		}
		types = types[w:]
		size := uint64(0)
		switch {
		case t >= 12:
			size = (t - 12) / 2
		case t <= 4:
			size = t
		case t == 5:
			size = 6
		case t <= 7:
			size = 8
		}
		if size > uint64(len(body)) {
			return nil, errSQLite
		}
		out, body = append(out, body[:size]), body[size:]
	}
	if len(out) == 0 {
		return nil, errSQLite
	}
	return out, nil
}

func bigEndian(b []byte) int64 {
	var n int64
	for _, c := range b {
		n = n<<8 | int64(c)
	}
	return n
}

// sqliteVarint reads a number of one to nine bytes; w is 0 where there is none.
func sqliteVarint(b []byte) (n uint64, w int) {
	for i := range min(len(b), 9) {
		if i == 8 {
			return n<<8 | uint64(b[i]), 9
		}
		n = n<<7 | uint64(b[i]&0x7f)
		if b[i] < 0x80 {
			return n, i + 1
		}
	}
	return 0, 0
}
