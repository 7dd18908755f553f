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

// Past knows what the archive had before this generation of the crawl began. Its methods may be called concurrently.
type Past interface {
	// Last returns the last archived answer of u that says what is there: 2xx, a redirect, 404 or 410. Without one, and
	// when the archive cannot be read there, it is nil: u is then asked for as if it were new.
	Last(ctx context.Context, u canon.URL) (*Earlier, error)
}

// Earlier is an archived answer of a URL.
type Earlier struct {
	Record string    // id of its record, or of the 304 that confirmed it last
	Date   time.Time // of that record
	Status int

	// Header has the fields of the answer, those of the 304 that confirmed it last laid over them (Freshened).
	Header http.Header

	Payload    [32]byte // SHA-256 of the payload, valid when HasPayload
	HasPayload bool

	// Original is the record that has the body, which may be that of another URL with the same payload.
	Original storage.Original
	// Body opens the decoded body. Nil says that the archive does not have all of it: it was cut, or not to be archived.
	Body func() (*io.SectionReader, io.Closer, error)
}

// There reports whether something was there: a page, or a redirect.
func (e *Earlier) There() bool { return e != nil && e.Status >= 200 && e.Status < 400 }

// Condition makes r conditional (RFC 9110 13.1), if e is an answer that can be confirmed, and reports whether it did. An
// entity tag goes back as it came, weak or strong; If-Modified-Since goes with it for servers that know no tags.
func (e *Earlier) Condition(r *fetch.Request) bool {
	if e == nil || e.Body == nil || e.Status != http.StatusOK {
		return false
	}
	if tag := alone(e.Header, "Etag"); isTag(tag) {
		r.IfNoneMatch = tag
	}
	if at := alone(e.Header, "Last-Modified"); at != "" {
		if t, err := http.ParseTime(at); err == nil {
			r.IfModifiedSince = t.UTC().Format(http.TimeFormat) // whatever form it came in (RFC 9110 5.6.7)
		}
	}
	return r.IfNoneMatch != "" || r.IfModifiedSince != ""
}

// alone is the value of a field that may come once. Of one that comes again nobody knows which holds.
func alone(h http.Header, name string) string {
	if all := h.Values(name); len(all) == 1 {
		return all[0]
	}
	return ""
}

// maxTag is the longest entity tag that goes back: a request that is too long for its server would fail.
const maxTag = 1024

// isTag reports whether s is an entity tag (RFC 9110 8.8.3). What a server calls one and is none does not go back: "*"
// there would match anything. A space is let pass, though it may not stand in a tag: servers that put one there compare
// the octets, and the quotes hold it together for others.
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

// Confirms reports whether a 304 speaks of the answer with these fields. One that names another entity tag speaks of
// another one (RFC 9111 4.3.4). Tags are compared weakly: what compresses an answer on its way may weaken its tag.
func Confirms(said, kept http.Header) bool {
	a, b := said.Get("Etag"), kept.Get("Etag")
	return a == "" || b == "" || strings.TrimPrefix(a, "W/") == strings.TrimPrefix(b, "W/")
}

// ofBody are fields that speak of the octets of one message, so that those of a 304 say nothing of the answer it confirms.
// Content-Type is among them because some servers give each 304 their default (RFC 9111 3.2 leaves it open).
var ofBody = map[string]bool{
	"Content-Length": true, "Content-Encoding": true, "Content-Range": true, "Content-Type": true, "Transfer-Encoding": true,
	"Connection": true, "Keep-Alive": true, "Trailer": true, "Upgrade": true,
}

// Freshened returns the fields of an answer after a 304 (RFC 9111 3.2): each field of the 304 takes the place of those
// of its name. Neither argument is changed.
func Freshened(kept, said http.Header) http.Header {
	h := kept.Clone()
	if h == nil {
		h = http.Header{}
	}
	if said.Get("Age") == "" {
		h.Del("Age") // it was that of the answer when it came, and the 304 comes from the origin
	}
	for name, values := range said {
		if !ofBody[name] {
			h[name] = values
		}
	}
	return h
}

// Change says what became of the URL of e since e was archived: by its outcome now, whether a 304 confirmed e, and the
// head and the payload of the answer. It is empty for what comes again, and for what neither then nor now was there.
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

// neverSent are fields that no request of ours carries, or each one alike, so that an answer that varies by them is the
// same for all of ours (RFC 9111 4.1).
var neverSent = map[string]bool{
	"accept-encoding": true, "authorization": true, "cookie": true, "origin": true, "referer": true, "range": true,
}

// Fresh reports whether an answer that was asked for at got is fresh now, by what its server said and by nothing else
// (RFC 9111 4.2, without 4.2.2). What is said in two ways, or cannot be read, is not fresh.
func Fresh(h http.Header, got, now time.Time) bool {
	left, ok := holds(h, got, now)
	return ok && left > 0
}

// Holds is for how long an answer that came at got holds from then, by what its server said (Fresh), up to 68 years; zero
// when it did not say.
func Holds(h http.Header, got time.Time) time.Duration {
	left, _ := holds(h, got, got)
	return max(left, 0)
}

// Modified is Last-Modified of an answer that came at got; zero when that cannot be read, came twice, or is later.
func Modified(h http.Header, got time.Time) time.Time {
	at, err := http.ParseTime(alone(h, "Last-Modified"))
	if err != nil || at.After(got) || at.Year() < 1990 {
		return time.Time{}
	}
	return at.UTC()
}

// holds is for how long an answer still holds.
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

// lifetime is the explicit freshness lifetime of an answer (RFC 9111 4.2.1).
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

// ageOf is the age of an answer (RFC 9111 4.2.3). It counts from the request, which takes the way of the answer for a part
// of its age.
func ageOf(h http.Header, got, now time.Time) (time.Duration, bool) {
	since := now.Sub(got)
	if since < 0 {
		return 0, false // a clock was set back: nothing is known of the time between
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

// longestLife is what longer delta-seconds are taken for (RFC 9111 1.2.2).
const longestLife = 1 << 31

func deltaSeconds(s string) (time.Duration, bool) {
	s = strings.TrimSpace(s)
	if s == "" || strings.Trim(s, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		n = longestLife // digits alone: it is too large
	}
	return time.Duration(min(n, longestLife)) * time.Second, true
}

// cacheControl reads the directives of Cache-Control, in lower case, their values without quotes. One that is said twice
// with two values has a value that is none.
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

// unquotedCommas parts s at the commas that stand in no quotes (RFC 9110 5.6.1, 5.6.4).
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
