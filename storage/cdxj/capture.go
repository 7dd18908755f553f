package cdxj

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// maxLine is the most bytes a line may have, its end included. Ours stay below 32 KiB.
const maxLine = 1 << 20

// timeForm is a line's time: 14 digits, UTC.
const timeForm = "20060102150405"

// revisitType is the media type that stands for a revisit record.
const revisitType = "warc/revisit"

// Line says where one capture of a URL stands.
type Line struct {
	Key      string    // of the URL, see Key
	Time     time.Time // to the second, UTC
	URL      string
	Mime     string // media type; "warc/revisit" for a revisit; empty without one
	Status   int    // HTTP status; 0 without one
	Digest   string // of the payload, without the algorithm's name; empty without one
	Length   int64  // bytes of the record's gzip member
	Offset   int64  // of the member in the file
	Filename string // of the WARC file, without its folder
}

// Append appends l as warcio's cdx-index writes it, with its newline.
func (l *Line) Append(b []byte) []byte {
	return l.appendFields(append(append(b, l.Key...), ' '))
}

// appendFields appends what follows the key and its space.
func (l *Line) appendFields(b []byte) []byte {
	b = append(l.Time.UTC().AppendFormat(b, timeForm), ` {"url":`...)
	b = appendString(b, l.URL)
	if l.Mime != "" {
		b = appendString(append(b, `,"mime":`...), l.Mime)
	}
	if l.Status != 0 {
		b = strconv.AppendInt(append(b, `,"status":"`...), int64(l.Status), 10)
		b = append(b, '"')
	}
	if l.Digest != "" {
		b = appendString(append(b, `,"digest":`...), l.Digest)
	}
	b = strconv.AppendInt(append(b, `,"length":"`...), l.Length, 10)
	b = strconv.AppendInt(append(b, `","offset":"`...), l.Offset, 10)
	b = appendString(append(b, `","filename":`...), l.Filename)
	return append(b, "}\n"...)
}

// appendString appends s as JSON.stringify writes it: nothing is escaped that need not be.
func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	if plain(s) {
		return append(append(b, s...), '"')
	}
	for _, r := range s { // what is not UTF-8 is read as U+FFFD
		switch {
		case r == '"' || r == '\\':
			b = append(b, '\\', byte(r))
		case r >= ' ':
			b = utf8.AppendRune(b, r)
		default:
			if i := strings.IndexRune("\b\f\n\r\t", r); i >= 0 {
				b = append(b, '\\', "bfnrt"[i])
			} else {
				b = fmt.Appendf(b, `\u%04x`, r)
			}
		}
	}
	return append(b, '"')
}

// plain reports whether s is of ASCII and nothing in it is escaped.
func plain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= 0x80 || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

// number is written as text by some tools and as a number by others.
type number int64

func (n *number) UnmarshalJSON(b []byte) error {
	s := string(bytes.Trim(b, `"`))
	if s == "" || s == "-" || s == "null" {
		return nil
	}
	v, err := strconv.ParseInt(s, 10, 64)
	if err != nil || v < 0 {
		return fmt.Errorf("%.30q is not a number", s)
	}
	*n = number(v)
	return nil
}

// status is a number, and 0 for the words that some tools write in its place.
type status int

func (s *status) UnmarshalJSON(b []byte) error {
	if v, err := strconv.ParseUint(string(bytes.Trim(b, `"`)), 10, 16); err == nil {
		*s = status(v)
	}
	return nil
}

// lineJSON is the third part of a line.
type lineJSON struct {
	URL      string `json:"url"`
	Mime     string `json:"mime"`
	Status   status `json:"status"`
	Digest   string `json:"digest"`
	Length   number `json:"length"`
	Offset   number `json:"offset"`
	Filename string `json:"filename"`
}

// ParseLine reads a line, with or without its newline, that Append or another tool wrote. It passes over fields that it
// does not know.
func ParseLine(b []byte) (Line, error) {
	key, rest, ok := bytes.Cut(bytes.TrimRight(b, "\r\n"), []byte(" "))
	if !ok || len(key) == 0 {
		return Line{}, errors.New("cdxj: read a line: it has no key")
	}
	stamp, object, ok := bytes.Cut(rest, []byte(" "))
	if !ok {
		return Line{}, errors.New("cdxj: read a line: it has no time and fields")
	}
	at, err := parseTime(string(stamp))
	if err != nil {
		return Line{}, fmt.Errorf("cdxj: read a line: %w", err)
	}
	var f lineJSON
	if err := json.Unmarshal(object, &f); err != nil {
		return Line{}, fmt.Errorf("cdxj: read a line: %w", err)
	}
	return Line{
		Key: string(key), Time: at, URL: f.URL, Mime: f.Mime, Status: int(f.Status), Digest: f.Digest,
		Length: int64(f.Length), Offset: int64(f.Offset), Filename: f.Filename,
	}, nil
}

// parseTime reads 14 digits. Some tools write 17, to the millisecond: the last three are passed over.
func parseTime(s string) (time.Time, error) {
	if (len(s) != 14 && len(s) != 17) || strings.Trim(s, "0123456789") != "" {
		return time.Time{}, fmt.Errorf("%.30q is not a time of 14 digits", s)
	}
	return time.Parse(timeForm, s[:14])
}

// keyOf returns the key of a line as it stands in a file.
func keyOf(line []byte) []byte {
	key, _, _ := bytes.Cut(line, []byte(" "))
	return key
}
