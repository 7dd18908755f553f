package audit

import (
	"bytes"
	"io"
	"strconv"
	"strings"

	"curtsy/storage/audit/finding"
	"curtsy/storage/audit/weburl"
	"curtsy/storage/warc"
)

// request reads a request record.
func (a *audit) request(h *half, rec *warc.Record, at finding.Place) {
	h.asked, h.e.Request = true, at
	h.e.Octets = 0
	defer func() { h.sums[0] = a.sum() }()
	r := &a.read
	r.begin(rec, false)
	first, err := r.line()
	if err != nil {
		a.torn(rec, at, h.e.URL, err)
		return
	}
	method, rest, _ := bytes.Cut(first, []byte(" "))
	to, _, ok := bytes.Cut(rest, []byte(" "))
	if !ok || len(to) == 0 || len(method) > 32 || len(to) > weburl.MaxLength {
		a.bad(at, h.e.URL, "a request line (RFC 9112 3)", strconv.Quote(finding.Short(string(first))))
	} else {
		h.e.Method = string(method)
		if h.e.Target = string(to); bytes.Contains(to, []byte("://")) && to[0] != '/' {
			if p, ok := weburl.AsWritten(h.e.Target); ok { // absolute form, to a proxy
				h.e.Target = p.Target
				_, name, _ := strings.Cut(p.Authority, "://")
				h.e.named([]byte(name))
			}
		}
	}
	err = r.fields(func(name string, value []byte) {
		switch name {
		case "user-agent":
			name := a.agent(value)
			if h.sent.agents > 0 && name != h.e.Agent {
				h.sent.otherAgent = h.e.Agent
			}
			h.e.Agent = name
			h.sent.agents++
		case "host":
			h.e.named(value)
		}
		h.sent.take(name, value)
	})
	if err != nil {
		a.torn(rec, at, h.e.URL, err)
		return
	}
	if !h.sent.chunked && !r.ends(h.sent.length) {
		a.bad(at, h.e.URL, "one request (WARC 1.1, 6.4)", "there is more behind it")
	}
	r.rest()
	a.digests(rec, at, h.e.URL)
}

// agent returns the text of a User-Agent: nearly always one that was met before.
func (a *audit) agent(value []byte) string {
	if s, ok := a.agents[string(value)]; ok {
		return s
	}
	s := string(value[:min(len(value), 4096)])
	if len(a.agents) < 64 {
		a.agents[s] = s
	}
	return s
}

// torn says that a request's head cannot be read, unless the file ends in it.
func (a *audit) torn(rec *warc.Record, at finding.Place, uri string, err error) {
	if a.read.rest(); a.read.src.err == nil {
		a.bad(at, uri, "an HTTP message", err.Error())
		a.digests(rec, at, uri)
	}
}

// ends reports whether nothing but empty lines stands behind a request and its body, whose Content-Length is given: what
// else is there may be a second request, which nobody would judge.
func (r *reader) ends(length string) bool {
	n, _ := strconv.ParseInt(length, 10, 63)
	_, _ = io.CopyN(io.Discard, r.in, max(n, 0)) // an error is in src
	rest, _ := io.ReadAll(io.LimitReader(r.in, 1<<10))
	return len(bytes.TrimSpace(rest)) == 0
}
