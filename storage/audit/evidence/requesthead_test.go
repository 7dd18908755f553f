package evidence

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// What this crawler sends is told from what it never sends.
func TestOddity_NamesWhatIsNeverSent(t *testing.T) {
	t.Parallel()
	const sent = "GET /a HTTP/1.1\r\nHost: a.test\r\nUser-Agent: x\r\nAccept: */*\r\n"
	for name, c := range map[string]struct{ head, want string }{
		"a request":              {sent + "\r\n", ""},
		"of all fields":          {sent + "From: a@b.test\r\nAccept-Encoding: gzip\r\nAccept-Language: en\r\nIf-None-Match: \"x: y\"\r\nIf-Modified-Since: x\r\nConnection: close\r\n\r\n", ""},
		"signed":                 {sent + "Signature-Agent: sig1=\"https://a.test\"\r\nSignature-Input: sig1=(\"@authority\")\r\nSignature: sig1=:eA==:\r\n\r\n", ""},
		"to an own host, masked": {sent + "Authorization: (masked)\r\nX-Api-Key: (masked)\r\n\r\n", ""},
		"through a proxy":        {"GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n", ""},
		"HEAD":                   {"HEAD / HTTP/1.1\r\nHost: a.test\r\n\r\n", ""},
		"a field of its own":     {sent + "X-Api-Key: sesame\r\n\r\n", "the field X-Api-Key"},
		"another spelling":       {sent + "accept-language: en\r\n\r\n", "the field accept-language"},
		"a field twice":          {sent + "Accept: a\r\n\r\n", "the field Accept twice"},
		"a kept connection":      {sent + "Connection: keep-alive\r\n\r\n", "the field Connection"},
		"no blank":               {sent + "Accept-Language:en\r\n\r\n", `the line "Accept-Language:en"`},
		"a folded line":          {sent + " x\r\n\r\n", `the line " x"`},
		"bare LF":                {"GET /a HTTP/1.1\nHost: a.test\r\n\r\n", "lines that do not end in CRLF"},
		"bare LF at the end":     {"GET /a HTTP/1.1\r\nHost: a.test\r\n\n", "lines that do not end in CRLF"},
		"a bare CR":              {"GET /a HTTP/1.1\r\nHost: a\r.test\r\n\r\n", "lines that do not end in CRLF"},
		"HTTP/1.0":               {"GET /a HTTP/1.0\r\nHost: a.test\r\n\r\n", `the request line "GET /a HTTP/1.0"`},
		"two blanks":             {"GET  /a HTTP/1.1\r\nHost: a.test\r\n\r\n", `the request line "GET  /a HTTP/1.1"`},
	} {
		assert.Equal(t, c.want, oddity([]byte(c.head)), name)
	}
}
