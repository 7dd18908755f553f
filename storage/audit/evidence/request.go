package evidence

import (
	"bytes"
	"crypto/sha256"
	"io"
	"slices"
	"strconv"
	"strings"

	"curtsy/storage/audit/finding"
	"curtsy/storage/warc"
)

// request reads a request record.
func (rd *Reader) request(h *partial, rec *warc.Record, at finding.Place) {
	h.HasRequest, h.Request = true, at
	h.Octets = 0
	defer func() { h.sums[0] = rd.block.digest() }()
	r := &rd.block
	r.begin(rec, false)
	if h.ours {
		h.bound.asked = sha256.New()
		r.src.all = h.bound.asked // digested on the way
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

// interned holds texts that come again and again once.
type interned map[string]string

// of returns the text of a field's value: nearly always one that was met before.
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

// torn says that a request's head cannot be read, unless the file ends in it.
func (rd *Reader) torn(rec *warc.Record, at finding.Place, uri string, err error) {
	if rd.block.rest(); rd.block.src.err == nil {
		rd.bad(at, uri, "an HTTP message", err.Error())
		rd.digests(rec, at, uri)
	}
}

// ends reports whether nothing but empty lines stands behind a request and its body, whose Content-Length is given:
// what else is there may be a second request, which nobody would judge.
func (r *blockReader) ends(length string) bool {
	n, _ := strconv.ParseInt(length, 10, 63)
	_, _ = io.CopyN(io.Discard, r.in, max(n, 0)) // an error is in src
	rest, _ := io.ReadAll(io.LimitReader(r.in, 1<<10))
	return len(bytes.TrimSpace(rest)) == 0
}

// RequestHead is what a request's head says of who asks and whom, beside its User-Agent.
type RequestHead struct {
	Agents, Froms, Hosts int
	Host, From           string
	Secrets              string // names of fields that tell who the user is
	Masked               string // names of fields that say who the user is, and whose values the archive does not have
	OtherAgent           string // a User-Agent before the last, and another
	Odd                  string // of a request of ours: what this crawler never sends; "" for nothing
	Conditional          bool   // If-None-Match or If-Modified-Since is given
	Ranged               bool   // Range is given
	length               string // Content-Length
	chunked              bool   // Transfer-Encoding is given
}

// Has reports whether a field that says who the user is was sent, masked or not. The name is in lower case.
func (s *RequestHead) Has(name string) bool {
	return slices.Contains(strings.Split(s.Secrets, ", "), name) || slices.Contains(strings.Split(s.Masked, ", "), name)
}

// take takes a field.
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

// sentFields are the fields of the requests of this crawler, as it spells them (docs/reference/archives.md). Those of the operator's
// own hosts (docs/trust/politeness.md, rule 28) stand beside them, masked.
var sentFields = []string{
	"Host", "User-Agent", "From", "Accept", "Accept-Encoding", "Accept-Language", "If-None-Match", "If-Modified-Since", "Connection",
	"Signature-Agent", "Signature-Input", "Signature",
}

// oddity says what in the head of a request this crawler never sends; "" for nothing. It writes a request line of
// HTTP/1.1 and fields of its own, each once on a line that ends in CRLF, and no body.
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

// Masked stands in the place of the value of a field that says who the user is (docs/reference/config.md).
const Masked = "(masked)"

// alsoNamed is a list of names with one more.
func alsoNamed(list, name string) string {
	if slices.Contains(strings.Split(list, ", "), name) {
		return list
	}
	return strings.TrimPrefix(list+", "+name, ", ")
}
