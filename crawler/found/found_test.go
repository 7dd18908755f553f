package found

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/frontier"
	"curtsy/frontier/canon"
)

// A line has all of a candidate that a question needs; one embed step represents any number of them.
func TestLine_HasTheDiscovery(t *testing.T) {
	u, err := canon.Parse("http://a.test/x")
	require.NoError(t, err)
	for k := frontier.KindSeed; k <= frontier.KindScript; k++ {
		c := frontier.Candidate{URL: u, Kind: k, Via: "http://a.test/", Depth: 3, Seed: "http://s.test/", Tag: "t"}
		if k == frontier.KindEmbed || k == frontier.KindScript {
			c.Embeds = 1
		}
		l := Line(c)
		if got := As(u, l); got != c || l.URL != u.String() || l.Time.IsZero() {
			t.Errorf("%+v, by the line %+v", got, l)
		}
	}
}

// A seed's chain is the seed and its redirects: not those of a page that it links to, nor of a page's requisites.
func TestSeedChain(t *testing.T) {
	for _, c := range []struct {
		found frontier.Candidate
		want  bool
	}{
		{frontier.Candidate{Kind: frontier.KindSeed}, true},
		{frontier.Candidate{Kind: frontier.KindRedirect, Hops: 3}, true},
		{frontier.Candidate{Kind: frontier.KindRedirect, Depth: 1}, false},
		{frontier.Candidate{Kind: frontier.KindRedirect, Embeds: 1}, false},
		{frontier.Candidate{Kind: frontier.KindLink}, false},
		{frontier.Candidate{Kind: frontier.KindMap}, false},
	} {
		assert.Equal(t, c.want, SeedChain(c.found), c.found)
	}
}
