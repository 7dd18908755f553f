package audit

import (
	"fmt"
	"strings"
	"testing"
	"time"
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
			then, by := ours(t), toldFloor
			if c.pace > s {
				by = toldAnswers
			}
			then.n, at = before.n, at-back
			then.add(answered("/robots.txt", at, s/10, ""))
			then.add(fetch{url: site + "/y", at: at + s/10 + 10*time.Millisecond + c.pace, meta: fmt.Sprintf("gapMs: %d\r\n", c.pace/time.Millisecond) + saysPace(c.pace, by)})
			r := then.audit(Options{Files: []string{before.file()}})
			others, noted := strings.CutSuffix(codes(r), string(ClockStep))
			if noted != (back > 0) || strings.TrimSpace(others) != c.want {
				t.Errorf("%s, set back by %v: found %q, want %q%s", name, back, codes(r), c.want, shown(r))
			}
		}
	}
}
