package main

import (
	"testing"
	"time"

	"curtsy/crawler/status"
)

// An estimate counts what the pages seen so far lead one to expect, and is a lower bound where they do not show how much that is.
func TestEstimate_CountsWhatIsExpected(t *testing.T) {
	e := status.Estimate{Known: 36, Expected: 36, Left: 34 * time.Second, Likely: 34 * time.Second, Pace: time.Second, PaceBy: "delay", Host: "http://h"}
	with := func(change func(*status.Estimate)) status.Estimate {
		changed := e
		change(&changed)
		return changed
	}
	for rule, c := range map[string]struct {
		e    status.Estimate
		want string
	}{
		"all is known": {e, "about 34s for 36 known URLs; pace 1s (delay) at http://h"},
		"no end shows": {with(func(e *status.Estimate) { e.Open = true }), "at least 34s for 36 known URLs, more is found; pace 1s (delay) at http://h"},
		"more is expected": {with(func(e *status.Estimate) { e.Expected, e.Likely = 557, 555*time.Second }),
			"about 9 min for 36 known URLs and 521 expected ones; pace 1s (delay) at http://h"},
		"a budget ends it": {with(func(e *status.Estimate) { e.Until, e.Open = "max-pages", false }), "about 34s for 36 known URLs, until --max-pages; pace 1s (delay) at http://h"},
	} {
		if got := c.e.String(); got != c.want {
			t.Errorf("%s: %q, want %q", rule, got, c.want)
		}
	}
}
