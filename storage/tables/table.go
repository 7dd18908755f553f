package tables

import (
	"cmp"
	"fmt"
	"strings"
)

// Kind is the type of a column's values.
type Kind uint8

// Kinds of columns.
const (
	String  Kind = iota // UTF-8
	Bool                //
	Int16               // as Common Crawl has the status
	Int32               //
	Int64               //
	Float64             //
	Time                // an instant in UTC, to the microsecond
	List                // of strings
)

var kindNames = [...]string{"string", "bool", "int16", "int32", "int64", "float64", "timestamp", "list of string"}

// String is the name of k in docs/reference/tables.md.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}

// Column is one column of a table.
type Column struct {
	Name     string // lower case with underscores
	Kind     Kind
	Required bool   // never null
	Few      bool   // few distinct values: writers that can keep a dictionary of them
	Doc      string // what it means and its unit, for docs/reference/tables.md; a sentence without its full stop
}

// Table is the shape of one table.
type Table struct {
	Name    string // also the name of its file, without the format's extension
	Doc     string // what a row is, for docs/reference/tables.md
	Key     []string
	Lookup  []string // columns that rows are looked up by: an index each, where the format has indexes
	Columns []Column
}

// Index is the place of the column of that name, or -1.
func (t *Table) Index(name string) int {
	for i := range t.Columns {
		if t.Columns[i].Name == name {
			return i
		}
	}
	return -1
}

// Row has a value for each column of its table, in their order.
type Row []Value

// Check says what of r cannot be a row of t: a number of values, a null that is required, a value of another kind.
func (t *Table) Check(r Row) error {
	if len(r) != len(t.Columns) {
		return fmt.Errorf("tables: a row of %s has %d values, not %d", t.Name, len(r), len(t.Columns))
	}
	for i, v := range r {
		c := &t.Columns[i]
		switch {
		case v.null && c.Required:
			return fmt.Errorf("tables: %s.%s is null, which it must never be", t.Name, c.Name)
		case !v.null && v.kind != c.Kind:
			return fmt.Errorf("tables: %s.%s is a %s, not a %s", t.Name, c.Name, v.kind, c.Kind)
		}
	}
	return nil
}

// Keyed compares rows by the key of their table, of which keys are the places (Table.Places). Nulls come first.
func Keyed(keys []int, a, b Row) int {
	for _, k := range keys {
		if c := a[k].compare(b[k]); c != 0 {
			return c
		}
	}
	return 0
}

// Places are the places of the columns of the key, in its order.
func (t *Table) Places() []int {
	places := make([]int, len(t.Key))
	for i, name := range t.Key {
		places[i] = t.Index(name)
	}
	return places
}

func (v Value) compare(o Value) int {
	switch {
	case v.null || o.null:
		return bit(!v.null) - bit(!o.null)
	case v.kind == String:
		return strings.Compare(v.text, o.text)
	case v.kind == Float64:
		return cmp.Compare(v.float, o.float)
	}
	return cmp.Compare(v.number, o.number)
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}
