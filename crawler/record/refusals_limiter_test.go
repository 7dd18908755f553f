package record

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"

	"curtsy/storage"
)

func refusal1(host, reason string, i int) storage.Line {
	return storage.Line{URL: fmt.Sprintf("http://%s/%d", host, i), Decision: storage.DecisionRefuse, Reason: reason, Outcome: "dropped"}
}

// In any order, and with any memory, lines and counts add up by kind.
func TestTally_LinesAndCountsAddUp(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const n = 60_000
	for _, most := range []int{1, 2, 7, 100} {
		limiter := newLimiter(most)
		came, told := map[kind]int64{}, map[kind]int64{}
		tell := func(all []storage.Line) {
			for _, l := range all {
				told[kind{string(l.Decision), l.Reason, hostPart(l.URL)}] += max(l.Count, 1)
			}
		}
		for i := range n {
			l := refusal1(fmt.Sprintf("h%d.test", rng.IntN(3)*rng.IntN(2)), []string{"scope:exclude", "trap:repeat"}[rng.IntN(2)], i)
			came[kind{string(l.Decision), l.Reason, hostPart(l.URL)}]++
			tell(limiter.Add(l))
			if n := len(limiter.kinds); n > most || n != limiter.order.Len() {
				t.Fatalf("%d kinds remembered, %d in order; at most %d", n, limiter.order.Len(), most)
			}
		}
		tell(limiter.Rest())
		assert.Empty(t, limiter.Rest(), "the rest is returned twice")
		for kind, n := range came {
			if told[kind] != n {
				t.Errorf("%d remembered: %v came %d times, %d were returned", most, kind, n, told[kind])
			}
		}
	}
}

// A thousand lines, then a counting line for each further thousand, with one of their URLs.
func TestTally_AThousandLinesThenCounts(t *testing.T) {
	limiter := newLimiter(10)
	var lines, counting int
	for i := range 3500 {
		for _, l := range limiter.Add(refusal1("a.test", "trap:repeat", i)) {
			switch {
			case l.Count == 0:
				lines++
			case l.Count != MaxLines || l.URL != fmt.Sprintf("http://a.test/%d", i):
				t.Errorf("%+v", l)
			default:
				counting++
			}
		}
	}
	rest := limiter.Rest()
	if lines != 1000 || counting != 2 || len(rest) != 1 || rest[0].Count != 500 || rest[0].Decision != storage.DecisionRefuse || rest[0].Time.IsZero() {
		t.Errorf("%d lines, %d counting lines, rest %+v", lines, counting, rest)
	}
}

func TestTally_TheHostOfAURL(t *testing.T) {
	for url, want := range map[string]string{
		"http://a.test/x/y": "http://a.test", "https://a.test:8443/?q=//": "https://a.test:8443", "http://[::1]:80/": "http://[::1]:80",
		"http://a.test": "http://a.test", "http://a.test?x": "http://a.test",
	} {
		assert.Equal(t, want, hostPart(url), url)
	}
}
