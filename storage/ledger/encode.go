package ledger

import (
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"curtsy/storage"
)

// timeForm always has six decimals, unlike RFC3339Nano, so that times sort as text.
const timeForm = "2006-01-02T15:04:05.000000Z"

// appendLine appends l as the schema says, with its newline. It neither reflects nor allocates: there is a line for
// every URL ever met.
func appendLine(b []byte, l *storage.Line) []byte {
	b = append(b, `{"time":"`...)
	b = l.Time.UTC().AppendFormat(b, timeForm)
	b = append(b, `","url":`...)
	b = appendString(b, l.URL)
	b = appendText(b, `,"seed":`, l.Seed)
	b = appendText(b, `,"tag":`, l.Tag)
	b = append(b, `,"decision":`...)
	b = appendString(b, l.Decision)
	b = appendText(b, `,"reason":`, l.Reason)
	b = appendInt(b, `,"line":`, l.RobotsLine)
	b = appendText(b, `,"rule":`, l.RobotsRule)
	b = appendText(b, `,"robots_sha256":`, l.RobotsSHA256)
	b = appendText(b, `,"standard":`, l.Standard)
	if l.Pace != 0 || l.PaceBy != "" { // a pace of 0 that someone asked for is no missing pace
		b = appendMillis(append(b, `,"pace_ms":`...), l.Pace)
	}
	b = appendText(b, `,"pace_by":`, l.PaceBy)
	if l.Gap != 0 {
		b = appendMillis(append(b, `,"gap_ms":`...), l.Gap)
	}
	b = appendInt(b, `,"attempt":`, l.Attempt)
	b = appendText(b, `,"outcome":`, l.Outcome)
	b = appendInt(b, `,"status":`, l.Status)
	b = appendText(b, `,"record":`, l.Record)
	b = appendText(b, `,"list_sha256":`, l.List)
	b = appendText(b, `,"directives":`, l.Directives)
	b = appendTexts(b, `,"asked":`, l.Asked)
	b = appendTexts(b, `,"prefs":`, l.Prefs)
	return append(b, "}\n"...)
}

func appendText(b []byte, key, s string) []byte {
	if s == "" {
		return b
	}
	return appendString(append(b, key...), s)
}

// appendTexts appends the lines of s as an array.
func appendTexts(b []byte, key, s string) []byte {
	if s == "" {
		return b
	}
	b = append(append(b, key...), '[')
	for more := true; more; {
		var line string
		line, s, more = strings.Cut(s, "\n")
		if b = appendString(b, line); more {
			b = append(b, ',')
		}
	}
	return append(b, ']')
}

func appendInt(b []byte, key string, n int) []byte {
	if n == 0 {
		return b
	}
	return strconv.AppendInt(append(b, key...), int64(n), 10)
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

// appendString appends s as a JSON string (RFC 8259 7).
func appendString(b []byte, s string) []byte {
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
