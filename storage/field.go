package storage

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"time"
)

// Field is one thing that a line says. The table of them, in fields.go, is the schema: the JSON of the ledger, the
// metadata records of the archive, the reader of either, and the tables in docs/reference/ledger.md and docs/reference/archives.md follow from
// it.
type Field struct {
	JSON     string // the name in the ledger
	Metadata string // the name in an exchange's metadata record; empty when the record does not have it there
	Meaning  string

	place    int  // in the metadata record, from 1; 0 when it is not there
	isAlways bool // said in the ledger whatever it is
	// it leads to other sites: it stands behind the salt of a line, and its public form does not have it
	isWithheld bool
	said       func(*Line) bool // nil, or whether a zero is said
	form       form
}

// form is how the values of a field are written and read.
type form interface {
	kind() string // what JSON makes of it
	isZero(l *Line) bool
	appendJSON(b []byte, l *Line) []byte
	// readJSON sets the field from a JSON value that is valid and not null.
	readJSON(l *Line, value []byte) error
	// appendText appends the value as a metadata record has it, and setText reads that. A list has one element
	// on a line, and setText adds one.
	appendText(b []byte, l *Line) []byte
	setText(l *Line, s string) error
}

// Kind is what JSON makes of the field's values: "string", "number", "boolean" or "array".
func (f *Field) Kind() string { return f.form.kind() }

// Always reports whether each line of the ledger has the field. Others are left out where they say nothing.
func (f *Field) Always() bool { return f.isAlways }

// Withheld reports whether the field leads to other sites: the public form of a line of the ledger does not have it.
func (f *Field) Withheld() bool { return f.isWithheld }

// IsSaid reports whether l has something to say there: more than a zero, or a zero that means something.
func (f *Field) IsSaid(l *Line) bool {
	return !f.form.isZero(l) || f.said != nil && f.said(l)
}

// Lines are the values of a field that a metadata record has several times, one on a line, and whether it is such.
func (f *Field) Lines(l *Line) (string, bool) {
	if t, ok := f.form.(lines); ok {
		return *t(l), true
	}
	return "", false
}

// AppendText appends the field's value as a metadata record has it.
func (f *Field) AppendText(b []byte, l *Line) []byte { return f.form.appendText(b, l) }

// SetText reads what AppendText wrote into l; of a repeated field it adds a line. An error leaves l as it was, and
// names the field.
func (f *Field) SetText(l *Line, s string) error {
	if err := f.form.setText(l, s); err != nil {
		return fmt.Errorf("field %q: %w", f.Metadata, err)
	}
	return nil
}

// text is a field of text; a type of words is one, too.
type text struct {
	get func(*Line) string
	set func(*Line, string)
}

func textOf[S ~string](at func(*Line) *S) form {
	return text{func(l *Line) string { return string(*at(l)) }, func(l *Line, s string) { *at(l) = S(s) }}
}

func (text) kind() string                          { return "string" }
func (t text) isZero(l *Line) bool                 { return t.get(l) == "" }
func (t text) appendJSON(b []byte, l *Line) []byte { return AppendString(b, t.get(l)) }
func (t text) appendText(b []byte, l *Line) []byte { return append(b, t.get(l)...) }
func (t text) setText(l *Line, s string) error     { t.set(l, s); return nil }
func (t text) readJSON(l *Line, value []byte) error {
	s, err := readString(value)
	if err == nil {
		t.set(l, s)
	}
	return err
}

// lines is a text of several lines, which JSON has as an array.
type lines func(*Line) *string

func (lines) kind() string                          { return "array" }
func (t lines) isZero(l *Line) bool                 { return *t(l) == "" }
func (t lines) appendText(b []byte, l *Line) []byte { return append(b, *t(l)...) }

func (t lines) appendJSON(b []byte, l *Line) []byte {
	b = append(b, '[')
	for s, more := *t(l), true; more; {
		var line string
		line, s, more = strings.Cut(s, "\n")
		if b = AppendString(b, line); more {
			b = append(b, ',')
		}
	}
	return append(b, ']')
}

func (t lines) readJSON(l *Line, value []byte) error {
	var all []string
	err := json.Unmarshal(value, &all)
	if err == nil {
		*t(l) = strings.Join(all, "\n")
	}
	return err
}

// Limits of the lines of a repeated field of a metadata record: more than anybody writes.
const (
	MaxText  = 64 << 10 // bytes
	MaxLines = 1000
)

var errLines = fmt.Errorf("its lines come to more than %d KiB or %d", MaxText>>10, MaxLines)

func (t lines) setText(l *Line, s string) error {
	all := t(l)
	switch {
	case len(*all)+len(s) > MaxText, strings.Count(*all, "\n") >= MaxLines-1:
		return errLines
	case *all == "":
		*all = s
	default:
		*all += "\n" + s
	}
	return nil
}

// number is a whole number.
type number struct {
	get func(*Line) int64
	set func(*Line, int64)
	max int64
}

func numberOf[N int | int64](at func(*Line) *N) form {
	var most N = 1<<(strconv.IntSize-1) - 1 // an int64 of a line stays below, too
	return number{func(l *Line) int64 { return int64(*at(l)) }, func(l *Line, n int64) { *at(l) = N(n) }, int64(most)}
}

func (number) kind() string                           { return "number" }
func (n number) isZero(l *Line) bool                  { return n.get(l) == 0 }
func (n number) appendJSON(b []byte, l *Line) []byte  { return strconv.AppendInt(b, n.get(l), 10) }
func (n number) appendText(b []byte, l *Line) []byte  { return n.appendJSON(b, l) }
func (n number) readJSON(l *Line, value []byte) error { return n.setText(l, string(value)) }

func (n number) setText(l *Line, s string) error {
	v, err := strconv.ParseInt(s, 10, 64)
	if err == nil && (v > n.max || v < -n.max-1) {
		err = strconv.ErrRange
	}
	if err != nil {
		return noValue(s, err)
	}
	n.set(l, v)
	return nil
}

// flag is true or left out.
type flag func(*Line) *bool

func (flag) kind() string                          { return "boolean" }
func (f flag) isZero(l *Line) bool                 { return !*f(l) }
func (f flag) appendJSON(b []byte, l *Line) []byte { return strconv.AppendBool(b, *f(l)) }
func (f flag) appendText(b []byte, l *Line) []byte { return f.appendJSON(b, l) }

func (f flag) readJSON(l *Line, value []byte) error { return json.Unmarshal(value, f(l)) }

func (f flag) setText(l *Line, s string) error {
	v, err := strconv.ParseBool(s)
	if err != nil {
		return noValue(s, err)
	}
	*f(l) = v
	return nil
}

// instant is a time, to the microsecond.
type instant func(*Line) *time.Time

func (instant) kind() string          { return "string" }
func (i instant) isZero(l *Line) bool { return i(l).IsZero() }
func (i instant) appendJSON(b []byte, l *Line) []byte {
	return append(i.appendText(append(b, '"'), l), '"')
}
func (i instant) appendText(b []byte, l *Line) []byte { return i(l).UTC().AppendFormat(b, timeForm) }

// readJSON takes a time in the one form that appendJSON writes.
func (i instant) readJSON(l *Line, value []byte) error {
	if err := i(l).UnmarshalJSON(value); err != nil {
		return err
	}
	var b [len(timeForm) + 8]byte
	if form := i.appendJSON(b[:0], l); !bytes.Equal(form, value) {
		return fmt.Errorf("%.80s is not of the form %s", value, timeForm)
	}
	return nil
}

func (i instant) setText(l *Line, s string) error {
	v, err := time.Parse(time.RFC3339, s)
	if err == nil {
		*i(l) = v
	}
	return err
}

// duration is in milliseconds with up to three decimals, cut to the microsecond: an end must not be said later than it
// was known to be, nor a pause longer.
type duration func(*Line) *time.Duration

// longest is more than any exchange, pace or gap takes; what is longer would not add up.
const longest = 10 * 365 * 24 * time.Hour

func (duration) kind() string                          { return "number" }
func (d duration) isZero(l *Line) bool                 { return *d(l) == 0 }
func (d duration) appendJSON(b []byte, l *Line) []byte { return appendMillis(b, *d(l)) }
func (d duration) appendText(b []byte, l *Line) []byte { return appendMillis(b, *d(l)) }

func (d duration) readJSON(l *Line, value []byte) error {
	v, err := time.ParseDuration(string(value) + "ms")
	if err == nil {
		*d(l) = v
	}
	return err
}

func (d duration) setText(l *Line, s string) error {
	v, err := readMillis(s)
	if err != nil {
		return noValue(s, err)
	}
	*d(l) = v
	return nil
}

// endpoint is an address and a port.
type endpoint func(*Line) *netip.AddrPort

func (endpoint) kind() string          { return "string" }
func (e endpoint) isZero(l *Line) bool { return !e(l).IsValid() }
func (e endpoint) appendJSON(b []byte, l *Line) []byte {
	return append(e.appendText(append(b, '"'), l), '"')
}

func (e endpoint) appendText(b []byte, l *Line) []byte {
	a := *e(l) // a zone names an interface of this machine
	return netip.AddrPortFrom(a.Addr().WithZone(""), a.Port()).AppendTo(b)
}

func (e endpoint) readJSON(l *Line, value []byte) error {
	s, err := readString(value)
	if err != nil {
		return err
	}
	return e(l).UnmarshalText([]byte(s))
}

func (e endpoint) setText(l *Line, s string) error { return e(l).UnmarshalText([]byte(s)) }
