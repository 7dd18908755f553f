package record

import (
	"context"
	"io"
	"net/http"
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
