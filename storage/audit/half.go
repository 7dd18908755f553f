package audit

import (
	"bytes"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"curtsy/storage"
	"curtsy/storage/audit/finding"
	"curtsy/storage/audit/httpfield"
	"curtsy/storage/audit/rules"
	"curtsy/storage/audit/weburl"
	"curtsy/storage/warc"
)

// half is an exchange as far as its records have been met.
type half struct {
	e        Exchange
	date     string // as written: records of an exchange have the same
	ids, to  []string
	sent     sent
	otherURL string      // of the request record, where it is not the answer's
	sums     [3]blockSum // of request, answer and metadata
	heads    [3]heading  // of the same
	asked    bool        // the request record is there
	answered bool        // the response or revisit
	told     bool        // the metadata record
	last     bool        // nothing follows it in its file
	said     answer
	bodyless bool       // the body was not in the record
	kept     bool       // text is the body, or textErr says why it cannot be
	text     rules.Text // of what may be robots.txt
	textErr  string
	proof    bool   // the body has the form of an owner's proof
	partial  string // why the body is not all of it; "" for all that is known
	alone    string // the type of a record that keeps what a URL gave without the exchange; it is no half then
}

// answer is what counts of a response's head. Of fields that should stand once, the first counts.
type answer struct {
	location, expires, date, age once
	cache, retry                 []string
	limit, coding                string // RateLimit and Content-Encoding, of several fields all
	length, part                 once   // Content-Length and Content-Range
	octets                       int    // of cache and retry
}

// once is the value of the first field of its name.
type once struct {
	value string
	given bool
}

func (o *once) set(value []byte) {
	if !o.given {
		*o = once{string(value), true}
	}
}

// take takes a field. policy says that the answer may be one for robots.txt.
func (s *answer) take(name string, value []byte, policy bool) {
	value = value[:min(len(value), weburl.MaxLength)]
	several := func(to *[]string) {
		if s.octets += len(value) + 1; s.octets <= storage.MaxHead {
			*to = append(*to, string(value))
		}
	}
	joined := func(to *string, most int) {
		if *to != "" && len(*to) <= most {
			*to += ","
		}
		if len(*to) <= most {
			*to += string(value)
		}
	}
	switch name {
	case "retry-after":
		several(&s.retry)
	case "ratelimit":
		joined(&s.limit, httpfield.MaxRateLimit)
	case "date":
		s.date.set(value)
	case "age":
		s.age.set(value)
	}
	if !policy {
		return
	}
	switch name {
	case "location":
		s.location.set(value)
	case "cache-control":
		several(&s.cache)
	case "content-encoding":
		joined(&s.coding, finding.MaxText)
	case "expires":
		s.expires.set(value)
	case "content-length":
		s.length.set(value)
	case "content-range":
		s.part.set(value)
	}
}

// half reads a record of an exchange. It returns nil for one that is none of HTTP.
func (a *audit) half(rec *warc.Record, at finding.Place) (*half, error) {
	uri := rec.TargetURI()
	p, err := weburl.Parse(uri)
	media := rec.Type == "revisit" || message(rec)
	if err != nil || !media {
		switch {
		case err != nil && (weburl.IsHTTP(uri) || media && rec.Fields.Get("Content-Type") != ""): // it was asked for, and by what rules nobody can say
			a.unreadable(at, uri, err)
		case weburl.IsHTTP(uri) && (a.ours() || rec.Type == "request"):
			a.bad(at, uri, "a block of application/http", rec.Fields.Get("Content-Type")+" for "+uri)
		case weburl.IsHTTP(uri) && rec.Type == "response":
			a.alone(rec, at)
			return nil, nil //nolint:nilnil // it is none, and nothing failed
		default:
			a.stray(rec, at)
		}
		a.other(rec, at)
		return nil, nil //nolint:nilnil // it is none, and nothing failed
	}
	h := &half{date: rec.Fields.Get("WARC-Date")}
	h.e = Exchange{Place: at, URL: uri, Authority: p.Authority, Target: p.Target, Octets: rec.Length}
	h.ids, h.to = []string{at.Record}, concurrent(rec)
	h.e.Addr, _ = netip.ParseAddr(rec.Fields.Get("WARC-IP-Address"))
	ok := false
	if h.e.Began, h.e.Resolution, ok = instant(h.date); !ok {
		a.bad(at, uri, "a WARC-Date (WARC 1.1, 5.4)", "WARC-Date "+strconv.Quote(finding.Short(h.date)))
	}
	if at.Record == "" {
		a.bad(at, uri, "a WARC-Record-ID (WARC 1.1, 5.2)", "none")
	}
	if rec.Type == "request" {
		h.heads[0] = a.heading(rec)
		a.request(h, rec, at)
	} else if err := a.response(h, rec, at, p); err != nil {
		return nil, err
	}
	if a.read.src.err != nil {
		return nil, nil //nolint:nilnil // the file ends in it, which is said, and what is left of it tells nothing
	}
	return h, nil
}

// concurrent returns the ids that a record names as parts of its exchange.
func concurrent(rec *warc.Record) []string {
	var ids []string
	for _, v := range rec.Fields.Values("WARC-Concurrent-To") {
		if len(ids) < 8 {
			ids = append(ids, finding.Short(strings.Trim(v, "<>")))
		}
	}
	return ids
}

// instant reads a WARC-Date and how finely it says when.
func instant(s string) (time.Time, time.Duration, bool) {
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil || t.Year() < 1990 || t.Year() > 9000 {
		return time.Time{}, 0, false
	}
	res := time.Second
	if _, frac, ok := strings.Cut(s, "."); ok {
		for i := 0; i < len(frac) && frac[i] >= '0' && frac[i] <= '9' && res > 1; i++ {
			res /= 10
		}
	}
	return t.UTC(), res, true
}

func (a *audit) bad(at finding.Place, uri, required, observed string) {
	a.report(finding.Finding{Code: finding.BadRecord, Authority: weburl.AuthorityOf(uri), Place: at, URL: uri, Required: required, Observed: observed})
}

func (a *audit) response(h *half, rec *warc.Record, at finding.Place, p weburl.URL) error {
	h.answered, h.e.Answered, h.heads[1] = true, true, a.heading(rec)
	defer func() { h.sums[1] = a.sum() }()
	h.e.Payload, h.e.Cut = finding.Short(rec.Fields.Get("WARC-Payload-Digest")), finding.Short(rec.Fields.Get("WARC-Truncated"))
	if rec.Type == "revisit" {
		a.revisit(h, rec, at)
	}
	a.original(h, rec, at)
	if len(h.to) == 0 || !a.ours() || rec.Type == "response" {
		a.ids.add(at.Record)
		if !a.ours() {
			a.ids.add(answerTo(at.Record, h.e.URL))
		}
	}
	r := &a.read
	r.begin(rec, h.e.Revisit == "")
	if rec.Length == 0 {
		h.bodyless = true
		a.digests(rec, at, h.e.URL)
		return nil
	}
	if err := a.head(h, p); err != nil { // what a server sends may be no HTTP; that is no fault of the crawl
		h.bodyless, h.e.Status = true, 0
		r.rest()
		r.body.h = nil
		a.digests(rec, at, h.e.URL)
		return nil
	}
	h.e.Whole = h.e.Revisit != profileIdentical && (h.e.Cut != cutUnread || rec.Length > int64(r.headed()))
	h.bodyless = h.e.Revisit != ""
	h.kept = !h.bodyless && a.keeps(p, h.e.Status)
	if body := r.payload(h.kept); h.kept {
		h.partial = a.partial(h, len(body))
		if err := a.keep(h, body); err != nil {
			return err
		}
	}
	a.digests(rec, at, h.e.URL)
	return nil
}

// keep puts the text of what may be robots.txt where it is found again, and looks for an owner's proof in it.
func (a *audit) keep(h *half, body []byte) error {
	b, err := decoded(body, h.said.coding)
	if err != nil {
		h.textErr = finding.Short(err.Error())
		return nil
	}
	h.proof = isProof(b)
	h.text, err = a.texts.Put(b[:min(len(b), maxBody)])
	if !h.text.Known && err == nil {
		h.textErr = "more than 1 GiB of different texts of robots.txt"
	}
	return err
}

// head reads a response's status line and fields.
func (a *audit) head(h *half, p weburl.URL) error {
	r := &a.read
	first, err := r.line()
	if err != nil {
		return err
	}
	version, rest, _ := bytes.Cut(first, []byte(" "))
	code, _, _ := bytes.Cut(bytes.TrimLeft(rest, " "), []byte(" "))
	if n, err := strconv.Atoi(string(code)); err == nil && len(code) == 3 && n >= 100 {
		h.e.Status = n
	}
	policy := p.SpellsRobots() || a.expect[p.Key]
	chunks := string(version) != "HTTP/1.0" // which has no transfer codings (RFC 9112 6.1)
	return r.fields(func(name string, value []byte) {
		switch name {
		case "transfer-encoding":
			r.chunked = chunks && strings.EqualFold(string(value), "chunked")
		case "content-type":
			h.e.Types = append(h.e.Types, string(value))
		}
		h.said.take(name, value, policy)
	})
}

// keeps reports whether the body of an answer is wanted: that of robots.txt, of what it redirected to, and an owner's
// proof.
func (a *audit) keeps(p weburl.URL, status int) bool {
	if status < 200 || status > 299 {
		return false
	}
	return p.SpellsRobots() || p.Target == ownerPath || a.expect[p.Key]
}

// revisit reads what a revisit refers to (WARC 1.1, 6.7).
func (a *audit) revisit(h *half, rec *warc.Record, at finding.Place) {
	a.r.Totals.Revisits++
	h.e.Revisit = finding.Short(rec.Fields.Get("WARC-Profile"))
	if h.e.Revisit == "" {
		h.e.Revisit = "none"
		a.bad(at, h.e.URL, "a WARC-Profile (WARC 1.1, 6.7)", "none")
	}
	to, uri := strings.Trim(rec.Fields.Get("WARC-Refers-To"), "<>"), rec.Fields.Get("WARC-Refers-To-Target-URI")
	a.refersTo(h, rec, at)
	switch {
	case to != "" && !a.ids.has(finding.Short(to)):
		a.r.Totals.Elsewhere++
	case to == "" && uri == "" && rec.Fields.Get("WARC-Payload-Digest") == "":
		a.bad(at, h.e.URL, "a revisit that says what it repeats (WARC 1.1, 6.7)", "neither WARC-Refers-To, nor -Target-URI, nor a payload digest")
	}
}
