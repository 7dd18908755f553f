package record

import (
	"context"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"curtsy/crawler/fetch"
	"curtsy/frontier"
	"curtsy/frontier/canon"
	"curtsy/storage"
)

// Past is the archive before this generation of the crawl. Its methods may be called concurrently.
type Past interface {
	// Last returns the last archived 2xx, redirect, 404 or 410 of u. It is nil without one, and if the archive is unreadable
	// there: u then counts as new.
	Last(ctx context.Context, u canon.URL) (*Earlier, error)
}

// Earlier is an archived response of a URL.
type Earlier struct {
	Record string    // id of its record, or of the last 304 that confirmed it
	Date   time.Time // of that record
	Status int
	Header http.Header // as the last 304 freshened it

	Payload    [32]byte // SHA-256, valid with HasPayload
	HasPayload bool

	Original storage.Original // the record with the body, which may be of another URL with the same payload
	// Body opens the decoded body. Nil means that the archive does not have all of it.
	Body func() (*io.SectionReader, io.Closer, error)
}

// There reports whether the URL existed: as a page, or a redirect.
func (e *Earlier) There() bool { return e != nil && e.Status >= 200 && e.Status < 400 }

// Condition makes r conditional (RFC 9110 13.1), if e can be confirmed, and reports whether it did. An entity tag is sent as it
// came, weak or strong, with If-Modified-Since for servers without tags.
func (e *Earlier) Condition(r *fetch.Request) bool {
	if e == nil || e.Body == nil || e.Status != http.StatusOK {
		return false
	}
	if tag := single(e.Header, "Etag"); isTag(tag) {
		r.IfNoneMatch = tag
	}
	if at := single(e.Header, "Last-Modified"); at != "" {
		if t, err := http.ParseTime(at); err == nil {
			r.IfModifiedSince = t.UTC().Format(http.TimeFormat) // of any form (RFC 9110 5.6.7)
		}
	}
	return r.IfNoneMatch != "" || r.IfModifiedSince != ""
}

// single returns the value of a field that comes exactly once, or "".
func single(h http.Header, name string) string {
	if all := h.Values(name); len(all) == 1 {
		return all[0]
	}
	return ""
}

// maxTag bounds the entity tags that are sent, since a long request may fail.
const maxTag = 1024

// isTag reports whether s is an entity tag (RFC 9110 8.8.3). Others are not sent: "*" would match anything. A space is allowed,
// since servers that use one compare the bytes.
func isTag(s string) bool {
	s = strings.TrimPrefix(s, "W/")
	if len(s) < 2 || len(s) > maxTag || s[0] != '"' || s[len(s)-1] != '"' {
		return false
	}
	for _, c := range []byte(s[1 : len(s)-1]) {
		if c < ' ' || c == '"' || c == 0x7f {
			return false
		}
	}
	return true
}

// Confirms reports whether a 304 concerns the response with these fields, not one with another entity tag (RFC 9111 4.3.4).
// Tags are compared weakly, since compression on the way may weaken one.
func Confirms(said, kept http.Header) bool {
	a, b := said.Get("Etag"), kept.Get("Etag")
	return a == "" || b == "" || strings.TrimPrefix(a, "W/") == strings.TrimPrefix(b, "W/")
}

// ofBody are fields of one message, which a 304 does not change. Content-Type is among them because some servers send a default
// with each 304 (RFC 9111 3.2 leaves it open).
var ofBody = map[string]bool{
	"Content-Length": true, "Content-Encoding": true, "Content-Range": true, "Content-Type": true, "Transfer-Encoding": true,
	"Connection": true, "Keep-Alive": true, "Trailer": true, "Upgrade": true,
}

// Freshened returns the fields of a response after a 304, whose fields replace those of the same name (RFC 9111 3.2). It does not
// change its arguments.
func Freshened(kept, said http.Header) http.Header {
	h := kept.Clone()
	if h == nil {
		h = http.Header{}
	}
	if said.Get("Age") == "" {
		h.Del("Age") // the 304 comes from the origin
	}
	for name, values := range said {
		if !ofBody[name] {
			h[name] = values
		}
	}
	return h
}

// Change compares e with the outcome now, whether a 304 confirmed e, and the head and payload of the response. It is empty for a
// deferred URL, and for one that was not there then or now.
func (e *Earlier) Change(now frontier.Outcome, confirmed bool, head http.Header, payload [32]byte) storage.Change {
	switch {
	case now == frontier.Gone && e.There():
		return storage.ChangeGone
	case now != frontier.Fetched && now != frontier.Redirected:
		return ""
	case confirmed:
		return storage.ChangeUnchanged
	case !e.There():
		return storage.ChangeNew
	case now == frontier.Redirected && e.Status >= 300 && e.Header.Get("Location") == head.Get("Location"):
		return storage.ChangeUnchanged
	case now == frontier.Fetched && e.Status < 300 && e.HasPayload && e.Payload == payload:
		return storage.ChangeUnchanged
	}
	return storage.ChangeChanged
}

// neverSent are fields that no request has, or that are the same in all, so that Vary by them does not matter (RFC 9111 4.1).
var neverSent = map[string]bool{
	"accept-encoding": true, "authorization": true, "cookie": true, "origin": true, "referer": true, "range": true,
}

// Fresh reports whether a response requested at got is explicitly fresh now (RFC 9111 4.2, without 4.2.2). A contradictory or
// unreadable lifetime is not fresh.
func Fresh(h http.Header, got, now time.Time) bool {
	left, ok := holds(h, got, now)
	return ok && left > 0
}

// Holds returns how long a response of got is explicitly fresh, up to 68 years, or zero.
func Holds(h http.Header, got time.Time) time.Duration {
	left, _ := holds(h, got, got)
	return max(left, 0)
}

// Modified returns Last-Modified of a response of got; zero if it is unreadable, repeated, or later than got.
func Modified(h http.Header, got time.Time) time.Time {
	at, err := http.ParseTime(single(h, "Last-Modified"))
	if err != nil || at.After(got) || at.Year() < 1990 {
		return time.Time{}
	}
	return at.UTC()
}

func holds(h http.Header, got, now time.Time) (left time.Duration, ok bool) {
	said := cacheControl(h)
	for _, no := range []string{"no-cache", "no-store", "private"} {
		if _, ok := said[no]; ok {
			return 0, false
		}
	}
	if len(h.Values("Set-Cookie")) > 0 || len(h.Values("Pragma")) > 0 {
		return 0, false
	}
	for _, v := range h.Values("Vary") {
		for name := range strings.SplitSeq(v, ",") {
			if name = strings.ToLower(strings.TrimSpace(name)); name != "" && !neverSent[name] {
				return 0, false
			}
		}
	}
	life, ok := lifetime(h, said)
	if !ok || life <= 0 {
		return 0, false
	}
	age, ok := ageOf(h, got, now)
	return min(life, longestLife*time.Second) - age, ok
}

// lifetime returns the explicit freshness lifetime (RFC 9111 4.2.1).
func lifetime(h http.Header, said map[string]string) (time.Duration, bool) {
	for _, name := range []string{"s-maxage", "max-age"} {
		if v, ok := said[name]; ok {
			return deltaSeconds(v)
		}
	}
	expires, dates := h.Values("Expires"), h.Values("Date")
	if len(expires) != 1 || len(dates) != 1 {
		return 0, false
	}
	end, err := http.ParseTime(expires[0])
	if err != nil {
		return 0, false
	}
	date, err := http.ParseTime(dates[0])
	return end.Sub(date), err == nil
}

// ageOf returns the age of a response (RFC 9111 4.2.3), counted from the request.
func ageOf(h http.Header, got, now time.Time) (time.Duration, bool) {
	since := now.Sub(got)
	if since < 0 {
		return 0, false // a clock was set back
	}
	apparent, stated := time.Duration(0), time.Duration(0)
	if v := h.Get("Date"); v != "" {
		date, err := http.ParseTime(v)
		if err != nil {
			return 0, false
		}
		apparent = max(got.Sub(date), 0)
	}
	for _, v := range h.Values("Age") {
		d, ok := deltaSeconds(v)
		if !ok {
			return 0, false
		}
		stated = max(stated, d)
	}
	return max(apparent, stated) + since, true
}

// longestLife bounds delta-seconds (RFC 9111 1.2.2).
const longestLife = 1 << 31

func deltaSeconds(s string) (time.Duration, bool) {
	s = strings.TrimSpace(s)
	if s == "" || strings.Trim(s, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		n = longestLife // only digits: it is too large
	}
	return time.Duration(min(n, longestLife)) * time.Second, true
}

// cacheControl returns the directives of Cache-Control in lower case, with unquoted values. One with two values is invalid.
func cacheControl(h http.Header) map[string]string {
	said := map[string]string{}
	for _, v := range h.Values("Cache-Control") {
		for _, d := range unquotedCommas(v) {
			name, value, _ := strings.Cut(d, "=")
			name = strings.ToLower(strings.TrimSpace(name))
			value = strings.Trim(strings.TrimSpace(value), `"`)
			if old, again := said[name]; again && old != value {
				value = "?"
			}
			said[name] = value
		}
	}
	return said
}

// unquotedCommas splits s at the commas outside quotes (RFC 9110 5.6.1, 5.6.4).
func unquotedCommas(s string) (parts []string) {
	begin, quoted := 0, false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case c == ',' && !quoted:
			parts, begin = append(parts, s[begin:i]), i+1
		}
	}
	return append(parts, s[begin:])
}
