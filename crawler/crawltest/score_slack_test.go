package crawltest

import (
	"strings"
	"testing"
	"time"

	"curtsy/storage/audit/pauses"
)

// The scoreboard forgives of a pause what an audit forgives, to the microsecond, and says so.
func TestScoreboardForgivesOfAPauseWhatAnAuditDoes(t *testing.T) {
	const host = "own.test"
	for _, tc := range []struct {
		short time.Duration
		want  Verdict
	}{
		{0, Kept},
		{time.Millisecond, Kept},
		{pauses.Slack(scorePace), Kept},
		{pauses.Slack(scorePace) + time.Microsecond, Broken},
	} {
		board := Scoreboard("", false)
		bubble(t, board.Web, func(c *client) {
			c.get(host + "/robots.txt")
			time.Sleep(scorePace)
			c.get(host + "/")
			time.Sleep(scorePace - tc.short)
			c.get(host + "/welcome.html")
		})
		row := board.Judge(Ending{Shown: true}).Row("pace of 1 s")
		if row.Verdict != tc.want || !strings.Contains(row.Evidence, "forgiven 2ms") && row.Verdict == Kept {
			t.Errorf("short by %v: %s, %s; want %s", tc.short, row.Verdict, row.Evidence, tc.want)
		}
		if row.Verdict == Broken && !strings.Contains(row.Findings[0].String(), "pace 1s, kept 0.997999s, forgiven 2ms") {
			t.Errorf("%v", row.Findings)
		}
	}
}
