package storage

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// timeForm always has six decimals, unlike RFC3339Nano, so that times sort as text.
const timeForm = "2006-01-02T15:04:05.000000Z"

// Salt prevents guessing withheld fields from the digest of a line.
type Salt [16]byte

// AppendJSON appends l as one JSON object of the ledger's schema, without salt and newline. It uses no reflection and does
// not allocate, since there is a line for every URL found.
func (l *Line) AppendJSON(b []byte) []byte { return l.appendJSON(b, nil) }

// AppendSalted is AppendJSON with the salt before the withheld fields, as in a ledger.
func (l *Line) AppendSalted(b []byte, salt *Salt) []byte { return l.appendJSON(b, salt) }

func (l *Line) appendJSON(b []byte, salt *Salt) []byte {
	open := byte('{')
	for i := range fields {
		f := &fields[i]
		if f.isWithheld && salt != nil {
			b = append(hex.AppendEncode(append(b, `,"`+saltName+`":"`...), salt[:]), '"')
			salt = nil
		}
		if !f.isAlways && !f.IsSaid(l) {
			continue
		}
		b = append(append(b, open, '"'), f.JSON...)
		b = f.form.appendJSON(append(b, '"', ':'), l)
		open = ','
	}
	return append(b, '}')
}

const saltName = "salt"

func appendMillis(b []byte, d time.Duration) []byte {
	µs := d.Microseconds()
	if µs < 0 {
		b, µs = append(b, '-'), -µs
	}
	b = strconv.AppendInt(b, µs/1000, 10)
	if f := µs % 1000; f != 0 {
		b = append(b, '.', byte('0'+f/100), byte('0'+f/10%10), byte('0'+f%10))
		for b[len(b)-1] == '0' {
			b = b[:len(b)-1]
		}
	}
	return b
}

const hexDigits = "0123456789abcdef"

// AppendString appends s as a JSON string (RFC 8259 7). It escapes characters that cannot be printed and replaces invalid
// UTF-8 with U+FFFD.
func AppendString(b []byte, s string) []byte {
	b = append(b, '"')
	from := 0 // s[from:i] is to be copied as it is
	for i := 0; i < len(s); {
		if c := s[i]; ' ' <= c && c < 0x7f {
			if c == '"' || c == '\\' {
				b = append(append(b, s[from:i]...), '\\', c)
				from = i + 1
			}
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if (r == utf8.RuneError && n == 1) || !strconv.IsPrint(r) {
			b = appendEscape(append(b, s[from:i]...), r)
			from = i + n
		}
		i += n
	}
	return append(append(b, s[from:]...), '"')
}

// appendEscape appends r as \uXXXX, or as a surrogate pair if it lies beyond the basic plane.
func appendEscape(b []byte, r rune) []byte {
	if r >= 0x10000 {
		r -= 0x10000
		b = appendEscape(b, 0xd800+r>>10)
		r = 0xdc00 + r&0x3ff
	}
	return append(b, '\\', 'u', hexDigits[r>>12&15], hexDigits[r>>8&15], hexDigits[r>>4&15], hexDigits[r&15])
}

// readMillis reads milliseconds with up to three decimals exactly, unlike a float64.
func readMillis(s string) (time.Duration, error) {
	digits, negative := strings.CutPrefix(s, "-")
	whole, fraction, pointed := strings.Cut(digits, ".")
	n, err := strconv.ParseUint(whole, 10, 63)
	switch {
	case err != nil:
		return 0, err
	case n > uint64(longest/time.Millisecond):
		return 0, strconv.ErrRange
	case pointed && (fraction == "" || len(fraction) > 3 || strings.Trim(fraction, "0123456789") != ""):
		return 0, strconv.ErrSyntax
	}
	d := time.Duration(n) * time.Millisecond
	for i, unit := 0, 100*time.Microsecond; i < len(fraction); i, unit = i+1, unit/10 {
		d += time.Duration(fraction[i]-'0') * unit
	}
	if negative {
		d = -d
	}
	return d, nil
}

func noValue(s string, err error) error {
	if cause := errors.Unwrap(err); cause != nil { // strconv's own error repeats the text
		err = cause
	}
	return fmt.Errorf("%.80q is not a value of it: %w", s, err)
}

var saltKey = []byte(`,"` + saltName + `":"`)

// ParseLine reads the output of AppendJSON or AppendSalted in the only form that CheckForm accepts, and skips unknown
// fields and the salt. Only withheld fields may follow the salt: any other would be read but missing in the public form.
func ParseLine(b []byte) (Line, error) {
	var l Line
	salted := false
	var kept [64]member
	all, err := membersOf(b, kept[:0])
	if err != nil {
		return Line{}, err
	}
	for _, m := range all {
		f := byJSON[string(m.name)]
		switch {
		case string(m.name) == saltName && salted:
			return Line{}, errors.New("it has two salts")
		case string(m.name) == saltName:
			salted = true
			continue
		case salted && (f == nil || !f.isWithheld):
			return Line{}, fmt.Errorf("field %.80q follows the salt, where only withheld ones may", m.name)
		case (m.value[0] == '{' || m.value[0] == '[') && bytes.Contains(m.value, saltKey):
			return Line{}, fmt.Errorf("a salt is within the field %.80q", m.name)
		case f == nil || string(m.value) == "null":
			continue
		}
		if err := f.form.readJSON(&l, m.value); err != nil {
			return Line{}, fmt.Errorf("field %q: %w", m.name, err)
		}
	}
	return l, nil
}

var errNoObject = errors.New("a line is one JSON object")

// maxDepth bounds the nesting of a line or mark: more than any has, and less than readers in other languages accept.
const maxDepth = 64

// maxNames bounds the names of an object and of those around it, which CheckForm compares with each other.
const maxNames = 1 << 10

// CheckForm returns an error for a line or mark of a ledger that JSON readers may read in several ways. It must be one
// object without white space between tokens; names are lower-case letters, digits and underscores, unique in their
// object. b may end with a newline. The ledger, its proofs and the audit share this check.
func CheckForm(b []byte) error {
	_, err := membersOf(b, nil)
	return err
}

type member struct{ name, value []byte }

// membersOf is CheckForm, and appends the members of the object to all unless that is nil. encoding/json takes four times
// as long, and there is a line for every URL found.
func membersOf(b []byte, all []member) ([]member, error) {
	b = bytes.TrimSuffix(b, []byte("\n"))
	if !json.Valid(b) {
		if err := json.Unmarshal(b, new(struct{})); err != nil {
			return nil, err
		}
	}
	if len(b) == 0 || b[0] != '{' {
		return nil, errNoObject
	}
	var kept [48][]byte
	names := kept[:0]             // of the objects around, the outermost first
	var begin [maxDepth + 1]int32 // where those of each object begin in names
	var array [maxDepth + 1]bool
	depth, name := 0, false // name: a string that comes next is one
	value := 0              // where that of the outermost object's last member begins
	for i := 0; i < len(b); i++ {
		c := b[i]
		if (c == ',' || c == '}') && depth == 1 && len(all) > 0 {
			all[len(all)-1].value = b[value:i]
		}
		switch c {
		case ' ', '\t', '\r', '\n':
			return nil, errors.New("there is white space between its parts")
		case '{', '[':
			if depth++; depth > maxDepth {
				return nil, fmt.Errorf("it is nested more than %d deep", maxDepth)
			}
			begin[depth], array[depth], name = int32(len(names)), c == '[', c == '{'
		case '}', ']':
			names = names[:begin[depth]]
			depth--
		case ',':
			name = !array[depth]
		case '"':
			n := quoted(b[i:])
			if name {
				text := b[i+1 : i+n-1]
				if err := checkName(names[begin[depth]:], text); err != nil {
					return nil, err
				}
				if names, name = append(names, text), false; len(names) > maxNames {
					return nil, fmt.Errorf("it has more than %d names", maxNames)
				}
				if depth == 1 && all != nil {
					all, value = append(all, member{name: text}), i+n+1 // after the colon
				}
			}
			i += n - 1
		}
	}
	return all, nil
}

func checkName(before [][]byte, name []byte) error {
	if len(name) == 0 {
		return errors.New("a name is empty")
	}
	for _, c := range name {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '_' {
			return fmt.Errorf("the name %.80q is not of lower-case letters, digits and underscores", name)
		}
	}
	for _, b := range before {
		if bytes.Equal(b, name) {
			return fmt.Errorf("it has the name %.80q twice", name)
		}
	}
	return nil
}

func quoted(b []byte) int {
	for i := 1; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(b)
}

var errNoString = errors.New("a text was expected")

func readString(value []byte) (s string, err error) {
	switch {
	case len(value) < 2 || value[0] != '"':
		return "", errNoString
	case bytes.IndexByte(value, '\\') < 0 && utf8.Valid(value):
		return string(value[1 : len(value)-1]), nil
	}
	err = json.Unmarshal(value, &s)
	return s, err
}
