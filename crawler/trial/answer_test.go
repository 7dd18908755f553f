package trial

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"fmt"
	"html"
	"io"
	"net/http"
	"strings"
	"time"
)

type answer struct {
	status  int
	media   string
	head    strings.Builder // fields, each with its end
	body    []byte
	latency time.Duration
	tag     string // its ETag, for conditional requests

	interim string // octets before it
	chunked bool
	open    bool   // its end is that of the connection
	cut     int    // that many bytes of the body are missing
	drip    bool   // it comes in pieces
	old     bool   // HTTP/1.0
	bare    bool   // lines end with LF only
	garbage string // sent in its place
	hangUp  bool   // no byte is sent
}

func (a *answer) field(name, value string) { fmt.Fprintf(&a.head, "%s: %s\r\n", name, value) }

func (h *trialHost) content(target string, now time.Time, n int) *answer {
	d := throw(h.w.seed, "content", h.name, target)
	t := throw(h.w.seed, "content", h.name, target, now.Truncate(time.Minute).String())
	a := &answer{status: 200, media: "text/html; charset=utf-8", latency: time.Duration(d.Int64N(int64(2*h.slow) + 1))}
	a.body = h.html(d)
	switch d.IntN(16) {
	case 0:
		a.status = []int{301, 302, 303, 307, 308, 300, 305, 304, 399}[d.IntN(9)]
		a.field("Location", h.location(d))
		if d.in(4) {
			a.field("Retry-After", h.retry(d, now))
		}
	case 1:
		a.status = []int{404, 410, 403, 401, 451, 418, 402, 400, 416}[d.IntN(9)]
	case 2:
		a.media = d.one("text/plain", "image/png", "application/pdf", "", "text/html, text/html", "application/xhtml+xml", "text/html;charset=utf-16", "TEXT/HTML")
	case 3:
		a.status = []int{203, 204, 206, 226, 299, 200 + d.IntN(100)}[d.IntN(6)]
	case 4:
		if t.in(2) {
			a.status = []int{500, 502, 503, 504, 429, 408, 425, 599}[t.IntN(8)]
			if t.in(2) {
				a.field("Retry-After", h.retry(t, now))
			}
		}
	case 5:
		a.media = "text/html"
		a.field("X-Robots-Tag", d.one("noarchive", "nofollow", "none", "noindex", "curtsy: noarchive", "all", "noarchive, nofollow"))
	}
	h.dress(d, a)
	if d.in(4) {
		a.code(d)
	}
	h.faults(d, t, a)
	if d.in(3) {
		a.tag = fmt.Sprintf(`"%d"`, d.Uint32())
	}
	return a
}

func (h *trialHost) html(d dice) []byte {
	var b bytes.Buffer
	if d.in(10) {
		b.WriteString(`<meta name="robots" content="` + d.one("noarchive", "nofollow", "none", "noindex") + `">`)
	}
	for range d.IntN(9) {
		fmt.Fprintf(&b, "<a href=\"%s\">x</a>\n", html.EscapeString(h.link(d, h, d.IntN(h.pages))))
	}
	if d.in(3) {
		to := h.w.host(d.IntN(h.w.hosts))
		fmt.Fprintf(&b, "<a href=\"%s\">y</a>\n", html.EscapeString(h.link(d, to, d.IntN(to.pages))))
	}
	if d.in(8) {
		fmt.Fprintf(&b, "<a href=\"%s\">rules</a>\n", h.linkedRules(d))
	}
	if d.in(6) {
		b.WriteString("<a href=\"" + d.octets(d.IntN(30)) + "\">z</a>")
	}
	if d.in(20) {
		b.Write(bytes.Repeat([]byte("<p>bread "), d.IntN(60_000)))
	}
	return b.Bytes()
}

func (h *trialHost) location(d dice) string {
	switch d.IntN(10) {
	case 0:
		return d.one("", "http://", "ftp://x.test/", "http://h0.test:99999/", "?", "#", "//", "mailto:x", "http://[::1", "http:// x/", d.octets(d.IntN(20)))
	case 1:
		to := h.w.host(d.IntN(h.w.hosts))
		return h.link(d, to, d.IntN(to.pages))
	case 2:
		return h.linkedRules(d)
	}
	return h.link(d, h, d.IntN(h.pages))
}

func (h *trialHost) retry(d dice, now time.Time) string {
	switch d.IntN(6) {
	case 0:
		return d.one("soon", "", "-5", "+7", "1.5", "7, 8", "5;q=1", "0")
	case 1:
		return now.Add(time.Duration(d.IntN(90)-5) * time.Second).UTC().Format(d.one(http.TimeFormat, http.TimeFormat, time.ANSIC, "Monday, 02-Jan-06 15:04:05 GMT"))
	case 2:
		if !h.w.calm {
			return d.one("86400", "3000", "99999999999", "31536001")
		}
	}
	return fmt.Sprint(d.IntN(20))
}

func (h *trialHost) dress(d dice, a *answer) {
	if d.in(3) {
		a.field("Date", time.Date(2026, 1, 1+d.IntN(28), d.IntN(24), 0, 0, 0, time.UTC).Format(http.TimeFormat))
	}
	if d.in(12) {
		a.field("RateLimit", d.one(`"default";r=0;t=5`, `"a";r=3;t=12, "b";r=1;t=2`, `"x";r=5`, `nonsense`, `"d";r=100;t=9`, `"q";r=1;t=40`))
	}
	switch d.IntN(24) {
	case 0:
		a.field("Set-Cookie", "a="+strings.Repeat("x", 33_000+d.IntN(30_000)))
	case 1:
		a.head.WriteString(strings.Repeat("X-Many: 1\r\n", d.IntN(6500)))
	case 2:
		a.field("X-Huge", strings.Repeat("x", 60_000+d.IntN(12_000))) // about the limit
	case 3:
		a.head.WriteString("X-Folded: a\r\n\tb\r\n c\r\n")
	case 4:
		a.head.WriteString("Retry-After:\r\n 3\r\nretry-after: 1\r\n")
	case 5:
		a.field("X-Odd", d.octets(d.IntN(200)))
	case 6:
		a.field(strings.Repeat("X", 1+d.IntN(300)), "1")
	case 7:
		a.field("Content-Type", d.one("text/html", "text/plain"))
	}
	switch d.IntN(16) {
	case 0:
		a.interim = d.one("HTTP/1.1 100 Continue\r\n\r\n", "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n", strings.Repeat("HTTP/1.1 102 Processing\r\n\r\n", 1+d.IntN(20)),
			"HTTP/1.1 103 E\r\nX: "+strings.Repeat("x", d.IntN(66_000))+"\r\n\r\n")
	case 1:
		a.old = true
	case 2:
		a.bare = true
	}
	a.chunked = d.in(4)
	a.open = a.old || d.in(8)
	a.drip = d.in(10)
}

func (a *answer) code(d dice) {
	coding := d.one("gzip", "gzip", "x-gzip", "GZIP", "deflate", "identity", "utf-8", "gzip, gzip", "none", "gzip,", "br")
	var b bytes.Buffer
	var w io.WriteCloser
	switch strings.ToLower(strings.TrimRight(coding, ",")) {
	case "gzip", "x-gzip":
		w = gzip.NewWriter(&b)
	case "deflate":
		w = zlib.NewWriter(&b)
	}
	if w != nil {
		w.Write(a.body) // a bytes.Buffer never fails
		w.Close()
		a.body = b.Bytes()
	}
	switch {
	case d.in(8) && len(a.body) > 20:
		a.body = a.body[:len(a.body)-1-d.IntN(12)]
	case d.in(8):
		a.body = append(a.body, d.octets(d.IntN(30))...)
	}
	a.field("Content-Encoding", coding)
}

func (h *trialHost) faults(d, t dice, a *answer) {
	switch {
	case d.in(60):
		a.garbage = d.one("SSH-2.0-x\r\n", "HTTP/2.0 200 OK\r\n\r\n", "HTTP/1.1 2x0 OK\r\n\r\n", "ICY 200 OK\r\n\r\n", "HTTP/1.1 200 OK\r\nbad field\r\n\r\n", "HTTP/1.1 101 Switching Protocols\r\n\r\n",
			"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n", "\r\n\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nx", "HTTP/1.1 20", "HTTP/1.1 503 Busy\r\nRetry-After: 5\r\nX", d.octets(40))
	case d.in(60):
		a.hangUp = true
	case t.in(40):
		a.hangUp = true
	case t.in(40):
		a.cut = 1 + t.IntN(len(a.body)+1)
	}
}
