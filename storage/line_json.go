package storage

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// timeForm always has six decimals, unlike RFC3339Nano, so that times sort as text.
const timeForm = "2006-01-02T15:04:05.000000Z"

// Salt keeps the digest of what a line withholds from being guessed.
type Salt [16]byte

// AppendJSON appends l as one JSON object, without a newline, as the ledger's schema says but for the salt. It neither
// reflects nor allocates: there is a line for every URL ever met.
func (l *Line) AppendJSON(b []byte) []byte { return l.appendJSON(b, nil) }

// AppendSalted is AppendJSON with the salt before the fields that are withheld, as a ledger has it.
func (l *Line) AppendSalted(b []byte, salt *Salt) []byte { return l.appendJSON(b, salt) }

func (l *Line) appendJSON(b []byte, salt *Salt) []byte {
	open := byte('{')
	for i := range fields {
		f := &fields[i]
		if f.isWithheld && salt != nil {
			b, salt = appendSalt(b, salt), nil
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

// saltName is the field of the salt.
const saltName = "salt"

// appendSalt appends the field of a salt behind another.
func appendSalt(b []byte, salt *Salt) []byte {
	b = append(b, `,"`+saltName+`":"`...)
	b = hex.AppendEncode(b, salt[:])
	return append(b, '"')
}

// appendMillis appends d in milliseconds, cut to the microsecond.
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

// AppendString appends s as a JSON string (RFC 8259 7). Characters that cannot be printed are escaped, and octets
// that are no UTF-8 become U+FFFD.
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

// readMillis reads milliseconds with up to three decimals, exactly, which a float64 would not.
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

// noValue says of a text that it is no value of its field, and why.
func noValue(s string, err error) error {
	if cause := errors.Unwrap(err); cause != nil { // strconv's own error repeats the text
		err = cause
	}
	return fmt.Errorf("%.80q is not a value of it: %w", s, err)
}
