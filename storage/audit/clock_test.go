package audit

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"curtsy/storage"
	"curtsy/storage/audit/finding"
)

// Behind a kill the crawl may have forgotten its last answers, and used a robots.txt anew, whether its clock was set back
// before the next run or not.
func TestAKillMakesForgetAlsoBeforeTheClockIsSetBack(t *testing.T) {
	for name, c := range map[string]struct {
		first []time.Duration // of the answers before the kill
		pace  time.Duration   // as the next run tells it
		want  string
	}{
		"the last one, which was slow":  {first: []time.Duration{s / 10, 2 * s}, pace: s},
		"the last two, which were slow": {first: []time.Duration{s / 10, 2 * s, 2 * s}, pace: s},
		"none":                          {first: []time.Duration{s / 10, 2 * s}, pace: 10 * s},
		"one that a commit holds":       {first: []time.Duration{2 * s, 2 * s, 2 * s}, pace: s, want: "gap gap-told"},
	} {
		for _, back := range []time.Duration{0, time.Hour} {
			before, at := ours(t), 2*time.Hour
			for i, first := range c.first {
				before.add(answered([]string{"/robots.txt", "/1", "/2"}[i], at, first, ""))
				at += 30 * s
			}
			then, by := ours(t), storage.ByFloor
			if c.pace > s {
				by = storage.ByResponseTime
			}
			then.n, at = before.n, at-back
			then.add(answered("/robots.txt", at, s/10, ""))
			then.add(fetch{url: site + "/y", at: at + s/10 + 10*time.Millisecond + c.pace, meta: fmt.Sprintf("gapMs: %d\r\n", c.pace/time.Millisecond) + saysPace(c.pace, by)})
			r := then.audit(Options{Files: []string{before.file()}})
			others, noted := strings.CutSuffix(codes(r), string(finding.ClockStep))
			if noted != (back > 0) || strings.TrimSpace(others) != c.want {
				t.Errorf("%s, set back by %v: found %q, want %q%s", name, back, codes(r), c.want, shown(r))
			}
		}
	}
}

// The pace that was due before the first request behind a step of the clock may be kept after it, and no longer, whatever a new
// robots.txt asks for.
func TestAStepOfTheClockLeavesTheCrawlDelayBeforeIt(t *testing.T) {
	five := saysPace(5*s, storage.ByCrawlDelay)
	for pages, want := range map[int]string{1: "clock-step", 2: "gap-told clock-step"} {
		before := ours(t)
		before.add(fetch{url: site + "/robots.txt", at: time.Hour, body: "User-agent: *\nCrawl-delay: 5\n"})
		for i := range 3 { // so that no kill takes it back
			before.add(fetch{url: site + "/" + fmt.Sprint(i), at: time.Hour + time.Duration(i+1)*6*s, meta: five})
		}
		then := ours(t)
		then.n = before.n
		then.add(fetch{url: site + "/robots.txt", meta: five})
		for i := range pages {
			then.add(fetch{url: site + "/x", at: time.Duration(i+1) * 6 * s, meta: five})
		}
		if r := then.audit(Options{Files: []string{before.file()}}); codes(r) != want {
			t.Errorf("%d pages: found %q, want %q%s", pages, codes(r), want, shown(r))
		}
	}
}

// Rules that a kill may have made the crawl forget bind no pause until it has them again: it may ask for robots.txt in vain
// first.
func TestForgottenRulesBindNoPauseUntilTheyAreHadAgain(t *testing.T) {
	const delay = "User-agent: *\nCrawl-delay: 60\n"
	for page, want := range map[time.Duration]string{250 * s: "", 220 * s: "gap"} {
		before := ours(t)
		before.robots(delay)
		then := ours(t)
		then.n = before.n
		then.add(fetch{url: site + "/robots.txt", at: 100 * s, status: 500})
		then.add(fetch{url: site + "/robots.txt", at: 140 * s, status: 500})
		then.add(fetch{url: site + "/robots.txt", at: 180 * s, body: delay})
		then.add(fetch{url: site + "/y", at: page})
		if r := then.audit(Options{Files: []string{before.file()}}); codes(r) != want {
			t.Errorf("a page at %v: found %q, want %q%s", page, codes(r), want, shown(r))
		}
	}
}
