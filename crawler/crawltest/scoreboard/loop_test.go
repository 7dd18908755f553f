package scoreboard

import (
	"testing"

	"curtsy/crawler/crawltest"
	"curtsy/crawler/crawltest/visitor"
)

// A robots.txt that redirects in a circle was never had: who asks for it again has not failed to keep it, and who follows
// the circle comes by it again. A redirect that was not followed, and a file that was had, are asked for once.
func TestScoreboardForgivesARobotsThatNobodyCanHave(t *testing.T) {
	board := New("", true)
	visitor.Bubble(t, board.Web, func(c *visitor.Client) {
		for _, target := range []string{"/robots.txt", "/robots/a.txt", "/robots/b.txt", "/robots.txt", "/robots/a.txt", "/robots/b.txt", "/robots.txt"} {
			c.Get("robots-loop.test" + target)
		}
	})
	if row := board.Judge(Ending{}).Row("robots.txt cached"); row.Verdict != crawltest.Kept {
		t.Errorf("%s: %v", row.Verdict, row.Findings)
	}
}

// A header that never comes to its end is a failure of the host: who leaves it alone for a while has done well.
func TestScoreboardForgivesARestAfterASlowHeader(t *testing.T) {
	board := New("", true)
	visitor.Bubble(t, board.Web, func(c *visitor.Client) {
		for _, target := range []string{"/robots.txt", "/", "/before.html"} {
			c.Get("slow-head.test" + target)
		}
		if _, err := c.Do(c.T.Context(), "GET", "http://slow-head.test/slow.html"); err == nil {
			t.Error("the header came to its end")
		}
	})
	if row := board.Judge(Ending{}).Row("hostile: slow header"); row.Verdict != crawltest.Kept {
		t.Errorf("%s: %v", row.Verdict, row.Findings)
	}
}
