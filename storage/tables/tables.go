package tables

import (
	"cmp"
	_ "embed"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"curtsy/storage"
)

//go:embed tables.txt
var text string

// The tables of a crawl and of a graph of links. They must not be changed.
var (
	Pages      = named("pages")      // a row for each archived response
	Hosts      = named("hosts")      // for each authority of a crawl
	Robots     = named("robots")     // for each version of a host's robots.txt
	Decisions  = ledgerLines()       // for each line of the ledger
	Errors     = named("errors")     // for each kind of failure of a host
	Headers    = named("headers")    // for each field of each archived request and response
	Reading    = named("text")       // for each archived document with a text
	Links      = named("links")      // for each mention of a URL in an archived document
	Duplicates = named("duplicates") // for each page with the same or nearly the same text as another
	Vertices   = named("vertices")   // for each vertex of a graph
	Edges      = named("edges")      // for each edge of a graph
)

// All returns the tables of a crawl in the order of docs/reference/tables.md.
func All() []*Table {
	return []*Table{&Pages, &Hosts, &Robots, &Decisions, &Errors, &Headers, &Reading, &Links, &Duplicates}
}

func named(name string) Table {
	t := Table{Name: name}
	_, part, _ := strings.Cut(text, "\n== "+name+"\n")
	for line := range strings.Lines(part) {
		line = strings.TrimSuffix(line, "\n")
		first, rest, _ := strings.Cut(line, " ")
		switch {
		case first == "#":
		case line == "":
			return t
		case t.Doc == "":
			t.Doc = line
		case first == "key":
			t.Key = strings.Fields(rest)
		case first == "lookup":
			t.Lookup = strings.Fields(rest)
		default:
			kind, doc, _ := strings.Cut(rest, " ")
			c := Column{Name: first, Doc: doc, Required: strings.Contains(kind, "!"), Few: strings.HasSuffix(kind, "*")}
			c.Kind = Kind(slices.Index(kindNames[:], strings.Replace(strings.TrimRight(kind, "!*"), "list", "list of string", 1)))
			t.Columns = append(t.Columns, c)
		}
	}
	return t
}

// ledgerLines is the table of decisions, which adds the fields of the ledger's schema.
func ledgerLines() Table {
	t := named("decisions")
	for _, f := range storage.Fields() {
		t.Columns = append(t.Columns, Column{Name: f.JSON, Kind: KindOf(&f), Few: few[f.JSON], Doc: f.Meaning})
	}
	return t
}

// KindOf returns the kind of a column for a field of the ledger.
func KindOf(f *storage.Field) Kind {
	switch kind := f.Kind(); {
	case f.JSON == "time", f.JSON == "began":
		return Time
	case strings.HasSuffix(f.JSON, "_ms"):
		return Float64
	case kind == "number":
		return Int64
	case kind == "boolean":
		return Bool
	case kind == "array":
		return List
	}
	return String
}

// few are the fields with few distinct values.
var few = map[string]bool{
	"kind": true, "depth": true, "decision": true, "reason": true, "rule": true, "group": true, "runner_up": true,
	"robots_sha256": true, "robots_record": true, "standard": true, "pace_by": true, "attempt": true, "address": true,
	"outcome": true, "status": true, "type": true, "truncated": true, "rest_by": true, "change": true,
	"list_sha256": true, "directives": true, "seed": true, "tag": true,
}

// Kind is the type of a column's values.
type Kind uint8

const (
	String Kind = iota // UTF-8
	Bool
	Int16 // as Common Crawl has the status
	Int32
	Int64
	Float64
	Time // an instant in UTC, to the microsecond
	List // of strings
)

var kindNames = [...]string{"string", "bool", "int16", "int32", "int64", "float64", "timestamp", "list of string"}

// String returns the name of k in docs/reference/tables.md.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}

type Column struct {
	Name     string // lower case with underscores
	Kind     Kind
	Required bool   // never null
	Few      bool   // few distinct values, for a dictionary
	Doc      string // meaning and unit, for docs/reference/tables.md; a sentence without full stop
}

// Table is the definition of a table.
type Table struct {
	Name    string // also that of its file, without extension
	Doc     string // describes a row, for docs/reference/tables.md
	Key     []string
	Lookup  []string // columns with an index, where the format has indexes
	Columns []Column
}

// Index returns the place of the column with that name, or -1.
func (t *Table) Index(name string) int {
	return slices.IndexFunc(t.Columns, func(c Column) bool { return c.Name == name })
}

type Row []Value

// Check returns an error if r is not a row of t: by number, nulls or kinds of its values.
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

// Keyed compares rows by their table's key, whose places are keys (Table.Places). Nulls come first.
func Keyed(keys []int, a, b Row) int {
	for _, k := range keys {
		if c := a[k].compare(b[k]); c != 0 {
			return c
		}
	}
	return 0
}

// Places returns the places of the key's columns in order.
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

// Value is one value of a row. The zero Value is the empty string, not Null.
type Value struct {
	kind   Kind
	null   bool
	number int64 // of Bool 0 or 1, of Time microseconds since 1970
	float  float64
	text   string
	list   []string
}

// Null returns a missing value.
func Null() Value { return Value{null: true} }

// Text returns s as a string. Invalid UTF-8 becomes U+FFFD.
func Text(s string) Value {
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	return Value{kind: String, text: s}
}

// Some returns s as a string, or Null if it is empty.
func Some(s string) Value {
	if s == "" {
		return Null()
	}
	return Text(s)
}

// Flag returns b as a Bool.
func Flag(b bool) Value { return Value{kind: Bool, number: int64(bit(b))} }

// Short returns n as an Int16.
func Short(n int16) Value { return Value{kind: Int16, number: int64(n)} }

// Int returns n as an Int32.
func Int(n int32) Value { return Value{kind: Int32, number: int64(n)} }

// Long returns n as an Int64.
func Long(n int64) Value { return Value{kind: Int64, number: n} }

// Float returns f, or Null if it is not finite, since JSON cannot represent that.
func Float(f float64) Value {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return Null()
	}
	return Value{kind: Float64, float: f}
}

// Instant returns t to the microsecond, or Null if t is zero or RFC 3339 cannot represent its year.
func Instant(t time.Time) Value {
	if y := t.UTC().Year(); t.IsZero() || y < 0 || y > 9999 {
		return Null()
	}
	return Value{kind: Time, number: t.UnixMicro()}
}

// Texts returns a list of strings, which it keeps. An empty list is not Null.
func Texts(list []string) Value {
	for i, s := range list {
		list[i] = Text(s).text
	}
	return Value{kind: List, list: list}
}

// Kind returns the kind of v, undefined for Null.
func (v Value) Kind() Kind { return v.kind }

// IsNull reports whether v is missing.
func (v Value) IsNull() bool { return v.null }

// Text returns the string of a String.
func (v Value) Text() string { return v.text }

// Number returns the number of a Bool (0 or 1), Int16, Int32 or Int64, or the microseconds since 1970 of a Time.
func (v Value) Number() int64 { return v.number }

// Float returns the number of a Float64.
func (v Value) Float() float64 { return v.float }

// Time returns the instant of a Time, in UTC.
func (v Value) Time() time.Time { return time.UnixMicro(v.number).UTC() }

// List returns the strings of a List. The caller must not change them.
func (v Value) List() []string { return v.list }
