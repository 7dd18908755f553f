package crawltest

import (
	"compress/gzip"
	"io"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"

	"curtsy/crawler/crawltest/visitor"
)

func TestCodedPages(t *testing.T) {
	body := strings.Repeat("bread ", 500)
	web := New(&Site{Name: "a.test", Pages: map[string]Page{"/gzip": {Body: body, Gzip: true}, "/br": {Body: body, Brotli: true}}})
	visitor.Bubble(t, web, func(c *visitor.Client) {
		for target, coding := range map[string]string{"/gzip": "gzip", "/br": "br"} {
			if a := c.Get("a.test"+target, "Accept-Encoding", "identity"); a.Body != body || a.Header.Get("Content-Encoding") != "" {
				t.Errorf("%s: %q", target, a.Header)
			}
			a := c.Get("a.test"+target, "Accept-Encoding", "gzip, br")
			var in io.Reader = brotli.NewReader(strings.NewReader(a.Body))
			if coding == "gzip" {
				var err error
				if in, err = gzip.NewReader(strings.NewReader(a.Body)); err != nil {
					t.Fatal(err)
				}
			}
			if got, err := io.ReadAll(in); err != nil || string(got) != body || a.Header.Get("Content-Encoding") != coding {
				t.Errorf("%s: %d octets, %v, %q", target, len(got), err, a.Header)
			}
		}
	})
}
