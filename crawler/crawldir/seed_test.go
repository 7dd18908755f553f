package crawldir_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"curtsy/crawler/crawldir"
)

func TestSeedsMustBeWrittenOut(t *testing.T) {
	for _, tt := range []struct{ in, want, bad string }{
		{in: "https://Example.org", want: "https://example.org/"},
		{in: "http://127.0.0.1:8080/a?b#c", want: "http://127.0.0.1:8080/a?b"},
		{in: "ftp://example.org/", bad: `scheme "ftp" is not crawled, only http and https are`},
		{in: "mailto:a@example.org", bad: "has no scheme"},
		{in: "www.example.org/x", bad: "did you mean https://www.example.org/x?"},
		{in: "localhost:8080", bad: "has no scheme"},
		{in: "http://", bad: "has no host"},
		{in: "http:///path", bad: "has no host"},
		{in: "https://?q", bad: "has no host"},
		{in: "https://:80/", bad: "has no host"},
		{in: "", bad: "has no scheme"},
		{in: "http://[::1", bad: "not a URL"},
	} {
		c, err := crawldir.Seed(tt.in, "")
		if tt.bad != "" {
			assert.ErrorContainsf(t, err, tt.bad, "%q: %v; want an error with %q", tt.in, err, tt.bad)
			continue
		}
		assert.Truef(t, err == nil && c.URL.String() == tt.want && c.Seed == tt.want, "%q: %q of seed %q, %v; want %q", tt.in, c.URL, c.Seed, err, tt.want)
	}
}
