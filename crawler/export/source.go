package export

import (
	"context"
	"fmt"
	"slices"
	"unicode/utf8"

	"curtsy/storage/tables"
)

// Source is a table and what makes its rows.
type Source struct {
	Table *tables.Table
	Asked bool // it is made only if it is asked for by name
	// Rows gives all rows to out, in the order of the table's key.
	Rows func(ctx context.Context, in *Inputs, out *Out) error
	// Count counts in another way how many rows there must be. Nil, or a nil Check, says that there is no other way.
	Count func(ctx context.Context, in *Inputs, out *Out) (*Check, error)
}

// Sources are all that there are, in the order in which they are made.
func Sources() []Source {
	return []Source{
		{Table: &tables.Pages, Rows: pages, Count: countIndex},
		{Table: &tables.Reading, Rows: texts},
		{Table: &tables.Links, Rows: mentions},
		{Table: &tables.Duplicates, Rows: duplicates},
		{Table: &tables.Robots, Rows: robotsVersions},
		{Table: &tables.Decisions, Rows: decisions, Count: countLedger},
		{Table: &tables.Hosts, Rows: hosts},
		{Table: &tables.Errors, Rows: failures},
		{Table: &tables.Headers, Asked: true, Rows: headers},
	}
}

// Out takes the rows of a table. It belongs to one goroutine.
type Out struct {
	Rows     int64            // that were taken
	Lefts    map[string]int64 // what has no row, by its reason
	Problems map[string]int64 // rows that lack values, by what they say is amiss
	Notes    map[string]int64 // how they were made, if that can be in several ways

	table   *tables.Table
	problem int // the column that says what is amiss, or -1
	to      func(tables.Row) error
}

// NewOut gives the rows of a table to to.
func NewOut(t *tables.Table, to func(tables.Row) error) *Out {
	return &Out{table: t, problem: t.Index("problem"), to: to, Lefts: map[string]int64{}, Problems: map[string]int64{}, Notes: map[string]int64{}}
}

// Row hands on a row, of which it cuts what is over the bounds, and says so.
func (o *Out) Row(r tables.Row) error {
	r, cut := bounded(r)
	if cut && o.problem >= 0 && r[o.problem].IsNull() {
		r[o.problem] = tables.Text(ProblemCut)
	}
	if err := o.to(r); err != nil {
		return fmt.Errorf("export: row %d: %w", o.Rows+1, err)
	}
	o.Rows++
	switch {
	case o.problem >= 0 && !r[o.problem].IsNull():
		o.Problems[r[o.problem].Text()]++
	case cut:
		o.Problems[ProblemCut]++
	}
	return nil
}

// Left counts what has no row. Reasons are few: a constant, or a word of a format.
func (o *Out) Left(reason string, n int64) {
	if n > 0 {
		o.Lefts[reason] += n
	}
}

// Note counts rows, or what they are made of, by how that was done.
func (o *Out) Note(how string, n int64) {
	if n > 0 {
		o.Notes[how] += n
	}
}

// row is a row of a table that is filled in by the names of its columns; what is not named is null.
type row struct {
	*filler
	r tables.Row
}

// filler makes rows of one table.
type filler struct {
	table *tables.Table
	at    map[string]int
	null  tables.Row
}

func newFiller(t *tables.Table) *filler {
	f := &filler{table: t, at: make(map[string]int, len(t.Columns)), null: make(tables.Row, len(t.Columns))}
	for i := range t.Columns {
		f.at[t.Columns[i].Name], f.null[i] = i, tables.Null()
	}
	return f
}

// row returns a row of nulls.
func (f *filler) row() row {
	return row{f, append(make(tables.Row, 0, len(f.null)), f.null...)}
}

// set sets a column. One that the table has not is a defect of ours.
func (r row) set(name string, v tables.Value) {
	i, ok := r.at[name]
	if !ok {
		panic("export: the table " + r.table.Name + " has no column " + name)
	}
	r.r[i] = v
}

// Bounds of a row. A format holds a value several times over, Parquet seven times, before it is in the file. No table
// made of a crawl comes near: what a page or a ledger of somebody else's can hold may.
const (
	maxValue = 2 << 20 // bytes of a string, or of all strings of a list: as many as a text has
	maxRow   = 8 << 20 // bytes of all values together
)

// ProblemCut says that a value is over 2 MiB, or a row over 8 MiB: what stands there is the beginning.
const ProblemCut = "cut"

// bounded is r with values that are not longer than they may be. r stays as it is.
func bounded(r tables.Row) (short tables.Row, cut bool) {
	room := maxRow
	for i, v := range r {
		if v.IsNull() {
			continue
		}
		most := min(maxValue, room)
		var size int
		switch v.Kind() {
		case tables.String:
			if size = len(v.Text()); size > most {
				v = tables.Text(beginning(v.Text(), most))
				size = len(v.Text())
			}
		case tables.List:
			var list []string
			if list, size = firstOf(v.List(), most); len(list) < len(v.List()) {
				v = tables.Texts(list)
			}
		}
		room -= size
		if size == sizeOf(r[i]) {
			continue
		}
		if !cut {
			r, cut = slices.Clone(r), true
		}
		r[i] = v
	}
	return r, cut
}

// beginning is as much of s, up to most bytes, as ends with a whole character.
func beginning(s string, most int) string {
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most]
}

// firstOf is as much of a list as has at most so many bytes, and how many it has. A string is there whole or not at all.
func firstOf(list []string, most int) (first []string, size int) {
	for i, s := range list {
		if size+len(s)+perString > most {
			return slices.Clone(list[:i]), size
		}
		size += len(s) + perString
	}
	return list, size
}

// perString is what a string of a list costs beside its bytes: lists of empty strings are not free.
const perString = 8

func sizeOf(v tables.Value) int {
	size := len(v.Text())
	for _, s := range v.List() {
		size += len(s) + perString
	}
	return size
}
