package crawler

import (
	"context"
	"io"
	"net/http"
	"strings"
	"time"

	"curtsy/crawler/fetch"
	"curtsy/crawler/host"
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

// there reports whether something was there: a page, or a redirect.
func (e *Earlier) there() bool { return e != nil && e.Status >= 200 && e.Status < 400 }

// condition makes r conditional (RFC 9110 13.1), if e is an answer that can be confirmed, and reports whether it did. An
// entity tag goes back as it came, weak or strong; If-Modified-Since goes with it for servers that know no tags.
func (e *Earlier) condition(r *fetch.Request) bool {
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

// confirms reports whether a 304 speaks of the answer with these fields. One that names another entity tag speaks of
// another one (RFC 9111 4.3.4). Tags are compared weakly: what compresses an answer on its way may weaken its tag.
func confirms(said, kept http.Header) bool {
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

// before is the archived answer of a task, as its request has to do with it. The zero value is none.
type before struct {
	*Earlier
	conditional bool // the request was
}

// reasonHollow is why a 304 fails that there is no archived answer for: it was not asked for, or what it would confirm
// cannot be read. The URL is asked for once more, without conditions.
const reasonHollow = "not modified, without an archived answer"

// again304 bounds the attempts at a URL that is answered with such a 304 between other failures.
const again304 = 5

// follows makes r the request for a task that may have been archived before.
func (c *Crawl) follows(ctx context.Context, task frontier.Task, r *fetch.Request) (b before, err error) {
	if c.cfg.Past == nil {
		return b, nil
	}
	if b.Earlier, err = c.cfg.Past.Last(ctx, task.URL); err == nil && task.Reason != reasonHollow {
		b.conditional = b.condition(r)
	}
	return b, err
}

// meaning is what an exchange says of its URL: itself or, with a 304, the archived answer that it confirms.
type meaning struct {
	*fetch.Exchange // whose head and body speak for the URL
	answer          host.Answer
	why             string
	body            io.Closer // of the archived answer; nil when the exchange speaks for itself
}

func (m meaning) close() error {
	if m.body == nil {
		return nil
	}
	return m.body.Close()
}

// meaning tells what an exchange says, and notes in d which answer still holds.
func (c *Crawl) meaning(task frontier.Task, ex *fetch.Exchange, d *decision) meaning {
	m := meaning{Exchange: ex}
	m.answer, m.why = host.Classify(ex)
	if c.cfg.Past == nil || ex.Failure != nil || ex.Status != http.StatusNotModified {
		return m
	}
	m.why = reasonHollow
	if !d.before.conditional || !confirms(ex.Header, d.before.Header) {
		return m
	}
	body, closer, err := d.before.Body()
	if err != nil {
		c.cfg.Log("%s: its archived answer cannot be read, it is asked for anew: %v", short(task.URL.String()), err)
		return m
	}
	header := Freshened(d.before.Header, ex.Header)
	m.Exchange = &fetch.Exchange{
		URL: ex.URL, Start: ex.Start, End: ex.End, Status: d.before.Status, Header: header,
		Body: body, PayloadDigest: d.before.Payload,
	}
	m.body, m.answer, m.why = closer, host.Answered, ""
	d.holds = &d.before.Original
	if want := c.request(1, task).Want; want != nil {
		if rule := want(d.before.Status, header); rule != "" { // the wishes of the operator may be others by now
			m.answer, m.why = host.Unwanted, rule
		}
	}
	return m
}
