package robots

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"curtsy/robots/naive"
)

// Every case, under each of its standards, for this package and for naive.
func TestCorpus(t *testing.T) {
	const least = 400 // verdicts; a loop over nothing passes
	total := 0
	for _, c := range corpus(t) {
		t.Run(c.name, func(t *testing.T) {
			for _, x := range c.examples {
				for _, e := range x.expect {
					for _, s := range e.standards {
						total++
						why := x.judge(s, e)
						assert.Truef(t, why == "", "%s.txt:%d: %v: %s\n%s", c.name, e.at, s, why, shortened(x.body))
					}
				}
			}
		})
	}
	assert.GreaterOrEqualf(t, total, least, "only %d expectations, want %d and more", total, least)
	t.Logf("%d expectations", total)
}

// judge returns how the answers to e differ from the expected ones.
func (x corpusExample) judge(s Standard, e expectation) string {
	p := Parse(x.body, Options{Token: e.agent, Standard: s})
	switch e.kind {
	case "delay":
		got := "none"
		if d, ok := p.CrawlDelay(); ok {
			got = d.String()
		}
		if got != e.values[0] {
			return fmt.Sprintf("delay of %s: %s, want %s", e.agent, got, e.values[0])
		}
	case "sitemaps":
		if got := p.ResolveSitemaps("https://bakery.test/robots.txt"); !slices.Equal(got, e.values) {
			return fmt.Sprintf("sitemaps %q, want %q", got, e.values)
		}
	case judged:
		v := p.Match(e.target)
		if v.Allowed != e.allowed || v.Line != e.line {
			return fmt.Sprintf("%s, %.99q: allowed %v by line %d (%.99q), want %v by line %d", e.agent, e.target, v.Allowed, v.Line, v.Rule, e.allowed, e.line)
		}
		if testing.Short() && len(x.body) > 10_000 {
			return "" // naive takes a minute under the race detector
		}
		if allowed, line := naive.Read(s.String(), x.body, e.agent).Allowed(e.target); allowed != e.allowed || line != e.line {
			return fmt.Sprintf("%s, %.99q: naive: allowed %v by line %d, want %v by line %d", e.agent, e.target, allowed, line, e.allowed, e.line)
		}
	}
	return ""
}

func shortened(body []byte) string {
	if len(body) > 1000 {
		return fmt.Sprintf("%.500s… (%d octets)", body, len(body))
	}
	return string(body)
}
