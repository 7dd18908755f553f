package evidence

import (
	"bytes"
	"io"
	"strconv"
	"strings"

	"curtsy/storage/audit/finding"
	"curtsy/storage/warc"
)

// request reads a request record.
func (rd *Reader) request(h *partial, rec *warc.Record, at finding.Place) {
	h.HasRequest, h.Exchange.Request = true, at
	h.Exchange.Octets = 0
	defer func() { h.sums[0] = rd.block.digest() }()
	r := &rd.block
	r.begin(rec, false)
	if h.ours {
		h.bound.request(r)
		r.keeps = true
	}
	first, err := r.line()
	if err != nil {
		rd.torn(rec, at, h.Exchange.URL, err)
		return
	}
	method, rest, _ := bytes.Cut(first, []byte(" "))
	to, _, ok := bytes.Cut(rest, []byte(" "))
	if !ok || len(to) == 0 || len(method) > 32 || len(to) > MaxLength {
		rd.bad(at, h.Exchange.URL, "a request line (RFC 9112 3)", strconv.Quote(finding.Short(string(first))))
	} else {
		h.Exchange.Method = string(method)
		if h.Exchange.Target = string(to); bytes.Contains(to, []byte("://")) && to[0] != '/' {
			if p, ok := AsWritten(h.Exchange.Target); ok { // absolute form, to a proxy
				h.Exchange.Target = p.Target
				_, name, _ := strings.Cut(p.Authority, "://")
				h.Exchange.names([]byte(name))
			}
		}
	}
	err = r.fields(func(name string, value []byte) {
		switch name {
		case "user-agent":
			name := rd.agents.of(value)
			if h.Sent.Agents > 0 && name != h.Exchange.Agent {
				h.Sent.OtherAgent = h.Exchange.Agent
			}
			h.Exchange.Agent = name
			h.Sent.Agents++
		case "host":
			h.Exchange.names(value)
		}
		h.Sent.take(name, value)
	})
	if err != nil {
		rd.torn(rec, at, h.Exchange.URL, err)
		return
	}
	if r.keeps {
		h.Sent.Odd, r.keeps = oddity(r.head), false
	}
	if !h.Sent.chunked && !r.ends(h.Sent.length) {
		rd.bad(at, h.Exchange.URL, "one request (WARC 1.1, 6.4)", "there is more after it")
	}
	r.rest()
	rd.digests(rec, at, h.Exchange.URL)
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
