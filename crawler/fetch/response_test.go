package fetch

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

const (
	page    = "<p>bread</p>"
	noBody  = "(nil)"
	most    = 1000 // octets of a body in the rows that have a cap
	plain   = "HTTP/1.0 200 OK\r\n\r\n"
	gzipped = "HTTP/1.0 200 OK\r\nContent-Encoding: gzip\r\n\r\n"
	chunks  = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
	early   = "HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n"
)

type response struct {
	name, interim, head, sent string
	payload                   string // empty: sent
	config                    Config
	request                   Request

	class                          Class
	truncated, unwanted, undecoded string
	body                           string // not compared in a failure
}

func TestResponses(t *testing.T) {
	for _, group := range [][]response{wellFormed(), codedBodies(), notHTTP(), headLimits(), bodyCaps()} {
		for _, a := range group {
			bubble(t, a.name, func(t *testing.T) { a.check(t) })
		}
	}
}

func (a response) check(t *testing.T) {
	whole := a.head + a.sent
	w := &world{serve: func(_ int, conn net.Conn) {
		if request(conn) == "" {
			return
		}
		say(conn, a.interim+whole)
		if a.class == Protocol || a.truncated != "" {
			drain(conn)
		}
	}}
	f := w.fetcher(t, a.config)
	a.request.URL = mustURL(t, "http://a.test/")
	x := do(t, f, a.request)
	expect(t, x, a.class, a.truncated)
	got := text(t, x.Response)
	if !strings.HasPrefix(a.interim+whole, got) && !strings.HasPrefix(whole, got) || got == "" || a.class+Class(a.truncated) == "" && got != whole {
		t.Errorf("response %.200q, want %.200q", got, whole)
	}
	assert.LessOrEqual(t, len(got), 2*most+2*headLimit+readBuffer)
	version := "http/1.1"
	if strings.HasPrefix(a.head, "HTTP/1.0") {
		version = "http/1.0"
	}
	assert.Equalf(t, []string{version}, x.Protocols, "protocols %q, want %s", x.Protocols, version)
	if a.class == Protocol {
		if x.Interim > maxInterim+1 || x.Status != 0 && x.HeadSize == 0 {
			t.Errorf("%d interim responses were read, status %d", x.Interim, x.Status)
		}
		if bound := headLimit + readBuffer; a.interim == "" && len(got) > bound {
			t.Errorf("%d octets taken, bound %d", len(got), bound)
		}
		if s := x.Failure.Error(); len(s) > 300 || strings.ContainsAny(s, "\x00\r\n") {
			t.Errorf("message of %d octets: %q", len(s), s)
		}
		assert.False(t, get(t, f, "http://a.test/").Reused, "the connection was used again")
		return
	}
	assert.Equal(t, int64(len(a.head)), x.HeadSize)
	assert.Equal(t, strings.Count(a.interim, "HTTP/"), x.Interim)
	if a.class == "" && (text(t, x.Body) != a.body || x.Unwanted != a.unwanted || x.Undecoded != a.undecoded) {
		t.Errorf("body %.200q (unwanted %q, undecoded %q), want %.200q (%q, %q)",
			text(t, x.Body), x.Unwanted, x.Undecoded, a.body, a.unwanted, a.undecoded)
	}
	payload := a.payload
	if payload == "" {
		payload = got[len(a.head):]
	}
	if x.Body != nil && (a.truncated == "" || !strings.Contains(a.head, "chunked")) &&
		(x.PayloadSize != int64(len(payload)) || x.PayloadDigest != sha256.Sum256([]byte(payload))) {
		t.Errorf("payload of %d octets, %x; want that of %.200q", x.PayloadSize, x.PayloadDigest, payload)
	}
}

func coded(coding string, size int) string {
	return fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Encoding: %s\r\nContent-Length: %d\r\n\r\n", coding, size)
}

func wellFormed() []response {
	zipped := zip(page)
	return []response{
		{name: "length", head: "HTTP/1.1 200 OK\r\ncontent-LENGTH: 12\r\nx-ODD:   case \r\n\r\n", sent: page, body: page},
		{name: "bare line feeds", head: "HTTP/1.1 200 OK\nContent-Length: 12\n\n", sent: page, body: page},
		{name: "until close", head: plain, sent: page, body: page},
		{name: "chunked", head: chunks, sent: chunked(page, 5), payload: page, body: page},
		{name: "chunked, extension and trailer", head: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n",
			sent: "00c;ext=\"v\"\r\n" + page + "\r\n0\r\nX-Sum: 7\r\n\r\n", payload: page, body: page},
		{name: "gzip", head: coded("gzip", len(zipped)), sent: zipped, body: page},
		{name: "x-gzip, chunked", head: "HTTP/1.1 200 OK\r\nContent-Encoding: X-GZIP\r\nTransfer-Encoding: chunked\r\n\r\n",
			sent: chunked(zipped, 3), payload: zipped, body: page},
		{name: "gzip of two members", head: gzipped, sent: zip("<p>", "bread</p>"), body: page},
		{name: "gzip with octets behind it", head: gzipped, sent: zipped + "\x00\x00junk", body: page},
		{name: "gzip of nothing", head: coded("gzip", 0)},
		{name: "two codings that were not applied", head: "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\n",
			sent: "abc", body: "abc"},
		{name: "interim", interim: "HTTP/1.1 100 Continue\r\n\r\n" + early, head: "HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n", sent: page, body: page},
		{name: "interim of a later version", interim: early, head: plain, sent: page, body: page},
		{name: "not found", head: "HTTP/1.1 404 Nope\r\nContent-Length: 12\r\n\r\n", sent: page, body: page},
		{name: "wanted by its head", head: "HTTP/1.1 200 OK\r\nContent-Type: video/mp4\r\nContent-Length: 50\r\n\r\n",
			request:   Request{Want: func(status int, h http.Header) string { return fmt.Sprint(status, " ", h.Get("Content-Type")) }},
			truncated: CutOther, unwanted: "200 video/mp4", body: noBody}, // it never comes: the fetcher must not wait for it
	}
}

// A value that is not a coding (RFC 9110 8.4.1) is ignored; a coding that cannot be undone stays and is named.
func codedBodies() []response {
	var all []response
	for value, sent := range map[string]string{
		"utf-8": page, "none": page, "binary": page, "8bit": page, "text/html": page, "aws-chunked": page, "identity": page, "": page,
		"gzip": page, "gzip, br": code("br", zip(page)), "br, br": code("br", code("br", page)), "zstd, gzip": zip(code("zstd", page)),
		"gzip, gzip": zip(page), "br;q=1": code("br", page), "utf-8, gzip": zip(page), "deflate": code("deflate", page), "gzip, deflate": zip(page),
	} {
		all = append(all, response{name: "coding " + value, head: coded(value, len(sent)), sent: sent, body: page})
	}
	for _, value := range []string{"sdch", "compress", "gzip, compress", "dcb", "dcz", "gzip, gzip, gzip, gzip, gzip"} {
		all = append(all, response{name: "coding " + value, head: coded(value, 6), sent: "octets", body: "octets", undecoded: value})
	}
	// RFC 9659 3: 8 MiB is the largest window. RFC 8878 3.1.1: magic, frame header, window; then one raw, last block.
	for log, class := range map[byte]Class{20: "", 23: "", 24: Coding, 27: Coding, 41: Coding} {
		frame := "\x28\xb5\x2f\xfd\x00" + string([]byte{(log - 10) << 3, 5<<3 | 1, 0, 0}) + "bread"
		all = append(all, response{name: fmt.Sprint("zstd window of 2^", log), head: coded("zstd", len(frame)), sent: frame, class: class, body: "bread"})
	}
	// A frame of a single segment has a window of its whole size.
	segment := string(binary.LittleEndian.AppendUint32([]byte{0x28, 0xb5, 0x2f, 0xfd, 0xa0}, 1<<24)) + string([]byte{5<<3 | 1, 0, 0}) + "bread"
	// RFC 7932 9.1 ends at 24 bits: 0x11 is the invalid pattern that large window brotli uses, and 30 bits follow.
	const large = "\x11\x1e\x8b\x02\x80bread\x03"
	return append(all,
		response{name: "zstd of a single segment", head: coded("zstd", len(segment)), sent: segment, class: Coding},
		response{name: "large window brotli", head: coded("br", len(large)), sent: large, class: Coding})
}

func notHTTP() []response {
	var all []response
	for name, octets := range map[string]string{
		"greeting":               "220 mail.test ESMTP\r\n\r\n",
		"HTTP/0.9":               "<html>bread</html>\n",
		"HTTP/2":                 "HTTP/2.0 200 OK\r\nContent-Length: 0\r\n\r\n",
		"no status code":         "HTTP/1.1 OK\r\n\r\n",
		"short status code":      "HTTP/1.1 099 Low\r\n\r\n",
		"signed status code":     "HTTP/1.1 +20 Odd\r\n\r\n",
		"field without colon":    "HTTP/1.1 200 OK\r\nContent-Length\r\n\r\n",
		"two lengths":            "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
		"negative length":        "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
		"unknown transfer":       "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
		"unasked switch":         "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n",
		"broken chunk size":      chunks + "5\r\nbread\r\nzz\r\n",
		"chunk without its end":  chunks + "5\r\nbreadXX0\r\n\r\n",
		"chunk size over 2^64":   chunks + "11112222333344445\r\n",
		"chunk line over 4 KiB":  chunks + "5;" + strings.Repeat("e", 5000) + "\r\n",
		"trailer over 4 KiB":     chunks + "0\r\nX: " + strings.Repeat("e", 5000) + "\r\n\r\n",
		"control octets in name": "HTTP/1.1 200 OK\r\nA\x00B: c\r\n\r\n",
	} {
		all = append(all, response{name: name, head: octets, class: Protocol, truncated: CutOther})
	}
	const head = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"
	interim := func(n int) string { return strings.Repeat("HTTP/1.1 100 Continue\r\n\r\n", n) }
	return append(all,
		response{name: "as many interim responses as may be", interim: interim(maxInterim), head: head, sent: "bread", body: "bread"},
		response{name: "one more", interim: interim(maxInterim + 1), head: head, sent: "bread", class: Protocol, truncated: CutOther},
		response{name: "interim flood", interim: interim(1 << 16), class: Protocol, truncated: CutOther})
}

// Politeness rule 24: 64 KiB, exactly.
func headLimits() []response {
	head := func(size int) string {
		const begin, end = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX: ", "\r\n\r\n"
		return begin + strings.Repeat("x", size-len(begin)-len(end)) + end
	}
	return []response{
		{name: "head at the limit", head: head(headLimit)},
		{name: "head one over", head: head(headLimit + 1), class: Protocol, truncated: CutOther},
		{name: "head one over within the last buffer", head: head(headLimit + readBuffer), class: Protocol, truncated: CutOther},
		{name: "head of 1 MiB", head: head(1 << 20), class: Protocol, truncated: CutOther},
		{name: "interim counts", interim: early, head: head(headLimit - len(early))},
		{name: "interim counts, one over", interim: early, head: head(headLimit - len(early) + 1), class: Protocol, truncated: CutOther},
		{name: "one endless line", head: "HTTP/1.1 200 " + strings.Repeat("O", 1<<20), class: Protocol, truncated: CutOther},
	}
}

// Politeness rule 24: the cap is on decoded bytes; another is on bytes read.
func bodyCaps() []response {
	full, over := strings.Repeat("b", most), strings.Repeat("b", most+1)
	length := func(n int) string { return fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", n) }
	all := []response{
		{name: "declared, at the cap", head: length(most), sent: full, body: full},
		{name: "declared, one over", head: length(most + 1), sent: over, truncated: CutLength, unwanted: TooLarge, body: noBody},
		{name: "declared, absurd", head: length(9e18), truncated: CutLength, unwanted: TooLarge, body: noBody},
		{name: "chunked, at the cap", head: chunks, sent: chunked(full, 100), payload: full, body: full},
		{name: "chunked, one over", head: chunks, sent: chunked(over, 100), truncated: CutLength, body: full},
		{name: "until close, at the cap", head: plain, sent: full, body: full},
		{name: "until close, over", head: plain, sent: strings.Repeat("b", 1<<20), truncated: CutLength, body: full},
		{name: "gzip, at the cap", head: gzipped, sent: zip(full), body: full},
		{name: "gzip, one over", head: gzipped, sent: zip(over), truncated: CutLength, body: full},
		{name: "gzip bomb", head: gzipped, sent: zip(strings.Repeat("\x00", 10<<20)), truncated: CutLength, body: strings.Repeat("\x00", most)},
		{name: "empty gzip members", head: gzipped, sent: strings.Repeat(zip(""), 1<<15), truncated: CutLength},
		{name: "chunks of one octet with long extensions", head: chunks, sent: strings.Repeat("1;eeeeeeee\r\nb\r\n", 990) + "0\r\n\r\n",
			payload: full[:990], body: full[:990]},
		// RFC 9309 2.5: an oversized robots.txt is read up to the limit, whatever it declares.
		{name: "partial", head: length(1 << 20), sent: strings.Repeat("b", 1<<20), request: Request{Partial: true}, truncated: CutLength, body: full},
	}
	for i := range all {
		all[i].request.MaxBody = most
	}
	return append(all, response{name: "the fetcher's cap", head: length(5), sent: "bread", config: Config{MaxBody: 4},
		truncated: CutLength, unwanted: TooLarge, body: noBody})
}

func TestNoBodyByStatus(t *testing.T) {
	for _, head := range []string{
		"HTTP/1.1 204 No Content\r\n\r\n",
		"HTTP/1.1 304 Not Modified\r\nETag: \"v1\"\r\nContent-Length: 400\r\n\r\n",
	} {
		bubble(t, head[9:12], func(t *testing.T) {
			f := (&world{serve: always(head)}).fetcher(t, Config{})
			x := get(t, f, "http://a.test/")
			expect(t, x, "", "")
			if x.Body != nil || x.PayloadSize != 0 || x.PayloadDigest != sha256.Sum256(nil) || x.HeadSize != int64(len(head)) || text(t, x.Response) != head {
				t.Errorf("body %v, payload %d, response %q", x.Body, x.PayloadSize, text(t, x.Response))
			}
			assert.True(t, get(t, f, "http://a.test/").Reused, "the connection was not kept")
		})
	}
}

var small = map[string]string{
	"length":             "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nbread",
	"chunked":            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunked("bread", 2),
	"chunked, trailer":   "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nbread\r\n0\r\nX-Sum: 7\r\n\r\n",
	"gzip, chunked":      "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n" + chunked(zip("bread"), 7),
	"interim and length": "HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nbread",
	"no body":            "HTTP/1.1 204 No Content\r\nX: y\r\n\r\n",
}

// An end is of class reset or incomplete, a stop a timeout, and the bytes before it are kept.
func TestResponseCutAtEveryOctet(t *testing.T) {
	for name, whole := range small {
		final := max(strings.Index(whole, "HTTP/1.1 200"), 0)
		for cut := range len(whole) {
			for _, stuck := range []bool{false, true} {
				bubble(t, fmt.Sprintf("%s at %d, stuck %v", name, cut, stuck), func(t *testing.T) {
					w := &world{serve: func(_ int, conn net.Conn) {
						request(conn)
						say(conn, whole[:cut])
						if stuck {
							drain(conn)
						}
					}}
					x := get(t, w.fetcher(t, Config{}), "http://a.test/")
					class, truncated, kept := Incomplete, CutDisconnect, whole[:cut]
					switch {
					case stuck:
						class, truncated = Timeout, CutTime
					case x.Status == 0:
						class = Reset
					}
					if cut >= final {
						kept = whole[final:cut]
					}
					if kept == "" {
						kept, truncated = noBody, ""
					}
					expect(t, x, class, truncated)
					if got := text(t, x.Response); got != kept || !slices.Equal(x.Protocols, []string{"http/1.1"}) {
						t.Errorf("response %q of %q, want %q", got, x.Protocols, kept)
					}
				})
			}
		}
	}
}
