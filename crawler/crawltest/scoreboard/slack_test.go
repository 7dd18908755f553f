package scoreboard

import (
	"strings"
	"testing"
	"time"

	"curtsy/crawler/crawltest"
	"curtsy/crawler/crawltest/visitor"
	"curtsy/storage/audit/pauses"
)

func TestScoreboardForgivesDelaysAsAnAuditDoes(t *testing.T) {
	const host = "own.test"
	for _, tc := range []struct {
		short time.Duration
		want  crawltest.Verdict
	}{
		{0, crawltest.Kept},
		{time.Millisecond, crawltest.Kept},
		{pauses.Slack(scorePace), crawltest.Kept},
		{pauses.Slack(scorePace) + time.Microsecond, crawltest.Broken},
	} {
		board := New("", false)
		visitor.Bubble(t, board.Web, func(c *visitor.Client) {
			c.Get(host + "/robots.txt")
			time.Sleep(scorePace)
			c.Get(host + "/")
			time.Sleep(scorePace - tc.short)
			c.Get(host + "/welcome.html")
		})
		row := board.Judge(Ending{Shown: true}).Row("pace of 1 s")
		if row.Verdict != tc.want || !strings.Contains(row.Evidence, "forgiven 2ms") && row.Verdict == crawltest.Kept {
			t.Errorf("short by %v: %s, %s; want %s", tc.short, row.Verdict, row.Evidence, tc.want)
		}
		if row.Verdict == crawltest.Broken && !strings.Contains(row.Findings[0].String(), "pace 1s, kept 0.997999s, forgiven 2ms") {
			t.Errorf("%v", row.Findings)
		}
	}
}
