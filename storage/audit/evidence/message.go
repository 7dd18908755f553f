package evidence

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"curtsy/storage"
	"curtsy/storage/audit/finding"
	"curtsy/storage/warc"
)

func (rd *Reader) request(h *partial, rec *warc.Record, at finding.Place) {
	h.HasRequest, h.Request = true, at
	h.Octets = 0
	defer func() { h.sums[0] = rd.block.digest() }()
	r := &rd.block
	r.begin(rec, false)
	if h.ours {
		h.bound.request = sha256.New()
		r.src.all = h.bound.request // digested on the way
	}
	first, err := r.readHead()
	if len(r.head) == 0 {
		rd.torn(rec, at, h.URL, errHead)
		return
	}
	method, rest, _ := bytes.Cut(first, []byte(" "))
	to, _, ok := bytes.Cut(rest, []byte(" "))
	if !ok || len(to) == 0 || len(method) > 32 || len(to) > MaxLength {
		rd.bad(at, h.URL, "a request line (RFC 9112 3)", strconv.Quote(finding.Short(string(first))))
	} else {
		h.Method = string(method)
		if h.Target = string(to); bytes.Contains(to, []byte("://")) && to[0] != '/' {
			if p, ok := AsWritten(h.Target); ok { // absolute form, to a proxy
				h.Target = p.Target
				_, name, _ := strings.Cut(p.Authority, "://")
				h.names([]byte(name))
			}
		}
	}
	r.fields(func(name string, value []byte) {
		switch name {
		case "user-agent":
			name := rd.agents.of(value)
			if h.Sent.Agents > 0 && name != h.Agent {
				h.Sent.OtherAgent = h.Agent
			}
			h.Agent = name
			h.Sent.Agents++
		case "host":
			h.names(value)
		}
		h.Sent.take(name, value)
	})
	if err != nil {
		rd.torn(rec, at, h.URL, err)
		return
	}
	if h.ours {
		h.Sent.Odd = oddity(r.head)
	}
	if !h.Sent.chunked && !r.ends(h.Sent.length) {
		rd.bad(at, h.URL, "one request (WARC 1.1, 6.4)", "there is more after it")
	}
	r.rest()
	rd.digests(rec, at, h.URL)
}

// interned holds one copy of each repeated text.
type interned map[string]string

// of returns the text of a field's value, nearly always one seen before.
func (in interned) of(value []byte) string {
	if s, ok := in[string(value)]; ok {
		return s
	}
	s := string(value[:min(len(value), 4096)])
	if len(in) < 64 {
		in[s] = s
	}
	return s
}

func (rd *Reader) torn(rec *warc.Record, at finding.Place, uri string, err error) {
	if rd.block.rest(); rd.block.src.err == nil {
		rd.bad(at, uri, "an HTTP message", err.Error())
		rd.digests(rec, at, uri)
	}
}

// ends reports whether only empty lines follow a request and its body. Anything else may be a second request, unjudged.
func (r *blockReader) ends(length string) bool {
	n, _ := strconv.ParseInt(length, 10, 63)
	_, _ = io.CopyN(io.Discard, r.in, max(n, 0)) // an error is in src
	rest, _ := io.ReadAll(io.LimitReader(r.in, 1<<10))
	return len(bytes.TrimSpace(rest)) == 0
}

// RequestHead has the fields of a request's head that identify the client and the server, without its User-Agent.
type RequestHead struct {
	Agents, Froms, Hosts int
	Host, From           string
	Secrets              string // names of fields that identify the user
	Masked               string // names of fields that identify the user and whose values are not in the archive
	OtherAgent           string // a User-Agent before the last, and another
	Odd                  string // of a request of this crawler: a part that it never sends; "" for none
	Conditional          bool   // If-None-Match or If-Modified-Since is given
	Ranged               bool   // Range is given
	length               string // Content-Length
	chunked              bool   // Transfer-Encoding is given
}

// Has reports whether a field that identifies the user was sent, masked or not. The name is in lower case.
func (s *RequestHead) Has(name string) bool {
	return slices.Contains(strings.Split(s.Secrets, ", "), name) || slices.Contains(strings.Split(s.Masked, ", "), name)
}

func (s *RequestHead) take(name string, value []byte) {
	switch name {
	case "host":
		s.Host, s.Hosts = strings.ToLower(finding.Short(string(value))), s.Hosts+1
	case "from":
		s.From, s.Froms = finding.Short(string(value)), s.Froms+1
	case "content-length":
		s.length = finding.Short(string(value))
	case "transfer-encoding":
		s.chunked = true
	case "if-none-match", "if-modified-since":
		s.Conditional = true
	case "range":
		s.Ranged = true
	case "cookie", "authorization", "proxy-authorization":
		if string(value) != Masked {
			s.Secrets = alsoNamed(s.Secrets, name)
			return
		}
	}
	if string(value) == Masked {
		if name == "" {
			name = "another field"
		}
		s.Masked = alsoNamed(s.Masked, name)
	}
}

// sentFields are the fields of the requests of this crawler, as it spells them (docs/reference/archives.md). Those of
// the operator's own hosts (docs/trust/politeness.md, rule 28) are also there, masked.
var sentFields = []string{
	"Host", "User-Agent", "From", "Accept", "Accept-Encoding", "Accept-Language", "If-None-Match", "If-Modified-Since", "Connection",
	"Signature-Agent", "Signature-Input", "Signature",
}

// oddity returns how a request's head differs from those this crawler writes: HTTP/1.1, its own fields once each, lines
// that end in CRLF, and no body; "" if it does not.
func oddity(head []byte) string {
	text, whole := strings.CutSuffix(string(head), "\r\n\r\n")
	if !whole || strings.Count(text, "\n") != strings.Count(text, "\r\n") || strings.Count(text, "\r") != strings.Count(text, "\n") {
		return "lines that do not end in CRLF"
	}
	first, fields, _ := strings.Cut(text, "\r\n")
	if parts := strings.Split(first, " "); len(parts) != 3 || parts[2] != "HTTP/1.1" {
		return "the request line " + strconv.Quote(finding.Short(first))
	}
	var before []string
	for line := range strings.SplitSeq(fields, "\r\n") {
		name, value, ok := strings.Cut(line, ": ")
		switch {
		case !ok && line != "":
			return "the line " + strconv.Quote(finding.Short(line))
		case slices.Contains(before, strings.ToLower(name)):
			return "the field " + finding.Short(name) + " twice"
		case ok && value != Masked && !slices.Contains(sentFields, name), name == "Connection" && value != "close":
			return "the field " + finding.Short(name)
		}
		before = append(before, strings.ToLower(name))
	}
	return ""
}

// Masked replaces the value of a field that identifies the user (docs/reference/config.md).
const Masked = "(masked)"

func alsoNamed(list, name string) string {
	if slices.Contains(strings.Split(list, ", "), name) {
		return list
	}
	return strings.TrimPrefix(list+", "+name, ", ")
}

type partial struct {
	Exchange

	date    string // as written: records of an exchange have the same
	ids, to []string
}

// AnswerHead has the fields of a response that the audit uses. Of repeated single-valued fields, the first counts.
type AnswerHead struct {
	Location, Expires, Date, Age First
	CacheControl, RetryAfter     []string
	LastModified, RobotsTags     []string
	Vary                         []string
	ETag                         bool
	RateLimit, Coding            string // RateLimit and Content-Encoding, of several fields all
	length, part                 First  // Content-Length and Content-Range
	octets                       int    // of those that are kept several times
	rateLimits                   int    // RateLimit fields
}

// First is the value of the first field of its name.
type First struct {
	Value string
	given bool
}

func (o *First) set(value []byte) {
	if !o.given {
		*o = First{string(value), true}
	}
}

// take takes a field. policy marks a possible answer for robots.txt.
func (s *AnswerHead) take(name string, value []byte, policy bool) {
	value = value[:min(len(value), MaxLength)]
	several := func(to *[]string) {
		if s.octets += len(value) + 1; s.octets <= storage.MaxHead {
			*to = append(*to, string(value))
		}
	}
	joined := func(to *string, most int, first bool) {
		switch {
		case first:
			*to = string(value)
		case len(*to) <= most:
			*to += "," + string(value)
		}
	}
	switch name {
	case "retry-after":
		several(&s.RetryAfter)
	case "ratelimit":
		joined(&s.RateLimit, maxRateLimit, s.rateLimits == 0)
		s.rateLimits++ // an empty one counts: RFC 9651 4.2 has the list fail for it
	case "date":
		s.Date.set(value)
	case "age":
		s.Age.set(value)
	case "last-modified":
		several(&s.LastModified)
	case "x-robots-tag":
		several(&s.RobotsTags)
	case "vary":
		several(&s.Vary)
	case "cache-control":
		several(&s.CacheControl)
	case "expires":
		s.Expires.set(value)
	case "etag":
		s.ETag = true
	case "content-length":
		s.length.set(value)
	}
	if !policy {
		return
	}
	switch name {
	case "location":
		s.Location.set(value)
	case "content-encoding":
		if len(value) > 0 {
			joined(&s.Coding, finding.MaxText, s.Coding == "")
		}
	case "content-range":
		s.part.set(value)
	}
}

// part reads a record of an exchange. It returns nil for one that is not of HTTP.
func (rd *Reader) part(rec *warc.Record, at finding.Place) (*partial, error) {
	uri := rec.TargetURI()
	p, err := ParseURL(uri)
	media := rec.Type == "revisit" || message(rec)
	if err != nil || !media {
		switch {
		case err != nil && (IsHTTP(uri) || media && rec.Fields.Get("Content-Type") != ""): // the URL was requested, and its rules are unknown
			rd.unreadable(at, uri, err)
		case IsHTTP(uri) && (rd.ours() || rec.Type == "request"):
			rd.bad(at, uri, "a block of application/http", rec.Fields.Get("Content-Type")+" for "+uri)
		case IsHTTP(uri) && rec.Type == "response":
			rd.alone(rec, at)
			return nil, nil //nolint:nilnil // not part of an exchange over HTTP, and nothing failed
		default:
			rd.stray(rec, at)
		}
		rd.other(rec, at)
		return nil, nil //nolint:nilnil // not part of an exchange over HTTP, and nothing failed
	}
	h := &partial{date: rec.Fields.Get("WARC-Date"), ids: []string{at.Record}, to: concurrent(rec)}
	h.Exchange = Exchange{Place: at, URL: uri, Authority: p.Authority, Target: p.Target, Octets: rec.Length, ours: rd.ours()}
	h.Addr, _ = netip.ParseAddr(rec.Fields.Get("WARC-IP-Address"))
	ok := false
	if h.Began, h.Resolution, ok = instant(h.date); !ok {
		rd.bad(at, uri, "a WARC-Date (WARC 1.1, 5.4)", "WARC-Date "+strconv.Quote(finding.Short(h.date)))
	}
	if at.Record == "" {
		rd.bad(at, uri, "a WARC-Record-ID (WARC 1.1, 5.2)", "none")
	}
	if rec.Type == "request" {
		h.heads[0] = rd.heading(rec)
		rd.request(h, rec, at)
	} else if err := rd.response(h, rec, at, p); err != nil {
		return nil, err
	}
	if rd.block.src.err != nil {
		return nil, nil //nolint:nilnil // the file ends within it, which is reported, and the rest is useless
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

// instant reads a WARC-Date and its resolution.
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

func (rd *Reader) bad(at finding.Place, uri, required, observed string) {
	rd.found(finding.Finding{Code: finding.BadRecord, Authority: AuthorityOf(uri), Place: at, URL: uri,
		Required: required, Observed: observed})
}

func (rd *Reader) response(h *partial, rec *warc.Record, at finding.Place, p URL) error {
	h.HasAnswer, h.Answered, h.heads[1] = true, true, rd.heading(rec)
	defer func() { h.sums[1] = rd.block.digest() }()
	h.Payload, h.Cut = finding.Short(rec.Fields.Get("WARC-Payload-Digest")),
		finding.Short(rec.Fields.Get("WARC-Truncated"))
	if rec.Type == "revisit" {
		rd.revisit(h, rec, at)
	}
	rd.original(h, rec, at)
	if len(h.to) == 0 || !rd.ours() || rec.Type == "response" {
		rd.ids.add(at.Record)
		if !rd.ours() {
			rd.ids.add(answerTo(at.Record, h.URL))
		}
	}
	r := &rd.block
	r.begin(rec, h.Revisit == "")
	if rec.Length == 0 {
		h.Bodyless = true
		rd.digests(rec, at, h.URL)
		return nil
	}
	if err := rd.head(h, p); err != nil { // a server may send bytes that are not HTTP; the crawl is not at fault
		h.Bodyless, h.Status = true, 0
		r.rest()
		r.body = sums{}
		rd.digests(rec, at, h.URL)
		return nil
	}
	if h.ours {
		h.bound.answer = bytes.Clone(r.head)
	}
	h.Whole = h.Revisit != ProfileIdentical &&
		(h.Cut != CutUnread || rec.Length > int64(len(r.head)))
	h.Bodyless = h.Revisit != ""
	h.Body = rec.Length - int64(len(r.head))
	h.Kept = !h.Bodyless && rd.keeps(p, h.Status)
	if body := r.payload(h.Kept); h.Kept {
		h.Incomplete = rd.incomplete(h, len(body))
		if err := rd.keep(h, body); err != nil {
			return err
		}
	}
	if h.ours {
		h.Unframed = h.unframed(r)
	}
	rd.digests(rec, at, h.URL)
	return nil
}

// keep stores the text of a possible robots.txt, and looks for an owner's proof in it.
func (rd *Reader) keep(h *partial, body []byte) error {
	b, err := decoded(body, h.Answer.Coding)
	if err != nil {
		h.TextFault = finding.Short(err.Error())
		return nil
	}
	h.OwnerProof = isProof(b)
	h.Text, err = rd.o.Texts.Put(b[:min(len(b), maxBody)])
	if !h.Text.Known && err == nil {
		h.TextFault = "more than 1 GiB of different texts of robots.txt"
	}
	return err
}

func (rd *Reader) head(h *partial, p URL) error {
	r := &rd.block
	first, err := r.readHead() // the crawl may have obeyed a head without an end
	version, rest, _ := bytes.Cut(first, []byte(" "))
	code, _, _ := bytes.Cut(bytes.TrimLeft(rest, " "), []byte(" "))
	if n, err := strconv.Atoi(string(code)); err == nil && len(code) == 3 && n >= 100 {
		h.Status = n
	}
	policy := p.SpellsRobots() || rd.expect[p.Key]
	chunks := string(version) != "HTTP/1.0" // which has no transfer codings (RFC 9112 6.1)
	r.fields(func(name string, value []byte) {
		switch name {
		case "transfer-encoding":
			r.chunked = chunks && strings.EqualFold(string(value), "chunked")
		case "content-type":
			h.Types = append(h.Types, string(value))
		}
		h.Answer.take(name, value, policy)
	})
	return err
}

// keeps reports whether the body of a response is wanted: robots.txt, the target of its redirect, or an owner's proof.
func (rd *Reader) keeps(p URL, status int) bool {
	return status >= 200 && status <= 299 && (p.SpellsRobots() || p.Target == OwnerPath || rd.expect[p.Key])
}

// revisit reads the references of a revisit (WARC 1.1, 6.7).
func (rd *Reader) revisit(h *partial, rec *warc.Record, at finding.Place) {
	rd.sum.Revisits++
	h.Revisit = finding.Short(rec.Fields.Get("WARC-Profile"))
	if h.Revisit == "" {
		h.Revisit = "none"
		rd.bad(at, h.URL, "a WARC-Profile (WARC 1.1, 6.7)", "none")
	}
	to, uri := strings.Trim(rec.Fields.Get("WARC-Refers-To"), "<>"), rec.Fields.Get("WARC-Refers-To-Target-URI")
	rd.refersTo(h, rec, at)
	switch {
	case to != "" && !rd.ids.has(finding.Short(to)):
		rd.sum.Elsewhere++
	case to == "" && uri == "" && rec.Fields.Get("WARC-Payload-Digest") == "":
		rd.bad(at, h.URL, "a revisit that names its original (WARC 1.1, 6.7)",
			"neither WARC-Refers-To, nor -Target-URI, nor a payload digest")
	}
}

// Whole reports whether a part is all of it (RFC 9110 14.4).
func (s *AnswerHead) Whole() bool {
	part, ok := strings.CutPrefix(s.part.Value, "bytes 0-")
	last, whole, _ := strings.Cut(part, "/")
	n, err := strconv.ParseUint(last, 10, 32)
	return ok && err == nil && strconv.FormatUint(n+1, 10) == whole
}

// Enough is how much of a robots.txt must be read at least (RFC 9309 2.5).
const Enough = 500 << 10

// incomplete returns why a kept body of n bytes lacks a part of the server's; "" if nothing shows it.
func (rd *Reader) incomplete(h *partial, n int) string {
	length, err := strconv.ParseUint(h.Answer.length.Value, 10, 63)
	switch {
	case h.Cut == "length" && (n >= Enough || h.Answer.Coding != "" && rd.ours()): // by the crawler, which had enough
		return ""
	case rd.block.cut:
		return "its chunks end early"
	case rd.block.chunked || n >= Enough || h.Answer.Coding != "": // others may keep a body without its coding
		return ""
	case err == nil && uint64(n) < length:
		return strconv.Itoa(n) + " of " + h.Answer.length.Value + " bytes"
	}
	return ""
}

// unframed returns where the end of a whole answer's body contradicts its head (RFC 9112 6.3).
func (h *partial) unframed(r *blockReader) string {
	length, err := strconv.ParseUint(h.Answer.length.Value, 10, 63)
	switch s := h.Status; {
	case s == 204 || s == 304:
		if h.Body > 0 {
			return fmt.Sprintf("%d bytes after the head of status %d, which has no body", h.Body, s)
		}
	case r.chunked:
		return r.chunks
	case err == nil && uint64(h.Body) != length:
		return fmt.Sprintf("a body of %d bytes with Content-Length: %d", h.Body, length)
	}
	return ""
}

func isProof(body []byte) bool {
	for line := range strings.Lines(string(body[:min(len(body), 4<<10)])) {
		value, ok := strings.CutPrefix(strings.TrimSpace(line), "curtsy-owner=")
		if ok && len(value) == 64 && strings.Trim(value, "0123456789abcdef") == "" {
			return true
		}
	}
	return false
}

// OwnerPath is where a host holds the proof that it is the operator's own (docs/trust/politeness.md, rule 18).
const OwnerPath = "/.well-known/curtsy-owner.txt"

// Unfinished reports whether a file is a segment that was being written.
func Unfinished(path string) bool { return strings.HasSuffix(path, unfinished) }

const unfinished = ".open"

// misses notes a response that both request and metadata name, and that the exchange lacks.
func (h *partial) misses(rec *warc.Record) {
	if h.HasAnswer || !h.HasRequest {
		return
	}
	if to := concurrent(rec); len(to) > 0 && !slices.Contains(h.ids, to[0]) && slices.Contains(h.to, to[0]) {
		h.LeftOut = to[0]
	}
}

// decoded returns a body without its content coding, as far as robots.txt is read.
func decoded(body []byte, coding string) ([]byte, error) {
	if coding == "" {
		return body, nil
	}
	h := warc.HTTP{Header: http.Header{"Content-Encoding": {coding}}, Payload: bytes.NewReader(body)}
	r, err := h.Body(maxBody)
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(r)
	if errors.Is(err, warc.ErrTooLarge) {
		err = nil
	}
	return b, err
}
