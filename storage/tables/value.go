package tables

import (
	"math"
	"strings"
	"time"
	"unicode/utf8"
)

// Value is one value of a row. The zero Value is the empty string; Null is no value at all.
type Value struct {
	kind   Kind
	null   bool
	number int64 // of Bool 0 or 1, of Time microseconds since 1970
	float  float64
	text   string
	list   []string
}

// Null is the value of a column that has none here.
func Null() Value { return Value{null: true} }

// Text is s as a string. Bytes that are not UTF-8 become U+FFFD.
func Text(s string) Value {
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	return Value{kind: String, text: s}
}

// Some is s as a string, or Null when it is empty.
func Some(s string) Value {
	if s == "" {
		return Null()
	}
	return Text(s)
}

// Flag is b.
func Flag(b bool) Value { return Value{kind: Bool, number: int64(bit(b))} }

// Short is n as an Int16.
func Short(n int16) Value { return Value{kind: Int16, number: int64(n)} }

// Int is n as an Int32.
func Int(n int32) Value { return Value{kind: Int32, number: int64(n)} }

// Long is n as an Int64.
func Long(n int64) Value { return Value{kind: Int64, number: n} }

// Float is f, or Null when f is no finite number, which JSON cannot write.
func Float(f float64) Value {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return Null()
	}
	return Value{kind: Float64, float: f}
}

// Instant is t to the microsecond, or Null when t is zero or RFC 3339 cannot write its year.
func Instant(t time.Time) Value {
	if y := t.UTC().Year(); t.IsZero() || y < 0 || y > 9999 {
		return Null()
	}
	return Value{kind: Time, number: t.UnixMicro()}
}

// Texts is a list of strings, which the Value keeps. A list of none is not Null.
func Texts(list []string) Value {
	for i, s := range list {
		list[i] = Text(s).text
	}
	return Value{kind: List, list: list}
}

// Kind is the kind of v. That of Null means nothing.
func (v Value) Kind() Kind { return v.kind }

// IsNull reports whether v is no value.
func (v Value) IsNull() bool { return v.null }

// Text is the string of a String.
func (v Value) Text() string { return v.text }

// Number is the number of a Bool (0 or 1), an Int16, Int32 or Int64, and the microseconds since 1970 of a Time.
func (v Value) Number() int64 { return v.number }

// Float is the number of a Float64.
func (v Value) Float() float64 { return v.float }

// Time is the instant of a Time, in UTC.
func (v Value) Time() time.Time { return time.UnixMicro(v.number).UTC() }

// List is the strings of a List. The caller must not change them.
func (v Value) List() []string { return v.list }
