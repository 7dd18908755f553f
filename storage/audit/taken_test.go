package audit

import (
	"context"
	"testing"
	"time"

	"curtsy/storage"
	"curtsy/storage/audit/evidence"
	"curtsy/storage/audit/finding"
	"curtsy/storage/audit/pacing"
)

// takedowns knows before which targets something was taken down, and of how much.
type takedowns struct {
	before map[string]int
	all    int
}

func (t takedowns) Taken(e *evidence.Exchange) pacing.Taken {
	return pacing.Taken{Before: t.before[e.Target], InAll: t.all}
}

func (takedowns) Exchange(context.Context, *evidence.Exchange, finding.Report) error { return nil }
func (takedowns) Refused(context.Context, *storage.Line, finding.Place, finding.Report) error {
	return nil
}
func (takedowns) Info(context.Context, *evidence.Info, finding.Report) error { return nil }
func (takedowns) Close(context.Context, *Result, finding.Report) error       { return nil }

// step is an exchange that begins so long after the end of the one before it, as its crawl says, and keeps a pace.
type step struct {
	pause, first time.Duration
	head         string
	pace         time.Duration
	by           storage.PaceBy
}

// What was taken down may have set the pace: it may have been answered at once, or have had another RateLimit. That
// excuses what follows from that, and no more: neither what the exchanges ask for that are there, nor the floor, nor
// another host.
func TestWhatWasTakenDownMayHaveSetThePace(t *testing.T) {
	const fast, late = s / 10, 2 * s
	first := step{first: fast}
	floor := func(pause, first time.Duration, head string) step {
		return step{pause, first, head, s, storage.ByFloor}
	}
	before := func(target string, n, all int) takedowns { return takedowns{map[string]int{target: n}, all} }
	for name, c := range map[string]struct {
		rules      string
		steps      []step // robots.txt, /1, /2, …
		gone       takedowns
		want       string
		unprovable int64
	}{
		"answers that were fast":  {steps: []step{{first: late}, floor(s, fast, ""), floor(s, fast, "")}, gone: before("/1", 2, 2), unprovable: 2},
		"nothing was taken down":  {steps: []step{{first: late}, floor(10*s, fast, ""), floor(s, fast, "")}, want: "gap gap-told"},
		"of the host nothing was": {steps: []step{{first: late}, floor(10*s, fast, ""), floor(s, fast, "")}, gone: before("/1", 3, 0), want: "gap gap-told"},
		"one, and all that are there are slow": {steps: []step{{first: late}, {10 * s, late, "", 10 * s, storage.ByResponseTime}, {10 * s, late, "", 10 * s, storage.ByResponseTime}, floor(s, fast, "")},
			gone: before("/2", 1, 1), want: "gap gap-told"},
		"three of the last five": {steps: []step{{first: late}, {10 * s, late, "", 10 * s, storage.ByResponseTime}, {10 * s, late, "", 10 * s, storage.ByResponseTime}, floor(s, fast, "")},
			gone: before("/2", 3, 3), unprovable: 1},
		"in three places, and one in all": {steps: []step{{first: late}, {10 * s, late, "", 10 * s, storage.ByResponseTime}, {10 * s, late, "", 10 * s, storage.ByResponseTime}, floor(s, fast, "")},
			gone: takedowns{map[string]int{"/1": 3, "/2": 3, "/3": 3}, 1}, want: "gap gap-told"},
		"answers that were slow":           {steps: []step{first, {10 * s, fast, "", 10 * s, storage.ByResponseTime}}, gone: before("/1", 2, 2)},
		"answers that were slow, and none": {steps: []step{first, {10 * s, fast, "", 10 * s, storage.ByResponseTime}}, want: "gap-told"},
		"a shorter RateLimit":              {steps: []step{{first: fast, head: fiveSeconds}, floor(2*s, fast, "")}, gone: before("/1", 1, 1), unprovable: 1},
		"a longer RateLimit, for a while": {steps: []step{first, {7 * s, fast, "", 7 * s, storage.ByRateLimit}, {7 * s, fast, "", 7 * s, storage.ByRateLimit}},
			gone: before("/1", 1, 1)},
		"a longer RateLimit, and none": {steps: []step{first, {7 * s, fast, "", 7 * s, storage.ByRateLimit}}, want: "gap-told"},
		"a RateLimit behind it binds":  {steps: []step{first, floor(s, fast, fiveSeconds), floor(s, fast, "")}, gone: before("/1", 1, 1), want: "gap gap-told"},
		"and is known": {steps: []step{first, {7 * s, fast, fiveSeconds, 7 * s, storage.ByRateLimit}, {7 * s, fast, "", 7 * s, storage.ByRateLimit}},
			gone: before("/1", 1, 1), want: "gap-told"},
		"a Retry-After": {steps: []step{first, {7 * s, fast, "", 7 * s, storage.ByRetryAfter}}, gone: before("/1", 1, 1)},
		"a Retry-After, and later none": {steps: []step{first, {7 * s, fast, "", 7 * s, storage.ByRetryAfter}, {7 * s, fast, "", 7 * s, storage.ByRetryAfter}},
			gone: before("/1", 1, 1), want: "gap-told"},
		"the floor":   {steps: []step{first, floor(s/2, fast, "")}, gone: before("/1", 3, 3), want: "gap"},
		"Crawl-delay": {rules: "User-agent: *\nCrawl-delay: 5\n", steps: []step{first, floor(2*s, fast, "")}, gone: before("/1", 3, 3), want: "gap gap-told"},
		"a Crawl-delay that was read for another host": {steps: []step{first, {9 * s, fast, "", 9 * s, storage.ByCrawlDelay}}, gone: before("/1", 1, 1)},
		"a Crawl-delay that nobody asked for":          {steps: []step{first, {9 * s, fast, "", 9 * s, storage.ByCrawlDelay}}, want: "gap-told"},
	} {
		a, at := ours(t), time.Duration(0)
		for i, x := range c.steps {
			at += x.pause
			f := answered("/"+string(rune('0'+i)), at, x.first, "")
			if f.head = x.head; i == 0 {
				f.url, f.body = site+"/robots.txt", c.rules
			} else {
				f.meta += saysPace(x.pace, x.by)
			}
			a.add(f)
			at += f.took
		}
		r := a.audit(Options{Witnesses: []Witness{c.gone}})
		if codes(r) != c.want || r.Totals.Unprovable != c.unprovable {
			t.Errorf("%s: found %q, want %q; %d unprovable%s", name, codes(r), c.want, r.Totals.Unprovable, shown(r))
		}
	}
}
