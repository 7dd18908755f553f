package wacz

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/storage/warc"
)

func TestAnswer_PagesAndBodies(t *testing.T) {
	const page = "Content-Type: text/html\r\n\r\n<title>Bread</title>"
	for _, c := range []struct {
		what, kind, uri, block string
		title                  string // "-" for no page
		body                   bool
	}{
		{"a page", "response", "http://a.test/", "HTTP/1.1 200 OK\r\n" + page, "Bread", true},
		{"a page behind early hints", "response", "http://a.test/", "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\n" + page, "Bread", true},
		{"a page in chunks", "response", "http://a.test/", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Type: text/html\r\n\r\n9\r\n<title>Br\r\nb\r\nead</title>\r\n0\r\n\r\n", "Bread", true},
		{"XHTML", "response", "https://a.test/", "HTTP/1.1 200 OK\r\nContent-Type: Application/XHTML+xml; charset=utf-8\r\n\r\n<title>Bread</title>", "Bread", true},
		{"a revisit of a page not known", "revisit", "http://a.test/", "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n", "", true},
		{"another type", "response", "http://a.test/", "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n<title>Bread</title>", "-", true},
		{"no type", "response", "http://a.test/", "HTTP/1.1 200 OK\r\n\r\n<title>Bread</title>", "Bread", true},
		{"no type, no page", "response", "http://a.test/", "HTTP/1.1 200 OK\r\n\r\nbread", "-", true},
		{"a type twice", "response", "http://a.test/", "HTTP/1.1 200 OK\r\nContent-Type: text/html, text/html\r\n\r\n<title>Bread</title>", "Bread", true},
		{"a revisit without a type, of an unknown response", "revisit", "http://a.test/", "HTTP/1.1 200 OK\r\n\r\n", "-", true},
		{"another status", "response", "http://a.test/", "HTTP/1.1 404 Not Found\r\n" + page, "-", true},
		{"not modified", "revisit", "http://a.test/", "HTTP/1.1 304 Not Modified\r\nContent-Type: text/html\r\n\r\n", "-", true},
		{"not of the web", "response", "dns:a.test", "HTTP/1.1 200 OK\r\n" + page, "-", true},
		{"only a head", "response", "http://a.test/", "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n", "-", false},
		{"only hints", "response", "http://a.test/", "HTTP/1.1 103 Early Hints\r\n\r\n", "-", true},
		{"no head", "response", "http://a.test/", "<title>Bread</title>", "-", true},
		{"nothing", "response", "http://a.test/", "", "-", true},
	} {
		s, err := newSurvey(Options{TempDir: t.TempDir()})
		require.NoError(t, err)
		defer s.close()
		rec := &warc.Record{Type: c.kind, Length: int64(len(c.block)), Block: strings.NewReader(c.block), Fields: warc.Fields{
			{Name: "WARC-Target-URI", Value: c.uri}, {Name: "WARC-Date", Value: "2026-05-04T03:02:01.5Z"}, {Name: "WARC-Record-ID", Value: "<urn:uuid:1>"},
		}}
		a, err := s.readAnswer(rec)
		require.NoError(t, err, c.what)
		title := "-"
		if a.page != nil {
			title = a.page.Title
		}
		assert.Truef(t, title == c.title && a.body == c.body, "%s: title %q, body %v", c.what, title, a.body)
	}
}
