package scope

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/frontier/canon"
)

func TestExplainAsksTheRulesInOrderUpToTheOneThatDecides(t *testing.T) {
	depth := 2
	s, err := New(Config{Exclude: []string{"/no/"}, Include: []string{"/a"}, Reject: []string{".pdf"}, Depth: &depth, Requisites: RequisitesAll}, urls(t, "http://a.test/"))
	require.NoError(t, err)
	rng := rand.New(rand.NewPCG(1, 2))
	raw := urls(t, "http://a.test/a", "http://a.test/no/a", "http://a.test/a.pdf", "http://b.test/a", "http://a.test/b", "http://a.test/a/a/a/a/a")
	decided := map[string]bool{}
	for range 2000 {
		c := Candidate{URL: raw[rng.IntN(len(raw))], Depth: rng.IntN(4), Embeds: rng.IntN(3), NoFollow: rng.IntN(5) == 0, Map: rng.IntN(9) == 0}
		c.Embed, c.Seed, c.Redirect = c.Embeds > 0, rng.IntN(7) == 0, rng.IntN(5) == 0
		verdict, asked := s.Explain(c)
		want := s.Judge(c)
		require.Truef(t, verdict == want, "%+v: %+v, Judge returns %+v", c, verdict, want)
		last := asked[len(asked)-1]
		if last.Rule != verdict.Rule || last.Says == SaysNothing || (last.Says == SaysIn) != verdict.In {
			t.Fatalf("%+v: %+v decides, the verdict is %+v", c, last, verdict)
		}
		names := make([]string, len(asked))
		for i, o := range asked {
			names[i] = o.Rule
			require.Falsef(t, i < len(asked)-1 && o.Says != SaysNothing, "%+v: %+v has an opinion and others were asked", c, o)
		}
		require.Truef(t, slices.Equal(names, s.Rules()[:len(names)]), "asked %q of %q", names, s.Rules())
		decided[verdict.Rule] = true
	}
	assert.GreaterOrEqualf(t, len(decided), 8, "only %v decided", decided)
}

func urls(t *testing.T, raw ...string) []canon.URL {
	t.Helper()
	var us []canon.URL
	for _, r := range raw {
		u, err := canon.Parse(r)
		require.NoError(t, err)
		us = append(us, u)
	}
	return us
}
