package cdxj

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"curtsy/frontier/canon"
)

// maxLine bounds a line with its end, in bytes. This crawler's stay below 32 KiB.
const maxLine = 1 << 20

// timeForm is a line's time: 14 digits, UTC.
const timeForm = "20060102150405"

// revisitType is the media type of a revisit record's line.
const revisitType = "warc/revisit"

// Line is the place of a capture of a URL.
type Line struct {
	Key      string    // of the URL, see Key
	Time     time.Time // to the second, UTC
	URL      string
	Mime     string // media type; "warc/revisit" for a revisit; empty without one
	Status   int    // HTTP status; 0 without one
	Digest   string // of the payload, without the algorithm's name; empty without one
	Length   int64  // bytes of the record's gzip member
	Offset   int64  // of the member in the file
	Filename string // of the WARC file, without its directory
}

// Append appends l with its newline, as warcio's cdx-index writes it.
func (l *Line) Append(b []byte) []byte {
	return l.appendFields(append(append(b, l.Key...), ' '))
}

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

// appendString appends s as JSON.stringify writes it, with as few escapes as possible.
func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	if i := strings.IndexFunc(s, func(r rune) bool { return r < ' ' || r >= 0x80 || r == '"' || r == '\\' }); i < 0 {
		return append(append(b, s...), '"')
	}
	for _, r := range s { // invalid UTF-8 becomes U+FFFD
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

// number is a string for some tools and a number for others.
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

// status is a number; the words that some tools write instead become 0.
type status int

func (s *status) UnmarshalJSON(b []byte) error {
	if v, err := strconv.ParseUint(string(bytes.Trim(b, `"`)), 10, 16); err == nil {
		*s = status(v)
	}
	return nil
}

type lineJSON struct {
	URL      string `json:"url"`
	Mime     string `json:"mime"`
	Status   status `json:"status"`
	Digest   string `json:"digest"`
	Length   number `json:"length"`
	Offset   number `json:"offset"`
	Filename string `json:"filename"`
}

// ParseLine parses a line of any tool, with or without its newline. It ignores unknown fields.
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

// parseTime parses 14 digits. Some tools write 17, to the millisecond: it ignores the last three.
func parseTime(s string) (time.Time, error) {
	if (len(s) != 14 && len(s) != 17) || strings.Trim(s, "0123456789") != "" {
		return time.Time{}, fmt.Errorf("%.30q is not a time of 14 digits", s)
	}
	return time.Parse(timeForm, s[:14])
}

func keyOf(line []byte) []byte {
	key, _, _ := bytes.Cut(line, []byte(" "))
	return key
}

// Key returns the sort key of a URL as warcio writes it: the host's labels in reverse, joined by commas, the port unless
// it is the scheme's default, ")", the path, and the query with its arguments sorted, all in lower case, without scheme
// and "www.". Labels of an IPv4 address are also reversed (127.0.0.1 is "1,0,0,127)/"), unlike in pywb's library surt. A
// URL of another scheme is its own key. A key never has white space or control characters.
func Key(url string) string { return string(appendKey(nil, url)) }

func appendKey(b []byte, url string) []byte {
	if !strings.HasPrefix(url, "https:") && !strings.HasPrefix(url, "http:") {
		return appendEscaped(b, url)
	}
	url = withoutWWW(url)
	u, err := canon.Parse(strings.ToLower(url))
	if err != nil {
		return appendEscaped(b, url)
	}
	for host := u.Host(); ; {
		dot := strings.LastIndexByte(host, '.')
		b = append(b, host[dot+1:]...)
		if dot < 0 {
			break
		}
		b, host = append(b, ','), host[:dot]
	}
	b = append(b, strings.TrimPrefix(u.Authority().HostPort(), u.Host())...) // unless the scheme's default port
	b = appendWord(append(b, ')'), u.Path())
	if query := u.Query(); query != "" {
		b = appendQuery(append(b, '?'), query)
	}
	return b
}

func appendQuery(b []byte, query string) []byte {
	var room [16]string
	arguments := room[:0]
	for argument := range strings.SplitSeq(query, "&") {
		arguments = append(arguments, argument)
	}
	slices.Sort(arguments)
	for i, argument := range arguments {
		if i > 0 {
			b = append(b, '&')
		}
		b = appendWord(b, argument)
	}
	return b
}

// withoutWWW cuts "www." and variants ("www2.") off the host of a URL.
func withoutWWW(url string) string {
	scheme, rest, ok := strings.Cut(url, "://")
	if !ok || scheme != "http" && scheme != "https" {
		return url
	}
	host, ok := strings.CutPrefix(rest, "www")
	if !ok {
		return url
	}
	if host, ok = strings.CutPrefix(strings.TrimLeft(host, "0123456789"), "."); !ok {
		return url
	}
	return scheme + "://" + host
}

// appendEscaped appends a key, "-" if it is empty, as in older CDX files.
func appendEscaped(b []byte, key string) []byte {
	if key == "" {
		return append(b, '-')
	}
	return appendWord(b, key)
}

// appendWord appends s with percent-encoded white space and control characters, which would end the key or its line.
func appendWord(b []byte, s string) []byte {
	if whole(s) {
		return append(b, s...)
	}
	for _, r := range s {
		if !splits(r) {
			b = utf8.AppendRune(b, r)
			continue
		}
		for _, c := range []byte(string(r)) {
			b = hex.AppendEncode(append(b, '%'), []byte{c})
		}
	}
	return b
}

func whole(s string) bool {
	for i := range len(s) {
		if c := s[i]; c <= ' ' || c >= 0x7f {
			return strings.IndexFunc(s, splits) < 0
		}
	}
	return true
}

// splits reports whether some reader might take r for the end of a word or line.
func splits(r rune) bool {
	return r <= ' ' || 0x7f <= r && r <= 0xa0 || r == 0x2028 || r == 0x2029 || r == 0xfeff
}
