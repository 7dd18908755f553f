package canon

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// Rules of registries and of services are distinguished as in Common Crawl's index (crawler-commons EffectiveTldFinder,
// excludePrivate).
func TestSuffixes(t *testing.T) {
	for _, c := range []struct {
		url               string
		registry, private Suffix
	}{
		{"https://www.example.com/", Suffix{"com", "example.com"}, Suffix{"com", "example.com"}},
		{"https://a.b.bbc.co.uk/", Suffix{"co.uk", "bbc.co.uk"}, Suffix{"co.uk", "bbc.co.uk"}},
		{"https://me.github.io/", Suffix{"io", "github.io"}, Suffix{"github.io", "me.github.io"}},
		{"https://bucket.s3.amazonaws.com/", Suffix{"com", "amazonaws.com"}, Suffix{"s3.amazonaws.com", "bucket.s3.amazonaws.com"}},
		{"https://github.io/", Suffix{"io", "github.io"}, Suffix{"github.io", ""}},
		{"https://com/", Suffix{"com", ""}, Suffix{"com", ""}},
		{"https://www.city.kawasaki.jp/", Suffix{"kawasaki.jp", "city.kawasaki.jp"}, Suffix{"kawasaki.jp", "city.kawasaki.jp"}}, // an exception
		{"https://www.example.test/", Suffix{}, Suffix{}},
		{"http://localhost:8080/", Suffix{}, Suffix{}},
		{"http://127.0.0.1:8080/", Suffix{}, Suffix{}},
		{"http://[::1]/", Suffix{}, Suffix{}},
	} {
		u := mustParse(t, c.url)
		registry, private := u.Authority().Suffixes()
		assert.Truef(t, registry == c.registry && private == c.private, "%s: %+v %+v, want %+v %+v", c.url, registry, private, c.registry, c.private)
	}
}
